package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestValueForms(t *testing.T) {
	second := 2
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"all objects", Ref{Call: "a"}, `{"$ref":{"call":"a"}}`},
		{"one object", Ref{Call: "a", Index: &second, Path: "B.C"}, `{"$ref":{"call":"a","index":2,"path":"B.C"}}`},
		{"first", First("a"), `{"$ref":{"call":"a","index":0}}`},
		{"first property", FirstProperty("a", "B"), `{"$ref":{"call":"a","index":0,"path":"B"}}`},
		{"credential", Credential{"u", `p"'`}, `{"$cred":{"password":"p\"'","user":"u"}}`},
		{"guid", GUID("g"), `{"$guid":"g"}`},
		{"security descriptor", SecurityDescriptor{Call: "a", SDDL: "O:BA"}, `{"$sddl":{"call":"a","sddl":"O:BA"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(c.value)
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
	t.Run("a password is never printed", func(t *testing.T) {
		guest := Call{Guest: &Guest{VMID: "x", Credential: Credential{"user", "secret"}}}
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(format, guest.Guest.Credential) + fmt.Sprintf(format, *guest.Guest); strings.Contains(text, "secret") {
				t.Errorf("%s prints %s", format, text)
			}
		}
	})
}

func TestPieces(t *testing.T) {
	for _, length := range []int{0, 1, 10, 11, 12, 1000} {
		data := []byte(strings.Repeat("x", length))
		pieces := SplitPieces(7, data, 12)
		got := map[int]string{}
		for i, p := range pieces {
			fields := strings.Split(strings.TrimSuffix(p.RequestLine(), "\n"), " ")
			parsed, ok := ParsePiece(fields[1:])
			if fields[0] != "C" || !ok || parsed != p || p.Index != i || p.Pieces != len(pieces) || len(p.Text) > 12 {
				t.Errorf("%d bytes: %q, %v, %+v", length, fields, ok, parsed)
			}
			if want := "#HV A " + strings.Join(fields[1:], " ") + "\n"; p.AnswerLine() != want {
				t.Errorf("%q", p.AnswerLine())
			}
			got[i] = parsed.Text
		}
		joined, err := JoinPieces(got)
		if err != nil || string(joined) != string(data) {
			t.Errorf("%d bytes came back as %d, %v", length, len(joined), err)
		}
		if len(pieces) > 1 {
			delete(got, 0)
			got[len(pieces)] = ""
			if _, err := JoinPieces(got); err == nil {
				t.Error("a missing piece is no error")
			}
		}
	}
	for _, bad := range []string{"", "1 0 1 4", "x 0 1 4 AAAA", "1 1 1 4 AAAA", "1 -1 1 4 AAAA", "1 0 1 3 AAAA", "1 0 1 4 AAAA x", "1 0 0 0 "} {
		if _, ok := ParsePiece(strings.Split(bad, " ")); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestReply(t *testing.T) {
	guest := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	two := guest(`{"results":[{"output":["g1"]},{"output":["g2"],"errors":[{"id":"X","category":"C","message":"m","session":true,"started":true}]}]}`)
	for _, c := range []struct {
		name, reply string
		want        string // output or error id of each result
	}{
		{"plain", `{"groups":[[{"output":["a"]},{"output":["b"]}],[]]}`, "a b | "},
		{"a guest in the middle", `{"groups":[[{"output":["a"]},{"guest":"` + two + `","calls":2},{"output":["b"]}]]}`, "a g1 X b"},
		{"a guest that stopped", `{"groups":[[{"output":["a"]},{"guest":"` + two + `","calls":3}]]}`, "a g1 X"},
		{"too few results before others", `{"groups":[[{"guest":"` + two + `","calls":3},{"output":["b"]}]]}`, "RunnerGuestAnswer RunnerGuestAnswer RunnerGuestAnswer b"},
		{"too many results", `{"groups":[[{"guest":"` + two + `","calls":1},{"output":["b"]}]]}`, "RunnerGuestAnswer b"},
		{"no results", `{"groups":[[{"guest":"` + guest(`{}`) + `","calls":1}]]}`, "RunnerGuestAnswer"},
		{"no JSON", `{"groups":[[{"guest":"` + guest(`{`) + `","calls":1}]]}`, "RunnerGuestAnswer"},
		{"no base64", `{"groups":[[{"guest":"!","calls":1}]]}`, "RunnerGuestAnswer"},
		{"an answer inside an answer", `{"groups":[[{"guest":"` + guest(`{"results":[{"guest":"x","calls":9}]}`) + `","calls":1}]]}`, ""},
		{"failure", `{"groups":[],"failure":{"id":"F","category":"C","message":"m"}}`, "!F"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var reply Reply
			if err := json.Unmarshal([]byte(c.reply), &reply); err != nil {
				t.Fatal(err)
			}
			var groups []string
			for _, group := range reply.Groups {
				var texts []string
				for _, result := range group {
					text := ""
					for _, raw := range result.Output {
						text += strings.Trim(string(raw), `"`)
					}
					for _, e := range result.Errors {
						text = e.ID
						if e.Session || e.Started {
							t.Error("a guest's word about the session counts")
						}
					}
					texts = append(texts, text)
				}
				groups = append(groups, strings.Join(texts, " "))
			}
			got := strings.Join(groups, " | ")
			if reply.Failure != nil {
				got = "!" + reply.Failure.ID
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("too long", func(t *testing.T) {
		if _, err := parseGuestAnswer(strings.Repeat("A", MaxGuestAnswer+4)); err == nil {
			t.Error("no error")
		}
	})
	t.Run("no reply", func(t *testing.T) {
		if err := json.Unmarshal([]byte(`{"groups":[[1]]}`), &Reply{}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("written and read", func(t *testing.T) {
		text, err := json.Marshal(Reply{Groups: [][]Result{{{Output: []json.RawMessage{json.RawMessage(`1`)}, Milliseconds: 3, Skipped: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		var back Reply
		if err := json.Unmarshal(text, &back); err != nil || back.Groups[0][0].Milliseconds != 3 || !back.Groups[0][0].Skipped {
			t.Errorf("%s: %+v", text, back)
		}
	})
}

package powershell

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// hostile are texts that must come back as they went in, from anywhere.
var hostile = []string{
	"", " ", "it's", `"quoted"`, "$(Get-Date)", "`n", ";", "[x]", "*", "a\nb", "a\r\nb\tc", `\`, `\\`, `C:\x\`, "%PATH%", "$null", "{0}", "@{a=1}",
	"äöüß", "日本語", "😀 \U0001F600", "\u2028\u2029", "\x00\x01\x1f\x7f", "2024-02-29T12:00:01Z", "/Date(0)/", `\/Date(0)\/`, "1e5", "true", "‘’“”", "-Force", "#HV A 1 0 1 4 AAAA",
}

type params = map[string]any

func call(cmdlet string, parameters params) Call {
	return Call{Call: wire.Call{Cmdlet: cmdlet, Parameters: parameters}}
}

func (c Call) with(change func(*wire.Call)) Call {
	change(&c.Call)
	return c
}

// run runs a batch in a runner and expects no failure of the batch.
func run(t *testing.T, r *Runner, calls ...Call) []wire.Result {
	t.Helper()
	results, err := r.Do(t.Context(), calls...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// output is the output of a result as JSON.
func output(result wire.Result) string {
	texts := make([]string, len(result.Output))
	for i, raw := range result.Output {
		texts[i] = string(raw)
	}
	return strings.Join(texts, "\n")
}

func TestRunner(t *testing.T) {
	t.Parallel()
	r := startRunner(t)

	t.Run("hello", func(t *testing.T) {
		if r.hello.Protocol != wire.ProtocolVersion || r.Version() == "" || r.hello.PID == 0 {
			t.Errorf("%+v", r.hello)
		}
	})
	t.Run("hostile texts", func(t *testing.T) {
		result := run(t, r, call("Get-Value", params{"Value": hostile, "Other": strings.Join(hostile, "|")}))[0]
		if len(result.Output) != 1 {
			t.Fatalf("%+v", result)
		}
		var got struct {
			Value []string
			Type  string
			Other string
		}
		if err := json.Unmarshal(result.Output[0], &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(hostile, got.Value); diff != "" {
			t.Error(diff)
		}
		if got.Other != strings.Join(hostile, "|") {
			t.Errorf("%q", got.Other)
		}
	})
	t.Run("hostile keys", func(t *testing.T) {
		result := run(t, r, call("Get-Value", params{"Value": params{"a'b\"$(1)`;": "x"}}))[0]
		if got, want := output(result), `{"Value":{"a'b\"$(1)`+"`"+`;":"x"},"Type":"System.Collections.Hashtable","Other":null}`; !sameJSON(got, want) {
			t.Error(got)
		}
	})

	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"null", nil, `{"Value":null,"Type":"null","Other":null}`},
		{"true", true, `{"Value":true,"Type":"System.Boolean","Other":null}`},
		{"integer", 7, `{"Value":7,"Type":"System.Int64","Other":null}`},
		{"large integer", int64(9007199254740993), `{"Value":9007199254740993,"Type":"System.Int64","Other":null}`},
		{"fraction", 1.5, `{"Value":1.5,"Type":"System.Double","Other":null}`},
		{"empty array", []string{}, `{"Value":[],"Type":"System.Object[]","Other":null}`},
		{"array of one", []int{1}, `{"Value":[1],"Type":"System.Object[]","Other":null}`},
		{"array of null", []any{nil}, `{"Value":[null],"Type":"System.Object[]","Other":null}`},
		{"array of arrays", [][]int{{1}, {}}, `{"Value":[[1],[]],"Type":"System.Object[]","Other":null}`},
		{"guid", wire.GUID("6F1F3C5A-0b1e-4c55-9d9c-0a1b2c3d4e5f"), `{"Value":"6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f","Type":"System.Guid","Other":null}`},
		{"credential", wire.Credential{User: `d\u`, Password: `p'"$(1)ä`}, `{"Value":{"UserName":"d\\u","Password":null},"Type":"System.Management.Automation.PSCredential","Other":null}`},
		{"table", params{"b": []int{1}}, `{"Value":{"b":[1]},"Type":"System.Collections.Hashtable","Other":null}`},
	} {
		t.Run("value "+c.name, func(t *testing.T) {
			result := run(t, r, call("Get-Value", params{"Value": c.value}))[0]
			got := output(result)
			// Windows PowerShell makes Int32 of small numbers, newer ones make Int64 of all.
			if !sameJSON(strings.ReplaceAll(got, "System.Int32", "System.Int64"), c.want) {
				t.Errorf("got  %s\nwant %s\n%+v", got, c.want, result.Errors)
			}
		})
	}

	t.Run("binding", func(t *testing.T) {
		result := run(t, r, call("Get-BoundTo", params{
			"Texts": "one", "Number": "5", "Mode": "running", "Id": "{6F1F3C5A-0b1e-4c55-9d9c-0a1b2c3d4e5f}", "Flag": true, "Table": params{"k": 1},
			"Credential": wire.Credential{User: "u", Password: `p'"$(1)ä`},
		}))[0]
		want := `{"Texts":["one"],"Number":5,"Mode":"Running","Id":"6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f","Flag":true,"Keys":["k"],"User":"u","Password":"p'\"$(1)ä"}`
		if got := output(result); !sameJSON(got, want) {
			t.Errorf("got  %s\nwant %s\n%+v", got, want, result.Errors)
		}
	})

	field := func(name, path string, fields ...wire.Field) wire.Field {
		return wire.Field{Name: name, Path: path, Fields: fields}
	}
	for _, c := range []struct {
		name   string
		sel    []wire.Field
		depth  int
		cmdlet string
		want   string
	}{
		{"types", nil, 0, "Get-Mixed", `{"Name":"a","Id":"6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f","Mode":"Running","On":true,"Off":false,"Nothing":null,"None":[],"One":["x"],"Two":[1,2],` +
			`"Bytes":"AQL/","Big":18446744073709551615,"Small":-9223372036854775808,"Part":1.5,"Money":12.25,"When":"2024-02-29T12:00:01.0000000Z","Span":1.5,"Ip":"192.0.2.1","Version":"10.0.20348",` +
			`"Switch":true,"Secret":null,"Table":{"b":1,"a":"System.Collections.Hashtable"},"Char":"c","Nan":null,"Inner":{"Name":"i","List":["@{Name=l1}","@{Name=l2}"]},` +
			`"Adapters":[{"Name":"n1","Ids":["1","2"]},{"Name":"n2","Ids":["3"]}]}`},
		{"depth 1", []wire.Field{field("Inner", ""), field("None", "")}, 1, "Get-Mixed", `{"Inner":"@{Name=i; List=System.Object[]}","None":[]}`},
		{"depth 3", []wire.Field{field("Inner", "")}, 3, "Get-Mixed", `{"Inner":{"Name":"i","List":[{"Name":"l1"},{"Name":"l2"}]}}`},
		{"own text below depth", nil, 1, "Get-Thing", `{"Broken":null,"Child":"nested:inner","Name":"one"}`},
		{"paths", []wire.Field{field("a", "Inner.Name"), field("b", "inner.list.NAME"), field("c", "Adapters.Ids"), field("d", "Table.B"), field("e", "Table.a.deep")}, 0, "Get-Mixed",
			`{"a":"i","b":["l1","l2"],"c":["1","2","3"],"d":1,"e":1}`},
		{"paths to nothing", []wire.Field{field("a", "Nothing.X.Y"), field("b", "Missing.X"), field("c", "None.X"), field("d", "Inner.List.Missing")}, 0, "Get-Mixed",
			`{"a":null,"b":null,"c":[],"d":[null,null]}`},
		{"array of one stays", []wire.Field{field("One", ""), field("None", "")}, 0, "Get-Mixed", `{"One":["x"],"None":[]}`},
		{"inner fields", []wire.Field{field("list", "Inner.List", field("n", "Name"), field("q", ""))}, 0, "Get-Mixed", `{"list":[{"n":"l1","q":null},{"n":"l2","q":null}]}`},
		{"inner fields below depth", []wire.Field{field("x", "Inner", field("l", "List", field("n", "Name")))}, 1, "Get-Mixed", `{"x":{"l":[{"n":"l1"},{"n":"l2"}]}}`},
		{"inner fields of null", []wire.Field{field("x", "Nothing", field("n", "Name"))}, 0, "Get-Mixed", `{"x":null}`},
		{"a property that throws", []wire.Field{field("Broken", ""), field("Name", "")}, 0, "Get-Thing", `{"Broken":null,"Name":"one"}`},
	} {
		t.Run("select "+c.name, func(t *testing.T) {
			result := run(t, r, call(c.cmdlet, nil).with(func(w *wire.Call) { w.Select, w.Depth = c.sel, c.depth }))[0]
			got := output(result)
			if got != c.want && !sameJSON(got, c.want) {
				t.Errorf("got  %s\nwant %s\n%+v", got, c.want, result.Errors)
			}
		})
	}

	cond := func(property string, equals ...string) wire.Condition {
		return wire.Condition{Property: property, Equals: equals}
	}
	for _, c := range []struct {
		name  string
		where []wire.Condition
		want  string
	}{
		{"none", nil, "vSwitch [1]*|vSwitch 11|O'Brien $(1) `;"},
		{"name with wildcards", []wire.Condition{cond("Name", "vSWITCH [1]*")}, "vSwitch [1]*"},
		{"hostile name", []wire.Condition{cond("Name", "o'brien $(1) `;")}, "O'Brien $(1) `;"},
		{"not a part", []wire.Condition{cond("Name", "vSwitch")}, ""},
		{"one of several", []wire.Condition{cond("Name", "no", "vSwitch 11")}, "vSwitch 11"},
		{"enum", []wire.Condition{cond("Mode", "running")}, "vSwitch 11|O'Brien $(1) `;"},
		{"enum number", []wire.Condition{cond("Mode", "3")}, ""},
		{"guid", []wire.Condition{cond("Id", "6F1F3C5A-0B1E-4C55-9D9C-0A1B2C3D4E5F")}, "vSwitch [1]*"},
		{"guid with braces", []wire.Condition{cond("Id", "{6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f}")}, ""},
		{"array", []wire.Condition{cond("Tags", "BLUE")}, "vSwitch [1]*|O'Brien $(1) `;"},
		{"path", []wire.Condition{cond("Parent.Id", "8")}, "O'Brien $(1) `;"},
		{"boolean", []wire.Condition{cond("Parent.On", "true")}, "vSwitch [1]*"},
		{"null", []wire.Condition{cond("Parent.Id", "")}, "vSwitch 11"},
		{"and", []wire.Condition{cond("Mode", "running"), cond("Tags", "blue")}, "O'Brien $(1) `;"},
		{"missing property", []wire.Condition{cond("Nope", "x")}, ""},
		{"no texts", []wire.Condition{cond("Name")}, ""},
	} {
		t.Run("where "+c.name, func(t *testing.T) {
			result := run(t, r, call("Get-Row", nil).with(func(w *wire.Call) { w.Where, w.Select = c.where, []wire.Field{{Name: "Name"}} }))[0]
			var names []string
			for _, raw := range result.Output {
				var o struct{ Name string }
				if err := json.Unmarshal(raw, &o); err != nil {
					t.Fatal(err)
				}
				names = append(names, o.Name)
			}
			if got := strings.Join(names, "|"); got != c.want {
				t.Errorf("got %q, want %q, %+v", got, c.want, result.Errors)
			}
		})
	}
	t.Run("references", func(t *testing.T) { testReferences(t, r) })
	t.Run("errors", func(t *testing.T) { testErrors(t, r) })
	t.Run("groups", func(t *testing.T) { testGroups(t, r) })
	t.Run("large", func(t *testing.T) {
		text := strings.Repeat("0123456789 ä€😀'\"\\\n", 30000)
		result := run(t, r, call("Get-Value", params{"Value": text}).with(func(w *wire.Call) { w.Select = []wire.Field{{Name: "Value"}} }))[0]
		var got struct{ Value string }
		if err := json.Unmarshal(result.Output[0], &got); err != nil {
			t.Fatal(err)
		}
		if got.Value != text {
			t.Errorf("%d characters came back as %d", len(text), len(got.Value))
		}
	})
	t.Run("a process that ends", func(t *testing.T) {
		_, err := r.Do(t.Context(), call("Write-Trouble", params{"Kind": "exit"}))
		checkLost(t, err, true)
		_, err = r.Do(t.Context(), call("Get-Row", nil))
		checkLost(t, err, false)
	})
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

func testReferences(t *testing.T, r *Runner) {
	second := 1
	ninth := 9
	rows := call("Get-Row", nil).with(func(w *wire.Call) { w.Save = "rows" })
	mixed := call("Get-Mixed", nil).with(func(w *wire.Call) { w.Save = "rows" })
	name := []wire.Field{{Name: "v", Path: "Value.Name"}, {Name: "Type"}}
	value := []wire.Field{{Name: "v", Path: "Value"}, {Name: "Type"}}
	for _, c := range []struct {
		name   string
		first  Call
		ref    any
		sel    []wire.Field
		want   string
		errors string
	}{
		{name: "first object", first: rows, ref: wire.First("rows"), sel: name, want: `{"v":"vSwitch [1]*","Type":"System.Management.Automation.PSCustomObject"}`},
		{name: "by index", first: rows, ref: wire.Ref{Call: "rows", Index: &second}, sel: name, want: `{"v":"vSwitch 11","Type":"System.Management.Automation.PSCustomObject"}`},
		{name: "all objects", first: rows, ref: wire.Ref{Call: "rows"}, sel: name, want: `{"v":["vSwitch [1]*","vSwitch 11","O'Brien $(1) ` + "`" + `;"],"Type":"System.Object[]"}`},
		{name: "after where", first: rows.with(func(w *wire.Call) { w.Where = []wire.Condition{{Property: "Name", Equals: []string{"vswitch 11"}}} }), ref: wire.First("rows"), sel: name,
			want: `{"v":"vSwitch 11","Type":"System.Management.Automation.PSCustomObject"}`},
		{name: "property of the first", first: rows, ref: wire.FirstProperty("rows", "Id"), sel: value, want: `{"v":"6f1f3c5a-0b1e-4c55-9d9c-0a1b2c3d4e5f","Type":"System.Guid"}`},
		{name: "property of all", first: rows, ref: wire.Ref{Call: "rows", Path: "Parent.Id"}, sel: value, want: `{"v":[7,8],"Type":"System.Object[]"}`},
		{name: "in an array", first: rows, ref: []any{wire.FirstProperty("rows", "Name"), "x"}, sel: value, want: `{"v":["vSwitch [1]*","x"],"Type":"System.Object[]"}`},
		{name: "in a table", first: rows, ref: params{"k": wire.FirstProperty("rows", "Name")}, sel: []wire.Field{{Name: "v", Path: "Value.k"}}, want: `{"v":"vSwitch [1]*"}`},
		{name: "array property of one", first: mixed, ref: wire.Ref{Call: "rows", Path: "Adapters.Name"}, sel: value, want: `{"v":["n1","n2"],"Type":"System.Object[]"}`},
		{name: "unknown call", first: rows, ref: wire.First("other"), errors: wire.ErrorReferenceEmpty},
		{name: "index too large", first: rows, ref: wire.Ref{Call: "rows", Index: &ninth}, errors: wire.ErrorReferenceEmpty},
		{name: "nothing found", first: rows.with(func(w *wire.Call) { w.Where = []wire.Condition{{Property: "Name", Equals: []string{"no"}}} }), ref: wire.First("rows"), errors: wire.ErrorReferenceEmpty},
		{name: "null property", first: rows, ref: wire.Ref{Call: "rows", Index: &second, Path: "Parent"}, errors: wire.ErrorReferenceEmpty},
		{name: "missing property of all", first: rows, ref: wire.Ref{Call: "rows", Path: "Nope"}, errors: wire.ErrorReferenceEmpty},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := run(t, r, c.first, call("Get-Value", params{"Value": c.ref}).with(func(w *wire.Call) { w.Select = c.sel }))
			checkErrors(t, results[1], c.errors)
			if got := output(results[1]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}

	t.Run("security descriptor", func(t *testing.T) {
		results := run(t, r,
			call("Get-Security", nil).with(func(w *wire.Call) { w.Save = "acl" }),
			call("Get-Value", params{"Value": wire.SecurityDescriptor{Call: "acl", SDDL: "O:SYG:SY"}}).with(func(w *wire.Call) { w.Select = []wire.Field{{Name: "v", Path: "Value.Sddl"}} }))
		checkErrors(t, results[1])
		if got := output(results[1]); got != `{"v":"O:SYG:SY"}` {
			t.Error(got)
		}
	})
	t.Run("input", func(t *testing.T) {
		piped := call("Get-Piped", nil).with(func(w *wire.Call) { w.Input = "rows" })
		results := run(t, r, rows, piped)
		if got, want := output(results[1]), `{"Got":"vSwitch [1]*"}`+"\n"+`{"Got":"vSwitch 11"}`+"\n"+`{"Got":"O'Brien $(1) `+"`"+`;"}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("input of nothing", func(t *testing.T) {
		for _, name := range []string{"rows", "never saved"} {
			results := run(t, r, rows.with(func(w *wire.Call) { w.Where = []wire.Condition{{Property: "Name", Equals: []string{"no"}}} }),
				call("Get-Piped", nil).with(func(w *wire.Call) { w.Input = name }))
			if !results[1].Skipped || len(results[1].Output) != 0 || len(results[1].Errors) != 0 {
				t.Errorf("%s: %+v", name, results[1])
			}
			if results[0].Skipped {
				t.Error("the first call was skipped")
			}
		}
	})
	t.Run("names end with the batch", func(t *testing.T) {
		results := run(t, r, call("Get-Value", params{"Value": wire.First("rows")}))
		checkErrors(t, results[0], wire.ErrorReferenceEmpty)
	})
}

// checkErrors compares the ids of the errors, up to the comma.
func checkErrors(t *testing.T, result wire.Result, ids ...string) {
	t.Helper()
	var got, want []string
	for _, e := range result.Errors {
		id, _, _ := strings.Cut(e.ID, ",")
		got = append(got, id)
	}
	for _, id := range ids {
		if id != "" {
			want = append(want, id)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors: %s\n%+v", diff, result.Errors)
	}
}

func testErrors(t *testing.T, r *Runner) {
	kind := func(kind string) Call { return call("Write-Trouble", params{"Kind": kind}) }

	t.Run("not terminating", func(t *testing.T) {
		result := run(t, r, kind("two"))[0]
		checkErrors(t, result, "FirstId", "SecondId")
		if got := output(result); got != "\"before\"\n\"after\"" {
			t.Error(got)
		}
		if diff := cmp.Diff([]string{"careful"}, result.Warnings); diff != "" {
			t.Error(diff)
		}
		want := wire.CommandError{ID: "FirstId,Write-Trouble", Category: "ObjectNotFound", Reason: "WriteErrorException", Activity: "Write-Error", TargetName: "target", TargetType: "String",
			Exception: "Microsoft.PowerShell.Commands.WriteErrorException", HResult: "0x80131501", Message: "first"}
		if diff := cmp.Diff(want, result.Errors[0]); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("terminating", func(t *testing.T) {
		result := run(t, r, kind("terminating"))[0]
		checkErrors(t, result, "EndId")
		if got := output(result); got != `"before"` {
			t.Error(got)
		}
		if e := result.Errors[0]; e.Category != "InvalidOperation" || e.Inner != "inner text" || e.Exception != "System.InvalidOperationException" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("thrown", func(t *testing.T) { checkErrors(t, run(t, r, kind("throw"))[0], "thrown") })
	t.Run("null output is none", func(t *testing.T) {
		if got := output(run(t, r, kind("null"))[0]); got != `"x"` {
			t.Error(got)
		}
	})
	t.Run("noise", func(t *testing.T) {
		result := run(t, r, kind("noise"))[0]
		checkErrors(t, result)
		if got := output(result); got != `"x"` {
			t.Error(got)
		}
	})
	t.Run("no confirmation is asked for", func(t *testing.T) {
		if got := output(run(t, r, call("Remove-Careful", nil))[0]); got != `"removed"` {
			t.Error(got)
		}
		// ShouldContinue always asks, and that must fail rather than read the protocol.
		result := run(t, r, kind("confirm"))[0]
		if len(result.Errors) != 1 || len(result.Output) != 0 {
			t.Errorf("%+v", result)
		}
	})
	t.Run("unknown cmdlet", func(t *testing.T) {
		result := run(t, r, call("Get-NoSuchThing", nil))[0]
		checkErrors(t, result, "CommandNotFoundException")
		if result.Errors[0].Category != "ObjectNotFound" {
			t.Errorf("%+v", result.Errors[0])
		}
	})
	t.Run("neither wildcards, programs nor code are commands", func(t *testing.T) {
		for _, name := range []string{"Get-Valu*", "Get-Val[u]e", "sh", "ls", "Get-Value; Get-Row", "{ 1 }", "./x.ps1"} {
			checkErrors(t, run(t, r, call(name, nil))[0], "CommandNotFoundException")
		}
	})
	t.Run("unknown parameter", func(t *testing.T) {
		checkErrors(t, run(t, r, call("Get-Value", params{"Nope": 1}))[0], "NamedParameterNotFound")
	})
	t.Run("value that does not fit", func(t *testing.T) {
		checkErrors(t, run(t, r, call("Get-BoundTo", params{"Mode": "Sideways"}))[0], "ParameterArgumentTransformationError")
	})
	t.Run("guid that is none", func(t *testing.T) {
		result := run(t, r, call("Get-Value", params{"Value": wire.GUID("x")}))[0]
		if len(result.Errors) != 1 || len(result.Output) != 0 {
			t.Errorf("%+v", result)
		}
	})
	t.Run("stop", func(t *testing.T) {
		if got := run(t, r, kind("two"), call("Get-Row", nil)); len(got) != 1 {
			t.Errorf("%d results", len(got))
		}
	})
	t.Run("continue", func(t *testing.T) {
		got := run(t, r, kind("two").with(func(w *wire.Call) { w.OnError = wire.OnErrorContinue }), call("Get-Row", nil))
		if len(got) != 2 || len(got[1].Output) != 3 {
			t.Errorf("%d results", len(got))
		}
	})
}

func testGroups(t *testing.T, r *Runner) {
	groups := [][]Call{
		{call("Get-Value", params{"Value": 1}).with(func(w *wire.Call) { w.Save = "x" }), call("Write-Trouble", params{"Kind": "two"}), call("Get-Row", nil)},
		{call("Get-Value", params{"Value": wire.First("x")})},
		{call("Get-Row", nil).with(func(w *wire.Call) { w.Save = "x" }), call("Get-Value", params{"Value": wire.FirstProperty("x", "Name")})},
	}
	got, err := r.doGroups(t.Context(), groups)
	if err != nil {
		t.Fatal(err)
	}
	if len(got[0]) != 2 || len(got[1]) != 1 || len(got[2]) != 2 {
		t.Fatalf("%d, %d, %d results", len(got[0]), len(got[1]), len(got[2]))
	}
	checkErrors(t, got[1][0], wire.ErrorReferenceEmpty)
	if text := output(got[2][1]); !strings.Contains(text, "vSwitch [1]*") {
		t.Error(text)
	}
	empty, err := r.doGroups(t.Context(), [][]Call{{}})
	if err != nil || len(empty) != 1 || len(empty[0]) != 0 {
		t.Errorf("no calls: %v, %v", empty, err)
	}
}

package hyperv

import (
	"strings"
	"testing"
	"time"
)

func TestForeignACL(t *testing.T) {
	for name, x := range map[string]struct{ sddl, want string }{
		"as written":              {ledgerSDDL, ""},
		"as Windows prints it":    {"O:BAG:SYD:PAI(A;OICI;KA;;;SY)(A;OICI;KA;;;BA)", ""},
		"SIDs instead of letters": {"O:S-1-5-32-544G:BAD:P(A;OICI;KA;;;S-1-5-18)(A;OICI;KA;;;S-1-5-32-544)", ""},
		"another owner":           {"O:S-1-5-21-1-2-3-1001G:BAD:P(A;OICI;KA;;;SY)(A;OICI;KA;;;BA)", "its owner is S-1-5-21-1-2-3-1001"},
		"users may read":          {"O:BAG:BAD:P(A;OICI;KA;;;SY)(A;OICI;KA;;;BA)(A;OICI;KR;;;BU)", "it gives rights to BU"},
		"inherits":                {"O:BAG:BAD:AI(A;OICIID;KA;;;SY)(A;OICIID;KA;;;BA)", "it inherits rights from its parent"},
		"no access list":          {"O:BAG:BA", "it has no access list"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := foreignACL(x.sddl); got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

func TestRecordNames(t *testing.T) {
	for name, parts := range map[string][]string{
		"wildcards":     {"a*b?[c]", "d`e"},
		"dots":          {"a.b", "c"},
		"paths":         {`a\b/c`, ""},
		"any script":    {"スイッチ", "ü"},
		"quotes, code":  {`'"$(x);`, "y"},
		"two parts":     {"a", "b.c"},
		"one long part": {"a.b", "c.d"},
	} {
		t.Run(name, func(t *testing.T) {
			n := recordName("before", parts...)
			if strings.ContainsAny(n, "*?[]`\\/ '\"$;") {
				t.Errorf("%q has characters with a meaning", n)
			}
			if strings.Count(n, ".") != len(parts) {
				t.Errorf("%q does not tell its %d parts apart", n, len(parts))
			}
		})
	}
}

func TestRememberOnlyOnce(t *testing.T) {
	l := &ledger{values: map[string]string{}}
	one, two := "1", "2"
	w := l.writes()
	w.remember(before{Object: "port x", Setting: "*SRIOV", Value: &one})
	w.apply()
	w = l.writes()
	w.remember(before{Object: "port x", Setting: "*SRIOV", Value: &two}) // a retry after a crash sees a half-changed value
	w.apply()
	if r, ok := l.before("port x", "*SRIOV"); !ok || *r.Value != "1" {
		t.Errorf("got %+v, want the value of the first time", r)
	}
}

func TestLedgerIsRemovedWithItsLastRecord(t *testing.T) {
	for name, x := range map[string]struct {
		change func(w *ledgerWrites)
		want   bool
	}{
		"a record goes":               {func(w *ledgerWrites) { w.release("device 0:3:0") }, true},
		"one goes, another comes":     {func(w *ledgerWrites) { w.release("device 0:3:0"); w.claim("device 0:4:0", "b") }, false},
		"nothing goes that was there": {func(w *ledgerWrites) { w.release("device 9:9:9") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{exists: true, values: map[string]string{}}
			w := l.writes()
			w.claim("device 0:3:0", "a")
			w.apply()
			w = l.writes()
			x.change(w)
			b := NewHost("hv1", nil, Options{}).batch("test", "")
			w.addRemoves(b)
			asked := false
			for _, c := range b.calls {
				asked = asked || c.Cmdlet == "Remove-Item" && c.Input != ""
			}
			if asked != x.want {
				t.Errorf("the batch removes an empty ledger: %t, want %t", asked, x.want)
			}
		})
	}
}

func TestRecordsIgnoreCase(t *testing.T) {
	l := &ledger{values: map[string]string{}}
	one := "1514"
	w := l.writes()
	w.remember(before{Object: "port x", Setting: "*JumboPacket", Value: &one})
	w.apply()
	if _, ok := l.before("Port X", "*jumbopacket"); !ok {
		t.Error("the same keyword in another spelling is another record")
	}
}

func TestDebtsAreSettledByStarts(t *testing.T) {
	at := func(s string) time.Time {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	inv := &Inventory{
		OS:  &OSInfo{LocalDateTime: "2026-01-01T12:00:00.0000000Z", LastBootUpTime: "2026-01-01T08:00:00.0000000Z"},
		VMs: []VM{{ID: "run", State: "Running", Uptime: 3600}, {ID: "off", State: "Off"}},
	}
	for name, x := range map[string]struct {
		d    Debt
		want bool
	}{
		"adapter, before the boot": {Debt{Kind: RestartNetAdapter, Since: at("2026-01-01T07:00:00Z")}, true},
		"adapter, since the boot":  {Debt{Kind: RestartNetAdapter, Since: at("2026-01-01T09:00:00Z")}, false},
		"VM started since":         {Debt{Kind: RestartVM, TargetID: "RUN", Since: at("2026-01-01T10:00:00Z")}, true},
		"VM not started since":     {Debt{Kind: RestartVM, TargetID: "run", Since: at("2026-01-01T11:30:00Z")}, false},
		"VM is off":                {Debt{Kind: RestartVM, TargetID: "off", Since: at("2026-01-01T11:30:00Z")}, true},
		"VM is gone":               {Debt{Kind: RestartVM, TargetID: "gone", Since: at("2026-01-01T11:30:00Z")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inv.isSettled(x.d); got != x.want {
				t.Errorf("settled: %t, want %t", got, x.want)
			}
		})
	}
}

// A time that is not known is left out of a record: it would read as the year 1, which every boot is after.
func TestUnknownTimeInRecords(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	booted := &OSInfo{LastBootUpTime: "2026-03-02T00:00:00Z", LocalDateTime: "2026-03-03T00:00:00Z"}
	running := []VM{{ID: "v", State: "Running", Uptime: 60}}
	for name, tt := range map[string]struct {
		debt    Debt
		settled bool
		written bool
	}{
		"device, time known":         {Debt{Kind: RestartNetAdapter, TargetID: "0:1:0", Owner: "o", Since: at}, true, true},
		"device, time not known":     {Debt{Kind: RestartNetAdapter, TargetID: "0:1:0", Owner: "o"}, false, false},
		"in a guest, time known":     {Debt{Kind: RestartNetAdapter, TargetID: guestTargetPrefix + "v", Owner: "o", Since: at}, true, true},
		"in a guest, time not known": {Debt{Kind: RestartNetAdapter, TargetID: guestTargetPrefix + "v", Owner: "o"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{values: map[string]string{}}
			w := l.writes()
			w.owe(tt.debt)
			w.apply()
			for _, raw := range l.values {
				if strings.Contains(raw, "since") != tt.written || strings.Contains(raw, "0001-") {
					t.Errorf("written as %s", raw)
				}
			}
			inv := &Inventory{OS: booted, VMs: running, ledger: l}
			if _, settled := inv.openDebts(nil); len(settled) == 1 != tt.settled {
				t.Errorf("settled: %v, want %v", settled, tt.settled)
			}
		})
	}
	for name, tt := range map[string]struct {
		in   intent
		want bool
	}{
		"intent of an adapter, made without a clock": {intent{Kind: kindAdapter, VMID: "v", Name: "A"}, false},
		"intent of a switch":                         {intent{Kind: kindSwitch, Name: "S", Since: at}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{values: map[string]string{}}
			w := l.writes()
			w.intend(tt.in)
			w.apply()
			raw := l.values[tt.in.record()]
			if strings.Contains(raw, "since") != tt.want || strings.Contains(raw, "0001-") {
				t.Errorf("written as %s", raw)
			}
			if back, _, ok := l.intent(tt.in); !ok || !back.Since.Equal(tt.in.Since) {
				t.Errorf("read as %+v", back)
			}
		})
	}
}

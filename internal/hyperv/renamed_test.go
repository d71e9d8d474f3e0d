package hyperv

import (
	"maps"
	"slices"
	"testing"
)

func TestNowCalled(t *testing.T) {
	nics := []NetAdapter{{Name: "A2", InterfaceGuid: "{11111111-0000-0000-0000-000000000000}"}, {Name: "B", InterfaceGuid: "{22222222-0000-0000-0000-000000000000}"}}
	one, two, gone := "11111111-0000-0000-0000-000000000000", "{22222222-0000-0000-0000-000000000000}", "{33333333-0000-0000-0000-000000000000}"
	for name, tt := range map[string]struct {
		names []string
		known KnownPorts
		want  []string
	}{
		"nothing is known":                    {[]string{"A", "B"}, nil, []string{"A", "B"}},
		"renamed":                             {[]string{"a", "B"}, KnownPorts{"a": one, "b": two}, []string{"A2", "B"}},
		"known by another spelling":           {[]string{"A"}, KnownPorts{"a": one}, []string{"A2"}},
		"gone, and another one has the name":  {[]string{"B"}, KnownPorts{"b": gone}, []string{"B"}},
		"gone":                                {[]string{"X"}, KnownPorts{"x": gone}, []string{"X"}},
		"its name is another's":               {[]string{"B"}, KnownPorts{"b": one}, []string{"A2"}},
		"both names of one adapter are given": {[]string{"A", "A2"}, KnownPorts{"a": one}, []string{"A2"}},
		"none":                                {nil, KnownPorts{"a": one}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nowCalled(nics, tt.names, tt.known); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got, want := knowPorts(nics, []string{"A", "b", "X"}, KnownPorts{"a": one, "x": gone, "old": two}), (KnownPorts{"a": nics[0].InterfaceGuid, "b": nics[1].InterfaceGuid, "x": gone}); !maps.Equal(got, want) {
		t.Errorf("known are %v, want %v", got, want)
	}
}

// The records of a device that is gone go with its resource; those of others stay.
func TestForgetPorts(t *testing.T) {
	const mine, other = "{11111111-0000-0000-0000-00000000000A}", "{22222222-0000-0000-0000-000000000000}"
	spec := &NicSettingsSpec{Ports: []string{"A"}, Known: KnownPorts{"a": mine}}
	l := &ledger{values: map[string]string{}}
	w := l.writes()
	was := "1"
	for _, guid := range []string{mine, other} {
		w.remember(before{Object: portObject(NetAdapter{InterfaceGuid: guid}), Setting: keywordSriov, Value: &was})
	}
	w.claim("device 0:1:0", nicClaimant(spec.Ports))
	w.remember(before{Object: "device 0:1:0", Setting: "x", Value: &was})
	w.claim("device 0:2:0", nicClaimant([]string{"B"}))
	w.apply()
	w = l.writes()
	w.forgetPorts(spec)
	w.apply()
	if want := []string{beforeName(portObject(NetAdapter{InterfaceGuid: other}), keywordSriov), claimName("device 0:2:0")}; !slices.Equal(sorted(l.values), want) {
		t.Errorf("left are %q, want %q", sorted(l.values), want)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// entry is a line of the simulator's journal: a cmdlet call, or an event.
type entry struct {
	Host   string `json:"host"`
	Target string `json:"target"`
	Cmdlet string `json:"cmdlet"`
	Error  string `json:"error"`
	Event  string `json:"event"`
	Object string `json:"object"`
}

// restarts counts by the kinds that a plan announces.
type restarts struct {
	NetAdapter int `json:"net_adapter"` // bounces of a device, whatever the number of its ports
	VM         int `json:"vm"`
	GuestRdma  int `json:"guest_rdma"` // RDMA off and on again inside a guest
	Host       int `json:"host"`
}

// devices tells to which device of which host a port belongs.
type devices map[string]string

func portKey(host, port string) string { return strings.ToLower(host + "\x00" + port) }

// devicesOf reads them from the simulator's state.
func devicesOf(state []byte) (devices, error) {
	var lab struct {
		Hosts []struct {
			Name    string
			Devices []struct {
				Segment, Bus, Number int
				Ports                []struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal(state, &lab); err != nil {
		return nil, fmt.Errorf("GET /state: %w", err)
	}
	d := devices{}
	for _, h := range lab.Hosts {
		for _, device := range h.Devices {
			for _, port := range device.Ports {
				d[portKey(h.Name, port.Name)] = fmt.Sprintf("%s %d:%d.%d", h.Name, device.Segment, device.Bus, device.Number)
			}
		}
	}
	return d, nil
}

// byTarget counts restarts by what they hit: "net_adapter hv1 0:59.0", "vm hv1 vm1".
type byTarget map[string]int

// tooMany is an error that names every device and VM that was restarted more than once.
func (c byTarget) tooMany(step string) error {
	var lines []string
	for _, target := range slices.Sorted(maps.Keys(c)) {
		if c[target] > 1 {
			lines = append(lines, fmt.Sprintf("%s %d times", target, c[target]))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("more than one restart during %s: %s", step, strings.Join(lines, ", "))
}

// countRestarts reads them off the journal. Restarts of different ports of one device that follow each
// other are one bounce; the next begins when a port of it restarts once more.
func countRestarts(journal []entry, devices devices) (restarts, byTarget) {
	var r restarts
	targets := byTarget{}
	bounce := map[string]map[string]bool{} // device: the ports that its current bounce has restarted
	off := map[string]bool{}               // guest: RDMA was disabled on an adapter and not enabled since
	for _, e := range journal {
		switch {
		case e.Event == "net_adapter_restart":
			port := portKey(e.Host, e.Object)
			device, known := devices[port]
			if !known {
				device = port // a virtual adapter of the host is a device of its own
			}
			if bounce[device] == nil || bounce[device][port] {
				bounce[device] = map[string]bool{}
				r.NetAdapter++
				targets["net_adapter "+strings.ReplaceAll(device, "\x00", " ")]++
			}
			bounce[device][port] = true
		case e.Event == "vm_restart":
			r.VM++
			targets["vm "+e.Host+" "+e.Object]++
		case e.Event == "host_restart":
			r.Host++
		case !strings.HasPrefix(e.Target, "guest:") || e.Error != "":
		case strings.EqualFold(e.Cmdlet, "Disable-NetAdapterRdma"):
			off[e.Host+e.Target] = true
		case strings.EqualFold(e.Cmdlet, "Enable-NetAdapterRdma") && off[e.Host+e.Target]:
			off[e.Host+e.Target] = false
			r.GuestRdma++
		}
	}
	return r, targets
}

func printRestarts(out io.Writer, r restarts) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  NET ADAPTER DEVICES\tVMS\tGUEST RDMA\tHOSTS")
	fmt.Fprintf(w, "  %d\t%d\t%d\t%d\n", r.NetAdapter, r.VM, r.GuestRdma, r.Host)
	_ = w.Flush()
}

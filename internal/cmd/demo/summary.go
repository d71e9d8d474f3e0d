package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// summary is .demo/summary.json.
type summary struct {
	Lab        string               `json:"lab"`
	Engine     string               `json:"engine"`
	Scenario   string               `json:"scenario"`
	Resources  int                  `json:"resources"`   // created by the apply
	SecondPlan string               `json:"second_plan"` // "no changes", or what it wanted
	Readiness  map[string]readiness `json:"readiness"`   // by guest: the lab's output of that name
	Restarts   struct {
		Apply   *restarts `json:"apply"`
		Destroy *restarts `json:"destroy"`
	} `json:"restarts"`
	HTTPRequests        int64  `json:"http_requests"`
	PowerShellProcesses int64  `json:"powershell_processes"`
	Restored            *bool  `json:"restored"`          // null: not destroyed
	Control             string `json:"control,omitempty"` // with KEEP=1: the simulator that still runs
	PID                 int    `json:"pid,omitempty"`
	Error               string `json:"error,omitempty"`
}

func (s summary) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// refuseKept protects a lab that KEEP=1 left running: another run would delete its state.
func refuseKept(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var last summary
	if json.Valid(text) {
		err = json.Unmarshal(text, &last)
	}
	if err != nil || last.Control == "" {
		return err
	}
	kept := simulator{client: &http.Client{Timeout: 2 * time.Second}, ready: ready{Control: last.Control}}
	if _, err := kept.get(ctx, "/metrics"); err == nil {
		return fmt.Errorf("the simulator of an earlier run with KEEP=1 still runs; stop it first: kill %d", last.PID)
	}
	return nil // nobody answers: it was stopped
}

// readiness is what a lab says of one guest: at least ready, and how far it came.
type readiness map[string]any

func (r readiness) ready() bool { v, _ := r["ready"].(bool); return v }

func printReadiness(out io.Writer, guests map[string]readiness) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  GUEST\tREADY\tDETAIL")
	for _, guest := range slices.Sorted(maps.Keys(guests)) {
		var detail []string
		for _, key := range slices.Sorted(maps.Keys(guests[guest])) {
			if key != "ready" {
				detail = append(detail, fmt.Sprintf("%s=%v", key, guests[guest][key]))
			}
		}
		fmt.Fprintf(w, "  %s\t%t\t%s\n", guest, guests[guest].ready(), strings.Join(detail, " "))
	}
	_ = w.Flush()
}

// allReady is an error that names the guests in which RDMA is not ready.
func allReady(guests map[string]readiness) error {
	if len(guests) == 0 {
		return errors.New("the lab's output readiness names no guest")
	}
	var late []string
	for _, guest := range slices.Sorted(maps.Keys(guests)) {
		if !guests[guest].ready() {
			late = append(late, guest)
		}
	}
	if len(late) > 0 {
		return fmt.Errorf("not ready: %s", strings.Join(late, ", "))
	}
	return nil
}

// firstDifference shows the first line that two texts do not share.
func firstDifference(before, after []byte) string {
	a, b := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	for i := range max(len(a), len(b)) {
		was, is := "(end)", "(end)"
		if i < len(a) {
			was = strings.TrimSpace(a[i])
		}
		if i < len(b) {
			is = strings.TrimSpace(b[i])
		}
		if was != is || i >= min(len(a), len(b)) {
			return fmt.Sprintf("line %d was %s and is %s", i+1, was, is)
		}
	}
	return "only white space differs"
}

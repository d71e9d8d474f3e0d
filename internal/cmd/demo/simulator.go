package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ready is the line that the simulator prints when it listens.
type ready struct {
	Control string `json:"control"`
	PID     int    `json:"pid"`
	Hosts   []host `json:"hosts"`
	// GuestCredential logs on to every guest of the lab.
	GuestCredential *credential `json:"guest_credential"`
}

type credential struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

type host struct {
	Name      string `json:"name"`
	Address   string `json:"address"`
	HTTPSPort int    `json:"https_port"`
	Username  string `json:"username"`
	Password  string `json:"password"`
	CAFile    string `json:"ca_file"`
}

// simulator is a running hypervsim.
type simulator struct {
	cmd    *exec.Cmd
	exited chan struct{}
	log    string // file
	client *http.Client
	ready  ready
}

// startSimulator starts it in a process group of its own, with files instead of pipes, so that KEEP=1 can
// leave it behind.
func startSimulator(ctx context.Context, p programs, o options, dir string) (*simulator, error) {
	readyFile := filepath.Join(dir, "ready.json")
	s := &simulator{
		log: filepath.Join(dir, "hypervsim.log"), exited: make(chan struct{}),
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{Proxy: nil}},
	}
	stdout, err := os.OpenFile(readyFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := os.OpenFile(s.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	args := []string{"serve", "--scenario", o.scenario, "--engine", o.engine, "--listen", "127.0.0.1:0", "--tls"}
	if o.powershell != "" {
		args = append(args, "--powershell", o.powershell)
	}
	s.cmd = exec.Command(p.simulator, args...) // without a context: it must be able to outlive this process
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, stdout, stderr
	ownGroup(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = s.cmd.Wait(); close(s.exited) }()
	if err := s.waitReady(ctx, readyFile); err != nil {
		if !s.ended() {
			err = errors.Join(err, s.stop())
		}
		return nil, err
	}
	return s, nil
}

func (s *simulator) waitReady(ctx context.Context, file string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if line, _, whole := bytes.Cut(text, []byte("\n")); whole {
			if err := json.Unmarshal(line, &s.ready); err != nil {
				return fmt.Errorf("the simulator's ready line: %w", err)
			}
			if s.ready.Control == "" || len(s.ready.Hosts) == 0 {
				return errors.New("the simulator's ready line names no control address or no host")
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.exited:
			text, _ := os.ReadFile(s.log)
			return fmt.Errorf("the simulator ended before it was ready:\n%s", text)
		case <-tick.C:
		}
	}
}

// stop ends the simulator and looks that none of its processes stays.
func (s *simulator) stop() error {
	if s.ended() {
		return fmt.Errorf("the simulator ended by itself; its log is %s", s.log)
	}
	if err := terminate(s.cmd.Process); err != nil {
		return err
	}
	select {
	case <-s.exited:
	case <-time.After(15 * time.Second):
		return errors.Join(errors.New("the simulator does not stop: killed"), killGroup(s.cmd.Process.Pid))
	}
	if groupLeft(s.cmd.Process.Pid, 3*time.Second) {
		return errors.Join(errors.New("the simulator left processes behind: killed"), killGroup(s.cmd.Process.Pid))
	}
	return nil
}

func (s *simulator) ended() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// get reads from the control door.
func (s *simulator) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ready.Control+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %.200s", path, resp.Status, body)
	}
	return body, nil
}

func (s *simulator) journal(ctx context.Context) ([]entry, error) {
	body, err := s.get(ctx, "/journal")
	if err != nil {
		return nil, err
	}
	var entries []entry
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, fmt.Errorf("GET /journal: %w", err)
	}
	return entries, nil
}

// metrics of the control door.
type metrics struct {
	Requests  int64 `json:"requests"`
	Processes int64 `json:"processes"`
}

func (s *simulator) metrics(ctx context.Context) (metrics, error) {
	body, err := s.get(ctx, "/metrics")
	if err != nil {
		return metrics{}, err
	}
	var m metrics
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("GET /metrics: %w", err)
	}
	if m.Requests == 0 || m.Processes == 0 {
		return m, errors.New("GET /metrics counts no request or no process after an apply")
	}
	return m, nil
}

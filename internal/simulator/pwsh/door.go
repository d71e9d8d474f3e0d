package pwsh

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// question is a line from a process.
type question struct {
	Process    string                     `json:"process"`
	Operation  string                     `json:"operation"`
	Target     string                     `json:"target"`
	Session    string                     `json:"session"`
	Cmdlet     string                     `json:"cmdlet"`
	Set        string                     `json:"set"`
	Parameters map[string]json.RawMessage `json:"parameters"`
}

// reply is the model's answer as a line.
type reply struct {
	Objects  []any         `json:"objects,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Errors   []errorRecord `json:"errors,omitempty"`
	Open     *bool         `json:"open,omitempty"`
	Path     string        `json:"path,omitempty"`
}

type errorRecord struct {
	ID          string `json:"id"`
	Category    string `json:"category"`
	Target      any    `json:"target,omitempty"`
	TargetType  string `json:"targetType,omitempty"`
	Exception   string `json:"exception"`
	Message     string `json:"message"`
	HResult     string `json:"hresult,omitempty"`
	Terminating bool   `json:"terminating"`
}

func (e *Engine) accept() {
	defer e.serving.Done()
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return
		}
		e.serving.Add(1)
		go func() {
			defer e.serving.Done()
			e.serve(conn)
		}()
	}
}

// serve answers the lines of one process until it goes away.
func (e *Engine) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		answer, err := e.answer(line)
		if err != nil {
			answer = failed(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(text, '\n')); err != nil {
			return
		}
	}
}

func failed(err error) reply {
	return reply{Errors: []errorRecord{{ID: "SimulatorDoor", Category: "ConnectionError", Exception: "System.InvalidOperationException", Message: err.Error(), Terminating: true}}}
}

func (e *Engine) answer(line []byte) (reply, error) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return reply{}, err
	}
	host, target, ok := e.placeOf(q.Process)
	if !ok {
		return reply{}, fmt.Errorf("unknown process %q", q.Process)
	}
	if q.Target == "host" { // the machine that the process itself runs on
		q.Target = target
	}
	switch q.Operation {
	case "session":
		open := e.sessions == nil || e.sessions.SessionOpen(host, q.Target, q.Session)
		return reply{Open: &open}, nil
	case "modules":
		path, err := e.stubs.modules(e.available(host, q.Target))
		return reply{Path: path}, err
	case "call":
		return e.call(host, q)
	}
	return reply{}, errors.New("unknown operation " + q.Operation)
}

func (e *Engine) call(host string, q question) (reply, error) {
	x := e.catalog.Cmdlet(q.Cmdlet)
	if x == nil {
		return reply{}, fmt.Errorf("unknown cmdlet %q", q.Cmdlet)
	}
	bound := make(map[string]any, len(q.Parameters))
	for name, raw := range q.Parameters {
		v, err := decode(raw)
		if err != nil {
			return reply{}, fmt.Errorf("%s -%s: %w", x.Name, name, err)
		}
		bound[name] = v
	}
	session := q.Session
	if session == "" {
		session = q.Process
	}
	out := e.model.Invoke(cmdlet.Invocation{
		Host: host, Target: q.Target, Cmdlet: x.Name, Set: q.Set, Parameters: x.Canonical(bound), Session: session,
	})
	r := reply{Warnings: out.Warnings}
	for _, o := range out.Objects {
		r.Objects = append(r.Objects, encode(o))
	}
	for _, err := range out.Errors {
		record := errorRecord{
			ID: err.ID, Category: err.Category, TargetType: err.TargetType, Exception: err.Exception, Message: err.Message, HResult: err.HResult, Terminating: err.Terminating,
		}
		if err.Target != nil {
			record.Target = encode(err.Target)
		}
		r.Errors = append(r.Errors, record)
	}
	return r, nil
}

// decodeJSON decodes without losing digits.
func decodeJSON(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

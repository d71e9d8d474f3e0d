package simulator

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// CmdletRequest is a call that somebody else makes on a machine of the lab: drift.
type CmdletRequest struct {
	Host       string         `json:"host"`
	Target     string         `json:"target"` // host (default), or guest:<VM name or id>
	Cmdlet     string         `json:"cmdlet"`
	Parameters map[string]any `json:"parameters"`
}

// CmdletReply is what the call gave.
type CmdletReply struct {
	Output []any               `json:"output"`
	Errors []wire.CommandError `json:"errors"`
}

func (s *Server) postCmdlet(r *http.Request) (any, error) {
	text, err := body(r)
	if err != nil {
		return nil, err
	}
	var q CmdletRequest
	if err := decode(bytes.NewReader(text), &q); err != nil {
		return nil, err
	}
	return s.Cmdlet(q)
}

// Cmdlet runs an out-of-band call. It is bound like any other and stands in the journal, marked, but no
// counter of the provider's calls sees it.
func (s *Server) Cmdlet(q CmdletRequest) (*CmdletReply, error) {
	reply := &CmdletReply{Output: []any{}, Errors: []wire.CommandError{}}
	h := s.host(q.Host)
	vm, guest := strings.CutPrefix(q.Target, "guest:")
	switch {
	case h == nil:
		return nil, badRequestf("host %q: the lab has %s", q.Host, s.hostNames())
	case q.Cmdlet == "":
		return nil, badRequestf("cmdlet is missing")
	case q.Target == "":
		q.Target = "host"
	case q.Target != "host" && (!guest || vm == ""):
		return nil, badRequestf(`target %q is neither "host" nor "guest:<VM name or id>"`, q.Target)
	}
	parameters, err := arguments(q.Parameters)
	if err != nil {
		return nil, err
	}
	reference, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	command := reference.Cmdlet(q.Cmdlet)
	if command == nil {
		reply.fail(catalog.NotRecognized(q.Cmdlet), q.Cmdlet)
		return reply, nil
	}
	binding, problem := command.BindCall(parameters, nil)
	if problem != nil {
		reply.fail(problem, command.Name)
		return reply, nil
	}
	if whatIf, _ := binding.Common["WhatIf"].(bool); whatIf {
		return reply, nil
	}
	out := s.lab.InvokeOutOfBand(cmdlet.Invocation{
		Host: h.name, Target: q.Target, Cmdlet: command.Name, Set: binding.Set, Parameters: binding.Parameters, Session: "control",
	})
	s.model.follow(command.Name)
	for _, o := range out.Objects {
		reply.Output = append(reply.Output, plain(o, outputDepth))
	}
	for _, e := range out.Errors {
		reply.fail(e, command.Name)
	}
	return reply, nil
}

func (r *CmdletReply) fail(e *cmdlet.Error, activity string) {
	r.Errors = append(r.Errors, wire.CommandError{
		ID: e.ID, Category: e.Category, Activity: activity, TargetName: catalog.Text(e.Target), TargetType: e.TargetType,
		Exception: e.Exception, HResult: e.HResult, Message: e.Message,
	})
}

// arguments resolves the value forms that make sense outside of a batch.
func arguments(parameters map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(parameters))
	for name, v := range parameters {
		form, ok := v.(map[string]any)
		if !ok || len(form) != 1 {
			out[name] = v
			continue
		}
		out[name] = v
		for key, inner := range form {
			switch key {
			case wire.KeyGUID:
				g, ok := catalog.ParseGUID(catalog.Text(inner))
				if !ok {
					return nil, badRequestf("parameter %s: no GUID", name)
				}
				out[name] = g
			case wire.KeyCredential:
				c, _ := inner.(map[string]any)
				out[name] = cmdlet.Credential{User: catalog.Text(c["user"]), Password: catalog.Text(c["password"])}
			case wire.KeyRef, wire.KeySecurityDescriptor:
				return nil, badRequestf("parameter %s: %s refers to another call, and here is only one", name, key)
			}
		}
	}
	return out, nil
}

// outputDepth is how many levels of objects are printed; below that they become text.
const outputDepth = 2

// plain makes a value fit for JSON: enumerations by name, times in ISO 8601.
func plain(v any, depth int) any {
	switch v := v.(type) {
	case cmdlet.Typed:
		return plain(v.Value, depth)
	case cmdlet.Enum:
		return v.Name
	case cmdlet.GUID:
		return string(v)
	case cmdlet.Credential:
		return v.User
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case time.Duration:
		return v.Seconds()
	case *cmdlet.Object:
		if v == nil {
			return nil
		}
		if depth == 0 {
			return v.Text
		}
		out := make(map[string]any, len(v.Properties))
		for _, p := range v.Properties {
			out[p.Name] = plain(p.Value, depth-1)
		}
		return out
	case []*cmdlet.Object:
		out := make([]any, len(v))
		for i, o := range v {
			out[i] = plain(o, depth)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e, depth)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e, depth)
		}
		return out
	default:
		return v
	}
}

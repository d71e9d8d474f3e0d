package native

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/catalog"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// session is a kept PowerShell Direct session.
type session struct {
	target, id string
	group      string // whose calls ran last; its saved objects live as long as no other group's run
	names      saved
}

// of gives the objects that earlier calls of a group saved in the guest.
func (s *session) of(group string) saved {
	if s.group != group || s.names == nil {
		s.group, s.names = group, saved{}
	}
	return s.names
}

// guest is a virtual machine and user, resolved.
type guest struct {
	vm         cmdlet.GUID
	credential cmdlet.Credential
}

func (g guest) key() string {
	secret := sha256.Sum256([]byte(g.credential.Password))
	return string(g.vm) + "\n" + strings.ToUpper(g.credential.User) + "\n" + hex.EncodeToString(secret[:])
}

// group runs the calls of one group: an error stops it, calls to one guest run in one segment.
func (r *runner) group(id string, calls []*call) []wire.Result {
	results := []wire.Result{}
	names := saved{}
	for i := 0; i < len(calls) && !r.killed.Load(); i++ {
		c := calls[i]
		if c.Guest == nil {
			result, failed := r.call(c, place{target: r.target, session: r.id}, names)
			results = append(results, result)
			if failed && c.OnError != wire.OnErrorContinue {
				break
			}
			continue
		}
		g, err := resolveGuest(c.Guest, names)
		if err != nil {
			failure := *commandError(err, "")
			if failure.ID == wire.ErrorReferenceEmpty {
				failure.Message = "The virtual machine that this call refers to was not found."
			} else {
				failure.Session = true
			}
			more, stopped := failures([]*call{c}, failure)
			results = append(results, more...)
			if stopped {
				break
			}
			continue
		}
		segment := []*call{c}
		for i+1 < len(calls) && calls[i+1].Guest != nil {
			next, err := resolveGuest(calls[i+1].Guest, names)
			if err != nil || next.key() != g.key() {
				break
			}
			i++
			segment = append(segment, calls[i])
		}
		more, stopped := r.segment(id, segment, g)
		results = append(results, more...)
		if stopped {
			break
		}
	}
	return results
}

func resolveGuest(form *guestForm, names saved) (guest, *cmdlet.Error) {
	vm, err := resolve(form.VMID, names)
	if err != nil {
		return guest{}, err
	}
	id, err := guid(catalog.Text(vm))
	if err != nil {
		return guest{}, err
	}
	credential, err := resolve(form.Credential, names)
	if err != nil {
		return guest{}, err
	}
	c, _ := credential.(cmdlet.Credential)
	return guest{vm: id.(cmdlet.GUID), credential: c}, nil
}

// segment runs calls that follow one another in the same guest; an error that the session itself
// raises stands for each call that it kept from being answered.
func (r *runner) segment(group string, calls []*call, g guest) ([]wire.Result, bool) {
	kept := r.sessions[g.key()] != nil
	s, err := r.session(g)
	if err != nil {
		failure := *commandError(err, "New-PSSession")
		failure.Session = true
		return failures(calls, failure)
	}
	// Names of a guest's calls are its own: nothing of the host reaches the guest by reference.
	names := s.of(group)
	results := []wire.Result{}
	stopped := false
	for i, c := range calls {
		result, failed := r.call(c, place{target: s.target, session: s.id}, names)
		if broken := sessionError(result.Errors); broken != nil {
			delete(r.sessions, g.key())
			if i == 0 && kept && r.engine.sessions == nil {
				// The model could not be asked before: a script would have seen the session's state.
				return r.segment(group, calls, g)
			}
			failure := *broken
			failure.Session, failure.Started = true, true
			more, stopped := failures(calls[i:], failure)
			return append(results, more...), stopped
		}
		results = append(results, result)
		if failed && c.OnError != wire.OnErrorContinue {
			stopped = true
			break
		}
	}
	if r.engine.sessions != nil && !r.engine.sessions.SessionOpen(r.host, s.target, s.id) {
		// A guest that restarted while it ran the calls cannot answer any more.
		delete(r.sessions, g.key())
		return failures(calls, wire.CommandError{
			ID: "PSSessionStateBroken", Category: "OpenError", Reason: "PSRemotingTransportException", Activity: "Invoke-Command",
			Exception: "System.Management.Automation.Remoting.PSRemotingTransportException", HResult: "0x80131501", Session: true, Started: true,
			Message: "The session with the virtual machine has ended.",
		})
	}
	return results, stopped
}

// session gives a kept session that is still open, or opens one.
func (r *runner) session(g guest) (*session, *cmdlet.Error) {
	if s := r.sessions[g.key()]; s != nil {
		if r.engine.sessions == nil || r.engine.sessions.SessionOpen(r.host, s.target, s.id) {
			return s, nil
		}
		delete(r.sessions, g.key())
	}
	out, err := r.invoke("New-PSSession", map[string]any{"VMId": g.vm, "Credential": g.credential, "ErrorAction": "Stop"}, nil, place{target: r.target, session: r.id})
	if err != nil {
		return nil, err
	}
	for _, v := range out.objects {
		if o, ok := v.(*cmdlet.Object); ok {
			target, _ := o.Get("Target")
			id, _ := o.Get("InstanceId")
			s := &session{target: catalog.Text(target), id: catalog.Text(id)}
			r.sessions[g.key()] = s
			return s, nil
		}
	}
	return nil, &cmdlet.Error{ID: wire.ErrorGuestAnswer, Category: "InvalidData", Message: "New-PSSession gave no session.", Terminating: true}
}

// failures writes the same error for each call, up to one that stops the group.
func failures(calls []*call, failure wire.CommandError) ([]wire.Result, bool) {
	var results []wire.Result
	for _, c := range calls {
		results = append(results, wire.Result{Output: []json.RawMessage{}, Errors: []wire.CommandError{failure}, Warnings: []string{}})
		if c.OnError != wire.OnErrorContinue {
			return results, true
		}
	}
	return results, false
}

// sessionError finds an error that only the connection to a guest raises (errors.md section 6).
func sessionError(errors []wire.CommandError) *wire.CommandError {
	for i := range errors {
		id, _, _ := strings.Cut(errors[i].ID, ",")
		switch id {
		case "PSSessionStateBroken", "InvalidSessionState", "PSSessionOpenFailed", "InvalidVMState", "InvalidVMIdNotSingle", "JobFailure":
			return &errors[i]
		}
	}
	return nil
}

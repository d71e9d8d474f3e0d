package door

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"
)

// perform does one request. lost is true where a long poll ended because its client is gone; then
// nothing was taken from the command's output.
func (d *Door) perform(ctx context.Context, op string, r *request) (answer reply, lost bool) {
	if r.Header.ResourceURI != uriCmd {
		return d.fault(r, faultResource()), false
	}
	if op == "" {
		return d.fault(r, faultAction()), false
	}
	if op == OpCreate {
		return d.create(r), false
	}
	sh := d.enter(r.shellID())
	if sh == nil {
		return d.fault(r, faultNoShell()), false
	}
	defer sh.leave()
	switch op {
	case OpCommand:
		return d.command(r, sh), false
	case OpSend:
		return d.send(r, sh), false
	case OpReceive:
		return d.receive(ctx, r, sh)
	case OpSignal:
		return d.signal(r, sh), false
	default:
		d.removeShell(sh)
		return shellResponse(OpDelete, r, ""), false
	}
}

func (d *Door) create(r *request) reply {
	if d.cfg.Allowed != nil && !d.cfg.Allowed() {
		return d.fault(r, faultAccessDenied())
	}
	var env []string
	id, idle := "", d.limits.IdleTimeout
	if s := r.Body.Shell; s != nil {
		for _, v := range s.Variables {
			env = append(env, v.Name+"="+v.Value)
		}
		if t, ok := parseDuration(s.IdleTimeOut); ok && t > 0 && t < idle {
			idle = t
		}
		id = strings.ToUpper(strings.TrimSpace(s.ShellID))
	}
	sh, ok := d.openShell(id, env, idle)
	if !ok {
		return d.fault(r, faultMaxShells(d.limits.MaxShells))
	}
	resource := `<w:ResourceURI>` + uriCmd + `</w:ResourceURI>`
	// Both the selector and rsp:ShellId: clients look at one or the other.
	return shellResponse(OpCreate, r, `<x:ResourceCreated><a:Address>`+escape(r.url)+`</a:Address><a:ReferenceParameters>`+resource+
		`<w:SelectorSet><w:Selector Name="ShellId">`+escape(sh.id)+`</w:Selector></w:SelectorSet></a:ReferenceParameters></x:ResourceCreated>`+
		`<rsp:Shell><rsp:ShellId>`+escape(sh.id)+`</rsp:ShellId><rsp:ResourceUri>`+uriCmd+`</rsp:ResourceUri><rsp:Owner>`+escape(r.user)+`</rsp:Owner><rsp:ClientIP>`+escape(r.clientIP)+
		fmt.Sprintf(`</rsp:ClientIP><rsp:IdleTimeOut>PT%.3fS</rsp:IdleTimeOut>`, idle.Seconds())+
		`<rsp:InputStreams>stdin</rsp:InputStreams><rsp:OutputStreams>stdout stderr</rsp:OutputStreams><rsp:ShellRunTime>P0DT0H0M0S</rsp:ShellRunTime><rsp:ShellInactivity>P0DT0H0M0S</rsp:ShellInactivity></rsp:Shell>`)
}

func (d *Door) command(r *request, sh *shell) reply {
	cl := r.Body.CommandLine
	if cl == nil {
		return malformed()
	}
	line := strings.TrimSpace(cl.Command)
	for _, a := range cl.Arguments {
		line += " " + a
	}
	length := len(utf16.Encode([]rune(line)))
	if length > d.limits.DirectCommandLine {
		return d.fault(r, faultTooLong())
	}
	if !sh.admit(d.limits.MaxOperations) {
		return d.fault(r, faultMaxOperations(d.limits.MaxOperations))
	}
	c := newCommand(strings.ToUpper(strings.TrimSpace(cl.CommandID)))
	direct := strings.EqualFold(lookup(r.Header.Options, "WINRS_SKIP_CMD_SHELL"), "true")
	if !direct && length > d.limits.CommandLine {
		c.refuse("The command line is too long.\r\n", 1)
	} else {
		d.counters.processes.Add(1)
		p, err := d.cfg.Starter.Start(d.cfg.Host, line, sh.env)
		if err != nil {
			c.refuse(err.Error()+"\r\n", 1)
		} else {
			c.run(p)
		}
	}
	if !sh.add(c) {
		c.abort()
		return d.fault(r, faultAborted())
	}
	return shellResponse(OpCommand, r, `<rsp:CommandResponse><rsp:CommandId>`+escape(c.id)+`</rsp:CommandId></rsp:CommandResponse>`)
}

func (d *Door) send(r *request, sh *shell) reply {
	if r.Body.Send == nil {
		return malformed()
	}
	for _, stream := range r.Body.Send.Streams {
		c := sh.command(stream.CommandID)
		if c == nil {
			return d.fault(r, faultNoCommand())
		}
		if c.process == nil {
			return d.fault(r, faultAborted())
		}
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(stream.Data))
		if err != nil || stream.Name != "stdin" {
			return malformed()
		}
		busy, finished, err := c.write(data, strings.EqualFold(stream.End, "true"), r.timeout(d.limits.MaxTimeout))
		switch {
		case busy:
			return d.fault(r, faultBusy())
		case !finished:
			return d.fault(r, faultTimedOut())
		case err != nil:
			return d.fault(r, faultAborted())
		}
	}
	return shellResponse(OpSend, r, `<rsp:SendResponse/>`)
}

func (d *Door) receive(ctx context.Context, r *request, sh *shell) (reply, bool) {
	if r.Body.Receive == nil {
		return malformed(), false
	}
	desired := r.Body.Receive.DesiredStream
	c := sh.command(desired.CommandID)
	if c == nil {
		return d.fault(r, faultNoCommand()), false
	}
	names := strings.Fields(desired.Streams)
	wanted := func(stream string) bool {
		for _, n := range names {
			if n == stream {
				return true
			}
		}
		return len(names) == 0
	}
	switch c.await(ctx, r.timeout(d.limits.MaxTimeout), wanted) {
	case outputLost:
		return reply{}, true
	case outputNone:
		return d.fault(r, faultTimedOut()), false
	case outputAborted:
		return d.fault(r, faultAborted()), false
	case outputDone:
		return d.fault(r, faultNoCommand()), false
	}
	defer c.mu.Unlock()
	// The envelope without output tells how much output fits: base64 takes four characters for three bytes.
	room := r.maxEnvelope(d.limits.MaxEnvelope) - len(d.output(r, c, nil, true).body)
	chunks := c.take(wanted, func(stream string, available int) int {
		fits := max(0, (room-len(streamElement(stream, c.id, "", "")))/4*3)
		n := min(available, fits)
		room -= len(streamElement(stream, c.id, "", "")) + base64.StdEncoding.EncodedLen(n)
		return n
	})
	c.done = c.ended && !c.has(wanted)
	return d.output(r, c, chunks, c.done), false
}

func streamElement(name, commandID, attributes, data string) string {
	return `<rsp:Stream Name="` + name + `" CommandId="` + escape(commandID) + `"` + attributes + `>` + data + `</rsp:Stream>`
}

// output is the answer to a Receive. Done comes exactly once, with the end of both streams.
func (d *Door) output(r *request, c *command, chunks []chunk, done bool) reply {
	var b strings.Builder
	b.WriteString(`<rsp:ReceiveResponse>`)
	for _, ch := range chunks {
		b.WriteString(streamElement(ch.stream, c.id, "", base64.StdEncoding.EncodeToString(ch.data)))
	}
	state, exit := "Running", ""
	if done {
		state, exit = "Done", fmt.Sprintf(`<rsp:ExitCode>%d</rsp:ExitCode>`, c.code)
		b.WriteString(streamElement(stdout, c.id, ` End="true"`, "") + streamElement(stderr, c.id, ` End="true"`, ""))
	}
	b.WriteString(`<rsp:CommandState CommandId="` + escape(c.id) + `" State="` + uriShell + `/CommandState/` + state + `">` + exit + `</rsp:CommandState></rsp:ReceiveResponse>`)
	return shellResponse(OpReceive, r, b.String())
}

func (d *Door) signal(r *request, sh *shell) reply {
	if r.Body.Signal == nil {
		return malformed()
	}
	c := sh.command(r.Body.Signal.CommandID)
	if c == nil {
		return d.fault(r, faultNoCommand())
	}
	if code := strings.ToLower(strings.TrimSpace(r.Body.Signal.Code)); strings.HasSuffix(code, "terminate") {
		sh.remove(c)
	} else {
		c.kill() // ctrl_c ends a program that does not handle it; the command stays until it is terminated
	}
	return shellResponse(OpSignal, r, `<rsp:SignalResponse/>`)
}

// malformed answers a request that a schema check would refuse.
func malformed() reply { return reply{status: http.StatusBadRequest} }

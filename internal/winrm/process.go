package winrm

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/masterzen/winrm"
	"github.com/masterzen/winrm/soap"
)

const (
	// cleanUpTime bounds the removal of a shell that is of no more use.
	cleanUpTime = 10 * time.Second
	// signalTime bounds the request that ends a process ahead of its shell.
	signalTime = 2 * time.Second
)

// Process is one command in one shell of its own. It is half duplex: one method at a time.
type Process struct {
	t       *Transport
	par     *winrm.Parameters
	shell   string
	command string
}

// Start opens a shell and starts a command line in it, through cmd.exe. Errors are *OpError.
func Start(ctx context.Context, t *Transport, commandLine string) (*Process, error) {
	begun, restarted := time.Now(), false
	t.until = begun.Add(t.cfg.RetryBudget)
	defer func() { t.until = time.Time{} }()
	for {
		p := &Process{t: t, par: parameters(t.cfg)}
		result, err := p.start(ctx, commandLine)
		if err == nil {
			return p, nil
		}
		p.discard(ctx)
		switch {
		case ctx.Err() != nil, time.Since(begun) > t.cfg.RetryBudget:
			return nil, err
		case result == restart:
		case result == restartOnce && !restarted:
			restarted = true
		default:
			return nil, err
		}
		t.cfg.Log(ctx, "WinRM shell cannot be used, opening another", map[string]any{"error": err.Error()})
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (p *Process) start(ctx context.Context, commandLine string) (verdict, error) {
	create := newCreateRequest(p.t.url, p.par)
	result, err := p.t.post(ctx, OpCreate, create)
	if err != nil {
		var op *OpError
		if ctx.Err() != nil && errors.As(err, &op) && op.Sent {
			p.shell = p.askAgain(ctx, create)
		}
		return result.verdict, err
	}
	if p.shell, err = parseID(winrm.ParseOpenShellResponse(result.body)); err != nil {
		return fail, &OpError{Op: OpCreate, Tries: 1, Contact: p.t.contact(), Err: err}
	}
	result, err = p.t.post(ctx, OpCommand, newCommandRequest(p.t.url, p.shell, commandLine, p.par))
	if err != nil {
		return result.verdict, err
	}
	if p.command, err = parseID(winrm.ParseExecuteCommandResponse(result.body)); err != nil {
		return fail, &OpError{Op: OpCommand, Tries: 1, Sent: true, Contact: p.t.contact(), Err: err}
	}
	return fail, nil
}

// askAgain gives the id of a shell that may have been made for somebody who gave up meanwhile, so that it can be
// removed; "" where that cannot be found out.
func (p *Process) askAgain(ctx context.Context, create *soap.SoapMessage) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	result, err := p.t.post(ctx, OpCreate, create)
	if err != nil {
		return ""
	}
	id, _ := parseID(winrm.ParseOpenShellResponse(result.body))
	return id
}

// parseID refuses the empty id that masterzen's parsers give for an answer without one.
func parseID(id string, err error) (string, error) {
	if err == nil && id == "" {
		err = errors.New("the service's answer holds no id")
	}
	return id, err
}

// MaxLine is the largest Send that fits into one envelope.
func (p *Process) MaxLine() int { return (p.t.cfg.EnvelopeSize - 2048) / 4 * 3 }

// Send writes to stdin. It may do so more than once, so data is whole lines that mean the same when
// they arrive twice. An *OpError whose Sent is false says that no byte arrived.
func (p *Process) Send(ctx context.Context, data []byte) error {
	_, err := p.t.post(ctx, OpSend, winrm.NewSendInputRequest(p.t.url, p.shell, p.command, data, false, p.par))
	return err
}

// Receive waits for output for at most OperationTimeout and copies it; no output is no error. Done
// means that the process has ended with the exit code. Reposted means that output may have been
// lost: an answer did not arrive, and the service need not have kept it.
func (p *Process) Receive(ctx context.Context, stdout, stderr io.Writer) (done bool, code int, reposted bool, err error) {
	result, err := p.t.post(ctx, OpReceive, winrm.NewGetOutputRequest(p.t.url, p.shell, p.command, "stdout stderr", p.par))
	switch {
	case IsFault(err, CodeOperationTimeout):
		return false, 0, result.lost, nil
	case err != nil:
		return false, 0, result.lost, err
	}
	done, code, err = winrm.ParseSlurpOutputErrResponse(result.body, stdout, stderr)
	if err != nil {
		err = &OpError{Op: OpReceive, Tries: 1, Sent: true, Contact: p.t.contact(), Err: err}
	}
	return done, code, result.lost, err
}

// Close terminates the process and deletes the shell. A shell that is gone already is closed.
func (p *Process) Close(ctx context.Context) error {
	defer p.t.Reset()
	if p.command != "" {
		p.terminate(ctx)
	}
	if p.shell == "" {
		return nil
	}
	_, err := p.t.post(ctx, OpDelete, winrm.NewDeleteShellRequest(p.t.url, p.shell, p.par))
	return err
}

// terminate ends the process. Delete does so too; this only makes it sooner, so it must not use up the time.
func (p *Process) terminate(ctx context.Context) {
	limit := signalTime
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/3)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := p.t.Do(ctx, OpSignal, winrm.NewSignalRequest(p.t.url, p.shell, p.command, p.par)); err != nil {
		p.t.Reset()
	}
}

// discard closes without the caller's cancellation and without telling; the host's idle timeout does
// the rest where that fails.
func (p *Process) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	_ = p.Close(ctx)
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

// failed says what could not be done: "Unable to <verb> <thing>".
type failed struct {
	verb  string // create, read, update, delete, import
	thing string // `switch "X"`
	host  string // the host's name in the provider configuration
}

// addError is the one place where an error becomes a diagnostic.
func addError(diags *diag.Diagnostics, what failed, err error) {
	diags.Append(toDiagnostic(what, err, true))
}

// addWarning says the same as a warning, for what went wrong without harm to the rest.
func addWarning(diags *diag.Diagnostics, what failed, err error) {
	diags.Append(toDiagnostic(what, err, false))
}

// addNotes shows what went well enough but a person should know, as warnings.
func addNotes(diags *diag.Diagnostics, notes []hyperv.Note) {
	for _, n := range notes {
		diags.AddWarning(n.Summary, n.Detail)
	}
}

func toDiagnostic(what failed, err error, isError bool) diag.Diagnostic {
	summary := fmt.Sprintf("Unable to %s %s", what.verb, what.thing)
	detail, attribute := explain(what, err)
	at, ok := attributePath(attribute)
	switch {
	case ok && isError:
		return diag.NewAttributeErrorDiagnostic(at, summary, detail)
	case ok:
		return diag.NewAttributeWarningDiagnostic(at, summary, detail)
	case isError:
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewWarningDiagnostic(summary, detail)
}

// explain writes the lines of a detail, and the attribute at fault where it is known.
func explain(what failed, err error) (detail, attribute string) {
	var e *hyperv.Error
	if !errors.As(err, &e) {
		e = &hyperv.Error{Err: err}
	}
	host := e.Host
	if host == "" {
		host = what.host
	}
	cause, fix := e.Cause, e.Fix
	if cause == "" || fix == "" {
		below := err
		if e.Err != nil {
			below = e.Err
		}
		likely, next := transportAdvice(below)
		if cause == "" {
			cause = likely
		}
		if fix == "" {
			fix = next
		}
	}
	if fix == "" {
		fix = kindAdvice(e.Kind)
	}
	var lines []string
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	add("Host: ", host)
	add("Object: ", e.Object)
	add("Tried to: ", e.Op)
	if e.Attribute != "" {
		add("Attribute: ", strings.TrimSuffix(e.Attribute+" = "+e.Value, " = "))
	}
	add("Host said: ", saidByHost(e.Command))
	if e.Err != nil {
		add("Error: ", e.Err.Error())
	}
	add("Cause: ", cause)
	add("Next: ", fix)
	return strings.Join(lines, "\n"), e.Attribute
}

// causeAndFix is an error's explanation in one line.
func causeAndFix(err error) string {
	var e *hyperv.Error
	if errors.As(err, &e) {
		return strings.TrimSpace(e.Cause + " " + e.Fix)
	}
	return err.Error()
}

// saidByHost quotes an error record with its FullyQualifiedErrorId, which can be searched for in any language.
func saidByHost(c *wire.CommandError) string {
	if c == nil {
		return ""
	}
	message := strings.TrimSpace(c.Message)
	if c.Details != "" && c.Details != c.Message {
		message += " " + strings.TrimSpace(c.Details)
	}
	var notes []string
	for _, note := range []struct{ label, text string }{{"FullyQualifiedErrorId ", c.ID}, {"category ", c.Category}, {"in ", c.Activity}, {"", c.HResult}} {
		if note.text != "" {
			notes = append(notes, note.label+note.text)
		}
	}
	return fmt.Sprintf("%s (%s)", message, strings.Join(notes, ", "))
}

// kindAdvice is what to do where the layer below had no better idea.
func kindAdvice(k hyperv.Kind) string {
	switch k {
	case hyperv.NotFound:
		return "Check the name for its spelling, and that the object is on this host."
	case hyperv.Ambiguous:
		return "Rename one of the objects, or name it by its id."
	case hyperv.Unauthorized:
		return "Use a user who is a member of the Administrators group."
	case hyperv.SessionLost:
		return "Plan again: the provider reads what is there and continues from it."
	case hyperv.InUse:
		return "Free the object from what uses it, then apply again."
	case hyperv.TimedOut:
		return "Look at the host for what it is still doing, then apply again; raise the timeout if it only needs longer."
	}
	return ""
}

// transportAdvice explains errors of the way to the host.
func transportAdvice(err error) (cause, fix string) {
	var (
		auth   *winrm.AuthError
		cert   *winrm.CertificateError
		net    *winrm.NetError
		http   *winrm.HTTPError
		config *winrm.ConfigError
		lost   *powershell.LostError
	)
	switch {
	case errors.As(err, &auth):
		return authAdvice(auth)
	case errors.As(err, &cert):
		return certificateAdvice(cert)
	case errors.As(err, &config):
		return "The provider's configuration of this host cannot work.", "Correct it in hosts of the provider."
	case winrm.IsFault(err, winrm.CodeAccessDenied):
		return "The user may not use Windows Remote Management.", "Use a member of the host's Administrators group; for a local user, check LocalAccountTokenFilterPolicy."
	case winrm.IsFault(err, winrm.CodeMaxShells, winrm.CodeMaxOperations):
		return "The user has too many shells open on the host, of this or of other programs.", "Wait until they time out, lower max_sessions, or raise MaxShellsPerUser on the host."
	case errors.As(err, &http):
		return "Something answers at this address that is not Windows Remote Management.", "Check address, port and https of the host; a proxy may be in between."
	case errors.As(err, &lost) && lost.Started:
		return "The session was lost while the change may have been running.", "Plan again: the provider reads what is there and continues from it."
	case errors.As(err, &net):
		return netAdvice(net)
	case errors.As(err, &lost):
		return "The session on the host was lost before the work began.", "Apply again."
	case errors.Is(err, context.DeadlineExceeded):
		return "The time allowed for this operation is over.", "Look at the host for what it is still doing; raise the timeout in the resource's timeouts if it only needs longer."
	case errors.Is(err, context.Canceled):
		return "The run was cancelled.", "Plan again: the provider reads what is there and continues from it."
	}
	return "", ""
}

func authAdvice(e *winrm.AuthError) (cause, fix string) {
	if !e.OffersAuth() {
		return fmt.Sprintf("The host does not offer %s authentication; no password would be right.", e.Auth),
			`Allow it on the host (winrm set winrm/config/service/auth @{Basic="true"}), or choose another auth.`
	}
	return "User or password is wrong, or the user is disabled.", "Check user and password of the host; basic takes local users only, not those of a domain."
}

func certificateAdvice(e *winrm.CertificateError) (cause, fix string) {
	switch e.Problem {
	case winrm.CertificateUnknownAuthority:
		if e.CustomCA {
			return "The host's certificate was not issued by an authority in ca_cert or ca_file.", "Give the certificate of the authority that issued it."
		}
		return "The host's certificate is self-signed or issued by an authority that this machine does not trust.", "Give the authority's certificate in ca_cert or ca_file."
	case winrm.CertificateWrongName:
		names := ""
		if e.Certificate != nil {
			names = fmt.Sprintf(" It is for %s.", quotedList(append([]string{e.Certificate.Subject.CommonName}, e.Certificate.DNSNames...)))
		}
		return "The host's certificate is for another name than the address." + names, "Use that name as address, or give it as tls_server_name."
	}
	return "The host's certificate has expired, or is not meant for servers.", "Renew the certificate of the host's HTTPS listener."
}

func netAdvice(e *winrm.NetError) (cause, fix string) {
	switch {
	case e.NoSuchName():
		return "The host's address is a name that does not exist.", "Correct address of the host, or the name service."
	case e.NotTLS():
		return "What answers at this port does not speak TLS.", "Check port; an HTTP listener needs https = false and allow_unencrypted = true."
	case e.TLSRefused():
		return "The host ended the TLS handshake: it has no TLS version or cipher in common with the provider (TLS 1.2 or later).", "Enable TLS 1.2 on the host."
	case e.Refused():
		return "Nothing listens at this address and port.", "Enable Windows Remote Management on the host (winrm quickconfig), check address and port, and the firewall."
	}
	return "The host cannot be reached.", "Check that it is on, its address and port, and firewalls in between."
}

// attributePath reads the path that an error names: a.b, a["key"], a[0].
func attributePath(s string) (path.Path, bool) {
	name, rest := cutName(s)
	if name == "" {
		return path.Empty(), false
	}
	p := path.Root(name)
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "."):
			name, rest = cutName(rest[1:])
			if name == "" {
				return path.Empty(), false
			}
			p = p.AtName(name)
		case strings.HasPrefix(rest, "["):
			var key any
			var ok bool
			if key, rest, ok = cutKey(rest); !ok {
				return path.Empty(), false
			}
			switch key := key.(type) {
			case string:
				p = p.AtMapKey(key)
			case int:
				p = p.AtListIndex(key)
			}
		default:
			return path.Empty(), false
		}
	}
	return p, true
}

func cutName(s string) (name, rest string) {
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

// cutKey takes ["key"] or [0] off the front.
func cutKey(s string) (key any, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(s[1:]); err == nil {
		text, err := strconv.Unquote(quoted)
		rest, ok = strings.CutPrefix(s[1+len(quoted):], "]")
		return text, rest, ok && err == nil
	}
	inside, rest, ok := strings.Cut(s[1:], "]")
	n, err := strconv.Atoi(inside)
	return n, rest, ok && err == nil && n >= 0
}

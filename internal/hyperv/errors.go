package hyperv

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
)

// Kind sorts errors by what a caller can do about them.
type Kind int

// Kinds of errors.
const (
	Other        Kind = iota // anything else the host said
	NotFound                 // the object is proven absent
	Ambiguous                // a name fits several objects
	Unauthorized             // the user lacks a right, or a credential is wrong
	Unsupported              // this host, guest, driver or edition cannot do it
	SessionLost              // the connection broke while a change may have run
	InUse                    // something else holds the object
	TimedOut                 // waited for something that did not come
	Invalid                  // the value breaks a rule
	Conflict                 // it exists already, or another resource owns it
	Unreachable              // the guest cannot be reached
)

// String is the kind's name, for logs.
func (k Kind) String() string {
	return [...]string{"other", "not found", "ambiguous", "unauthorized", "unsupported", "session lost", "in use", "timed out", "invalid", "conflict", "unreachable"}[k]
}

// Error is an error of the domain: what was tried on which object, what the host said, the likely
// cause and the next thing to do.
type Error struct {
	Kind      Kind
	Op        string             // "create the switch": reads after "unable to"
	Host      string             // the host's name in the provider configuration
	Object    string             // `switch "W2K16-Switch"`
	Attribute string             // the attribute at fault, in Terraform's spelling; may be empty
	Value     string             // its value; may be empty
	Cause     string             // one sentence: the rule that was broken, or the likely cause
	Fix       string             // one sentence: what to do next
	Command   *wire.CommandError // what the host said, if it said anything
	Err       error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unable to %s", e.Op)
	if e.Object != "" {
		fmt.Fprintf(&b, " (%s)", e.Object)
	}
	if e.Host != "" {
		fmt.Fprintf(&b, " on %s", e.Host)
	}
	for _, s := range []string{e.Cause, commandText(e.Command), errText(e.Err), e.Fix} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}

// Unwrap gives the error below.
func (e *Error) Unwrap() error { return e.Err }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func commandText(c *wire.CommandError) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s [%s]", c.Message, c.ID)
}

// KindOf is the kind of the first Error in err's chain, or Other.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Other
}

// IsNotFound says that the object is proven absent.
func IsNotFound(err error) bool { return KindOf(err) == NotFound }

// idHead is the part of a FullyQualifiedErrorId before the first comma: the rest is the cmdlet.
func idHead(c wire.CommandError) string {
	head, _, _ := strings.Cut(c.ID, ",")
	return head
}

// commandKind reads id and category, never the message: messages come in the host's language (errors.md 0).
func commandKind(c wire.CommandError) Kind {
	head := idHead(c)
	switch {
	case c.Session:
		return Unreachable
	case head == "CommandNotFoundException":
		return Unsupported
	case strings.HasPrefix(head, "CmdletizationQuery_NotFound"), head == "ObjectNotFound", head == "PathNotFound", c.Category == "ObjectNotFound":
		return NotFound
	case head == "AccessDenied", head == "Windows System Error 5", head == "HRESULT 0x80070005", c.Category == "PermissionDenied", c.Category == "SecurityError":
		return Unauthorized
	case head == "ObjectInUse", c.Category == "ResourceBusy":
		return InUse
	case head == "InvalidState":
		return Conflict
	case head == "InvalidParameter", head == "Windows System Error 87", c.Category == "InvalidArgument", c.Category == "InvalidData":
		return Invalid
	case c.Category == "ResourceExists", head == "Windows System Error 183":
		return Conflict
	}
	return Other
}

// notFoundByName is what Hyper-V's Get- cmdlets say when a name or id fits nothing (errors.md 1).
func notFoundByName(c wire.CommandError) bool {
	head := idHead(c)
	return commandKind(c) == NotFound || (head == "InvalidParameter" && c.Category == "InvalidArgument" && strings.Contains(c.ID, ".Get"))
}

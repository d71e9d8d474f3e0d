// Package wire is the data that crosses the line between the Go side and runner.ps1: batches of
// cmdlet calls in, results out. Both the client (internal/powershell) and the simulator's native
// engine speak it; nothing else is shared between them.
package wire

import "encoding/json"

// Request is one batch. Calls run in order, in one go, in one PowerShell process.
type Request struct {
	Calls []Call `json:"calls"`
}

// Call is one cmdlet call as data. Values only ever travel as JSON and are splatted by the runner:
// nothing of a user is parsed as PowerShell.
type Call struct {
	// Cmdlet is the cmdlet's name as Microsoft documents it.
	Cmdlet string `json:"cmdlet"`
	// Parameters holds scalars, arrays of them, and the value forms below (Ref, Credential, …).
	Parameters map[string]any `json:"parameters,omitempty"`
	// Input names an earlier call's saved output, whose objects are piped into this call.
	// With no objects the call does not run: Result.Skipped is true.
	Input string `json:"input,omitempty"`
	// Save keeps the live objects that passed Where under a name for Ref and Input of later calls.
	Save string `json:"save,omitempty"`
	// Where keeps only objects of which every condition holds.
	Where []Condition `json:"where,omitempty"`
	// Select projects properties. Empty: every property of the object (two levels).
	Select []Field `json:"select,omitempty"`
	// OnError says what an error record does to the calls behind this one: "" or "stop", "continue".
	OnError string `json:"onError,omitempty"`
	// Depth bounds nested objects in the output; 0 means 2.
	Depth int `json:"depth,omitempty"`
	// Guest, when set, runs the call inside a virtual machine, by PowerShell Direct.
	Guest *Guest `json:"guest,omitempty"`
}

// Values of Call.OnError.
const (
	OnErrorStop     = "stop"
	OnErrorContinue = "continue"
)

// Condition is exact equality of a property with one of the given texts, ignoring case
// (OrdinalIgnoreCase). Wildcards have no meaning here. An array property holds when any element does.
type Condition struct {
	Property string   `json:"property"` // may be a path: ParentAdapter.Id
	Equals   []string `json:"equals"`
}

// Field projects one property: Name is the key in the output, Path the property path (default Name).
// Fields, where given, project the objects found there.
type Field struct {
	Name   string  `json:"name"`
	Path   string  `json:"path,omitempty"`
	Fields []Field `json:"fields,omitempty"`
}

// Guest is a virtual machine as the target of a call. The runner keeps one PowerShell Direct session
// per VM and user. VMID is a GUID text or a Ref to one (an object of the host, never of a guest).
// Inside a guest Save, Ref and Input reach only calls of the same batch to the same guest.
type Guest struct {
	VMID       any        `json:"vmId"`
	Credential Credential `json:"credential"`
}

// Value forms. Each marshals to an object with a single key that starts with "$".

// Ref passes the live objects of an earlier call of the same batch (all of them, or the one at Index;
// Path walks properties first). A Ref that finds nothing fails its call with ID ErrorReferenceEmpty.
type Ref struct {
	Call  string
	Index *int
	Path  string
}

// First is a Ref to the first object of an earlier call.
func First(call string) Ref { zero := 0; return Ref{Call: call, Index: &zero} }

// FirstProperty is a Ref to a property of the first object of an earlier call.
func FirstProperty(call, path string) Ref {
	zero := 0
	return Ref{Call: call, Index: &zero, Path: path}
}

// Credential becomes a PSCredential. It never appears in logs.
type Credential struct{ User, Password string }

// GUID becomes a System.Guid.
type GUID string

// SecurityDescriptor takes the object that an earlier Get-Acl returned, sets its SDDL form
// (SetSecurityDescriptorSddlForm) and passes it, for Set-Acl -AclObject.
type SecurityDescriptor struct{ Call, SDDL string }

func (r Ref) MarshalJSON() ([]byte, error) {
	in := map[string]any{"call": r.Call}
	if r.Index != nil {
		in["index"] = *r.Index
	}
	if r.Path != "" {
		in["path"] = r.Path
	}
	return json.Marshal(map[string]any{KeyRef: in})
}

func (c Credential) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{KeyCredential: map[string]string{"user": c.User, "password": c.Password}})
}

// String hides the password wherever a credential is printed.
func (c Credential) String() string { return c.User }

// GoString hides the password from %#v.
func (c Credential) GoString() string { return "wire.Credential{User: " + c.User + "}" }

func (g GUID) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{KeyGUID: string(g)})
}

func (s SecurityDescriptor) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{KeySecurityDescriptor: map[string]string{"call": s.Call, "sddl": s.SDDL}})
}

// Keys of the value forms.
const (
	KeyRef                = "$ref"
	KeyCredential         = "$cred"
	KeyGUID               = "$guid"
	KeySecurityDescriptor = "$sddl"
)

// Reply answers a Request. Results has one entry per call that was reached: a call behind one that
// stopped the batch has none. Failure is an error of the batch as a whole.
type Reply struct {
	Results []Result      `json:"results"`
	Failure *CommandError `json:"failure,omitempty"`
}

// Result is what one call gave.
type Result struct {
	Output       []json.RawMessage `json:"output"`
	Errors       []CommandError    `json:"errors"`
	Warnings     []string          `json:"warnings"`
	Milliseconds int64             `json:"ms"`
	Skipped      bool              `json:"skipped,omitempty"`
}

// CommandError is an error record. Match ID (up to the first comma) and Category, never Message:
// messages come in the host's language (errors.md section 0).
type CommandError struct {
	ID         string `json:"id"`
	Category   string `json:"category"`
	Reason     string `json:"reason,omitempty"`   // CategoryInfo.Reason
	Activity   string `json:"activity,omitempty"` // CategoryInfo.Activity: the cmdlet
	TargetName string `json:"targetName,omitempty"`
	TargetType string `json:"targetType,omitempty"`
	Exception  string `json:"exception,omitempty"`
	HResult    string `json:"hresult,omitempty"`
	Message    string `json:"message"`
	Details    string `json:"details,omitempty"`
	Inner      string `json:"inner,omitempty"`
	// Session is true when the error is about reaching the guest, not about the call itself.
	Session bool `json:"session,omitempty"`
}

// IDs of errors that the runner itself raises.
const (
	ErrorReferenceEmpty = "RunnerReferenceEmpty" // a Ref found no object
	ErrorRunner         = "RunnerException"      // anything unexpected in the runner
	ErrorGuestAnswer    = "RunnerGuestAnswer"    // a guest's answer was no valid, bounded text
)

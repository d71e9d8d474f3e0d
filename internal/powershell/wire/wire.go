// Package wire is the data that crosses the line between the Go side and runner.ps1: batches of
// cmdlet calls in, results out. Both the client (internal/powershell) and the simulator's native
// engine speak it; nothing else is shared between them.
//
// # Values in results
//
// null, booleans, numbers and texts are themselves. Enums are texts, their names. A GUID is
// lower-case text without braces. A date is text, 2006-01-02T15:04:05.0000000Z. A time span is a
// number of seconds. A byte array is base64 text. Addresses, versions and types are their text; a
// secret (SecureString) is null. Any other array is an array, also with one element or none; any
// other object is an object of its properties, or its ToString text below Depth.
//
// # Property paths
//
// A path is property names joined by dots, ignoring case. Through null, or a property that is not
// there, it gives null. Through an array it gives an array: each element's value in turn (null
// included), with the elements of a value that is an array itself put in its place.
package wire

import "encoding/json"

// Request is one batch: groups of calls, run in order, in one go, in one PowerShell process. As JSON:
//
//	{"groups": [[call, call, …], [call, …], …]}
//
// Groups are independent of each other, so that callers who know nothing of one another can share a
// batch: an error stops only the rest of its own group, and names given by Save are seen only by
// Ref, Input and SecurityDescriptor of the same group (two groups may use the same name).
type Request struct {
	Groups [][]Call `json:"groups"`
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
	// Depth is how many levels of objects the output has, the object itself included; an object below
	// becomes text. Arrays and Fields add no level. 0 means 2.
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
// (OrdinalIgnoreCase). Wildcards have no meaning here. The texts are those of the package comment,
// numbers as in JSON, booleans "true" and "false", null "". An array property holds when any element
// does, so an empty one never.
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
	// Name is the machine's name, by which the client knows guests that it reaches without their host.
	// It is not sent.
	Name string `json:"-"`
	// State is where the batch reads the machine's state, if it does: the client does not try to reach without
	// its host a guest whose machine does not run. It is not sent either: PowerShell Direct looks for itself.
	State *Ref `json:"-"`
}

// Value forms. Each marshals to an object with a single key that starts with "$".

// Ref passes the live objects of an earlier call of the same batch (all of them, or the one at Index;
// Path walks properties first, and then Index counts what it gave). Without Index nulls are left out,
// a single object is passed as itself and several as an array. A Ref that finds nothing, or null at
// Index, fails its call with ID ErrorReferenceEmpty.
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

// Reply answers a Request. Groups has one entry per group of the request, in its order, with one
// Result per call that was reached: a call behind one that stopped its group has none. Failure is an
// error of the batch as a whole; Groups is then empty. As JSON:
//
//	{"groups": [[result, result, …], [result, …], …]}
//
// Where the calls of a guest were answered by the guest itself, one entry stands for all of them:
//
//	{"guest": "<base64 of {\"results\": [result, …]} in UTF-8>", "calls": 3}
//
// because the host passes on what a guest says without looking into it. "calls" is how many calls of
// the request the entry answers for; unless it is the last of its group, it must hold a result for
// each. Decoding puts the results where they belong, so only writers of replies have to know; a
// writer that does not run guests apart may as well write plain results.
type Reply struct {
	Groups  [][]Result    `json:"groups"`
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
	// Started, only with Session, is true when the session broke after the calls had been handed to
	// the guest, so that they may have run there.
	Started bool `json:"started,omitempty"`
	// Cause is why, where the client itself did not reach a guest. It is not sent.
	Cause error `json:"-"`
}

// IDs of errors that the runner itself raises.
const (
	ErrorReferenceEmpty = "RunnerReferenceEmpty" // a Ref found no object
	ErrorRunner         = "RunnerException"      // anything unexpected in the runner
	ErrorGuestAnswer    = "RunnerGuestAnswer"    // a guest's answer was no valid, bounded text
)

// IDs of errors on the client's own way to a guest, always with Session.
const (
	ErrorGuestNotRunning = "InvalidVMState"        // its machine does not run; PowerShell Direct says the same (errors.md 6)
	ErrorGuestConnection = "GuestConnectionFailed" // nothing answered as Windows Remote Management
	ErrorGuestRefused    = "GuestLogonRefused"     // it answered and did not let the credential in
	ErrorGuestLost       = "GuestSessionLost"      // the PowerShell process in the guest is gone
)

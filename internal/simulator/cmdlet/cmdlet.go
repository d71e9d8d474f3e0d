// Package cmdlet is the vocabulary between the simulator's engines and its model: a bound call goes
// in, objects, errors and warnings come out. An engine (native or powershell) binds parameters; the
// model (package lab) answers; neither knows how the other works.
package cmdlet

import (
	"strings"
	"time"
)

// Invocation is one call after parameter binding. The values of Parameters are nil, bool, string,
// int64, uint64, float64, time.Time, Enum, GUID, Credential, *Object, map[string]any, *Security or
// []any of these. Names are the catalogue's own (aliases resolved); switches are true; a parameter of
// an array type is always []any; enum parameters are Enum.
type Invocation struct {
	Host       string
	Target     string // "host" or "guest:<VM id>"
	Cmdlet     string
	Set        string // parameter set
	Parameters map[string]any
	Session    string // id of the PowerShell process (or guest session) that calls
}

// Output is the model's answer, in stream order within each kind.
type Output struct {
	Objects  []*Object
	Errors   []*Error
	Warnings []string
}

// Object is what a cmdlet returns. Types is the list of .NET or ETS type names, most derived first.
// Ref identifies the thing in the model; scripts cannot see it. Text is ToString().
type Object struct {
	Types      []string
	Ref        string
	Text       string
	Properties []Property
}

// Property keeps the order in which Windows prints.
type Property struct {
	Name  string
	Value any
}

// Get finds a property, ignoring case as PowerShell does.
func (o *Object) Get(name string) (any, bool) {
	for _, p := range o.Properties {
		if strings.EqualFold(p.Name, name) {
			return p.Value, true
		}
	}
	return nil, false
}

// Enum is an enumeration value; Type is the full .NET name.
type Enum struct {
	Type   string
	Name   string
	Number int64
}

// GUID is a System.Guid in lower-case text without braces.
type GUID string

// Credential is a PSCredential.
type Credential struct{ User, Password string }

// Typed pins the .NET type of a number (System.UInt32, System.UInt64, System.UInt16, System.Byte…)
// where scripts would see the difference. Engines that do not care use Value.
type Typed struct {
	Type  string
	Value any
}

// Security is what Get-Acl returns: an object whose SDDL a script may replace before Set-Acl.
type Security struct {
	Path  string
	Owner string
	SDDL  string
}

// Error is an error record. ID carries its tail (errors.md); engines keep it as it is.
type Error struct {
	ID          string
	Category    string
	Target      any // object or text named in CategoryInfo
	TargetType  string
	Exception   string // full .NET name of the exception
	Message     string
	HResult     string
	Terminating bool
}

func (e *Error) Error() string { return e.Message + " [" + e.ID + "]" }

// Model answers bound calls. It is safe for concurrent use.
type Model interface {
	// Invoke runs one call and writes it to the journal.
	Invoke(Invocation) Output
	// Available says whether this host (or guest) has the cmdlet at all: an older build lacks
	// some, for example Set-VMNetworkAdapterRdma before Windows 10 1703 (facts.md 4).
	Available(host, target, cmdlet string) bool
	// Now is the lab's clock.
	Now() time.Time
}

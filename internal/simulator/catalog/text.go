package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// Text is [string]$value.
func Text(v any) string {
	switch v := unwrap(v).(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'G', -1, 64)
	case time.Time:
		return v.UTC().Format("01/02/2006 15:04:05")
	case cmdlet.Enum:
		return v.Name
	case cmdlet.GUID:
		return string(v)
	case cmdlet.Credential:
		return "System.Management.Automation.PSCredential"
	case *cmdlet.Security:
		return "System.Security.AccessControl.DirectorySecurity"
	case *cmdlet.Object:
		return ObjectText(v)
	case map[string]any:
		return "System.Collections.Hashtable"
	case []any:
		return joined(v)
	default:
		return fmt.Sprint(v)
	}
}

func joined(list []any) string {
	parts := make([]string, 0, len(list))
	for _, e := range list {
		parts = append(parts, Text(e))
	}
	return strings.Join(parts, " ")
}

// ObjectText is ToString() of an object: its own text, else what .NET prints for its class, else the
// form that PowerShell gives a bag of properties.
func ObjectText(o *cmdlet.Object) string {
	switch {
	case o == nil:
		return ""
	case o.Text != "":
		return o.Text
	case !isBag(o):
		class, _, _ := strings.Cut(o.Types[0], "#")
		return class
	}
	parts := make([]string, 0, len(o.Properties))
	for _, p := range o.Properties {
		parts = append(parts, p.Name+"="+Text(p.Value))
	}
	return "@{" + strings.Join(parts, "; ") + "}"
}

// ScalarOf is the plain value, a text or True, that a cmdlet returns as an object whose only property
// has no name.
func ScalarOf(o *cmdlet.Object) (any, bool) {
	if o == nil || len(o.Properties) != 1 || o.Properties[0].Name != "" {
		return nil, false
	}
	return o.Properties[0].Value, true
}

func isBag(o *cmdlet.Object) bool {
	return len(o.Types) == 0 || o.Types[0] == "System.Management.Automation.PSCustomObject"
}

// typeName is the .NET type that a script would see.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "System.String"
	case bool:
		return "System.Boolean"
	case int64:
		if v >= -1<<31 && v < 1<<31 {
			return "System.Int32"
		}
		return "System.Int64"
	case uint64:
		return "System.UInt64"
	case float64:
		return "System.Double"
	case time.Time:
		return "System.DateTime"
	case cmdlet.Enum:
		return v.Type
	case cmdlet.GUID:
		return "System.Guid"
	case cmdlet.Credential:
		return "System.Management.Automation.PSCredential"
	case map[string]any:
		return "System.Collections.Hashtable"
	case []any:
		return "System.Object[]"
	case *cmdlet.Object:
		if isBag(v) {
			return "System.Management.Automation.PSCustomObject"
		}
		return v.Types[0]
	}
	return "System.Object"
}

package lab

import (
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
)

// prop is a property.
func prop(name string, value any) cmdlet.Property { return cmdlet.Property{Name: name, Value: value} }

// Numbers of a pinned .NET type: a script that prints JSON or compares types sees the difference.
func i8(n int) cmdlet.Typed     { return cmdlet.Typed{Type: "System.SByte", Value: int64(n)} }
func u8(n int) cmdlet.Typed     { return cmdlet.Typed{Type: "System.Byte", Value: int64(n)} }
func u16(n int) cmdlet.Typed    { return cmdlet.Typed{Type: "System.UInt16", Value: int64(n)} }
func u32(n int) cmdlet.Typed    { return cmdlet.Typed{Type: "System.UInt32", Value: int64(n)} }
func i32(n int) cmdlet.Typed    { return cmdlet.Typed{Type: "System.Int32", Value: int64(n)} }
func u64(n uint64) cmdlet.Typed { return cmdlet.Typed{Type: "System.UInt64", Value: n} }

// list is an array property of texts.
func list(texts ...string) []any {
	out := make([]any, 0, len(texts))
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

// cim is a CIM instance with both names of its class, as CDXML parameters name them.
func cim(namespace, class, ref, text string, properties ...cmdlet.Property) *cmdlet.Object {
	return &cmdlet.Object{
		Types: []string{
			"Microsoft.Management.Infrastructure.CimInstance#" + namespace + "/" + class,
			"Microsoft.Management.Infrastructure.CimInstance#" + class,
			"Microsoft.Management.Infrastructure.CimInstance",
		},
		Ref: ref, Text: text, Properties: properties,
	}
}

// standardCim is an instance of ROOT/StandardCimv2: NetAdapter, NetTCPIP.
func standardCim(class, ref, text string, properties ...cmdlet.Property) *cmdlet.Object {
	return cim("ROOT/StandardCimv2", class, ref, text, properties...)
}

// cdxmlEnum is a value of an enumeration that a CDXML module generates.
func cdxmlEnum(module, enum, name string, number int64) cmdlet.Enum {
	return cmdlet.Enum{Type: "Microsoft.PowerShell.Cmdletization.GeneratedTypes." + module + "." + enum, Name: name, Number: number}
}

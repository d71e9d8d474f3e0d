package provider

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/hyperv"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/powershell/wire"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/winrm"
)

func TestAddError(t *testing.T) {
	said := &wire.CommandError{ID: "InvalidParameter,Microsoft.HyperV.PowerShell.Commands.SetVMNetworkAdapter", Category: "InvalidArgument", Activity: "Set-VMNetworkAdapter", Message: "Der Wert ist ungültig.\n"}
	netErr := func(err error) error {
		return &winrm.OpError{Op: winrm.OpCreate, Tries: 3, Err: &winrm.NetError{Op: winrm.OpCreate, URL: "https://hv1:5986/wsman", Err: err}}
	}
	tests := []struct {
		name  string
		err   error
		path  path.Path // Empty: none
		wants []string
	}{
		{"everything", &hyperv.Error{Kind: hyperv.Invalid, Op: "set the weight", Host: "hv2", Object: `adapter "x"`, Attribute: "iov_weight", Value: "101", Cause: "It is 0 to 100.", Fix: "Lower it.", Command: said},
			path.Root("iov_weight"), []string{"Host: hv2\n", "Object: adapter \"x\"\n", "Tried to: set the weight\n", "Attribute: iov_weight = 101\n",
				"Host said: Der Wert ist ungültig. (FullyQualifiedErrorId InvalidParameter,Microsoft.HyperV.PowerShell.Commands.SetVMNetworkAdapter, category InvalidArgument, in Set-VMNetworkAdapter)\n",
				"Cause: It is 0 to 100.\n", "Next: Lower it."}},
		{"wrapped", fmt.Errorf("outside: %w", &hyperv.Error{Kind: hyperv.NotFound, Object: "VM"}), path.Empty(), []string{"Host: hv1\n", "Object: VM", "Next: Check the name"}},
		{"nested attribute", &hyperv.Error{Attribute: "vlan.id"}, path.Root("vlan").AtName("id"), nil},
		{"map key", &hyperv.Error{Attribute: `advanced_properties["*Speed.Duplex]"]`}, path.Root("advanced_properties").AtMapKey("*Speed.Duplex]"), nil},
		{"list index", &hyperv.Error{Attribute: "net_adapter_names[1]"}, path.Root("net_adapter_names").AtListIndex(1), nil},
		{"no attribute that could be read", &hyperv.Error{Attribute: "a[x]"}, path.Empty(), []string{"Attribute: a[x]"}},
		{"ambiguous", &hyperv.Error{Kind: hyperv.Ambiguous}, path.Empty(), []string{"Next: Rename"}},
		{"in use", &hyperv.Error{Kind: hyperv.InUse}, path.Empty(), []string{"Next: Free the object"}},
		{"timed out", &hyperv.Error{Kind: hyperv.TimedOut}, path.Empty(), []string{"raise the timeout"}},
		{"wrong password", &hyperv.Error{Err: &winrm.AuthError{URL: "u", Auth: "basic", User: "bob", Offered: []string{"Basic"}}}, path.Empty(), []string{`"bob"`, "Cause: User or password is wrong", "Next: Check user and password"}},
		{"authentication not offered", &winrm.AuthError{Auth: "basic", Offered: []string{"Negotiate"}}, path.Empty(), []string{"Cause: The host does not offer basic", "winrm set"}},
		{"self-signed", &winrm.CertificateError{Problem: winrm.CertificateUnknownAuthority, Err: errors.New("x")}, path.Empty(), []string{"self-signed", "ca_cert or ca_file"}},
		{"wrong authority", &winrm.CertificateError{Problem: winrm.CertificateUnknownAuthority, CustomCA: true, Err: errors.New("x")}, path.Empty(), []string{"not issued by an authority in ca_cert"}},
		{"wrong name", &winrm.CertificateError{Problem: winrm.CertificateWrongName, Err: errors.New("x"), Certificate: &x509.Certificate{Subject: pkix.Name{CommonName: "hv9"}}}, path.Empty(), []string{`It is for "hv9".`, "tls_server_name"}},
		{"expired", &winrm.CertificateError{Problem: winrm.CertificateInvalid, Err: errors.New("x")}, path.Empty(), []string{"expired", "Renew"}},
		{"refused", netErr(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), path.Empty(), []string{"Host: hv1\n", "Nothing listens", "winrm quickconfig"}},
		{"no such name", netErr(&net.DNSError{Err: "no such host", Name: "hv1", IsNotFound: true}), path.Empty(), []string{"name that does not exist"}},
		{"unreachable", netErr(errors.New("no route to host")), path.Empty(), []string{"Cause: The host cannot be reached."}},
		{"not WinRM", &winrm.HTTPError{URL: "u", Status: 404}, path.Empty(), []string{"not Windows Remote Management"}},
		{"too many shells", &winrm.Fault{Code: winrm.CodeMaxShells}, path.Empty(), []string{"max_sessions"}},
		{"no right for WinRM", &winrm.Fault{Code: winrm.CodeAccessDenied}, path.Empty(), []string{"LocalAccountTokenFilterPolicy"}},
		{"configuration", &winrm.ConfigError{Field: "address", Err: errors.New("bad")}, path.Empty(), []string{"hosts of the provider"}},
		{"lost, maybe done", &powershell.LostError{Err: errors.New("x"), Started: true}, path.Empty(), []string{"may have been running", "Plan again"}},
		{"lost before", &powershell.LostError{Err: errors.New("x")}, path.Empty(), []string{"before the work began", "Apply again"}},
		{"lost because refused", &powershell.LostError{Err: netErr(syscall.ECONNREFUSED)}, path.Empty(), []string{"Nothing listens"}},
		{"deadline", fmt.Errorf("waiting: %w", context.DeadlineExceeded), path.Empty(), []string{"time allowed", "raise the timeout"}},
		{"cancelled", context.Canceled, path.Empty(), []string{"cancelled"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d diag.Diagnostics
			addError(&d, failed{"update", `switch "X"`, "hv1"}, tt.err)
			if len(d) != 1 || d[0].Severity() != diag.SeverityError || d[0].Summary() != `Unable to update switch "X"` {
				t.Fatalf("%v", d)
			}
			at := path.Empty()
			if with, ok := d[0].(diag.DiagnosticWithPath); ok {
				at = with.Path()
			}
			if !at.Equal(tt.path) {
				t.Errorf("at %s, want %s", at, tt.path)
			}
			for _, want := range tt.wants {
				if !strings.Contains(d[0].Detail(), want) {
					t.Errorf("detail\n%s\nhas no %q", d[0].Detail(), want)
				}
			}
			addWarning(&d, failed{"update", `switch "X"`, "hv1"}, tt.err)
			if d[1].Severity() != diag.SeverityWarning || d[1].Detail() != d[0].Detail() {
				t.Errorf("as a warning: %v", d[1])
			}
		})
	}
}

package kdctest_test

import (
	"os"
	"testing"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/kdctest"
)

func TestKDC(t *testing.T) {
	k := kdctest.Start(t)
	const password = `pa'ss"$(1)ä€ x`
	k.AddUser("admin", password)
	for name, file := range map[string]string{
		"keys of a service": k.AddService("HTTP/hv1.lab.example"), "keys of a user": k.Keytab("admin"), "tickets of a user": k.CCache("admin", password),
	} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package simulator

import (
	"fmt"
	"io"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/cmdlet"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/native"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/process"
	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/simulator/pwsh"
)

// newEngine makes what runs the command lines of clients. The closer may be nil.
func newEngine(o Options, m cmdlet.Model) (process.Engine, io.Closer, error) {
	switch o.Engine {
	case "", EngineNative:
		e, err := native.New(m, native.Options{})
		return e, nil, err
	case EnginePowerShell:
		e, err := pwsh.New(m, pwsh.Options{PowerShell: o.PowerShell})
		if err != nil {
			return nil, nil, err
		}
		return e, e, nil
	default:
		return nil, nil, fmt.Errorf("engine %q is neither %q nor %q", o.Engine, EngineNative, EnginePowerShell)
	}
}

// Terraform provider for RDMA inside the virtual machines of Hyper-V hosts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
)

// version is set by the linker in a release.
var version = "dev"

// closeTime is for deleting shells on the hosts: Terraform kills a provider that does not end within 2 s.
const closeTime = 1500 * time.Millisecond

func main() {
	debug := flag.Bool("debug", false, "run outside of Terraform, for a debugger, and print how to attach")
	flag.Parse()
	server := provider.NewServer(version)
	err := providerserver.Serve(context.Background(), server.Provider, providerserver.ServeOpts{
		Address: "registry.terraform.io/hyperv-rdma/hyperv",
		Debug:   *debug,
	})
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	server.Close(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Unable to serve the provider:", err)
		os.Exit(1)
	}
}

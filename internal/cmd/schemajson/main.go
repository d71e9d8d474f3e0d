// Command schemajson prints the provider's schemas in the form of "terraform providers schema -json",
// without a Terraform CLI: the CLI prints only the kinds of object that its own version knows, so
// documentation made with an older one would lack actions, list resources and identities.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/hyperv-rdma/terraform-provider-hyperv/internal/provider"
)

// address is a key that tfplugindocs looks for; it does not look for other namespaces.
const address = "registry.terraform.io/hashicorp/hyperv"

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "schemajson:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	server := providerserver.NewProtocol6(provider.New("docs")())()
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return err
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return err
	}
	var problems []error
	for _, d := range append(schemas.Diagnostics, identities.Diagnostics...) {
		problems = append(problems, fmt.Errorf("%s: %s", d.Summary, d.Detail))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object{
		"format_version":   "1.0",
		"provider_schemas": object{address: describe(schemas, identities)},
	})
}

#!/usr/bin/env bash
# Runs a command with the environment of the acceptance tests: which Terraform CLI, no network, no
# configuration of the user's own.
#   scripts/with-terraform.sh go test ./internal/provider/
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

TF_ACC_TERRAFORM_PATH=$("$root/scripts/terraform-cli.sh")
export TF_ACC_TERRAFORM_PATH
export TF_ACC=1 TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
# The test framework must call the provider as the configurations in examples/ do.
export TF_ACC_PROVIDER_NAMESPACE=hyperv-rdma
version=$("$TF_ACC_TERRAFORM_PATH" version)
if [[ $version == OpenTofu* ]]; then
	export TF_ACC_PROVIDER_HOST=registry.opentofu.org
fi
echo "Terraform CLI: ${version%%$'\n'*} ($TF_ACC_TERRAFORM_PATH)" >&2
exec "$@"

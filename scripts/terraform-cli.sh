#!/usr/bin/env bash
# Prints the absolute path of the Terraform CLI to use: TF_ACC_TERRAFORM_PATH, else terraform, else tofu
# on PATH, else OpenTofu built once from its Go module into .cache/bin. What it does goes to stderr.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

absolute() {
	local dir
	dir=$(cd -- "$(dirname -- "$1")" && pwd)
	printf '%s/%s\n' "$dir" "$(basename -- "$1")"
}

if [[ -n ${TF_ACC_TERRAFORM_PATH:-} ]]; then
	if ! cli=$(command -v -- "$TF_ACC_TERRAFORM_PATH"); then
		echo "TF_ACC_TERRAFORM_PATH is $TF_ACC_TERRAFORM_PATH, which is no program." >&2
		exit 1
	fi
	absolute "$cli"
	exit
fi
for name in terraform tofu; do
	if cli=$(command -v -- "$name"); then
		absolute "$cli"
		exit
	fi
done

tofu=$root/.cache/bin/tofu
if [[ ! -x $tofu || $root/tools/tofu/go.mod -nt $tofu ]]; then
	echo "Neither terraform nor tofu is on PATH: building OpenTofu from its Go module, once, into .cache/bin/tofu." >&2
	echo "This takes about 10 minutes on two idle cores, 20 on busy ones (some 600 to 800 seconds of CPU time)." >&2
	mkdir -p "$(dirname -- "$tofu")"
	# One fixed command: other flags would be another build cache key, and everything would be compiled again.
	# version.dev=no makes it a released version, as its own release build does.
	(cd -- "$root/tools/tofu" && CGO_ENABLED=0 GOFLAGS='' go build -trimpath \
		-ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' \
		-o "$tofu.new" github.com/opentofu/opentofu/cmd/tofu) >&2
	mv -- "$tofu.new" "$tofu"
	version=$(TF_CLI_CONFIG_FILE=/dev/null "$tofu" version)
	echo "Built ${version%%$'\n'*} in $SECONDS seconds." >&2
fi
echo "$tofu"

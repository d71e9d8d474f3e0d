#!/usr/bin/env bash
# Installs what judges the WinRM side from outside, on Debian and its relatives: a Kerberos KDC, a TLS front that
# renegotiates, and the WinRM clients pywinrm and Ansible. Only .ci/run calls it; tests never install anything.
# Where everything is there already it does nothing and needs no network.
set -euo pipefail

packages=(krb5-kdc krb5-admin-server krb5-user apache2 python3-winrm ansible)

missing() {
	local name
	for name in "${packages[@]}"; do
		[[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null) == ii* ]] || echo "$name"
	done
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	echo "No apt-get: install a Kerberos KDC (krb5kdc, kdb5_util, kadmin.local, kinit), apache2 with mod_ssl," >&2
	echo "pywinrm with requests-ntlm, and Ansible with the collection ansible.windows yourself, then run again" >&2
	echo "with CI_PACKAGES=present." >&2
	exit 1
fi
mapfile -t wanted < <(missing)
if ((${#wanted[@]} == 0)); then
	echo "Already installed: ${packages[*]}"
	exit
fi

as_root=()
if ((EUID != 0)); then
	if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
		echo "Not installed: ${wanted[*]}. This needs root, or sudo without a password:" >&2
		echo "  apt-get install --no-install-recommends ${wanted[*]}" >&2
		exit 1
	fi
	as_root=(sudo -n)
fi

# The tests start these daemons themselves, on free ports of loopback and as an ordinary user: none of the system's
# own may come up with its package (invoke-rc.d asks this file; 101 is "not allowed").
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	trap '"${as_root[@]}" rm -f -- "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
	"${as_root[@]}" chmod 755 "$policy"
fi
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${wanted[@]}"

mapfile -t wanted < <(missing)
if ((${#wanted[@]} > 0)); then
	echo "apt-get ended well, but these are not installed: ${wanted[*]}" >&2
	exit 1
fi

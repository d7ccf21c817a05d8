#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that a group of commands needs, and unpacks the kernel of
# the test VMs; does nothing, and asks no network, where they are there already.
#   install-packages.sh build|test|bench|doc|vm ...
set -euo pipefail
. "$(dirname "$0")/common.sh"

declare -A GROUP=(
	# compilers, and what DPDK and the driver are built with
	[build]='build-essential ninja-build meson pkgconf dpkg-dev ca-certificates
		python3 python3-pyelftools libnuma-dev liburing-dev libmnl-dev libcmocka-dev
		libpcap-dev libbpf-dev libxdp-dev libelf-dev zlib1g-dev libjansson-dev'
	# what the tests run, measure with, or check the tree with (dpdk-dev: Debian's testpmd)
	[test]='clang libclang-rt-14-dev clang-format cppcheck iproute2 kmod
		iputils-ping iperf3 tcpdump ethtool procps socat strace dpdk dpdk-dev valgrind'
	[bench]='iproute2 iputils-ping iperf3 ethtool procps python3-matplotlib'
	[doc]='python3-sphinx'
	[vm]='qemu-system-x86 busybox-static cpio'
)

wanted=()
for group in "$@"; do
	[ -n "${GROUP[$group]:-}" ] || die "no package group '$group' (have: ${!GROUP[*]})"
	# shellcheck disable=SC2206
	wanted+=(${GROUP[$group]})
done

missing=()
for p in "${wanted[@]}"; do
	[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null || true)" = 'ii ' ] ||
		missing+=("$p")
done
# Tests have a network namespace of their own, where none could be fetched.
fetch_kernel() {
	case " $* " in *' vm '*) bash "$TOP/test/vm/fetch-kernel.sh" >/dev/null ;; esac
}

if [ ${#missing[@]} -eq 0 ]; then
	fetch_kernel "$@"
	exit
fi
[ "$(id -u)" = 0 ] ||
	die "these Debian packages are missing and only root can install them: ${missing[*]}"
say "installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
mkdir -p /run/lock
exec 9>/run/lock/tapbatch-packages
flock 9
apt-get -q update >"$log" 2>&1 ||
	say "apt-get update failed, trying with the lists there are: $(tail -n 3 "$log")"
apt-get -qy -o DPkg::Lock::Timeout=600 install --no-install-recommends "${missing[@]}" \
	>"$log" 2>&1 || { tail -n 30 "$log" >&2; die "apt-get could not install ${missing[*]}"; }
fetch_kernel "$@"

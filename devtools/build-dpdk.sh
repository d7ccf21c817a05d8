#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds DPDK 22.11 with its driver SDK, once per machine, and prints the prefix
# it is installed in. Only what we use or compare with is built.
set -euo pipefail
. "$(dirname "$0")/common.sh"

drivers=bus/vdev,bus/pci,mempool/ring,mempool/stack
drivers+=,net/tap,net/af_packet,net/af_xdp,net/virtio,net/vhost,net/null,net/pcap,net/ring
options=(
	--buildtype=release
	--libdir=lib
	-Ddefault_library=shared      # a static testpmd and a driver loaded with -d clash
	-Denable_driver_sdk=true
	"-Denable_drivers=$drivers"
	-Denable_apps=test-pmd
	-Dexamples=
	-Dtests=false
	-Denable_docs=false
	-Ddeveloper_mode=disabled
	-Dc_link_args=-Wl,--export-dynamic  # testpmd's symbols, for the plug-in
)

src=$(bash "$TOP/devtools/dpdk-source.sh")
version=$(cat "$src/VERSION")
key=$(printf '%s\n' "$version" "${options[@]}" "$(uname -m)" | sha256sum | cut -c1-12)
prefix=$CACHE/dpdk-$version-$key

exec 9>"$CACHE/dpdk-$key.lock"
flock 9
if [ ! -f "$prefix/.complete" ]; then
	say "building DPDK $version into $prefix (once per machine, some minutes)"
	find "$CACHE" -maxdepth 1 -name 'build.*' -mmin +120 -exec rm -rf {} + # cut short
	work=$(mktemp -d "$CACHE/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	rm -rf "$prefix"
	{
		meson setup "$work/b" "$src" --prefix="$prefix" "${options[@]}"
		ninja -C "$work/b"
		meson install -C "$work/b" --no-rebuild
	} >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; die "building DPDK failed"; }
	touch "$prefix/.complete"
fi

# Not what was asked for, but what is there.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
got=$(pkg-config --modversion libdpdk) || die "$prefix has no libdpdk.pc"
[ "$got" = "$version" ] || die "$prefix holds DPDK $got, not $version"
[ -f "$prefix/include/ethdev_driver.h" ] || die "$prefix has no driver SDK headers"
nm -D "$prefix/bin/dpdk-testpmd" | grep -q testpmd_add_driver_commands ||
	die "$prefix/bin/dpdk-testpmd does not export its symbols"
echo "$prefix"

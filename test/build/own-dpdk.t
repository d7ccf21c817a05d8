#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whoever has a DPDK builds with plain meson and ninja, and is told what is missing.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/checkout.sh"

# Not below /tmp, where EAL loads no drivers.
work=$(mktemp -d "$CACHE/own-dpdk.XXXXXX")
at_exit "rm -rf '$work'"
checkout "$work/src"
cd "$work/src"

ok "meson finds the DPDK that PKG_CONFIG_PATH names" meson setup b --prefix="$work/inst"
ok "ninja builds it" ninja -C b
ok "meson installs it" meson install -C b
pmd=$(find "$work/inst" -path '*/dpdk/pmds-23.*/librte_net_tapbatch.so')
ok "the driver lies in DPDK's folder for drivers of this ABI" test -n "$pmd"
ok "our DPDK's testpmd loads it" loads_in "$DPDK_PREFIX/bin/dpdk-testpmd" "$pmd"
plugin=$(find "$work/inst" -path '*/tapbatch/tapbatch_testpmd.so')
ok "it loads the plug-in, which finds the driver" \
	loads_in "$DPDK_PREFIX/bin/dpdk-testpmd" "$plugin" 'show port 0 tapbatch config'
like "which adds its commands" "$(cat "$TEST_TMP/out")" 'Port 0: tx_batched 64'
in_debian() { LD_LIBRARY_PATH='' loads_in /usr/bin/dpdk-testpmd "$1"; }
ok "Debian's testpmd loads it" in_debian "$pmd"

ok "the header of the driver's functions is installed" \
	test -f "$work/inst/include/rte_pmd_tapbatch.h"
libdir=$(dirname "$(find "$work/inst" -maxdepth 3 -name librte_net_tapbatch.so)")
link_example() {
	PKG_CONFIG_PATH=$libdir/pkgconfig:$PKG_CONFIG_PATH make -C examples/icmp_echo CFLAGS='-O2 -Wall -Wextra -Werror'
}
ok "an application outside of the project is built with pkg-config" link_example
runs_linked() {
	LD_LIBRARY_PATH=$libdir:$LD_LIBRARY_PATH timeout -s INT 3 examples/icmp_echo/icmp_echo -l 0 --no-huge \
		-m 64 --no-pci --no-shconf --no-telemetry >"$TEST_TMP/echo" 2>&1 || [ $? -eq 124 ]
	cat "$TEST_TMP/echo"
	grep -q '^Answering pings' "$TEST_TMP/echo"
}
ok "and runs, having the driver without -d" runs_linked

# All packages that pkg-config knows but one.
mkdir "$work/pc"
ln -s "$DPDK_PREFIX"/lib/pkgconfig/*.pc /usr/lib/*/pkgconfig/*.pc /usr/share/pkgconfig/*.pc "$work/pc/" 2>/dev/null || true
rm "$work"/pc/liburing*.pc
without_liburing() {
	env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/pc" meson setup no-uring &&
		ninja -C no-uring && ! readelf -d no-uring/drivers/librte_net_tapbatch.so | grep uring
}
ok "it builds without liburing too" without_liburing
ok "clang builds it" env CC=clang bash -c 'meson setup clang && ninja -C clang'

# The same DPDK without the headers that enable_driver_sdk installs.
mkdir -p "$work/no-sdk/lib"
cp -rs "$DPDK_PREFIX/include" "$work/no-sdk/include"
rm "$work"/no-sdk/include/*_driver.h
cp -r "$DPDK_PREFIX/lib/pkgconfig" "$work/no-sdk/lib/"
sed -i "s,^prefix=.*,prefix=$work/no-sdk," "$work"/no-sdk/lib/pkgconfig/*.pc
message=$(PKG_CONFIG_PATH=$work/no-sdk/lib/pkgconfig meson setup no-sdk 2>&1) || true
like "a DPDK without driver SDK is refused with the option that it needs" "$message" \
	'ERROR.*Denable_driver_sdk=true'
message=$(PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$work/none meson setup none 2>&1) || true
like "without any DPDK, the message says where meson looks" "$message" 'ERROR.*PKG_CONFIG_PATH'
done_testing

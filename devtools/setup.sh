#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes ready to build: Debian packages, DPDK, and a configured build folder. Quick
# when all is there.
#	setup.sh BUILD [MESON-OPTION...]
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$TOP"
build=$1
shift

bash devtools/install-packages.sh build
prefix=$(bash devtools/build-dpdk.sh)

# Configured for another DPDK, or cut short: anew.
stamp=$build/.configured
wanted="$prefix ${CC:-cc} $*"
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
	rm -rf "$build"
	mkdir -p "$build"
	PKG_CONFIG_PATH=$prefix/lib/pkgconfig meson setup "$build" "$@" >"$build.log" 2>&1 ||
		{ tail -n 20 "$build.log" >&2; die "configuring $build failed"; }
	mv "$build.log" "$build/setup.log"
	printf %s "$wanted" >"$stamp"
fi

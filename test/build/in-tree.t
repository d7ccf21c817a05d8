#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The driver's folder builds when put into a DPDK source tree.
# timeout: 400
. "$(dirname "$0")/../tap.sh"

source=$(bash "$TOP/devtools/dpdk-source.sh")

# A tree of hard links to the one in the cache: files are replaced here, not changed.
find "$CACHE" -maxdepth 1 -name 'in-tree.*' -mmin +60 -exec rm -rf {} +
tree=$(mktemp -d "$CACHE/in-tree.XXXXXX")
at_exit "rm -rf '$tree'"
cp -al "$source/." "$tree"
cp -r "$TOP/drivers/net/tapbatch" "$tree/drivers/net/"
sed "/^ *'tap',/a\        'tapbatch'," "$source/drivers/net/meson.build" >"$TEST_TMP/list"
mv -f "$TEST_TMP/list" "$tree/drivers/net/meson.build"

build=$tree/b
configure() {
	meson setup "$build" "$tree" --buildtype=release -Dwerror=true -Ddefault_library=shared \
		-Denable_drivers=net/tapbatch -Denable_apps=test-pmd -Dexamples= -Dtests=false \
		-Denable_docs=false
}
ok "DPDK's build takes the driver up" configure
ok "it builds there without warnings" \
	ninja -C "$build" drivers/librte_net_tapbatch.a drivers/librte_net_tapbatch.so.23.0
like "DPDK's pmdinfo finds it" \
	"$(dpdk-pmdinfo.py "$build/drivers/librte_net_tapbatch.so.23.0" 2>&1)" '"net_tapbatch"'
done_testing

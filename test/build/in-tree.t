#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The driver's folder builds when put into a DPDK source tree, and its testpmd commands become
# part of the testpmd built there.
# timeout: 600
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
like "its functions are exported as experimental ones" \
	"$(nm -D "$build/drivers/librte_net_tapbatch.so.23.0")" \
	' T rte_pmd_tapbatch_tx_batched_set@@EXPERIMENTAL'
ok "its header is installed" grep -q "rte_pmd_tapbatch.h" "$build/meson-info/intro-installed.json"

ok "testpmd builds with its commands" ninja -C "$build" app/dpdk-testpmd \
	drivers/librte_mempool_ring.so.23.0
LD_LIBRARY_PATH=$build/lib:$build/drivers "$build/app/dpdk-testpmd" --no-huge -m 64 --no-pci \
	--no-shconf --no-telemetry -l 0,1 -d "$build/drivers/librte_mempool_ring.so.23.0" \
	--vdev=net_tapbatch0,iface=tree0 -- -i --total-num-mbufs=2048 \
	>"$TEST_TMP/out" 2>&1 <<'END' || true
set port 0 tapbatch tx_batched 7
show port 0 tapbatch config
quit
END
like "they work there, without a plug-in" "$(cat "$TEST_TMP/out")" \
	'Port 0: tx_batched 7, coalesce tcp\+udp'
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A checkout below /tmp works, though EAL loads no drivers from there.
# timeout: 300
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/checkout.sh"

export TMPDIR=/tmp
work=$(mktemp -d)
at_exit "rm -rf $work"
checkout "$work/src"
unset DPDK_PREFIX TAPBATCH_PMD TAPBATCH_TESTPMD PKG_CONFIG_PATH LD_LIBRARY_PATH TAPBATCH_BUILD
cd "$work/src"

ok "make builds there" make
. build/env.sh
ok "env.sh says which DPDK it was built for" test -x "$DPDK_PREFIX/bin/dpdk-testpmd"
ok "testpmd loads the driver that env.sh names" loads_in dpdk-testpmd "$TAPBATCH_PMD"
ok "and the plug-in" loads_in dpdk-testpmd "$TAPBATCH_TESTPMD" 'show port 0 tapbatch config'
like "which adds its commands" "$(cat "$TEST_TMP/out")" 'Port 0: tx_batched 64'
is "the first testpmd on PATH is that DPDK's" "$(type -P dpdk-testpmd)" "$DPDK_PREFIX/bin/dpdk-testpmd"

before=$PATH:$LD_LIBRARY_PATH:$PKG_CONFIG_PATH
. build/env.sh
is "sourcing env.sh again changes nothing" "$PATH:$LD_LIBRARY_PATH:$PKG_CONFIG_PATH" "$before"
ok "an application finds DPDK with pkg-config" pkg-config --exists libdpdk

echo '/* changed */ const int tapbatch_test_marker = 1;' >>drivers/net/tapbatch/tapbatch_log.c
ok "make builds again after a change" make
ok "the driver is the one just built" cmp build/drivers/librte_net_tapbatch.so "$TAPBATCH_PMD"

ok "make setup is quick when all is there" timeout 2 make setup

# Somebody else's build tidies up after a checkout that is no more.
checkout "$work/other"
rm -rf "$work/src"
cd "$work/other"
ok "another checkout builds" make
ok "the copy of the vanished one is gone" test ! -e "$TAPBATCH_PMD"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the driver splits superframes into is what a tap without offloads gets of them:
# random superframes, flooded to both by a bridge. Also when mbufs are scarce.
# SEED=NUMBER replays, PACKETS=NUMBER does more, BURST=NUMBER begins there.
# timeout: 150
. "$(dirname "$0")/lib.sh"
. "$FUNC_DIR/bridge.sh"

bridge_taps br0 t0 t1 t2:vnet
first=${SEED:-$RANDOM$RANDOM}
# Odd seeds leave checksums open to flags.
for seed in "$first" $((first + 1)); do
	for engine in $ENGINES; do
		ok "engine $engine, seed $seed" "$TAPBATCH_BUILD/test/property/property" -l 0 -m 128 \
			"${EAL[@]}" --vdev="net_tapbatch0,iface=t0,engine=$engine" -- \
			backward t1 t2 "$seed" "${PACKETS:-300000}" "${BURST:-0}"
	done
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whatever a burst holds, what the kernel makes of the driver's superframes is what
# the application sent: three million random packets, judged behind a bridge.
# SEED=NUMBER replays, PACKETS=NUMBER does more, BURST=NUMBER begins there.
# timeout: 150
. "$(dirname "$0")/lib.sh"
. "$FUNC_DIR/bridge.sh"

bridge_taps br0 t0 t1
for engine in $ENGINES; do
	seed=${SEED:-$RANDOM$RANDOM}
	ok "engine $engine, seed $seed" "$TAPBATCH_BUILD/test/property/property" -l 0 -m 128 \
		"${EAL[@]}" --vdev="net_tapbatch0,iface=t0,engine=$engine" -- \
		forward t1 "$seed" "${PACKETS:-1500000}" "${BURST:-0}"
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The driver's own functions: sizes of batches and superframes are counted as they are,
# tx_batched and coalesce act from the next burst on, and what is wrong is refused.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6

# errno_is NUMBER COMMAND...: of portool, fails with this error.
errno_is() {
	local wanted=$1 answer
	shift
	answer=$(po po "$@" | tail -n 1) || true
	[[ $answer = "= $wanted "* ]] || { echo "expected: = $wanted ..., got: $answer"; return 1; }
}
# counted RX|TX WORD: what stands behind the word, since batches were cleared
counted() { po po "$1_batches" 0 0 | sed -n "s/^$2 //p"; }
# sends N FLOWS: in one burst
sends() { is "$engine: $1 packets are sent" "$(po_value po tx 0 0 "$1" 100 burst=64 flows="$2" taken)" "$1"; }
cleared() { po po batches_clear 0 >/dev/null; }

# Before Linux 6.2 UDP cannot be segmented.
kinds=3 two='0 0 0 0 1 1 0 0' one='0 0 0 0 0 0 1 0' all=64
if [ "$(printf '%s\n' 6.2 "$(uname -r)" | sort -V | head -n 1)" != 6.2 ]; then
	kinds=1 two='0 0 0 0 0 0 0 0' one=$two all=0
fi

for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine,txqlen=50" \
		--vdev=net_null0 || exit 1
	for command in 'tx_batched PORT' 'tx_batched PORT 1' 'coalesce PORT' 'coalesce PORT 0' \
		'rx_batches PORT 0' 'tx_batches PORT 0' 'kernel_drops PORT' 'batches_clear PORT'; do
		ok "$engine: ENODEV: ${command/PORT/9}" errno_is 19 ${command/PORT/9}
		ok "$engine: ENOTSUP: ${command/PORT/1}" errno_is 95 ${command/PORT/1}
	done
	for command in 'tx_batched 0 65' 'coalesce 0 4' 'rx_batches 0 0' 'tx_batches 0 0'; do
		ok "$engine: EINVAL: $command" errno_is 22 $command
	done
	ok "$engine: what is changed before there are queues" po po tx_batched 0 16
	ok "$engine: the port opens" po po open 0
	ok "$engine: it starts" po po start 0
	ok "$engine: EINVAL without room for an answer" po po batches_null 0
	for command in 'rx_batches 0 1' 'tx_batches 0 1' 'tx_batched 0 65' 'coalesce 0 4'; do
		ok "$engine: EINVAL: $command" errno_is 22 $command
	done
	is "$engine: is so after that" "$(po po tx_batched 0 | head -n 1)" 16
	is "$engine: what the kernel segments may be coalesced" "$(po po coalesce 0 | head -n 1)" $kinds
	[ $kinds = 3 ] || ok "$engine: EPROTONOSUPPORT: what it does not" errno_is 93 coalesce 0 3

	sends 64 64
	is "$engine: tx_batched 16: 4 batches of 16" "$(counted tx sizes)" '0 0 0 0 4 0 0 0'
	is "$engine: all alone" "$(($(counted tx alone) + $(counted tx kind_off)))" 64
	po po tx_batched 0 48 >/dev/null
	cleared
	sends 64 1
	is "$engine: tx_batched 48: one of 48, one of 16" "$(counted tx sizes)" '0 0 0 0 1 1 0 0'
	is "$engine: of one flow each is a superframe" "$(counted tx superframe_sizes)" "$two"
	is "$engine: of all packets" "$(counted tx coalesced_packets)" $all
	po po coalesce 0 1 >/dev/null
	cleared
	sends 64 1
	is "$engine: coalesce TCP alone: no superframe" "$(counted tx superframes)" 0
	is "$engine: UDP is switched off" "$(counted tx kind_off)" 64
	po po coalesce 0 $kinds >/dev/null
	po po tx_batched 0 0 >/dev/null
	cleared
	sends 10 1
	is "$engine: tx_batched 0: each alone" "$(counted tx sizes)" '10 0 0 0 0 0 0 0'
	po po tx_batched 0 64 >/dev/null
	ok "$engine: the port stops" po po stop 0
	ok "$engine: it starts" po po start 0
	sends 64 1
	is "$engine: tx_batched 64 goes on after that" "$(counted tx superframe_sizes)" "$one"

	before=$(po_value po xstats 0 tx_q0_batches tx_q0_batches)
	cleared
	is "$engine: when cleared, all is 0" "$(po po tx_batches 0 0 | awk '{ for (i = 2; i <= NF; i++) n += $i } END { print n }')" 0
	is "$engine: but xstats" "$(po_value po xstats 0 tx_q0_batches tx_q0_batches)" "$before"
	ok "$engine: statistics are reset" po po reset 0
	is "$engine: then all is 0 as well" "$(po po tx_batches 0 0 | awk '{ for (i = 2; i <= NF; i++) n += $i } END { print n }')" 0

	po po raw k t0 >/dev/null
	po po flood k 20 100 >/dev/null
	is "$engine: 20 packets are received" "$(po_value po rx 0 0 20 received)" 20
	is "$engine: they are counted" "$(counted rx packets)" 20
	is "$engine: in batches whose sizes add up to their number" \
		"$(counted rx sizes | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n }')" "$(counted rx batches)"
	po po flood k 2000 100 >/dev/null
	drops=$(po_value po kernel_drops 0 rx)
	is_between "$engine: what has no room in the kernel's queue" "$drops" 1 2000
	is "$engine: is in the statistics" "$(po_value po stats 0 imissed)" "$drops"
	cleared
	is "$engine: and 0 when cleared" "$(po_value po kernel_drops 0 rx)" 0
	is "$engine: there alone" "$(po_value po stats 0 imissed)" "$drops"
	works "$engine: portool quits" po_stop po || true
done
done_testing

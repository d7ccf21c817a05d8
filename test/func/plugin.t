#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The driver's testpmd commands: what they show of real traffic agrees with xstats, what
# they set takes effect while packets flow, and what they cannot do they say. In a testpmd
# that has no room for them the plug-in keeps still.
# timeout: 150
. "$(dirname "$0")/lib.sh"

netns_add left right
iperf_server right

# plugin_start [TESTPMD-ARGUMENT...]: testpmd as in forward_start, with the plug-in, and a
# port of another driver that takes no part.
plugin_start() {
	testpmd_start fwd -d "$TAPBATCH_TESTPMD" --vdev=net_tapbatch0,iface=left,txqlen=5000 \
		--vdev=net_tapbatch1,iface=right,txqlen=5000 --vdev=net_null0 -- --portmask=3 "$@" || return 1
	side_up left 1
	side_up right 2
}

# values TEXT REGEX: the numbers of the first line that matches, behind the match.
values() { grep -E -m 1 "$2" <<<"$1" | sed -E "s/.*$2//" | grep -o '[0-9.]*[0-9]' | tr '\n' ' '; }
value() { cut -d ' ' -f 1 <<<"$(values "$1" "$2")"; }
sum() { awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n + 0 }' <<<"$1"; }
# section TEXT Rx|Tx: of the first queue
section() { sed -n "/^  $2 queue 0/,/^  [^ ]/p" <<<"$1"; }
batches() { testpmd fwd "show port $1 tapbatch batches"; }

works "our testpmd starts with the plug-in" plugin_start || { done_testing; exit 1; }
like "help lists the commands" "$(testpmd fwd 'help drivers')" 'tapbatch sweep \(port_id\) \(seconds\)'
like "what was given as arguments is shown" "$(testpmd fwd 'show port 1 tapbatch config')" \
	'Port 1: tx_batched 64, coalesce tcp\+udp'
testpmd fwd start >/dev/null
ok "TCP crosses" moves_tcp left 10.0.0.2 20
ok "UDP crosses" iperf left 10.0.0.2 -u -b 20M -n 1M -l 1000
testpmd fwd stop >/dev/null

# What was counted by then does not change any more.
shown=$(batches 1)
tx=$(section "$shown" Tx)
is "no line is longer than 80 columns" "$(awk 'length > 80' <<<"$shown")" ''
for pair in "packets:in [0-9]* batches" "batches:packets in"; do
	name=${pair%%:*}
	is "Tx $name are those of xstats" "$(sed -n "s/.* \([0-9]*\) $name.*/\1/p" <<<"$tx" | head -n 1)" \
		"$(testpmd_xstat fwd 1 "tx_q0_$name")"
done
all=$(testpmd_xstat fwd 1 tx_q0_batches)
made=$(testpmd_xstat fwd 1 tx_q0_superframes)
is "sizes of Tx batches add up to their number" "$(sum "$(values "$tx" '^ *batches ')")" "$all"
is_between "there are superframes" "$made" 100 1000000
is "sizes of superframes add up to their number" "$(sum "$(values "$tx" '^ *superframes  ')")" "$made"
alone=$(sum "$(tr '\n' ' ' <<<"$tx" | sed 's/.*sent alone: [0-9]* =//; s/  Dropped.*//' | grep -o ' [a-z_]* [0-9]*' | tr -d 'a-z_\n')")
is "reasons for not merging, and superframes, add up to packets" \
	"$((alone + $(testpmd_xstat fwd 1 tx_q0_coalesced_packets)))" "$(testpmd_xstat fwd 1 tx_q0_packets)"
is "the kernel's drops are those of xstats" "$(value "$shown" 'Dropped by the kernel:')" \
	"$(testpmd_xstat fwd 1 rx_kernel_dropped)"

shown=$(batches 0)
rx=$(section "$shown" Rx)
all=$(testpmd_xstat fwd 0 rx_q0_batches)
is "sizes of Rx batches add up to their number" "$(sum "$(values "$rx" '^ *batches ')")" "$all"
is "that of xstats" "$(sed -n 's/.* \([0-9]*\) batches.*/\1/p' <<<"$rx" | head -n 1)" "$all"
is "superframes received are those of xstats" \
	"$(sed -n 's/.*; \([0-9]*\) split into.*/\1/p' <<<"$rx")" "$(testpmd_xstat fwd 0 rx_q0_superframes)"

packets=$(testpmd_xstat fwd 1 tx_q0_packets)
like "batches are cleared" "$(testpmd fwd 'clear port 1 tapbatch batches')" 'Batches for port 1 cleared'
like "then there are none" "$(batches 1)" 'Tx queue 0: 0 packets in 0 batches'
is "while xstats stay" "$(testpmd_xstat fwd 1 tx_q0_packets)" "$packets"
testpmd fwd 'clear port xstats 1' >/dev/null
like "after xstats are cleared, there are still none" "$(batches 1)" 'Tx queue 0: 0 packets in 0 batches'

# sends_with TX_BATCHED COALESCE: sets both and moves TCP and UDP; what came of it in $tx
sends_with() {
	testpmd fwd "set port 1 tapbatch tx_batched $1" >/dev/null
	testpmd fwd "set port 1 tapbatch coalesce $2" >/dev/null
	like "tx_batched $1, coalesce $2" "$(testpmd fwd 'show port 1 tapbatch config')" \
		"tx_batched $1, coalesce ${2//+/\\+}"$'\n'
	testpmd fwd 'clear port 1 tapbatch batches' >/dev/null
	testpmd fwd start >/dev/null
	ok "with $1 $2: TCP crosses" moves_tcp left 10.0.0.2 10
	ok "with $1 $2: UDP crosses" iperf left 10.0.0.2 -u -b 20M -n 1M -l 1000
	testpmd fwd stop >/dev/null
	tx=$(section "$(batches 1)" Tx)
}
sends_with 0 tcp+udp
is "tx_batched 0: each packet is a batch" "$(sum "$(values "$tx" '^ *batches +[0-9]+ ')")" 0
is "and no superframe is made" "$(grep -c 'superframes' <<<"$tx")" 0
sends_with 4 tcp+udp
is_between "tx_batched 4: there are batches of 4" "$(values "$tx" '^ *batches ' | cut -d ' ' -f 3)" 100 1000000
is "but none of 8" "$(sum "$(values "$tx" '^ *batches ' | cut -d ' ' -f 4-)")" 0
sends_with 64 none
is "coalesce none: no superframe is made" "$(grep -c 'superframes' <<<"$tx")" 0
is_between "tx_batched 64: there are batches of 8 and more" \
	"$(sum "$(values "$tx" '^ *batches ' | cut -d ' ' -f 4-)")" 10 1000000
sends_with 48 tcp
is_between "coalesce tcp: UDP is of a kind that is off" "$(value "$tx" 'kind_off ')" 1 1000000
is_between "TCP is coalesced" "$(sum "$(values "$tx" '^ *superframes  ')")" 10 1000000

# Under traffic.
testpmd fwd start >/dev/null
moves_tcp left 10.0.0.2 150 >"$TEST_TMP/tcp.log" 2>&1 &
tcp=$!
for i in {1..15}; do
	for value in 0 1 64 3; do
		job_tell fwd "set port 1 tapbatch tx_batched $value"
		job_tell fwd "set port 1 tapbatch coalesce $([ $((i % 2)) = 0 ] && echo none || echo tcp+udp)"
	done
done
testpmd fwd 'set port 1 tapbatch tx_batched 64' >/dev/null
testpmd fwd 'set port 1 tapbatch coalesce tcp+udp' >/dev/null
works "TCP does not mind changes of both" wait $tcp || diag "$(tail -n 15 "$TEST_TMP/tcp.log" "$TEST_TMP/iperf.json")"
is "and no packet was damaged" "$(testpmd fwd 'show port xstats all' |
	awk '/malformed|rejected|read_errors/ { n += $2 } END { print n + 0 }')" 0

# Rates.
in_ns left ping -q -i 0.002 10.0.0.2 >/dev/null &
ping=$!
at_exit "kill $ping"
before=$(testpmd_xstat fwd 1 tx_q0_packets)
shown=$(testpmd fwd 'tapbatch watch 1 3')
after=$(testpmd_xstat fwd 1 tx_q0_packets)
rows=$(grep -E '^ *[0-9]+ \|' <<<"$shown" | tr -d '|')
is "watch shows three seconds and ends" "$(tail -n 1 <<<"$rows" | awk '{ print $1 }')" 3
is "in 80 columns" "$(awk 'length > 80' <<<"$shown")" ''
# A second that a busy machine slept through is part of the next.
is_between "with the packets that there were" \
	"$(awk '{ n += $7 * ($1 - last); last = $1 } END { print n }' <<<"$rows")" \
	"$(((after - before) / 2))" "$(((after - before) * 11 / 10))"
shown=$(testpmd fwd 'tapbatch sweep 1 1')
like "sweep says how packets are forwarded" "$shown" 'forwarding mode io, burst 32, coalesce tcp\+udp, 1 s each'
is "it shows each value" "$(grep -E '^ +[0-9]+ ' <<<"$shown" | awk '{ printf "%s ", $1 }')" '0 4 8 16 32 48 64 '
is "in 80 columns" "$(grep -E '^ +[0-9]+ |^tx_batched ' <<<"$shown" | awk 'length > 80')" ''
csv=$(sed -n '/^tx_batched,/,/^\r*$/p' <<<"$shown" | grep ,)
is "CSV has a line for each, and nine columns" \
	"$(awk -F, 'NF == 9 { n++ } END { print n, NR }' <<<"$csv")" '8 8'
# A busy machine may sleep through some.
is_between "with the packets that there were" "$(awk -F, 'NR > 1 && $2 > 0 && $2 < 600 { n++ } END { print n + 0 }' <<<"$csv")" 1 7
like "tx_batched is what it was" "$(testpmd fwd 'show port 1 tapbatch config')" 'tx_batched 64,'
kill $ping
wait $ping || true
like "forwarding goes on" "$(testpmd fwd stop)" 'Telling cores to stop'
ip -n left addr flush dev left
ip -n right addr flush dev right
job_tell fwd 'tapbatch sweep 1 1'
ok "sweep without traffic says so" wait_for 30 grep -q 'With [1-7] of 7 values no packet was sent on port 1: is there anything that forwarding mode io could' \
	"$TEST_TMP/fwd.log"
like "and forwarding that it has started, it has stopped" "$(testpmd fwd stop)" 'Packet forwarding not started'

# What is wrong.
table=(
	"show port 9 tapbatch batches|Invalid port 9"
	"show port 65535 tapbatch config|Invalid port 65535"
	"clear port 9 tapbatch batches|Invalid port 9"
	"set port 9 tapbatch tx_batched 1|Invalid port 9"
	"set port 9 tapbatch coalesce none|Invalid port 9"
	"tapbatch watch 9 1|Invalid port 9"
	"tapbatch sweep 9 1|Invalid port 9"
	"show port 2 tapbatch batches|Port 2 is one of net_null, not of net_tapbatch"
	"clear port 2 tapbatch batches|Port 2 is one of net_null"
	"set port 2 tapbatch tx_batched 1|Port 2 is one of net_null"
	"set port 2 tapbatch coalesce none|Port 2 is one of net_null"
	"tapbatch watch 2 1|Port 2 is one of net_null"
	"tapbatch sweep 2 1|Port 2 is one of net_null"
	"set port 1 tapbatch tx_batched 65|tx_batched 65 is not allowed: a number of packets, 0 to 64"
	"set port 1 tapbatch tx_batched -1|Bad arguments"
	"set port 1 tapbatch tx_batched|Bad arguments"
	"set port 1 tapbatch coalesce all|Bad arguments"
	"tapbatch watch 1 0|0 seconds are not allowed: 1 to 86400"
	"tapbatch sweep 1 86401|86401 seconds are not allowed"
	"tapbatch watch 1 long|Bad arguments"
	"tapbatch wait 1 1|Bad arguments"
)
for row in "${table[@]}"; do
	like "${row%%|*}" "$(testpmd fwd "${row%%|*}")" "${row#*|}"
done
like "nothing of that had an effect" "$(testpmd fwd 'show port 1 tapbatch config')" \
	'tx_batched 64, coalesce tcp\+udp'
testpmd_stop fwd || fail "testpmd quits"

# At a terminal.
cat >"$TEST_TMP/terminal" <<'END'
#!/bin/bash
exec script -qfec "dpdk-testpmd $*" /dev/null
END
chmod +x "$TEST_TMP/terminal"
TESTPMD=$TEST_TMP/terminal
works "testpmd starts at a terminal" testpmd_start tty -d "$TAPBATCH_TESTPMD" \
	--vdev=net_tapbatch0,iface=t0 || true
unset TESTPMD
before=$(prompts tty)
job_tell tty 'tapbatch watch 0 60'
ok "watch begins" wait_for 10 grep -q '^ *1 |' "$TEST_TMP/tty.log"
printf q >&"${JOB_FD[tty]}"
ok "a key ends it" wait_for 5 prompts_since tty "$before"
printf 'set port 0 tapb\t coal\t no\t\n' >&"${JOB_FD[tty]}"
like "the tabulator key completes commands" "$(testpmd tty 'show port 0 tapbatch config')" 'coalesce none'
testpmd_stop tty || fail "testpmd quits"

# Debian's testpmd exports no symbols.
if [[ $(type -P dpdk-testpmd) = */sanitized-bin/* ]]; then
	skip "Debian's testpmd" "has no sanitizers"
elif [ -x /usr/bin/dpdk-testpmd ]; then
	TESTPMD=/usr/bin/dpdk-testpmd
	unset LD_LIBRARY_PATH
	works "Debian's testpmd starts with the plug-in" testpmd_start debian -d "$TAPBATCH_TESTPMD" \
		--vdev=net_tapbatch0,iface=t0 || true
	is "which keeps still" "$(grep -c tapbatch: "$TEST_TMP/debian.log")" 0
	like "there are no commands" "$(testpmd debian 'show port 0 tapbatch config')" 'Bad arguments'
	testpmd_stop debian || fail "it quits"
	works "it starts with a log at level info" testpmd_start debian -d "$TAPBATCH_TESTPMD" \
		--vdev=net_tapbatch0,iface=t0 --log-level=pmd.net.tapbatch:info \
		--log-level=pmd.net.tapbatch.testpmd:info || true
	is "then the plug-in says once what is missing" "$(grep -c \
		'does not export testpmd_add_driver_commands; a testpmd built with.*export-dynamic does' \
		"$TEST_TMP/debian.log")" 1
	testpmd_stop debian || fail "it quits"
else
	skip "Debian's testpmd" "is not installed"
fi
done_testing

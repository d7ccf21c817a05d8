#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Soak: guests that connect, are killed, and misbehave, traffic, reloads, in an order
# drawn from a seed. In the end nothing has leaked and every pair works.
#
# SOAK_SECONDS: how long (20; an hour by hand: 3600, with TAPBATCH_TEST_TIMEOUT=4000).
# SOAK_SEED: which order.
# timeout: 400
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/netns.sh"
. "$TEST_DIR/vm/bridge.sh"

SOAK_SECONDS=${SOAK_SECONDS:-20}
RANDOM=${SOAK_SEED:-1}
S=$TEST_TMP
hugepages 500
MINE=(a b c)

{
	for name in "${MINE[@]}"; do
		printf '[pair %s]\ntap = t%s\nsocket = %s/%s.sock\nqueues = 2\n' "$name" "$name" "$S" "$name"
	done
	printf '[pair l1]\ntap = lan\nsocket = %s/l1.sock\nswitch = on\n' "$S"
	printf '[pair l2]\ntap = lan\nsocket = %s/l2.sock\nswitch = on\n' "$S"
} >"$S/base"
cp "$S/base" "$S/conf"
bridge_start --config "$S/conf"
n=0
for name in "${MINE[@]}" lan; do
	n=$((n + 1))
	dev=t$name
	[ "$name" = lan ] && dev=lan
	ip addr add "10.0.$n.1/24" dev "$dev"
	ip link set dev "$dev" up
	netns_add "g$name"
done
declare -A NET=([a]=1 [b]=2 [c]=3)
up() { # PAIR: a guest for it, with a stack of its own
	local name=$1
	guest_start "g$name" "$S/$name.sock" ",queues=1" --lro --nap 100 || return 1
	# The same address each time: else the host asks for it where it was.
	wait_for 5 ip -n "g$name" link set dev "g$name" up address "52:54:00:00:00:0${NET[$name]}" ||
		return 1
	ip -n "g$name" addr replace "10.0.${NET[$name]}.2/24" dev "g$name"
}
answers() { ping -q -c 1 -W 1 "10.0.${NET[$1]}.2"; }
for name in "${MINE[@]}"; do up "$name"; done
ok "all guests answer" eval 'for p in a b c; do wait_for 5 answers $p || exit 1; done'
read -ra scenarios <<<"$("$VM_TESTS/hostile.py" - list)"

# The first minute of a process settles; growth is counted from then on.
measure() {
	FDS=$(ls "/proc/$BRIDGE_PID/fd" | wc -l)
	RSS=$(awk '/^VmRSS/ { print $2 }' "/proc/$BRIDGE_PID/status")
}
step() {
	local name=${MINE[RANDOM % 3]} scenario=${scenarios[RANDOM % ${#scenarios[@]}]}
	case $((RANDOM % 8)) in
	0) guest_kill "g$name"; up "$name" ;;
	1) guest_stop "g$name"; up "$name" ;;
	2) "$VM_TESTS/hostile.py" "$S/l1.sock" "$scenario" "$RANDOM" || true ;;
	3) "$VM_TESTS/hostile.py" "$S/l2.sock" "$scenario" "$RANDOM" || true ;;
	4) "$TAPBATCH_BUILD/test/vm/udp_flood" "10.0.${NET[$name]}.2" 0.3 >/dev/null || true ;;
	5) ping -q -f -c 300 -w 2 -s $((RANDOM % 8000)) "10.0.${NET[$name]}.2" >/dev/null || true ;;
	6)
		cp "$S/base" "$S/conf"
		printf '[pair x]\ntap = tx\nsocket = %s/x.sock\n' "$S" >>"$S/conf"
		kill -HUP "$BRIDGE_PID"
		sleep 0.5
		"$VM_TESTS/hostile.py" "$S/x.sock" polite || true
		;;
	7) cp "$S/base" "$S/conf"; kill -HUP "$BRIDGE_PID"; sleep 0.3 ;;
	esac
	kill -0 "$BRIDGE_PID" 2>/dev/null
}

steps=0 end=$((SECONDS + SOAK_SECONDS)) settled=
while [ "$SECONDS" -lt "$end" ]; do
	step || break
	steps=$((steps + 1))
	if [ -z "$settled" ] && [ $((end - SECONDS)) -lt $((SOAK_SECONDS * 3 / 4)) ]; then
		settled=1
		measure
		first_rss=$RSS first_fds=$FDS
	fi
done
if ! kill -0 "$BRIDGE_PID" 2>/dev/null; then
	fail "the bridge lives (seed ${SOAK_SEED:-1}, step $steps)" "$(tail -n 20 "$S/bridge.log")"
	done_testing
	exit 1
fi
pass "the bridge lives"
cp "$S/base" "$S/conf"
kill -HUP "$BRIDGE_PID"
sleep 1
for name in "${MINE[@]}"; do
	if wait_for 10 answers "$name"; then
		pass "pair $name is not stuck"
	else
		fail "pair $name is not stuck (seed ${SOAK_SEED:-1}, $steps steps)" \
			"guest: $(kill -0 "${GUEST_PID[g$name]:-0}" 2>&1 && echo runs)
$(telemetry bridge "/vhost_bridge/pair,$name")
$(tail -n 5 "$S/guest-g$name.log")
$(ip -n "g$name" -s addr show dev "g$name" 2>&1)"
	fi
done
for name in l1 l2; do
	before=$(bridge_stat "$name" to_tap_frames)
	"$VM_TESTS/hostile.py" "$S/$name.sock" polite || true
	is_between "nor is $name" "$(($(bridge_stat "$name" to_tap_frames) - before))" 10 20
done
for name in "${MINE[@]}"; do guest_stop "g$name"; done
sleep 1
for name in "${MINE[@]}" l1 l2; do
	is "no mbuf of $name's guest was left" "$(bridge_stat "$name" guest_mbufs_in_use)" 0
done
measure
# The guests were there when the first were counted.
is_between "no descriptor was left" "$FDS" 1 "$first_fds"
[ "$FDS" -le "$first_fds" ] || diag "$(find "/proc/$BRIDGE_PID/fd" -printf '%l\n' | tr -d '0-9' | sort | uniq -c)"
is_between "memory did not grow (KiB)" "$RSS" 1 "$((first_rss + 20000))"
status=0
bridge_stop || status=$?
is "the bridge ends well" "$status" 0
done_testing

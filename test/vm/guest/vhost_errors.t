#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engine vhost when the kernel's side fails: what can't be true on the used ring, a ring that
# the worker calls broken, requests that are refused, an interface that vanishes. The
# port says what is wrong, goes down with an event, counts what it is given, spins
# nowhere, and works again when it is started again. Run in a VM by vhost_engine.t.
. "$(dirname "$0")/../../func/lib.sh"
quiet_ipv6
seen() { grep -q -E "$2" <<<"$(po po "$1")"; } # seen COMMAND TEXT

# poke ADDRESS BYTES VALUE|+VALUE...: changes portool's memory behind its back.
poke() {
	/usr/bin/python3 - "${JOB_PID[po]}" "$@" <<'PY'
import sys
with open("/proc/%s/mem" % sys.argv[1], "r+b", buffering=0) as memory:
    for at, size, value in zip(*[iter(sys.argv[2:])] * 3):
        at, size = int(at, 0), int(size)
        memory.seek(at)
        old = int.from_bytes(memory.read(size), "little")
        new = old + int(value) if value[0] == "+" else int(value, 0)
        memory.seek(at)
        memory.write((new % (1 << 8 * size)).to_bytes(size, "little"))
PY
}

# ring Rx|Tx: sets size, avail and used, the addresses, of the ring that was started last.
ring() {
	read -r size avail used < <(job_log po | sed -n \
		"s/.* $1 queue 0: ring of \([0-9]*\) at .*, avail \(0x[0-9a-f]*\), used \(0x[0-9a-f]*\).*/\1 \2 \3/p" |
		tail -n 1)
}

# idle: percent of the time of all CPUs that the machine does nothing.
idle() {
	local before after
	before=$(head -n 1 /proc/stat)
	sleep 1
	after=$(head -n 1 /proc/stat)
	awk 'NR == 1 { split($0, old) } NR == 2 { for (i = 2; i <= 8; i++) all += $i - old[i]
		print 100 * ($5 + $6 - old[5] - old[6]) / all }' <<<"$before"$'\n'"$after"
}

# moves NAME: packets both ways.
moves() {
	po po drain k >/dev/null
	po po flood k 20 100 >/dev/null
	is "$1: packets come" "$(po_value po rx 0 0 20 received)" 20
	is "$1: packets are taken" "$(po_value po tx 0 0 20 100 taken)" 20
	is "$1: and reach the kernel" "$(po_value po drain k drained)" 20
	received=$((received + 20))
}

# broken NAME MESSAGE: so the port is.
broken() {
	po po rx 0 0 1 ms=20 >/dev/null
	po po tx 0 0 1 100 >/dev/null
	ok "$1: an event" wait_for 5 seen events "lsc [1-9]"
	like "$1: the link is down" "$(po po link 0)" "^down"
	like "$1: it is said why" "$(job_log po)" "$2"
	po po reset 0 >/dev/null
	is "$1: nothing is received" "$(po_value po rx 0 0 10 ms=20 received)" 0
	taken=$(po_value po tx 0 0 10 100 taken)
	is "$1: packets are taken, and counted as errors" \
		"$taken $(po_value po stats 0 oerrors)" "10 10"
	is_between "$1: nothing spins: percent of the time idle" "$(idle)" 60 100
	ok "$1: stop" po po stop 0
	po po events >/dev/null
	ok "$1: started again" po po start 0
	received=0
	moves "$1, then started again"
}

works "portool starts" portool_start po --log-level=pmd.net.tapbatch:debug \
	--vdev=net_tapbatch0,iface=t0,engine=vhost || exit 1
po po events >/dev/null
ok "the port opens" po po open 0 lsc=1 rmv=1
ok "and starts" po po start 0
po po raw k t0 >/dev/null
received=0
moves "to begin with"

ring Rx
poke $((used + 2)) 2 +5000
broken "Rx index" "Rx queue 0: vhost-net: more buffers come back than it was given"

ring Rx
at=$((used + 4 + 8 * (received % size)))
poke $at 4 60000 $((used + 2)) 2 +1
broken "Rx id" "Rx queue 0: vhost-net: a buffer comes back that is not there"

ring Rx
at=$((used + 4 + 8 * (received % size)))
poke $at 4 $received $((at + 4)) 4 0xffffffff $((used + 2)) 2 +1
broken "Rx length" "a buffer comes back .* with an impossible length"

ring Tx
poke $((used + 2)) 2 +1000
broken "Tx index" "Tx queue 0: vhost-net: more frames come back than it was given"

# The worker complains of ours.
ring Rx
poke $((avail + 4 + 2 * (received % size))) 2 60000
po po flood k 1 100 >/dev/null
broken "the worker's error" "vhost-net has failed, the link is down"

po po events >/dev/null
po po rx 0 0 10 ms=20 >/dev/null # what came before
po po reset 0 >/dev/null
ip link del t0
ok "deleted: an event" wait_for 5 seen events "rmv 1"
like "deleted: the link is down" "$(po po link 0)" "^down"
is "deleted: nothing is received" "$(po_value po rx 0 0 10 ms=20 received)" 0
taken=$(po_value po tx 0 0 10 100 taken)
is "deleted: packets are taken, and counted as errors" \
	"$taken $(po_value po stats 0 oerrors)" "10 10"
is_between "deleted: nothing spins: percent of the time idle" "$(idle)" 60 100
ok "deleted: the port stops" po po stop 0
ok "deleted: and closes" po po close 0
works "portool quits" po_stop po || true

# What the kernel, or a policy, may refuse when a port starts.
while read -r request error message; do
	PORTOOL=("$TOOLS/refuse_ioctl" "$request" "$error" "$TOOLS/portool")
	works "'$message': portool starts" portool_start po \
		--vdev=net_tapbatch0,iface=t0,engine=vhost || continue
	po po open 0 >/dev/null
	before=$(po_value po usage fds)
	ok "'$message': the port does not start" eval '! po po start 0'
	like "'$message' is said" "$(job_log po)" "$message"
	is "'$message': no descriptor is left" "$(po_value po usage fds)" "$before"
	po_stop po || true
done <<'END'
0xaf01 16 cannot own /dev/vhost-net: Device or resource busy
0x4008af00 95 cannot set features of /dev/vhost-net: Operation not supported
0x4008af03 7 cannot share memory with /dev/vhost-net: Argument list too long
0x4028af11 14 vhost-net refuses the ring's addresses: Bad address
0x4008af22 22 vhost-net refuses the eventfd for errors: Invalid argument
0x4008af30 16 vhost-net refuses the interface's queue: Device or resource busy
END
unset PORTOOL
output=$("$TOOLS/refuse_ioctl" 0x8008af00 95 "$TOOLS/portool" -l 0 -m 64 "${EAL[@]}" \
	--vdev=net_tapbatch0,iface=t0,engine=vhost </dev/null 2>&1) || true
like "no features: the port is not made" "$output" \
	"engine=vhost does not work here: /dev/vhost-net does not tell its features: Operation not"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How many packets cross in one call of the kernel's, counted with kprobes; run in a VM.
#	batching.sh tx|rx INTERFACE EAL-ARGUMENT...
# tx: testpmd sends in bursts of 128. rx: pktgen sends, testpmd receives.
# prints: PACKETS CALLS KICKS, of three seconds
#
# tx: a call of tun_sendmsg with a control structure (struct tun_msg_ctl: type, num,
# pointer) brings num packets, others bring one. msg_control is 56 bytes into the
# struct msghdr of Linux 6.1. rx: each packet is taken from the worker's own array by a call
# of tun_recvmsg, and each array is filled from the interface's queue in one go, which
# ends with a signal to the driver at the latest: vhost_add_used_and_signal_n.
set -euo pipefail
way=$1 iface=$2
shift 2
T=/sys/kernel/tracing
P=$T/events/kprobes
log=$(mktemp)

cleanup() {
	for e in send alone kick recv used; do
		[ ! -d $P/$e ] || echo 0 >$P/$e/enable
		for t in 'keys=num if ctl != 0' 'keys=ctl if ctl == 0' keys=count; do
			echo "!hist:$t" >$P/$e/trigger
		done
	done 2>/dev/null
	echo >$T/kprobe_events 2>/dev/null || true
	rm -f "$log"
}
trap cleanup EXIT
cleanup 2>/dev/null || true
log=$(mktemp)
cat >$T/kprobe_events <<'END'
p:send tun_sendmsg ctl=+56(%si):x64 num=+2(+56(%si)):u16
p:alone tun_sendmsg ctl=+56(%si):x64
p:kick eventfd_write
p:recv tun_recvmsg
p:used vhost_add_used_and_signal_n count=%cx:u32
END

mode=txonly
[ "$way" = tx ] || mode=rxonly
coproc TESTPMD { exec dpdk-testpmd --no-huge -m 256 --no-shconf --no-pci --no-telemetry -l 0,1 \
	-d "$TAPBATCH_PMD" "$@" -- -i --total-num-mbufs=16384 --burst=128 --txd=1024 --rxd=1024 \
	--forward-mode=$mode >"$log" 2>&1; }
for ((i = 0; i < 300; i++)); do
	grep -q 'testpmd> ' "$log" && break
	sleep 0.1
done
ip link set dev "$iface" up
echo start >&"${TESTPMD[1]}"
sleep 1
echo 'hist:keys=num if ctl != 0' >$P/send/trigger
echo 'hist:keys=ctl if ctl == 0' >$P/alone/trigger
echo 'hist:keys=count' >$P/used/trigger
echo 1 >$P/kick/enable
echo 1 >$P/recv/enable
if [ "$way" = rx ]; then
	pktgen() { echo "$1" >"/proc/net/pktgen/$2"; }
	pktgen rem_device_all kpktgend_0
	pktgen "add_device $iface" kpktgend_0
	for c in 'count 200000' 'pkt_size 60' 'dst 192.0.2.2' 'dst_mac 02:00:00:00:00:02'; do
		pktgen "$c" "$iface"
	done
	(echo start >/proc/net/pktgen/pgctrl) &
	sleep 3
	echo stop >/proc/net/pktgen/pgctrl
	wait $!
else
	sleep 3
fi
for e in send alone used; do
	[ ! -f $P/$e/hist ] || cp $P/$e/hist "$log.$e"
done
hits() { awk -v e="$1" '$1 == e { print $2 }' $T/kprobe_profile; }
kicks=$(hits kick)
received=$(hits recv)
echo quit >&"${TESTPMD[1]}"
wait "$TESTPMD_PID" || true

# Lines like "{ num: 64 } hitcount: 1234".
sum() {
	tr -d '{},' <"$1" | awk -v key="$2:" '{ for (i = 1; i < NF; i++) {
		if ($i == key) n = $(i + 1)
		if ($i == "hitcount:") { calls += $(i + 1)
			packets += $(i + 1) * (n == 0 ? 1 : n) } } }
		END { print packets + 0, calls + 0 }'
}
if [ "$way" = tx ]; then
	read -r packets calls < <(sum "$log.send" num)
	read -r _ alone < <(sum "$log.alone" ctl)
	echo "$((packets + alone)) $((calls + alone)) $kicks"
else
	read -r _ calls < <(sum "$log.used" count)
	echo "$received $calls $kicks"
fi
rm -f "$log".*

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engine vhost at work, on a kernel that has vhost-net: in a VM.
# timeout: 1800
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/guest.sh"

guest_start || { fail "the VM starts"; done_testing; exit; }
for name in traffic control errors memory; do
	guest_test "$TOP/test/vm/guest/vhost_$name.t" 600
done

# Outside of the sandbox's PID namespace, where workers are visible.
output=$(guest_run 'mkfifo /tmp/in; exec 3<>/tmp/in
dpdk-testpmd --no-huge -m 256 --no-shconf --no-pci -l 0,1 -d "$TAPBATCH_PMD" \
	--log-level=pmd.net.tapbatch:info --vdev=net_tapbatch0,iface=t0,engine=vhost,vhost_cpu=1 \
	-- -i --total-num-mbufs=8192 <&3 >/tmp/log 2>&1 &
for ((i = 0; i < 300; i++)); do grep -q "testpmd> " /tmp/log && break; sleep 0.1; done
worker=$(sed -n "s/.*served by vhost worker //p" /tmp/log | tail -n 1)
taskset -pc "$worker" | sed "s/.*: /pinned: /"
echo "worker $worker: $(cat /proc/$worker/comm)"
python3 -c "
import glob, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(glob.glob(\"/run/dpdk/*/dpdk_telemetry.v2\")[0])
s.recv(1024)
s.send(b\"/tapbatch/vhost_workers,0\")
print(s.recv(1024).decode())"
echo "telemetry expected: [$worker]"
echo quit >&3
wait' 2>&1) || true
like "vhost_cpu=1: the worker is found and runs on CPU 1 only" "$output" 'pinned: 1'
like "... and is one of vhost's" "$output" 'worker [0-9]+: vhost-'
worker=$(sed -n 's/^worker \([0-9]*\):.*/\1/p' <<<"$output")
like "telemetry names it" "$output" "vhost_workers\": ?\[${worker:-none}\]"
done_testing

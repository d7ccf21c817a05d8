#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest application that is linked with the driver answers pings, of all sizes, and
# nothing else; it leaves no interface behind.
# timeout: 60
. "$(dirname "$0")/lib.sh"

echo_start() {
	job_start echo "$TAPBATCH_BUILD/examples/dpdk-icmp_echo" -l 0 -m 64 --no-huge --no-shconf \
		--no-pci --no-telemetry "$@"
	wait_for 20 grep -q '^Answering' "$TEST_TMP/echo.log" || { job_log echo; return 1; }
}
received() { awk -v dev="$1:" '$1 == dev { print $3 }' /proc/net/dev; }

works "it starts" echo_start || exit 1
ip addr add 10.0.0.1/24 dev echo0
ip link set dev echo0 up
ok "it answers pings" ping -q -c 20 -i 0.002 -W 1 10.0.0.2
ok "any address, 1472 bytes" ping -q -c 20 -i 0.002 -W 1 -s 1472 10.0.0.77
ok "without data" ping -q -c 5 -i 0.002 -W 1 -s 0 10.0.0.2

ip route add 10.1.0.0/16 dev echo0
before=$(received echo0)
echo x | timeout 2 socat -u - UDP4:10.1.0.1:9
ping -q -c 1 -W 0.2 -s 4000 10.1.0.1 >/dev/null || true # fragments
is "it answers nothing but whole echo requests" "$(received echo0)" "$before"
ok "and goes on" ping -q -c 1 -W 1 10.0.0.2

kill -INT "${JOB_PID[echo]}"
works "it ends when told to" job_wait echo || true
ok "its interface is gone" test ! -e /sys/class/net/echo0

works "it takes a port of the command line" echo_start --vdev=net_tapbatch0,iface=e1,type=tun || exit 1
ip addr add 10.0.0.1/24 dev e1
ip link set dev e1 up
ok "and answers there" ping -q -c 5 -i 0.002 -W 1 10.0.0.2
kill -TERM "${JOB_PID[echo]}"
works "it ends" job_wait echo || true

job_start echo "$TAPBATCH_BUILD/examples/dpdk-icmp_echo" -l 0 -m 64 --no-huge --no-shconf \
	--no-pci --no-telemetry --vdev=net_tapbatch0,iface=e1,txqlen=none
status=0
job_wait echo 5 || status=$?
is "without the port that was asked for it ends" "$status" 1
like "and says why" "$(cat "$TEST_TMP/echo.log")" 'txqlen=none.*no port net_tapbatch0'
done_testing

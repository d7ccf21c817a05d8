#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real stacks: a file over TCP and datagrams of many sizes arrive as they were, with
# coalescing and splitting at work; TCP recovers when packets are lost and swapped.
# timeout: 90
. "$(dirname "$0")/lib.sh"

netns_add left right
head -c 30000000 /dev/urandom >"$TEST_TMP/file"
hash=$(sha256sum <"$TEST_TMP/file")

# sends_file FROM TO ADDRESS FAMILY: what arrives has the right hash.
sends_file() {
	in_ns "$2" timeout 40 socat -u "TCP$4-LISTEN:7777,reuseaddr" "CREATE:$TEST_TMP/got" &
	local server=$!
	wait_for 5 eval "in_ns $2 ss -Hltn 'sport = 7777' | grep -q 7777" || return 1
	in_ns "$1" timeout 40 socat -u "OPEN:$TEST_TMP/file" "TCP$4:$3:7777" || return 1
	wait $server || return 1
	local got
	got=$(sha256sum <"$TEST_TMP/got")
	[ "$got" = "$hash" ] || { echo "sent $hash, got $got"; return 1; }
}

# Datagrams of sizes as QUIC has them, in bursts, with GSO where the kernel has it.
cat >"$TEST_TMP/datagrams.py" <<'PY'
import hashlib, random, socket, struct, sys, time
role, host, port, seed, count = sys.argv[1], sys.argv[2], 7778, int(sys.argv[3]), int(sys.argv[4])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
r = random.Random(seed)

def datagrams():
    left, number = count, 0
    while left > 0:
        size = r.choice([1252, 1252, 1252, 1200, 1350, r.randint(40, 1400)])
        n = min(left, r.choice([1, 2, 5, 20]))
        burst = []
        for i in range(n):
            last = i == n - 1 and r.random() < 0.7
            length = r.randint(40, size) if last else size
            burst.append(struct.pack("!I", number) + r.randbytes(length - 4))
            number += 1
        left -= n
        yield size, burst

s = socket.socket(family, socket.SOCK_DGRAM)
if role == "send":
    for size, burst in datagrams():
        if len(burst) > 1:
            control = [(socket.SOL_UDP, 103, struct.pack("=H", size))]  # UDP_SEGMENT
            s.sendmsg([b"".join(burst)], control, 0, (host, port))
        else:
            s.sendto(burst[0], (host, port))
        time.sleep(0.0003)
else:
    s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    s.bind((host, port))
    print("bound", flush=True)
    s.settimeout(5)
    wrong = 0
    for size, burst in datagrams():
        for wanted in burst:
            got = s.recv(65536)
            if got != wanted:
                sys.exit("datagram %d: expected %d bytes, got datagram %d of %d bytes" % (
                    struct.unpack("!I", wanted[:4])[0], len(wanted),
                    struct.unpack("!I", got[:4])[0], len(got)))
PY
# sends_datagrams FROM TO ADDRESS
sends_datagrams() {
	local receiver
	rm -f "$TEST_TMP/datagrams.log"
	in_ns "$2" timeout 30 /usr/bin/python3 "$TEST_TMP/datagrams.py" receive "$3" 4711 5000 \
		>"$TEST_TMP/datagrams.log" 2>&1 &
	receiver=$!
	wait_for 5 grep -q bound "$TEST_TMP/datagrams.log" || return 1
	in_ns "$1" /usr/bin/python3 "$TEST_TMP/datagrams.py" send "$3" 4711 5000 || return 1
	wait $receiver || { cat "$TEST_TMP/datagrams.log"; return 1; }
}

for engine in $ENGINES; do
	works "$engine: testpmd starts" forward_start ",engine=$engine,txqlen=5000" || continue
	ok "$engine: a file, IPv4" sends_file left right 10.0.0.2 4
	ok "$engine: a file, IPv6" sends_file right left '[fd00::1]' 6
	ok "$engine: datagrams, IPv4" sends_datagrams left right 10.0.0.2
	ok "$engine: datagrams, IPv6" sends_datagrams right left fd00::1
	is_between "$engine: superframes were split" "$(testpmd_xstat fwd 0 rx_q0_split_packets)" 1000 10000000
	is_between "$engine: packets were coalesced" "$(testpmd_xstat fwd 1 tx_q0_coalesced_packets)" 1000 10000000
	works "$engine: testpmd quits" testpmd_stop fwd || true
done

PORTOOL_CORES=0,1
for lro in 0 1; do
	works "portool starts" portool_start po --vdev=net_tapbatch0,iface=left \
		--vdev=net_tapbatch1,iface=right || exit 1
	for port in 0 1; do
		if [ $lro = 1 ]; then
			po po open $port rx=lro,scatter,rxcksum maxlro=65535 tx=multi,cksum,tso$USO >/dev/null
		else
			po po open $port >/dev/null
		fi
		po po start $port >/dev/null
	done
	side_up left 1
	side_up right 2
	# Superframes are few: of some hundred, enough must be hit for the counts below.
	ok "a forwarder that loses and swaps (LRO $lro)" po po forward 0 1 drop=$((lro ? 40 : 5)) swap=$((lro ? 200 : 30))
	truncate -s 5000000 "$TEST_TMP/file"
	hash=$(sha256sum <"$TEST_TMP/file")
	ok "a file, IPv4, in spite of that" sends_file left right 10.0.0.2 4
	ok "a file, IPv6, in spite of that" sends_file right left '[fd00::1]' 6
	answer=$(po po forward_stop)
	is_between "packets were lost" "$(awk '/^dropped/ { print $2 }' <<<"$answer")" 3 1000000
	is_between "packets were swapped" "$(awk '/^swapped/ { print $2 }' <<<"$answer")" 3 1000000
	works "portool quits" po_stop po || true
done
done_testing

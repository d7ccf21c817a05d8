# SPDX-License-Identifier: BSD-3-Clause
# For tests of the build: checkouts, and whether testpmd loads what was built. To be
# sourced behind tap.sh.

# checkout FOLDER: the files of this checkout, without what was built in it.
checkout() {
	mkdir -p "$1"
	tar -C "$TOP" --exclude=./build --exclude='./build-*' --exclude=./.git -c . | tar -C "$1" -x
}

# loads_in TESTPMD DRIVER [COMMAND]: starts it with one port of ours, and quits. What it
# says is in $TEST_TMP/out.
loads_in() {
	printf '%s\nquit\n' "${3:-}" | "$1" -d "$2" --no-huge -m 64 --no-pci --no-shconf --no-telemetry -l 0,1 \
		--vdev=net_tapbatch0,iface=load0 -- -i --total-num-mbufs=2048 >"$TEST_TMP/out" 2>&1 ||
		{ cat "$TEST_TMP/out"; return 1; }
	if ! grep -q 'Port 0: ' "$TEST_TMP/out"; then
		cat "$TEST_TMP/out"
		return 1
	fi
}

# SPDX-License-Identifier: BSD-3-Clause
# A test VM whose root is this machine's file system, read-only below an overlay: every
# program that is here runs there, on Debian's kernel, which has vhost-net. To be sourced
# by a test, behind tap.sh:
#
#   . test/vm/guest.sh
#   guest_start
#   guest_run 'dpdk-testpmd ...'
#
# guest_start [MODULE...]      builds what needs to be built for the VM, starts it, and
#                              returns when it takes commands; ended at the test's end
# guest_run [-t SECONDS] SCRIPT
#                              runs a bash script in it; prints its output, returns its
#                              status (see vm_run)
# guest_test FILE              runs a test of ours in it; its results become our own
#
# The emulated CPU has no AVX-512, so programs built for this machine's do not run there:
# the driver and the test tools are built once more, for any x86-64, beside Debian's own
# DPDK. TAPBATCH_BUILD names that build in the VM.

. "$(dirname "${BASH_SOURCE[0]}")/vm.sh"

GUEST_PMDS='mempool_ring net_virtio net_null net_ring bus_vdev'

# guest_build: prints the folder of the build for the VM, up to date.
guest_build() {
	local dir build
	# By the folder of the sources: EAL takes no driver from below /tmp.
	dir=$CACHE/guest/$(printf %s "$TOP" | sha256sum | cut -c1-16)
	build=$dir/build
	mkdir -p "$dir"
	exec 8>"$dir/lock"
	flock 8
	if [ ! -f "$build/build.ninja" ]; then
		rm -rf "$dir/pc" "$build"
		mkdir "$dir/pc"
		cp "$DPDK_PREFIX"/lib/pkgconfig/*.pc "$dir/pc/"
		sed -i 's/-march=[^ ]*/-march=x86-64-v2/' "$dir"/pc/*.pc
		PKG_CONFIG_PATH=$dir/pc meson setup "$build" "$TOP" >"$dir/log" 2>&1 ||
			{ cat "$dir/log" >&2; return 1; }
	fi
	ninja -C "$build" drivers/librte_net_tapbatch.so $(guest_tools "$build") >"$dir/log" 2>&1 ||
		{ tail -n 30 "$dir/log" >&2; return 1; }
	cat >"$build/env.sh" <<-END
		export TAPBATCH_PMD='$build/drivers/librte_net_tapbatch.so'
		export DPDK_PREFIX=/usr
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin
		export LD_LIBRARY_PATH=$(dirname $(ldconfig -p | sed -n 's/.*librte_eal.so.* => //p' | head -n 1))
	END
	flock -u 8
	echo "$build"
}

# What the tests run there, as ninja's targets.
guest_tools() {
	ninja -C "$1" -t targets all |
		sed -n 's,^\(test/tools/[a-z_]*\|test/property/property\): .*,\1,p'
}

guest_start() {
	local modules=() m end
	for m in virtiofs overlay tun vhost_net veth "$@"; do modules+=(-m "$m"); done
	GUEST_BUILD=$(guest_build) || return 1
	at_exit vm_cleanup
	vm_initramfs "$VM_DIR/guest" "${modules[@]}" || return 1
	/usr/lib/qemu/virtiofsd -f --socket-path="$VM_DIR/root.sock" -o log_level=err \
		-o source=/,cache=auto,sandbox=chroot >"$VM_DIR/root.log" 2>&1 &
	GUEST_FS=$!
	at_exit "kill $GUEST_FS; wait $GUEST_FS"
	wait_for 10 test -S "$VM_DIR/root.sock" || { cat "$VM_DIR/root.log" >&2; return 1; }
	vm_start guest -m 1024 -c 2 -p max -- -chardev "socket,id=root,path=$VM_DIR/root.sock" \
		-device vhost-user-fs-pci,chardev=root,tag=root,vectors=0
	vm_wait guest 90 || return 1
	# DPDK loads all of its folder of drivers: leave those that are used.
	vm_run guest "set -e
ln -s /proc/self/fd /dev/fd
mkdir /host /new /upper
mount -t virtiofs -o ro root /host
mount -t tmpfs upper /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/host,upperdir=/upper/files,workdir=/upper/work root /new
for d in proc sys dev; do mount --rbind /\$d /new/\$d; done
mount -t tmpfs tmp /new/tmp
mount -t tmpfs -o mode=755 run /new/run
mkdir /new/run/netns /new/run/pmds
pmds=\$(echo /new/usr/lib/*/dpdk/pmds-23.0)
mount --bind \$pmds /new/run/pmds
mount -t tmpfs -o mode=755 pmds \$pmds
cd /new/run/pmds
for f in *.so.23; do ln -s /run/pmds/\$f \$pmds/\$f; done
for d in $GUEST_PMDS; do ln -s /run/pmds/librte_\$d.so.23 \$pmds/librte_\$d.so; done"
}

guest_run() {
	local seconds=60
	if [ "$1" = -t ]; then
		seconds=$2
		shift 2
	fi
	vm_run guest -t "$seconds" "cat >/new/tmp/.script <<'END-OF-SCRIPT'
export TOP='$TOP' TAPBATCH_BUILD='$GUEST_BUILD' HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
. $GUEST_BUILD/env.sh
$1
END-OF-SCRIPT
exec chroot /new /bin/bash /tmp/.script"
}

# guest_test FILE [SECONDS [VARIABLE=VALUE...]]: a test that prints TAP; the numbers become
# ours.
guest_test() {
	local output line status=0
	# On the console as well, for whoever waits, or wonders where it got stuck.
	output=$(guest_run -t "${2:-300}" "${*:3} '$1' 2>&1 | tee /dev/ttyS0; exit \${PIPESTATUS[0]}" 2>&1) ||
		status=$?
	while IFS= read -r line; do
		case $line in
		'ok '*) tap_count=$((tap_count + 1)); echo "ok $tap_count - ${line#ok * - }" ;;
		'not ok '*)
			tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
			echo "not ok $tap_count - ${line#not ok * - }" ;;
		1..*) ;;
		*) diag "${line#\# }" ;;
		esac
	done <<<"$output"
	is "$(basename "$1") ends well in the VM" "$status" 0
}

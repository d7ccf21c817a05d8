# SPDX-License-Identifier: BSD-3-Clause
# Test VMs: QEMU by emulation (TCG), Debian's kernel, an initramfs made at test
# time. Boots in a few seconds. To be sourced by a test:
#
#   . test/vm/vm.sh
#   vm_initramfs "$VM_DIR/guest" -m virtio_net -b iperf3   # options of mkinitramfs.sh
#   vm_start one -i "$VM_DIR/guest" -- $(vm_nic net0 /path/to/socket 52:54:00:00:00:01)
#   vm_wait one 30
#   vm_run one 'ip addr add 192.0.2.1/24 dev eth0; ip link set eth0 up'
#   vm_stop one
#
# vm_initramfs OUT OPTION...     makes an initramfs; -m virtio_pci comes by itself
# vm_start NAME [-i INITRAMFS] [-m MIB] [-c CPUS] [-p CPU_MODEL] [-a KERNEL_ARGS]
#          [-- QEMU_ARGUMENT...] starts a VM and returns at once; its memory is
#                                shared (a memfd), as vhost-user needs it
# vm_nic ID SOCKET MAC [OPTIONS] prints QEMU's arguments for a vhost-user NIC, one
#                                word each. OPTIONS is a list with commas, each of
#                                them queues=N, server (QEMU listens and the other
#                                side connects), reconnect=SECONDS, or a property
#                                of virtio-net-pci (csum=off,mrg_rxbuf=off,...)
# vm_wait NAME [SECONDS]         waits until it takes commands (default 60)
# vm_run NAME [-t SECONDS] SCRIPT
#                                runs a shell script in the VM (default: at most
#                                60 s, then killed: 137); prints its output,
#                                returns its status; 124 no answer, 125 the VM is gone
# vm_put NAME FILE PATH, vm_get NAME PATH FILE
#                                copies over the serial line: for small files
# vm_console NAME                prints what the kernel wrote to the console
# vm_kill NAME, vm_stop NAME     ends it at once; powers it off, then ends it
# vm_cleanup                     ends all of this shell's VMs and removes VM_DIR;
#                                to be called from the test's EXIT trap
#
# VM_DIR, a private folder, holds for each VM NAME.pid, NAME.ctl (the socket),
# NAME.console and NAME.log (QEMU's own output). Times in a VM mean nothing: all of
# its instructions are emulated.

VM_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
VM_DIR=${VM_DIR:-$(mktemp -d /tmp/tapbatch-vm.XXXXXX)}
declare -A VM_PID=()

# vm_kernel: prints the folder of the kernel.
vm_kernel() {
	bash "$VM_HOME/fetch-kernel.sh"
}

vm_initramfs() {
	local out=$1
	shift
	bash "$VM_HOME/mkinitramfs.sh" -o "$out" -m virtio_pci "$@"
}

vm_start() {
	local name=$1 initramfs=$VM_DIR/guest mib=192 cpus=1 model=qemu64 args='' kernel
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		-i) initramfs=$2 ;;
		-m) mib=$2 ;;
		-c) cpus=$2 ;;
		-p) model=$2 ;;
		-a) args=$2 ;;
		--) shift; break ;;
		*) echo "vm_start: what is '$1'?" >&2; return 2 ;;
		esac
		shift 2
	done
	kernel=$(vm_kernel) || return 1
	rm -f "$VM_DIR/$name.ctl"
	# -nodefaults: no NIC, disk, or display of QEMU's own choice. The kernel is
	# told not to look for hardware that is not there; that is most of a boot.
	qemu-system-x86_64 -name "$name" -accel tcg,thread=multi -cpu "$model" -smp "$cpus" \
		-object "memory-backend-memfd,id=mem,size=${mib}M,share=on" \
		-machine pc,memory-backend=mem,hpet=off,usb=off -m "$mib" \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$kernel/vmlinuz" -initrd "$initramfs" \
		-append "console=ttyS0 panic=-1 quiet loglevel=4 tsc=reliable no_timer_check \
mitigations=off nokaslr rcupdate.rcu_expedited=1 8250.nr_uarts=2 net.ifnames=0 $args" \
		-chardev "file,id=console,path=$VM_DIR/$name.console" -serial chardev:console \
		-chardev "socket,id=ctl,path=$VM_DIR/$name.ctl,server=on,wait=off" \
		-serial chardev:ctl "$@" >"$VM_DIR/$name.log" 2>&1 &
	VM_PID[$name]=$!
	echo $! >"$VM_DIR/$name.pid"
}

vm_nic() {
	local id=$1 socket=$2 mac=$3 option queues=1 server='' device='' extra=''
	for option in ${4:+${4//,/ }}; do
		case $option in
		queues=*) queues=${option#*=} ;;
		server) server=,server=on,wait=off ;;
		reconnect=*) extra=,$option ;;
		*) device+=,$option ;;
		esac
	done
	[ "$queues" = 1 ] || device+=,mq=on
	# vectors=0: with MSI-X the emulated guest hangs when it probes the NIC.
	printf '%s\n' -chardev "socket,id=char-$id,path=$socket$server$extra" \
		-netdev "vhost-user,id=$id,chardev=char-$id,queues=$queues" \
		-device "virtio-net-pci,netdev=$id,mac=$mac,vectors=0,romfile=$device"
}

vm_alive() {
	[ -n "${VM_PID[$1]:-}" ] && kill -0 "${VM_PID[$1]}" 2>/dev/null
}

vm_wait() {
	local name=$1 end=$((SECONDS + ${2:-60})) last=1
	while vm_alive "$name" && [ "$SECONDS" -lt "$end" ]; do
		"$VM_HOME/vmctl.py" "$VM_DIR/$name.ctl" ready 2 2>/dev/null && return 0
		last=$?
	done
	echo "VM $name did not come up (status $last); the end of its console and log:" >&2
	tail -n 15 "$VM_DIR/$name.console" "$VM_DIR/$name.log" >&2 || true
	return 1
}

vm_run() {
	local name=$1 seconds=60
	shift
	if [ "$1" = -t ]; then
		seconds=$2
		shift 2
	fi
	# One at a time per VM: the serial line takes one client.
	flock "$VM_DIR/$name.pid" "$VM_HOME/vmctl.py" "$VM_DIR/$name.ctl" run "$seconds" "$*"
}

vm_put() {
	vm_run "$1" "base64 -d >'$3' <<'.'
$(base64 "$2")
."
}

vm_get() {
	vm_run "$1" "cat '$2'" >"$3"
}

vm_console() {
	cat "$VM_DIR/$1.console"
}

vm_kill() {
	[ -n "${VM_PID[$1]:-}" ] || return 0
	kill -KILL "${VM_PID[$1]}" 2>/dev/null || true
	wait "${VM_PID[$1]}" 2>/dev/null || true
	unset "VM_PID[$1]"
}

vm_stop() {
	local i
	vm_alive "$1" && vm_run "$1" -t 5 'sync; poweroff -f &' >/dev/null 2>&1 || true
	for ((i = 0; i < 50; i++)); do
		vm_alive "$1" || break
		sleep 0.1
	done
	vm_kill "$1"
}

vm_cleanup() {
	local name
	for name in "${!VM_PID[@]}"; do vm_kill "$name"; done
	rm -rf "$VM_DIR"
}

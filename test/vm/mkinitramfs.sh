#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the initramfs of a test VM: static busybox, kernel modules in the order
# they must be inserted, and whatever the test wants to run there.
#
#   mkinitramfs.sh -o OUT [-k KERNEL_DIR] [-m MODULE]... [-b PROGRAM]... [-l LIBRARY]...
#                  [-f SOURCE:DESTINATION]...
#
#   -m  a module, with those it depends on; inserted at boot (MODULE:later is put
#       in /lib/modules only: insmod it by path, dependencies first)
#   -b  a program of this machine, by name or path, with its shared libraries
#       (ldd, with the caller's LD_LIBRARY_PATH); goes to /bin
#   -l  a shared object with its libraries, at the same path as here (plug-ins,
#       which ldd of the program does not name)
#   -f  a file, or a folder with all in it, as it is
#
# The VM runs test/vm/init as process 1, then listens for commands on its second
# serial port; see vm.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/../../devtools/common.sh"

usage() { sed -n 's/^# \{0,1\}//; 5,16p' "$0" >&2; exit 2; }
out='' kernel='' modules=() programs=() libraries=() files=()
while getopts o:k:m:b:l:f: opt; do
	case $opt in
	o) out=$OPTARG ;;
	k) kernel=$OPTARG ;;
	m) modules+=("$OPTARG") ;;
	b) programs+=("$OPTARG") ;;
	l) libraries+=("$OPTARG") ;;
	f) files+=("$OPTARG") ;;
	*) usage ;;
	esac
done
[ -n "$out" ] || usage
[ -n "$kernel" ] || kernel=$(bash "$here/fetch-kernel.sh")

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,root,etc,lib/modules,usr}
ln -s bin "$root/sbin"
ln -s ../bin "$root/usr/bin"
ln -s ../lib "$root/usr/lib"
cp "$here/init" "$root/init"
cp "$(command -v busybox)" "$root/bin/busybox"
ldd "$root/bin/busybox" >/dev/null 2>&1 && die "busybox is not static (package busybox-static)"
echo root:x:0:0:root:/root:/bin/sh >"$root/etc/passwd"
echo root:x:0: >"$root/etc/group"
echo 127.0.0.1 localhost >"$root/etc/hosts"

# module NAME: its path and its dependencies', in the order of insertion.
# modules.dep lists those a module needs nearest first.
module() {
	local line dep name=${1//-/_}
	line=$(awk -v n="$name" '{ f = $1; sub(/:$/, "", f); sub(/.*\//, "", f);
		sub(/\.ko$/, "", f); gsub(/-/, "_", f); if (f == n) { print; exit } }' \
		"$kernel/modules/modules.dep")
	if [ -z "$line" ]; then
		grep -q "/${name//_/[_-]}\.ko$" "$kernel/modules/modules.builtin" && return 0
		die "$kernel has no module '$1'"
	fi
	# shellcheck disable=SC2086
	set -- ${line/:/ }
	for dep in "${@:2}"; do printf '%s\n' "$dep"; done | tac
	printf '%s\n' "$1"
}

: >"$root/lib/modules/order"
for m in "${modules[@]}"; do
	later=
	[[ $m == *:later ]] && later=1
	list=$(module "${m%:later}")
	for path in $list; do
		[ -f "$root/lib/modules/${path##*/}" ] ||
			cp "$kernel/modules/$path" "$root/lib/modules/"
		[ -n "$later" ] || grep -qx "${path##*/}" "$root/lib/modules/order" ||
			echo "${path##*/}" >>"$root/lib/modules/order"
	done
done

# copy FILE: to the same path in the VM, following links, once.
copy() {
	[ -e "$root$1" ] && return 0
	mkdir -p "$root$(dirname "$1")"
	cp -L "$1" "$root$1"
}
libs_of() {
	local missing
	missing=$(ldd "$1" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found/\1/p')
	[ -z "$missing" ] || die "$1 needs libraries that were not found: $missing"
	ldd "$1" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (0x.*/\1/p'
}
for p in "${programs[@]}"; do
	path=$(command -v "$p") || die "no program '$p' here"
	cp -L "$path" "$root/bin/${p##*/}"
	for lib in $(libs_of "$path"); do copy "$lib"; done
done
for l in "${libraries[@]}"; do
	[ -f "$l" ] || die "no library '$l' here"
	copy "$l"
	for lib in $(libs_of "$l"); do copy "$lib"; done
done
for f in "${files[@]}"; do
	src=${f%%:*} dst=$root/${f#*:}
	[ -e "$src" ] || die "no file '$src' here"
	mkdir -p "$(dirname "$dst")"
	cp -rL "$src" "$dst"
done

# Uncompressed: under emulation the VM would spend longer on unpacking than the
# host on copying.
(cd "$root" && find . -print0 | cpio --null --quiet -o -H newc -R 0:0) >"$out"

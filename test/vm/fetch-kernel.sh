#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unpacks the kernel that the test VMs run, Debian's linux-image-cloud-amd64, into
# the cache and prints the folder: vmlinuz, config, System.map and modules/ with a
# modules.dep. Nothing is installed. A kernel that is there already is taken
# without asking the network; to get a newer one, remove the cache's kernel-*.
set -euo pipefail
. "$(dirname "$0")/../../devtools/common.sh"

mkdir -p "$CACHE"
exec 9>"$CACHE/kernel.lock"
flock 9
for dir in "$CACHE"/kernel-*; do
	if [ -f "$dir/.complete" ]; then
		echo "$dir"
		exit 0
	fi
done

meta=linux-image-cloud-amd64
work=$(mktemp -d "$CACHE/kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
image() {
	apt-cache depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p'
}
package=$(image)
if [ -z "$package" ]; then
	apt-get -q update >"$work/log" 2>&1 || true
	package=$(image)
fi
[ -n "$package" ] || die "apt knows no package $meta (is a Debian source in its lists?)"
release=${package#linux-image-}

say "unpacking $package for the test VMs (once per machine)"
(cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$package") >"$work/log" 2>&1 || {
	# The lists may be older than the archive.
	apt-get -q update >>"$work/log" 2>&1 || true
	(cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$package") \
		>>"$work/log" 2>&1 || { tail -n 10 "$work/log" >&2; die "could not get $package"; }
}
version=$(dpkg-deb -f "$work/$package"_*.deb Version)
dpkg-deb -x "$work/$package"_*.deb "$work/x"

new=$work/new
mkdir "$new"
mv "$work/x/boot/vmlinuz-$release" "$new/vmlinuz"
mv "$work/x/boot/config-$release" "$new/config"
mv "$work/x/boot/System.map-$release" "$new/System.map"
busybox depmod -b "$work/x" "$release" ||
	die "busybox depmod could not list the modules of $package"
mv "$work/x/lib/modules/$release" "$new/modules"
[ -s "$new/modules/modules.dep" ] || die "$package: modules.dep came out empty"
echo "$release" >"$new/release"
touch "$new/.complete"
mv "$new" "$CACHE/kernel-$version"
echo "$CACHE/kernel-$version"

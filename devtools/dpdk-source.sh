#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unpacks the source of Debian's DPDK 22.11 into the cache and prints the folder.
# The system's own package lists stay as they are: the deb-src entries are a
# private copy of them, used for this one download.
set -euo pipefail
. "$(dirname "$0")/common.sh"

mkdir -p "$CACHE"
exec 9>"$CACHE/source.lock"
flock 9
for dir in "$CACHE"/source-22.11.*; do
	if [ -f "$dir/VERSION" ]; then
		echo "$dir"
		exit 0
	fi
done

rm -rf "$CACHE"/source.?????? # cut short
work=$(mktemp -d "$CACHE/source.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources" "$work/lists/partial" "$work/archives/partial"
for f in /etc/apt/sources.list.d/*.sources; do
	[ -f "$f" ] && grep -qE '^URIs:.*/debian' "$f" &&
		sed 's/^Types:.*/Types: deb-src/' "$f" >"$work/sources/${f##*/}"
done
[ -f /etc/apt/sources.list ] && grep -E '^deb .*/debian' /etc/apt/sources.list |
	sed 's/^deb /deb-src /' >"$work/sources/classic.list" || true
[ -n "$(ls -A "$work/sources")" ] || die "no Debian source found in /etc/apt/sources.list.d"

apt=(apt-get -q -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$work/sources"
	-o "Dir::State::Lists=$work/lists" -o "Dir::Cache::archives=$work/archives"
	-o "Dir::Cache::srcpkgcache=" -o "Dir::Cache::pkgcache=" -o "APT::Sandbox::User=root")
{
	"${apt[@]}" update
	cd "$work"
	"${apt[@]}" source --only-source dpdk
} >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; die "could not get Debian's DPDK source"; }

found=$(find "$work" -mindepth 2 -maxdepth 2 -name VERSION -path '*/dpdk-*')
[ -n "$found" ] || die "Debian's source package dpdk unpacked to no folder with a VERSION"
version=$(cat "$found")
[[ $version == 22.11.* ]] ||
	die "Debian's DPDK is $version, and this project is built and tested with 22.11.*"
mv "${found%/VERSION}" "$CACHE/source-$version"
echo "$CACHE/source-$version"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Writes env.sh of a build folder, to be sourced by those who use the build. Run
# by ninja each time the driver was linked.
#	build-env.sh BUILD DRIVER PLUGIN DPDK_PREFIX DPDK_LIBDIR SANITIZERS COMPILER
set -euo pipefail
. "$(dirname "$0")/common.sh"

build=$1
driver=$(realpath "$2")
plugin=$(realpath "$3")
prefix=$4
libdir=$5
sanitize=$6
compiler=$7

# EAL loads nothing from anywhere below a folder that all may write to.
world_writable() {
	local dir=$1
	while [ "$dir" != / ]; do
		dir=$(dirname "$dir")
		[ -z "$(find "$dir" -maxdepth 0 -perm -o+w)" ] || return 0
	done
	return 1
}

# In such a case driver and plug-in are copied into the cache, named by the build folder;
# copies of builds that are no more are removed.
pmd=$driver
testpmd=$plugin
if world_writable "$driver"; then
	copy=$CACHE/pmd/$(printf %s "$build" | sha256sum | cut -c1-16)
	if mkdir -p "$copy" 2>/dev/null; then
		printf '%s\n' "$build" >"$copy/build"
		pmd=$copy/${driver##*/}
		testpmd=$copy/${plugin##*/}
		install -m 755 "$driver" "$copy/.new"
		mv "$copy/.new" "$pmd"
		install -m 755 "$plugin" "$copy/.new"
		mv "$copy/.new" "$testpmd"
	else
		say "note: EAL refuses $driver, which lies below a folder that all may write to"
	fi
fi
for other in "$CACHE"/pmd/*/build; do
	[ ! -f "$other" ] || [ -d "$(cat "$other")" ] || rm -rf "${other%/build}"
done

# A driver with sanitizers needs their runtime loaded first, also into a testpmd
# that has none.
bin=
if [ "$sanitize" != none ]; then
	bin=$build/sanitized-bin
	mkdir -p "$bin"
	if [ "$compiler" = clang ]; then
		runtime=$(clang -print-file-name=libclang_rt.asan-x86_64.so)
	else
		runtime="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
	fi
	cat >"$bin/dpdk-testpmd" <<-END
		#!/bin/sh
		LD_PRELOAD="$runtime\${LD_PRELOAD:+ \$LD_PRELOAD}" exec "$prefix/bin/dpdk-testpmd" "\$@"
	END
	chmod +x "$bin/dpdk-testpmd"
fi

# prepend VARIABLE FOLDERS: shell code that puts them first, unless they are.
prepend() {
	echo "case \"\${$1:-}:\" in '$2':*) ;; *) export $1='$2'\"\${$1:+:\$$1}\" ;; esac"
}
cat >"$build/env.sh.new" <<END
# To be sourced: what it takes to run and build against this build and its DPDK.
export DPDK_PREFIX='$prefix'
export TAPBATCH_PMD='$pmd'
export TAPBATCH_TESTPMD='$testpmd'
$(prepend PKG_CONFIG_PATH "$libdir/pkgconfig")
$(prepend LD_LIBRARY_PATH "$libdir")
$(prepend PATH "${bin:+$bin:}$prefix/bin")
END
mv "$build/env.sh.new" "$build/env.sh"

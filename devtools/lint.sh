#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the C sources: layout with clang-format, errors with cppcheck.
#	lint.sh            both
#	lint.sh check      the layout
#	lint.sh analyse    errors
#	lint.sh format     brings files into the layout
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$TOP"
bash devtools/install-packages.sh build test

folders=(drivers app examples test)
# Tests keep the tables of packets that their authors laid out.
mapfile -t sources < <(find "${folders[@]}" -path test -prune -o -name '*.[ch]' -print | sort)

layout() {
	clang-format --dry-run -Werror --ferror-limit=3 "${sources[@]}" ||
		die "the layout differs, make format sets it right"
}

# Findings that are none: in cppcheck-suppressions.txt, with the reason. The headers of
# DPDK and of libraries are not looked into.
analyse() {
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --language=c \
		--platform=unix64 --library=posix,bsd,gnu \
		--enable=warning,performance,portability --suppress=missingInclude \
		--suppressions-list=devtools/cppcheck-suppressions.txt \
		'-Djson_array_foreach(array,index,value)=for(;;)' \
		-D__GNUC__ -DTAPBATCH_HAVE_URING -Idrivers/net/tapbatch "${folders[@]}"
}

case ${1:-} in
'') layout && analyse ;;
check) layout ;;
analyse) analyse ;;
format) clang-format -i "${sources[@]}" ;;
*) die "no mode '$1' (have: check, analyse, format)" ;;
esac

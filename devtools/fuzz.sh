#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lets libFuzzer, with sanitizers, try each fuzzer for FUZZ_SECONDS (60), starting
# from the inputs kept in test/fuzz/corpus and those found before.
#	fuzz.sh [NAME...]
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$TOP"

bash devtools/install-packages.sh test
CC=clang bash devtools/setup.sh build-fuzz -Dfuzz=true \
	-Db_sanitize=address,undefined -Db_lundef=false
ninja -C build-fuzz --quiet
. build-fuzz/env.sh
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

names=("$@")
if [ $# = 0 ]; then
	for source in test/fuzz/fuzz_*.c; do
		name=${source##*/fuzz_}
		names+=("${name%.c}")
	done
fi
failed=()
for name in "${names[@]}"; do
	kept=test/fuzz/corpus/$name
	found=build-fuzz/corpus/$name
	mkdir -p "$found"
	[ -d "$kept" ] || kept=
	log=build-fuzz/fuzz_$name.log
	if build-fuzz/test/fuzz/fuzz_"$name" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 \
		-print_final_stats=1 -artifact_prefix="build-fuzz/fuzz_$name-" \
		"$found" ${kept:+"$kept"} >"$log" 2>&1; then
		say "fuzz_$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
	else
		tail -n 60 "$log" >&2
		failed+=("$name")
	fi
done
[ ${#failed[@]} = 0 ] || die "findings in: ${failed[*]}; the inputs are build-fuzz/fuzz_NAME-*"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The fuzzers' kept inputs, among them all that once showed an error, pass.
. "$(dirname "$0")/../tap.sh"

for fuzzer in "$TAPBATCH_BUILD"/test/fuzz/fuzz_*; do
	[ -f "$fuzzer" ] || continue
	name=${fuzzer##*/fuzz_}
	inputs=("$TEST_DIR/fuzz/corpus/$name"/*)
	if [ -e "${inputs[0]}" ]; then
		ok "fuzz_$name finds nothing in ${#inputs[@]} kept inputs" "$fuzzer" "${inputs[@]}"
	fi
done
[ "$tap_count" -gt 0 ] || skip_all "no fuzzer has kept inputs"
done_testing

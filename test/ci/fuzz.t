#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A short run of each fuzzer, with sanitizers, finds nothing.
# timeout: 600
. "$(dirname "$0")/../tap.sh"

export FUZZ_SECONDS=${FUZZ_SECONDS:-20}
for source in "$TEST_DIR"/fuzz/fuzz_*.c; do
	name=${source##*/fuzz_}
	name=${name%.c}
	ok "fuzz_$name finds nothing in $FUZZ_SECONDS s" bash "$TOP/devtools/fuzz.sh" "$name"
done
done_testing

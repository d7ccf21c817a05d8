#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unit and functional tests pass with address and undefined-behaviour sanitizers.
# timeout: 1500
. "$(dirname "$0")/../tap.sh"

# What env.sh set is that of the other build, and each of the tests has a sandbox.
clean() {
	env -u TAPBATCH_BUILD -u TAPBATCH_PMD -u TAPBATCH_SANDBOX TAPBATCH_TEST_TIMEOUT=300 "$@"
}
ok "the build with sanitizers succeeds" clean make -C "$TOP" asan
ok "unit tests pass with sanitizers" clean "$TEST_DIR/run" --sanitize unit
# Not those that measure memory, which sanitizers keep, or load the driver into Debian's
# testpmd, which has none.
tests=()
for file in "$TEST_DIR"/func/*.t; do
	[[ $file =~ /(hotplug|engines)\.t$ ]] || tests+=("$file")
done
ok "functional tests pass with sanitizers" clean "$TEST_DIR/run" --sanitize "${tests[@]}"
done_testing

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
for group in unit func; do
	compgen -G "$TEST_DIR/$group/*" >/dev/null || continue
	ok "$group tests pass with sanitizers" clean "$TEST_DIR/run" --sanitize "$group"
done
done_testing

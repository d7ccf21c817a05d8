# SPDX-License-Identifier: BSD-3-Clause
# TAP for tests written in shell. To be sourced first thing by a test, which then
# runs in a sandbox (see there), and ends with done_testing.
#
#	. "$(dirname "$0")/../tap.sh"
#	ok "the link comes up" ip link set dev tap0 up
#	is "one queue" "$(queues)" 1
#	done_testing

set -euo pipefail

TEST_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# Brings TOP and CACHE, and what env.sh sets; test/run says which build it is.
. "$TEST_DIR/../devtools/common.sh"
TAPBATCH_BUILD=${TAPBATCH_BUILD:-$TOP/build}
. "$TAPBATCH_BUILD/env.sh"

if [ -z "${TAPBATCH_SANDBOX:-}" ]; then
	exec "$TEST_DIR/sandbox" "$0" "$@"
fi

tap_count=0
tap_failed=0
tap_planned=
tap_cleanups=()

# A folder of the test's own, removed at its end.
TEST_TMP=$(mktemp -d "${TMPDIR:-/tmp}/tapbatch-test.XXXXXX")

# at_exit COMMAND: run at the end, last one first, whatever the outcome. A string
# for eval. Cleanups may fail (what they remove may be gone).
at_exit() { tap_cleanups=("$1" "${tap_cleanups[@]}"); }

tap_end() {
	local status=$? command
	trap - EXIT
	set +e
	for command in "${tap_cleanups[@]}"; do
		eval "$command" >/dev/null 2>&1
	done
	rm -rf "$TEST_TMP"
	[ "$status" -eq 0 ] && [ "$tap_failed" -gt 0 ] && status=1
	[ "$status" -eq 0 ] && [ -z "$tap_planned" ] && diag "ended without done_testing" && status=1
	exit "$status"
}
trap tap_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# diag TEXT: lines for whoever looks at the failure.
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# plan N: how many results will come. Instead: done_testing, at the end.
plan() { tap_planned=$1; echo "1..$1"; }
done_testing() {
	[ -n "$tap_planned" ] || plan "$tap_count"
	[ "$tap_failed" -eq 0 ]
}

pass() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1"; }
# fail NAME [TEXT]: TEXT says what was expected and what came.
fail() {
	tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	[ $# -lt 2 ] || diag "$2"
}

# ok NAME COMMAND...: passes if the command succeeds; shows the end of its output if not.
ok() {
	local name=$1 output status=0
	shift
	output=$("$@" 2>&1) || status=$?
	if [ "$status" -eq 0 ]; then
		pass "$name"
	else
		fail "$name" "failed with status $status: $*"
		[ -z "$output" ] || diag "$(tail -n 40 <<<"$output")"
	fi
}

# is NAME GOT EXPECTED: the same text.
is() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "expected: $3"$'\n'"got:      $2"; fi
}

# like NAME GOT REGEX: an extended regular expression matches somewhere in it.
like() {
	if [[ $2 =~ $3 ]]; then pass "$1"; else fail "$1" "expected a match of: $3"$'\n'"got: $2"; fi
}

# is_between NAME GOT LOW HIGH: a number, bounds included.
is_between() {
	if awk -v x="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(x ~ /^-?[0-9.]+$/ && x >= a && x <= b) }'
	then pass "$1"; else fail "$1" "expected: $3 to $4"$'\n'"got:      $2"; fi
}

# skip NAME WHY: this result can't be had here. skip_all WHY: none of the test's can.
skip() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1 # SKIP $2"; }
skip_all() { tap_planned=0; echo "1..0 # SKIP $1"; exit 0; }

# wait_for SECONDS COMMAND...: until the command succeeds; fails when time is up.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

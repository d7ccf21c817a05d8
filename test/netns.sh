# SPDX-License-Identifier: BSD-3-Clause
# Network namespaces for tests. To be sourced behind tap.sh. Names are the test's
# own: the sandbox has a /run/netns of its own.

# netns_add NAME...: new namespaces with loopback up, removed at the end.
netns_add() {
	local name
	for name in "$@"; do
		ip netns add "$name"
		at_exit "netns_del $name"
		ip -n "$name" link set dev lo up
	done
}

# netns_del NAME: ends what still runs in the namespace and removes it.
netns_del() {
	local pids
	pids=$(ip netns pids "$1") || return 0
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -KILL $pids || true
	ip netns del "$1"
}

# in_ns NAME COMMAND...
in_ns() { ip netns exec "$@"; }

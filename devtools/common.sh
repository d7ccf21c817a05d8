# SPDX-License-Identifier: BSD-3-Clause
# Paths and messages that the scripts of this folder share. To be sourced.

say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Debian's own python3, meson and ninja first: DPDK's build needs a python3 that
# has pyelftools, and another Python earlier on PATH would be found instead.
PATH=/usr/bin:/usr/sbin:/bin:/sbin:$PATH
export PATH

# What is built once per machine lies outside the checkout: EAL refuses to load
# a driver from below a world-writable folder, and a checkout may lie in /tmp.
if [ "$(id -u)" = 0 ]; then
	CACHE=${TAPBATCH_CACHE:-/var/cache/tapbatch}
else
	CACHE=${TAPBATCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tapbatch}
fi
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

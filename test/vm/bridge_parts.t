#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The bridge's pure parts, see bridge_parts.c.
set -euo pipefail
export CMOCKA_MESSAGE_OUTPUT=TAP
top=$(cd "$(dirname "$0")/../.." && pwd -P)
build=${TAPBATCH_BUILD:-$top/build}
. "$build/env.sh"
exec "$build/test/vm/bridge_parts"

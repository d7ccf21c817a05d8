#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# dpdk-pmdinfo.py lists the driver and its arguments, as for DPDK's own drivers.
. "$(dirname "$0")/../tap.sh"

pmdinfo() { dpdk-pmdinfo.py "$TAPBATCH_PMD"; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[0].get(sys.argv[1]))' "$1"; }

ok "dpdk-pmdinfo.py reads the driver" pmdinfo
is "it finds the driver's name" "$(pmdinfo | field name)" net_tapbatch
for key in iface type engine tx_batched coalesce mac txqlen persist owner group remote; do
	like "it finds the argument $key" "$(pmdinfo | field params)" "(^| )$key="
done
done_testing

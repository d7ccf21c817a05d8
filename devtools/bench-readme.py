#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 The tapbatch authors
"""Makes README's tables of what dpdk-tapbatch-perf measured.

usage: bench-readme.py RESULTS.json [README.md]

Prints them; with README.md, puts them there between the lines "<!-- measured -->" and
"<!-- /measured -->".
"""

import json
import re
import sys

PEERS = ["net_tap", "net_af_xdp", "raw", "tapbatch"]
RAW = ["raw-superframe", "raw-rw"]
# What only net_tapbatch has is compared with what the other has instead.
INSTEAD = {"superframes": "packets", "TCP, LRO, TSO": "TCP"}

# what, experiment, parameter, metric, factor, unit, decimals, parameter of ours if another
ROWS = [
    ("64 bytes, each packet another flow, burst 32", "pps", "", "rx_mpps", 1, "M/s", 2),
    ("64 bytes, one flow, burst 64", "merge", "1 flow, 64 B", "rx_mpps", 1, "M/s", 2),
    ("64 bytes, 8 flows in a burst of 64", "merge", "8 flows, 64 B", "rx_mpps", 1, "M/s", 2),
    ("1442 bytes, one flow, burst 64", "merge", "1 flow, 1442 B", "rx_gbps", 1, "Gb/s", 1),
    ("bursts of one packet", "single", "", "rx_mpps", 1, "M/s", 2),
    ("the same, CPU of the sender", "single", "", "tx_cpu_ns", 1, "ns", 0),
    ("receive a flood of single 64-byte packets", "flood", "packets", "rx_mpps", 1, "M/s", 2),
    ("the same, the kernel being free to pass superframes", "flood", "superframes", "rx_mpps", 1,
     "M/s", 2),
    ("iperf3 TCP through a forwarder", "stream", "TCP", "stream_gbps", 1, "Gb/s", 2),
    ("the same, LRO and TSO on", "stream", "TCP, LRO, TSO", "stream_gbps", 1, "Gb/s", 2),
    ("ping answered by a polled port, median", "latency", "ping", "rtt_p50_us", 1, "us", 1),
    ("the same, 99th percentile", "latency", "ping", "rtt_p99_us", 1, "us", 1),
]
BRIDGE = [
    ("64 bytes, host to guest", "bridge", "64 B to guest", "rx_mpps", 1, "M/s", 2),
    ("64 bytes, guest to host", "bridge", "64 B to host", "rx_mpps", 1, "M/s", 2),
    ("the same, one flow", "bridge", "1 flow, to host", "rx_mpps", 1, "M/s", 2),
    ("TCP, kernel to kernel, `net_tapbatch` in the guest", "bridge", "TCP to guest", "stream_gbps",
     1, "Gb/s", 2),
    ("the same, but `net_tap` in the guest of `testpmd`", "bridge", "TCP, own guest", "stream_gbps",
     1, "Gb/s", 2),
]


def median(results, experiment, driver, parameter, metric):
    for e in results["experiments"]:
        for c in e["cases"] if e["name"] == experiment else []:
            if c["driver"] == driver and c["parameter"] == parameter and metric in c["metrics"]:
                return c["metrics"][metric]["median"]
    return None


def ratio(results, experiment, driver):
    for e in results["experiments"]:
        for c in e["cases"] if e["name"] == experiment else []:
            if c["driver"] == driver and "ratio" in c:
                return c["ratio"]["median"]
    return None


def shown(value, factor, unit, decimals):
    return "-" if value is None else f"{value * factor:.{decimals}f} {unit}"


def line(results, row, columns, base, ours):
    what, experiment, parameter, metric, factor, unit, decimals = row
    values = {}
    for column in columns:
        for driver in RAW if column == "raw" else [column]:
            found = median(results, experiment, driver, parameter, metric)
            if found is not None:
                values[column] = found
                break
    if ours not in values:
        return None
    cells = [shown(values.get(c), factor, unit, decimals) for c in columns]
    times = "-"
    other = values.get(base) or median(results, experiment, base,
                                       INSTEAD.get(parameter, parameter), metric)
    if other and values[ours]:
        better = other / values[ours] if unit in ("us", "ns") else values[ours] / other
        times = f"**{better:.2g}**" if better < 100 else f"**{better:.0f}**"
    return "| " + " | ".join([what] + cells + [times]) + " |"


def table(results, rows, columns, heads, base, ours):
    lines = [line(results, row, columns, base, ours) for row in rows]
    lines = [found for found in lines if found]
    if not lines:
        return []
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)] + lines + [""]


def tables(results):
    out = [f"Measured on {results['cores']} cores ({results['cpu']}), Linux "
           f"{results['kernel']}, DPDK {results['dpdk'].removeprefix('DPDK ')}, "
           f"{results['date']}, by `{results['command']}`. Medians of runs in turn; the last "
           f"column is how many times better.", ""]
    out += table(results, ROWS, PEERS,
                 ["port -> Linux bridge -> port, UDP, and others", "`net_tap`", "`net_af_xdp`",
                  "raw loop of system calls", "`net_tapbatch`", "to `net_tap`"],
                 "net_tap", "tapbatch")
    overhead = ratio(results, "overhead", "tapbatch")
    if overhead:
        out += [f"Where there is nothing to merge, coalescing on is {overhead:.2f} times as fast as "
                "off.", ""]
    out += table(results, BRIDGE, ["testpmd", "vhost_bridge"],
                 ["to and from a guest (virtio-user)", "`testpmd`, `net_tap` and `net_vhost`",
                  "`dpdk-vhost_bridge`", ""], "testpmd", "vhost_bridge")
    return "\n".join(out)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as f:
        text = tables(json.load(f))
    if len(sys.argv) == 2:
        print(text)
        return
    with open(sys.argv[2], encoding="utf-8") as f:
        readme = f.read()
    made, n = re.subn(r"(<!-- measured -->\n).*?(<!-- /measured -->)",
                      lambda m: f"{m[1]}\n{text}\n{m[2]}", readme, count=1, flags=re.S)
    if n == 0:
        sys.exit(f"{sys.argv[2]} has no lines <!-- measured --> and <!-- /measured -->")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(made)


if __name__ == "__main__":
    main()

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The table of experiments: who is compared, what is printed, and how often each runs. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"

static const char *const all_drivers[] = {
	"tapbatch", "tapbatch-uring", "tapbatch-rw", "tapbatch-vhost",
	"net_tap",  "net_af_packet",  "net_af_xdp",  "net_virtio_user",
	"raw-rw",   "raw-threaded",   "raw-vnet",    "raw-uring",
	NULL,
};
static const char *const dequeue_drivers[] = { "tapbatch", NULL };
static const char *const our_drivers[] = { "tapbatch", "tapbatch-uring", NULL };
static const char *const port_drivers[] = {
	"tapbatch",       "tapbatch-uring",  "tapbatch-rw",
	"tapbatch-vhost", "net_tap",         "net_af_packet",
	"net_af_xdp",     "net_virtio_user", NULL,
};
static const char *const merge_drivers[] = {
	"tapbatch", "tapbatch-plain", "net_tap", "net_af_xdp", "raw-superframe", NULL,
};
static const char *const interrupt_drivers[] = {
	"tapbatch",
	"tapbatch-uring",
	"net_tap",
	NULL,
};
static const char *const congestion_drivers[] = { "tapbatch", "net_tap", "raw-rw", NULL };
static const char *const flow_drivers[] = { "tapbatch", "net_tap", NULL };
static const char *const overhead_drivers[] = { "tapbatch", "tapbatch-plain", NULL };
static const char *const echo_drivers[] = {
	"tapbatch", "tapbatch-uring", "net_tap", "net_af_packet", "net_af_xdp", "raw-rw", NULL,
};
static const char *const vhost_drivers[] = {
	"vhost_bridge",
	"testpmd",
	NULL,
};
static const char *const stream_drivers[] = {
	"tapbatch",   "tapbatch-uring", "net_tap", "net_af_packet",
	"net_af_xdp", "raw-superframe", NULL,
};

#define COLUMNS(...) .column = { __VA_ARGS__ }
#define END METRICS /* of the columns */

static const struct experiment experiments[] = {
	{
		.name = "pps",
		.title = "64-byte UDP, each packet another flow, port -> bridge -> port, burst 32",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_TX_NS, M_RX_NS, M_OTHER_NS, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 1000,
		.drivers = all_drivers,
		.build = build_pps,
	},
	{
		.name = "single",
		.title = "the same with bursts of one packet",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_TX_NS, M_RX_NS, M_OTHER_NS, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = all_drivers,
		.build = build_single,
	},
	{
		.name = "flood",
		.title = "receive 64-byte UDP, the sender never the limit",
		.parameter = "kernel gives",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_RX_NS, M_RX_BURST, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 1000,
		.drivers = all_drivers,
		.build = build_flood,
	},
	{
		.name = "merge",
		.title = "flows that can be merged, burst 64, port -> bridge -> port",
		.parameter = "traffic",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_RX_GBPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = merge_drivers,
		.build = build_merge,
	},
	{
		.name = "overhead",
		.title = "nothing to merge: what looking for it costs, burst 64",
		.reference = "tapbatch-plain",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_TX_NS, M_TX_USER_NS, M_TX_SYS_NS, END),
		.reps = 9,
		.measure_ms = 500,
		.drivers = overhead_drivers,
		.build = build_overhead,
	},
	{
		.name = "stream",
		.title = "iperf3, one stream, through two ports and a forwarder",
		.parameter = "stream",
		.reference = "net_tap",
		.main = M_STREAM_GBPS,
		COLUMNS(M_STREAM_GBPS, M_TX_GBPS, M_RETRANSMITS, M_LOSS_PCT, M_CORE_PCT, END),
		.reps = 3,
		.measure_ms = 2000,
		.drivers = stream_drivers,
		.build = build_stream,
	},
	{
		.name = "latency",
		.title = "request and response, socket -> port -> echo -> socket, polled",
		.parameter = "request",
		.reference = "net_tap",
		.main = M_RTT_50,
		.less_is_better = true,
		COLUMNS(M_RTT_MIN, M_RTT_50, M_RTT_90, M_RTT_99, M_RATE, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = echo_drivers,
		.build = build_latency,
	},
	{
		.name = "reader",
		.title = "64-byte UDP, ways to wait: generator -> tap -> bridge -> port",
		.origin = "tun: check the queue before sleeping",
		.parameter = "receiver",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_NS, M_RX_NS, M_CPU_PCT, M_WAKEUPS, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = interrupt_drivers,
		.build = build_reader,
	},
	{
		.name = "no-wakeups",
		.title = "a receive flood, and a light load: what being woken costs",
		.origin = "vhost_net: stop polling the socket while receiving",
		.parameter = "load, receiver",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_WAKEUPS, M_CPU_PCT, M_RTT_50, M_RTT_99, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = interrupt_drivers,
		.build = build_no_wakeups,
	},
	{
		.name = "batching",
		.title = "packets that go in together: tx_batched from 0 to 64 at burst 128",
		.origin = "tun: rx batching with MSG_MORE",
		.parameter = "tx_batched (pkts)",
		.reference_parameter = "0",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 2,
		.measure_ms = 300,
		.drivers = our_drivers,
		.build = build_batching,
	},
	{
		.name = "congestion",
		.title = "1400-byte messages to a reader that is held back; dropped by its "
			 "interface",
		.origin = "tun: full ring, stop the queue or drop",
		.parameter = "txqlen (pkts)",
		.reference = "net_tap",
		.main = M_RX_GBPS,
		COLUMNS(M_TX_GBPS, M_RX_GBPS, M_LOST_PCT, M_DROPPED, M_UNCOUNTED, END),
		.reps = 3,
		.measure_ms = 500,
		.drivers = congestion_drivers,
		.build = build_congestion,
	},
	{
		.name = "dequeue",
		.title = "a receive flood: burst size and kind of buffers",
		.origin = "vhost_net: batch dequeue from the ring",
		.parameter = "burst (pkts)",
		.reference_parameter = "1",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_RX_GBPS, M_RX_NS, M_RX_BURST, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 300,
		.drivers = dequeue_drivers,
		.build = build_dequeue,
	},
	{
		.name = "flows",
		.title = "flows in a burst of 64, by protocol and size",
		.parameter = "flows",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_RX_GBPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 2,
		.measure_ms = 300,
		.drivers = flow_drivers,
		.build = build_flows,
	},
	{
		.name = "scale",
		.title = "queues of a port, and cores that serve them, as far as there are any",
		.parameter = "queues",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 500,
		.drivers = flow_drivers,
		.build = build_scale,
	},
	{
		.name = "bridge",
		.title = "between a tap and a guest's vhost-user socket; the guest is virtio-user",
		.parameter = "traffic",
		.reference = "testpmd",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_STREAM_GBPS, M_FWD_USER_PCT, M_FWD_SYS_PCT, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 1000,
		.drivers = vhost_drivers,
		.forwarders = true,
		.build = build_bridge,
	},
	{
		.name = "start-up",
		.title = "time and memory of a port, pools not counted",
		.reference = "net_tap",
		.main = M_UP_MS,
		.less_is_better = true,
		COLUMNS(M_UP_MS, M_PROBE_MS, M_START_MS, M_CLOSE_MS, M_RSS_MIB, END),
		.reps = 7,
		.measure_ms = 1,
		.drivers = port_drivers,
		.build = build_start_up,
	},
	{
		.name = "generator",
		.title = "what the generator itself costs, on net_null",
		.parameter = "size",
		.main = M_TX_MPPS,
		COLUMNS(M_TX_MPPS, M_TX_NS, END),
		.reps = 3,
		.measure_ms = 500,
		.drivers = our_drivers,
		.build = build_generator,
	},
};

const struct experiment *
experiment_get(size_t i)
{
	return i < sizeof(experiments) / sizeof(experiments[0]) ? &experiments[i] : NULL;
}

const struct experiment *
experiment_find(const char *name)
{
	for (size_t i = 0; experiment_get(i) != NULL; i++)
		if (strcmp(experiments[i].name, name) == 0)
			return &experiments[i];
	return NULL;
}

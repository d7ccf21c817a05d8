/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The table of experiments: what is varied, between whom, and what is printed. */

#include <stdio.h>
#include <string.h>

#include "experiment.h"

#define ALL_FLOWS 1024 /* more than a burst: each packet another flow */

static const char *const all_drivers[] = {
	"tapbatch-uring", "tapbatch-rw", "tapbatch-plain", "net_tap", "net_af_packet",
	"net_af_xdp", "net_virtio_user", "raw-rw", "raw-uring", NULL,
};
static const char *const our_drivers[] = { "tapbatch-uring", "tapbatch-rw", NULL };
static const char *const port_drivers[] = {
	"tapbatch-uring", "tapbatch-rw", "net_tap", "net_af_packet", "net_af_xdp",
	"net_virtio_user", NULL,
};
static const char *const merge_drivers[] = {
	"tapbatch-uring", "tapbatch-rw", "tapbatch-plain", "net_tap", "net_af_xdp",
	"raw-superframe", NULL,
};
static const char *const overhead_drivers[] = { "tapbatch-uring", "tapbatch-plain", NULL };
static const char *const echo_drivers[] = {
	"tapbatch-uring", "tapbatch-rw", "net_tap", "net_af_packet", "net_af_xdp", "raw-rw", NULL,
};
static const char *const stream_drivers[] = {
	"tapbatch-uring", "tapbatch-rw", "net_tap", "net_af_packet", "net_af_xdp",
	"raw-superframe", NULL,
};

/* 64 bytes, UDP, each packet another flow, bursts of 32: what most cases start from. */
static struct run
small_packets(void)
{
	return (struct run){
		.kind = RUN_BRIDGE,
		.traffic = { .size = {64}, .share = {1}, .nb_sizes = 1, .flows = ALL_FLOWS },
		.tx_burst = 32,
		.rx_burst = 32,
		.losses = LOSSES_RECEIVER,
	};
}

static void
build_pps(struct case_list *list)
{
	struct run run = small_packets();

	add_cases(list, "", &run);
}

static void
build_single(struct case_list *list)
{
	struct run run = small_packets();

	run.tx_burst = 1;
	run.rx_burst = 1;
	add_cases(list, "", &run);
}

static void
build_flood(struct case_list *list)
{
	struct run run = small_packets();

	run.traffic.flows = 1;
	run.segments = 64;
	run.kernel_cuts = true;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_case(list, list->drivers[i], "raw-superframe", "packets", &run);
	/* What the driver is for: it takes superframes and splits them itself. */
	run.kernel_cuts = false;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		if (driver_find(list->drivers[i])->kind == DRIVER_TAPBATCH)
			add_case(list, list->drivers[i], "raw-superframe", "superframes", &run);
}

static void
build_merge(struct case_list *list)
{
	struct run run = small_packets();

	run.tx_burst = 64;
	run.rx_burst = 64;
	run.segments = 64;
	run.traffic.flows = 1;
	add_cases(list, "1 flow, 64 B", &run);
	run.traffic.size[0] = 1442;
	run.segments = 40;
	add_cases(list, "1 flow, 1442 B", &run);
	run.traffic.size[0] = 64;
	run.traffic.flows = 8;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		if (strcmp(list->drivers[i], "raw-superframe") != 0)
			add_case(list, list->drivers[i], NULL, "8 flows, 64 B", &run);
}

static void
build_overhead(struct case_list *list)
{
	struct run run = small_packets();

	run.tx_burst = 64;
	run.rx_burst = 64;
	add_cases(list, "", &run);
}

static void
build_latency(struct case_list *list)
{
	struct run run = small_packets();

	run.kind = RUN_ECHO;
	run.losses = LOSSES_NONE;
	add_cases(list, "UDP", &run);
	run.icmp = true;
	add_cases(list, "ping", &run);
	run.icmp = false;
	run.load = 31;
	add_cases(list, "UDP behind 31", &run);
}

static void
build_stream(struct case_list *list)
{
	struct run run = small_packets();

	run.kind = RUN_STREAM;
	for (size_t i = 0; list->drivers[i] != NULL; i++) {
		const struct driver *d = driver_find(list->drivers[i]);

		run.offloads = d->kind == DRIVER_TAPBATCH;
		add_case(list, d->name, NULL, run.offloads ? "TCP, LRO, TSO" : "TCP", &run);
		if (run.offloads) {
			run.offloads = false;
			add_case(list, d->name, NULL, "TCP", &run);
		}
	}
}

static void
build_generator(struct case_list *list)
{
	struct run run = small_packets();
	static const uint16_t sizes[] = { 64, 1442 };

	run.kind = RUN_SINK;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char parameter[32];

		run.traffic.size[0] = sizes[i];
		snprintf(parameter, sizeof(parameter), "%u B", sizes[i]);
		add_case(list, "net_tap", NULL, parameter, &run);
		snprintf(list->cases[list->n - 1].driver, sizeof(list->cases[0].driver),
			 "net_null");
	}
}

static void
build_start_up(struct case_list *list)
{
	struct run run = small_packets();

	run.kind = RUN_PORT;
	add_cases(list, "", &run);
}

#define COLUMNS(...) .column = { __VA_ARGS__ }
#define END METRICS /* of the columns */

static const struct experiment experiments[] = {
	{
		.name = "pps",
		.title = "64-byte UDP, each packet another flow, port -> bridge -> port, burst 32",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_TX_NS, M_RX_NS, M_OTHER_NS, M_LOST_PCT, END),
		.reps = 5, .measure_ms = 1000,
		.drivers = all_drivers, .build = build_pps,
	},
	{
		.name = "single",
		.title = "the same with bursts of one packet",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_TX_NS, M_RX_NS, M_OTHER_NS, M_LOST_PCT, END),
		.reps = 5, .measure_ms = 1000,
		.drivers = all_drivers, .build = build_single,
	},
	{
		.name = "flood",
		.title = "receive 64-byte UDP, the sender never the limit",
		.parameter = "kernel gives",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_RX_NS, M_RX_BURST, M_LOST_PCT, END),
		.reps = 5, .measure_ms = 1000,
		.drivers = all_drivers, .build = build_flood,
	},
	{
		.name = "merge",
		.title = "flows that can be merged, burst 64, port -> bridge -> port",
		.parameter = "traffic",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_RX_GBPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 5, .measure_ms = 1000,
		.drivers = merge_drivers, .build = build_merge,
	},
	{
		.name = "overhead",
		.title = "nothing to merge: what looking for it costs, burst 64",
		.reference = "tapbatch-plain",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_MPPS, M_TX_NS, M_TX_USER_NS, M_TX_SYS_NS, END),
		.reps = 15, .measure_ms = 500,
		.drivers = overhead_drivers, .build = build_overhead,
	},
	{
		.name = "stream",
		.title = "iperf3, one stream, through two ports and a forwarder",
		.parameter = "stream",
		.reference = "net_tap",
		.main = M_STREAM_GBPS,
		COLUMNS(M_STREAM_GBPS, M_RETRANSMITS, END),
		.reps = 5, .measure_ms = 2000,
		.drivers = stream_drivers, .build = build_stream,
	},
	{
		.name = "latency",
		.title = "request and response, socket -> port -> echo -> socket, polled",
		.parameter = "request",
		.reference = "net_tap",
		.main = M_RTT_50, .less_is_better = true,
		COLUMNS(M_RTT_MIN, M_RTT_50, M_RTT_90, M_RTT_99, M_RATE, END),
		.reps = 5, .measure_ms = 1000,
		.drivers = echo_drivers, .build = build_latency,
	},
	{
		.name = "start-up",
		.title = "time and memory of a port, pools not counted",
		.reference = "net_tap",
		.main = M_PROBE_MS, .less_is_better = true,
		COLUMNS(M_PROBE_MS, M_START_MS, M_CLOSE_MS, M_RSS_MIB, END),
		.reps = 7, .measure_ms = 1,
		.drivers = port_drivers, .build = build_start_up,
	},
	{
		.name = "generator",
		.title = "what the generator itself costs, on net_null",
		.main = M_TX_MPPS,
		COLUMNS(M_TX_MPPS, M_TX_NS, END),
		.reps = 3, .measure_ms = 500,
		.drivers = our_drivers, .build = build_generator,
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

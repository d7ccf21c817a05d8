/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The table of experiments: what is varied, between whom, and what is printed. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"

#define ALL_FLOWS 1024 /* more than a burst: each packet another flow */

static const char *const all_drivers[] = {
	"tapbatch",   "tapbatch-uring",  "tapbatch-rw", "net_tap",   "net_af_packet",
	"net_af_xdp", "net_virtio_user", "raw-rw",      "raw-uring", NULL,
};
static const char *const our_drivers[] = { "tapbatch", "tapbatch-uring", NULL };
static const char *const port_drivers[] = {
	"tapbatch",      "tapbatch-uring", "tapbatch-rw",     "net_tap",
	"net_af_packet", "net_af_xdp",     "net_virtio_user", NULL,
};
static const char *const merge_drivers[] = {
	"tapbatch", "tapbatch-plain", "net_tap", "raw-superframe", NULL,
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
static const char *const stream_drivers[] = {
	"tapbatch",   "tapbatch-uring", "net_tap", "net_af_packet",
	"net_af_xdp", "raw-superframe", NULL,
};

/* Of n steps that a parameter goes through, a quick run takes first, middle and last. */
static bool
skip_step(const struct case_list *list, size_t i, size_t n)
{
	return list->options->quick && i != 0 && i != n / 2 && i != n - 1;
}

#define STEPS(array) (sizeof(array) / sizeof((array)[0]))

/* 64 bytes, UDP, each packet another flow, bursts of 32: what most cases start from. */
static struct run
small_packets(void)
{
	return (struct run){
		.kind = RUN_BRIDGE,
		.traffic = { .size = { 64 }, .share = { 1 }, .nb_sizes = 1, .flows = ALL_FLOWS },
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
	if (list->options->quick)
		return;
	run.icmp = false;
	run.load = 31;
	add_cases(list, "UDP behind 31", &run);
}

static void
build_stream(struct case_list *list)
{
	struct run run = small_packets();

	run.kind = RUN_STREAM;
	add_cases(list, "TCP", &run);
	run.offloads = true;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		if (driver_find(list->drivers[i])->kind == DRIVER_TAPBATCH)
			add_case(list, list->drivers[i], NULL, "TCP, LRO, TSO", &run);
	run.offloads = false;
	run.udp_stream = true;
	if (list->options->quick)
		return;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		if (driver_find(list->drivers[i])->kind != DRIVER_VETH)
			add_case(list, list->drivers[i], NULL, "UDP, 1448 B", &run);
}

/* How a receiver learns that there is something. */
static void
add_reading(struct case_list *list, struct run run, const char *sender, const char *suffix)
{
	static const char *const ways[] = { "polling", "polling, armed", "sleeping" };

	for (int way = 0; way < 3; way++) {
		char parameter[32];

		run.rx_armed = way == 1;
		run.rx_interrupts = way == 2;
		snprintf(parameter, sizeof(parameter), "%s%s", ways[way], suffix);
		for (size_t i = 0; list->drivers[i] != NULL; i++)
			add_case(list, list->drivers[i], sender, parameter, &run);
	}
}

static void
build_reader(struct case_list *list)
{
	add_reading(list, small_packets(), "raw-uring", "");
}

static void
build_no_wakeups(struct case_list *list)
{
	struct run run = small_packets();

	run.kernel_cuts = true;
	run.segments = 64;
	run.traffic.flows = 1;
	add_reading(list, run, "raw-superframe", "");
	run = small_packets();
	run.kind = RUN_ECHO;
	run.losses = LOSSES_NONE;
	run.interval_ns = 500000;
	add_cases(list, "light, polling", &run);
	run.rx_interrupts = true;
	add_cases(list, "light, sleeping", &run);
}

static void
build_batching(struct case_list *list)
{
	static const unsigned int steps[] = { 0, 4, 8, 16, 32, 48, 64 };

	for (int flows = 0; flows < 2; flows++)
		for (size_t i = 0; i < STEPS(steps); i++) {
			struct run run = small_packets();
			char parameter[32];

			if (skip_step(list, i, STEPS(steps)))
				continue;
			run.tx_burst = 128;
			run.rx_burst = 128;
			run.traffic.flows = flows == 0 ? ALL_FLOWS : 1;
			snprintf(run.tx_devargs, sizeof(run.tx_devargs), ",tx_batched=%u",
				 steps[i]);
			snprintf(parameter, sizeof(parameter), "%u %s", steps[i],
				 flows == 0 ? "all flows differ" : "one flow");
			add_cases(list, parameter, &run);
		}
}

static void
build_congestion(struct case_list *list)
{
	static const uint32_t lengths[] = { 100, 1000, 4000 };

	for (int tcp = 0; tcp < 2; tcp++)
		for (size_t i = 0; i < STEPS(lengths); i++) {
			struct run run = small_packets();
			char parameter[32];

			run.traffic.size[0] = 1442; /* 1400 bytes of UDP payload */
			run.traffic.flows = 16;
			run.traffic.tcp = tcp;
			run.hold_ns = 6000; /* 167 kpps, 1.9 Gb/s at most */
			run.txqlen = lengths[i];
			snprintf(parameter, sizeof(parameter), "%u %s", lengths[i],
				 tcp ? "TCP" : "UDP");
			add_cases(list, parameter, &run);
		}
}

static void
build_dequeue(struct case_list *list)
{
	static const uint16_t bursts[] = { 1, 4, 16, 32, 64, 128, 256 };
	static const char *const buffers[] = { "small", "scattered", "LRO" };

	for (int kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < STEPS(bursts); i++) {
			struct run run = small_packets();
			char parameter[32];

			if (skip_step(list, i, STEPS(bursts)))
				continue;
			run.rx_burst = bursts[i];
			run.traffic.flows = 1;
			run.segments = 40;
			run.kernel_cuts = kind < 2;
			run.traffic.size[0] = kind == 0 ? 64 : 1442;
			run.scatter = kind > 0;
			run.data_room = kind == 1 ? 512 : 0;
			run.lro = kind == 2;
			snprintf(parameter, sizeof(parameter), "%u %s", bursts[i], buffers[kind]);
			for (size_t k = 0; list->drivers[k] != NULL; k++)
				add_case(list, list->drivers[k], "raw-superframe", parameter, &run);
		}
}

static void
build_flows(struct case_list *list)
{
	static const struct {
		const char *name;
		struct traffic traffic;
	} mixes[] = {
		{ "UDP 64 B", { .size = { 64 }, .share = { 1 }, .nb_sizes = 1 } },
		{ "TCP 64 B", { .size = { 64 }, .share = { 1 }, .nb_sizes = 1, .tcp = true } },
		{ "UDP 512 B", { .size = { 512 }, .share = { 1 }, .nb_sizes = 1 } },
		{ "UDP 1514 B", { .size = { 1514 }, .share = { 1 }, .nb_sizes = 1 } },
		{ "TCP 1514 B", { .size = { 1514 }, .share = { 1 }, .nb_sizes = 1, .tcp = true } },
		{ "UDP IMIX", { .size = { 64, 570, 1514 }, .share = { 7, 4, 1 }, .nb_sizes = 3 } },
	};
	static const uint32_t flows[] = { 1, 8, 64, 1024 };

	for (size_t m = 0; m < STEPS(mixes); m++)
		for (size_t i = 0; i < STEPS(flows); i++) {
			struct run run = small_packets();
			char parameter[32];

			if (skip_step(list, m, STEPS(mixes)) || skip_step(list, i, STEPS(flows)))
				continue;
			run.tx_burst = 64;
			run.rx_burst = 64;
			run.traffic = mixes[m].traffic;
			run.traffic.flows = flows[i];
			snprintf(parameter, sizeof(parameter), "%u %s", flows[i], mixes[m].name);
			add_cases(list, parameter, &run);
		}
}

static void
build_scale(struct case_list *list)
{
	for (uint16_t queues = 1; queues <= 4; queues = (uint16_t)(queues * 2)) {
		struct run run = small_packets();
		char parameter[32];

		run.queues = queues;
		snprintf(parameter, sizeof(parameter), "%u queues", queues);
		add_cases(list, parameter, &run);
	}
}

static void
build_generator(struct case_list *list)
{
	struct run run = small_packets();
	static const uint16_t sizes[] = { 64, 1442 };

	run.kind = RUN_SINK;
	for (size_t i = 0; i < STEPS(sizes); i++) {
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
		.reps = 5,
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
		.reps = 5,
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
		.reps = 5,
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
		.reps = 15,
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
		COLUMNS(M_STREAM_GBPS, M_RETRANSMITS, M_LOSS_PCT, M_CORE_PCT, END),
		.reps = 5,
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
		.reps = 5,
		.measure_ms = 700,
		.drivers = echo_drivers,
		.build = build_latency,
	},
	{
		.name = "reader",
		.title = "64-byte UDP, ways to wait: generator -> tap -> bridge -> port",
		.origin = "From \"tun: check the queue before sleeping\": 731 -> 783 kpps, across "
			  "sockets 558 -> 690 kpps.",
		.parameter = "receiver",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_NS, M_RX_NS, M_CPU_PCT, M_SLEEPS, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = interrupt_drivers,
		.build = build_reader,
	},
	{
		.name = "no-wakeups",
		.title = "a receive flood, and a light load: what being woken costs",
		.origin = "From \"vhost_net: stop polling the socket while receiving\": 1.37 -> "
			  "1.50 Mpps.",
		.parameter = "load, receiver",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_SWITCHES, M_CPU_PCT, M_RTT_50, M_RTT_99, END),
		.reps = 3,
		.measure_ms = 700,
		.drivers = interrupt_drivers,
		.build = build_no_wakeups,
	},
	{
		.name = "batching",
		.title = "packets that go in together: tx_batched from 0 to 64 at burst 128",
		.origin = "From \"tun: rx batching with MSG_MORE\": 0.90 -> 1.09 Mpps at 48.",
		.parameter = "tx_batched (pkts)",
		.reference_parameter = "0",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 300,
		.drivers = our_drivers,
		.build = build_batching,
	},
	{
		.name = "congestion",
		.title = "1400-byte messages to a reader that is held back, by ring length",
		.origin =
			"From \"tun: full ring, stop the queue or drop\": sent 2341 -> 9121 Mb/s, "
			"received 1207 -> 1730.",
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
		.origin =
			"From \"vhost_net: batch dequeue from the ring\": 1.88 -> 2.25 Mpps small, "
			"1.83 -> 2.10 mergeable.",
		.parameter = "burst (pkts)",
		.reference_parameter = "1",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_RX_GBPS, M_RX_NS, M_RX_BURST, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 300,
		.drivers = our_drivers,
		.build = build_dequeue,
	},
	{
		.name = "flows",
		.title = "flows in a burst of 64, by protocol and size",
		.parameter = "flows",
		.reference = "net_tap",
		.main = M_RX_MPPS,
		COLUMNS(M_RX_MPPS, M_RX_GBPS, M_TX_NS, M_RX_NS, M_LOST_PCT, END),
		.reps = 3,
		.measure_ms = 300,
		.drivers = flow_drivers,
		.build = build_flows,
	},
	{
		.name = "scale",
		.title = "queues of a port, all served by one core each side",
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
		.name = "start-up",
		.title = "time and memory of a port, pools not counted",
		.reference = "net_tap",
		.main = M_PROBE_MS,
		.less_is_better = true,
		COLUMNS(M_PROBE_MS, M_START_MS, M_CLOSE_MS, M_RSS_MIB, END),
		.reps = 7,
		.measure_ms = 1,
		.drivers = port_drivers,
		.build = build_start_up,
	},
	{
		.name = "generator",
		.title = "what the generator itself costs, on net_null",
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

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The cases of the experiments that compare drivers: what is varied, between whom. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "forwarder.h"

bool
skip_step(const struct case_list *list, size_t i, size_t n)
{
	return list->options->quick && i != 0 && i != n / 2 && i != n - 1;
}

struct run
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

void
build_pps(struct case_list *list)
{
	struct run run = small_packets();

	add_cases(list, "", &run);
}

void
build_single(struct case_list *list)
{
	struct run run = small_packets();

	run.tx_burst = 1;
	run.rx_burst = 1;
	add_cases(list, "", &run);
}

void
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

void
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

void
build_overhead(struct case_list *list)
{
	struct run run = small_packets();

	run.tx_burst = 64;
	run.rx_burst = 64;
	add_cases(list, "", &run);
}

void
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
	run.icmp = true;
	add_cases(list, "ping behind 31", &run);
}

void
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
	if (list->options->quick)
		return;
	run.ipv6 = true;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		if (strcmp(list->drivers[i], "tapbatch") == 0 ||
		    driver_find(list->drivers[i])->kind == DRIVER_TAP)
			add_case(list, list->drivers[i], NULL, "TCP, IPv6", &run);
	run.ipv6 = false;
	run.udp_stream = true;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		if (driver_find(list->drivers[i])->kind != DRIVER_VETH)
			add_case(list, list->drivers[i], NULL, "UDP, 1448 B", &run);
}

void
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

			if (skip_step(list, m, STEPS(mixes)) ||
			    (list->options->quick && flows[i] != 1 && flows[i] != 64))
				continue;
			run.tx_burst = 64;
			run.rx_burst = 64;
			run.traffic = mixes[m].traffic;
			run.traffic.flows = flows[i];
			snprintf(parameter, sizeof(parameter), "%u %s", flows[i], mixes[m].name);
			add_cases(list, parameter, &run);
		}
}

void
build_scale(struct case_list *list)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int most = list->options->threads != 0 ? (int)list->options->threads : (int)(cores / 2);

	for (uint16_t threads = 1; threads == 1 || threads <= most;
	     threads = (uint16_t)(threads * 2))
		for (uint16_t queues = threads; queues <= 4 * threads && queues <= JOB_MAX_QUEUES;
		     queues = (uint16_t)(queues * 2)) {
			struct run run = small_packets();
			char parameter[40];

			/* With more than one core, what counts is a queue for each. */
			if (threads > 1 && queues > threads)
				break;
			if (list->options->quick && threads == 1 && queues == 2)
				continue;
			run.queues = queues;
			run.threads = threads;
			snprintf(parameter, sizeof(parameter), "%u with %u core%s each side",
				 queues, threads, threads > 1 ? "s" : "");
			add_cases(list, parameter, &run);
		}
}

void
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

void
build_start_up(struct case_list *list)
{
	struct run run = small_packets();

	run.kind = RUN_PORT;
	add_cases(list, "", &run);
}

/* A case of a program that forwards: a guest is one end, a raw loop on a tap the other. */
static void
add_forwarded(struct case_list *list, size_t i, const char *parameter, const struct run *run,
	      bool from_guest)
{
	const struct driver *raw = driver_find("raw-superframe");
	struct run *added;

	if (!add_case(list, list->drivers[i], NULL, parameter, run))
		return;
	added = &list->cases[list->n - 1].run;
	added->forwarder = added->receiver;
	added->receiver = from_guest ? raw : &driver_guest;
	added->sender = from_guest ? &driver_guest : raw;
}

void
build_bridge(struct case_list *list)
{
	struct run run = small_packets();

	run.kernel_cuts = true;
	run.segments = 64;
	run.tx_burst = 64;
	run.rx_burst = 64;
	run.traffic.flows = 1;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_forwarded(list, i, "64 B to guest", &run, false);
	run.kernel_cuts = false;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_forwarded(list, i, "1 flow, to host", &run, true);
	run.traffic.flows = ALL_FLOWS;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_forwarded(list, i, "64 B to host", &run, true);
	run.kind = RUN_STREAM;
	list->main = M_STREAM_GBPS;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_forwarded(list, i, "TCP to guest", &run, false);
	run.own_guest = true;
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_forwarded(list, i, "TCP, own guest", &run, false);
}

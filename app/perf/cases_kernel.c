/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The cases of the five experiments that come from the kernel's history of tun batching. */

#include <stdio.h>

#include "cases.h"

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

void
build_reader(struct case_list *list)
{
	add_reading(list, small_packets(), "raw-uring", "");
}

void
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
	list->main = M_RTT_50;
	add_cases(list, "light, polling", &run);
	run.rx_interrupts = true;
	add_cases(list, "light, sleeping", &run);
}

void
build_batching(struct case_list *list)
{
	static const unsigned int steps[] = { 0, 4, 8, 16, 32, 48, 64 };

	for (int flows = 0; flows < 2; flows++)
		for (size_t i = 0; i < STEPS(steps); i++) {
			struct run run = small_packets();
			char parameter[32];

			if (list->options->quick && steps[i] != 0 && steps[i] != 16 &&
			    steps[i] != 48)
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

void
build_congestion(struct case_list *list)
{
	static const uint32_t lengths[] = { 100, 1000, 4000 };

	for (int tcp = 0; tcp < 2; tcp++)
		for (size_t i = 0; i < STEPS(lengths); i++) {
			struct run run = small_packets();
			char parameter[32];

			if (list->options->quick && lengths[i] != 1000)
				continue;
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

void
build_dequeue(struct case_list *list)
{
	static const uint16_t bursts[] = { 1, 4, 16, 32, 64, 128, 256 };
	static const char *const buffers[] = { "small", "large", "scattered", "LRO" };

	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < STEPS(bursts); i++) {
			struct run run = small_packets();
			char parameter[32];

			if (list->options->quick && bursts[i] != 1 && bursts[i] != 64)
				continue;
			run.rx_burst = bursts[i];
			run.traffic.flows = 1;
			run.segments = 40;
			run.kernel_cuts = kind < 3;
			run.traffic.size[0] = kind == 0 ? 64 : 1442;
			run.scatter = kind > 1;
			run.data_room = kind == 2 ? 512 : 0;
			run.lro = kind == 3;
			snprintf(parameter, sizeof(parameter), "%u %s", bursts[i], buffers[kind]);
			for (size_t k = 0; list->drivers[k] != NULL; k++)
				add_case(list, list->drivers[k], "raw-superframe", parameter, &run);
		}
}

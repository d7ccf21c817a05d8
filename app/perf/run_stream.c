/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A stream of iperf3 from one namespace to another, through two ports and a
 * forwarder: testpmd in io mode, or the raw superframe loop.
 */

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "process.h"
#include "run_private.h"
#include "worker.h"

#define READY_TIMEOUT_MS 20000
#define TX_OFFLOADS                                                                               \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                           \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_UDP_TSO | \
	 RTE_ETH_TX_OFFLOAD_MULTI_SEGS)

static bool
start_testpmd(struct process *p, const struct run *run, const struct run_times *times)
{
	char lcores[48], vdev[2][300], offloads[40];
	char *argv[36];
	int argc = 0;

	snprintf(lcores, sizeof(lcores), "--lcores=0@%d,1@%d", times->tx_core, times->rx_core);
	snprintf(offloads, sizeof(offloads), "--tx-offloads=0x%llx",
		 (unsigned long long)TX_OFFLOADS);
	/* Its words are waited for, so they must not stay in a buffer. */
	argv[argc++] = (char *)(uintptr_t) "stdbuf";
	argv[argc++] = (char *)(uintptr_t) "-oL";
	argv[argc++] = (char *)(uintptr_t) "dpdk-testpmd";
	argv[argc++] = lcores;
	argv[argc++] = (char *)(uintptr_t) "--no-huge";
	argv[argc++] = (char *)(uintptr_t) "-m";
	argv[argc++] = (char *)(uintptr_t) "512";
	argv[argc++] = (char *)(uintptr_t) "--no-shconf";
	argv[argc++] = (char *)(uintptr_t) "--no-pci";
	argv[argc++] = (char *)(uintptr_t) "--no-telemetry";
	for (int i = 0; i < 2; i++) {
		char args[256];

		driver_vdev(run->receiver, args, sizeof(args), (unsigned int)i,
			    i == 0 ? "fwa" : "fwb", run->rx_devargs);
		snprintf(vdev[i], sizeof(vdev[i]), "--vdev=%s", args);
		argv[argc++] = vdev[i];
	}
	if (run->receiver->kind == DRIVER_TAPBATCH) {
		argv[argc++] = (char *)(uintptr_t) "-d";
		argv[argc++] = (char *)(uintptr_t)driver_plugin();
	}
	argv[argc++] = (char *)(uintptr_t) "--";
	argv[argc++] = (char *)(uintptr_t) "--forward-mode=io";
	argv[argc++] = (char *)(uintptr_t) "--auto-start";
	argv[argc++] = (char *)(uintptr_t) "--total-num-mbufs=16384";
	argv[argc++] = (char *)(uintptr_t) "--burst=64";
	if (run->offloads) {
		argv[argc++] = (char *)(uintptr_t) "--enable-lro";
		argv[argc++] = (char *)(uintptr_t) "--max-lro-pkt-size=65535";
		argv[argc++] = (char *)(uintptr_t) "--enable-rx-cksum";
		argv[argc++] = (char *)(uintptr_t) "--enable-scatter";
		argv[argc++] = offloads;
	}
	argv[argc] = NULL;
	return program_start(p, -1, -1, argv);
}

static bool
start_forwarder(struct process *p, const struct run *run, const struct run_times *times,
		struct sample *s)
{
	if (run->receiver->kind == DRIVER_RAW) {
		struct job job = {
			.role = ROLE_FORWARD,
			.backend = BACKEND_SUPERFRAME,
			.core = times->rx_core,
			.iface = "fwa",
			.peer = "fwb",
			.burst = 32,
		};
		static struct outcome out;
		struct schedule forever = { .from = INT64_MAX / 8 };

		memset(&out, 0, sizeof(out));
		if (!worker_start(p, "forwarder", &job) || !worker_await_ready(p, &out))
			return run_fail(s, RUN_FAILED, "forwarder: %s", out.error);
		return worker_go(p, &forever) || run_fail(s, RUN_FAILED, "forwarder is gone");
	}
	if (!start_testpmd(p, run, times))
		return run_fail(s, RUN_FAILED, "testpmd does not start");
	if (!program_await_text(p, "Press enter to exit", READY_TIMEOUT_MS)) {
		char tail[300];

		process_log_tail(p, tail, sizeof(tail));
		return run_fail(s, RUN_FAILED, "testpmd does not start: %s", tail);
	}
	return true;
}

/* Moves the kernel's side of each port to its namespace. */
static bool
place_ports(struct scene *scene, const struct run *run)
{
	for (int i = 0; i < 2; i++) {
		char name[16];

		run_bridge_side(run->receiver, i == 0 ? "fwa" : "fwb", name, sizeof(name));
		scene_ip(scene, "link set %s netns /proc/%d/fd/%d", name, getpid(), scene->side[i]);
		if (!scene_apply(scene, -1))
			return false;
		scene_ip(scene, "link set lo up");
		scene_ip(scene, "address add 198.18.0.%d/24 dev %s", i + 1, name);
		scene_ip(scene, "link set %s up", name);
		if (!scene_apply(scene, i))
			return false;
		/* What these drivers receive must be whole packets. */
		if (run->receiver->kind == DRIVER_VETH && !run_kernel_cuts(scene, i, name))
			return false;
	}
	return true;
}

static double
number(const json_t *root, const char *where, const char *what)
{
	const json_t *v = json_object_get(json_object_get(json_object_get(root, "end"), where),
					  what);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static void
read_report(const struct process *p, const struct run *run, struct sample *s)
{
	char *text = process_log(p);
	json_error_t error;
	json_t *root = text == NULL ? NULL : json_loads(text, 0, &error);
	const json_t *why = json_object_get(root, "error");

	if (root == NULL)
		run_fail(s, RUN_FAILED, "iperf3 wrote no report");
	else if (json_is_string(why))
		run_fail(s, RUN_FAILED, "iperf3: %s", json_string_value(why));
	if (run->udp_stream) {
		s->value[M_LOSS_PCT] = number(root, "sum", "lost_percent");
		s->value[M_STREAM_GBPS] = number(root, "sum", "bits_per_second") / 1e9 *
					  (1 - s->value[M_LOSS_PCT] / 100);
	} else {
		s->value[M_STREAM_GBPS] = number(root, "sum_received", "bits_per_second") / 1e9;
		s->value[M_RETRANSMITS] = number(root, "sum_sent", "retransmits");
	}
	if (!(s->value[M_STREAM_GBPS] > 0))
		run_fail(s, RUN_INVALID, "nothing went through");
	json_decref(root);
	free(text);
}

static void
run_iperf(const struct run *run, const struct run_times *times, struct scene *scene,
	  const struct process *forwarder, struct sample *s)
{
	uint64_t begin, cpu;
	char *server[] = { "iperf3", "-s", "-1", "--forceflush", NULL };
	char *argv[24] = { "iperf3", "-c", "198.18.0.2", "-J", "-O", "1", "-t" };
	struct process p[2] = { 0 };
	char seconds[16];
	int argc = 7;

	snprintf(seconds, sizeof(seconds), "%u", RTE_MAX(1u, (times->measure_ms + 500) / 1000));
	argv[argc++] = seconds;
	if (run->udp_stream) {
		char *udp[] = { "-u", "-b", "0", "-l", "1448" };

		for (size_t i = 0; i < RTE_DIM(udp); i++)
			argv[argc++] = udp[i];
	}
	argv[argc] = NULL;
	begin = monotonic_ns();
	cpu = process_cpu_ns(forwarder);
	if (!program_start(&p[0], scene->side[1], times->tx_core, server) ||
	    !program_await_text(&p[0], "Server listening", READY_TIMEOUT_MS) ||
	    !program_start(&p[1], scene->side[0], times->tx_core, argv))
		run_fail(s, RUN_FAILED, "iperf3 does not start");
	else if (program_wait(&p[1], times->measure_ms + 15000) < 0)
		run_fail(s, RUN_FAILED, "iperf3 does not end");
	else
		read_report(&p[1], run, s);
	/* It polls, so what it did not get somebody else had. */
	s->value[M_CORE_PCT] = (double)(process_cpu_ns(forwarder) - cpu) /
			       (double)(monotonic_ns() - begin) * 100;
	process_end(&p[1]);
	process_end(&p[0]);
}

void
run_stream(const struct run *run, const struct run_times *times, struct scene *scene,
	   struct sample *s)
{
	struct process forwarder = { 0 };

	run_prepare_port(scene, run->receiver, "fwa");
	run_prepare_port(scene, run->receiver, "fwb");
	if ((scene->commands != NULL && !scene_apply(scene, -1)) || !scene_add_side(scene, 0) ||
	    !scene_add_side(scene, 1)) {
		run_fail(s, RUN_FAILED, "the network cannot be made");
		return;
	}
	if (start_forwarder(&forwarder, run, times, s)) {
		if (place_ports(scene, run))
			run_iperf(run, times, scene, &forwarder, s);
		else
			run_fail(s, RUN_FAILED, "ports cannot be placed");
	}
	process_end(&forwarder);
}

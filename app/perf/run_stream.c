/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A stream of iperf3 from one namespace to another, through two ports and a
 * forwarder, or through a forwarder and a guest.
 */

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forwarder.h"
#include "process.h"
#include "run_private.h"
#include "worker.h"

#define READY_TIMEOUT_MS 20000

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
		scene_ip(scene, "link set %s up", name);
		if (run->ipv6)
			scene_ip(scene, "address add 2001:2::%d/64 dev %s nodad", i + 1, name);
		else
			scene_ip(scene, "address add 198.18.0.%d/24 dev %s", i + 1, name);
		if ((run->ipv6 && !scene_ipv6(scene, i, name)) || !scene_apply(scene, i))
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
	s->value[M_STREAM_GBPS] = number(root, "sum_received", "bits_per_second") / 1e9;
	s->value[M_TX_GBPS] = number(root, "sum_sent", "bits_per_second") / 1e9;
	if (run->udp_stream)
		s->value[M_LOSS_PCT] = number(root, "sum", "lost_percent");
	else
		s->value[M_RETRANSMITS] = number(root, "sum_sent", "retransmits");
	if (!(s->value[M_STREAM_GBPS] > 0))
		run_fail(s, RUN_INVALID, "nothing went through");
	json_decref(root);
	free(text);
}

static void
run_iperf(const struct run *run, const struct run_times *times, struct scene *scene,
	  const struct process *forwarder, struct sample *s)
{
	struct meter meter = { .forwarder = forwarder };
	struct process_cpu before, after;
	uint64_t begin, took;
	char *server[] = { "nice", "-n", "-15", "iperf3", "-s", "-1", "--forceflush", NULL };
	char *argv[24] = { "iperf3", "-c", NULL, "-J", "-t" };
	struct process p[2] = { 0 };
	char seconds[16];
	int argc = 5;

	argv[2] = (char *)(uintptr_t)(run->ipv6 ? "2001:2::2" : "198.18.0.2");
	snprintf(seconds, sizeof(seconds), "%u", RTE_MAX(1u, (times->measure_ms + 500) / 1000));
	argv[argc++] = seconds;
	/* A window that opens is left out. Not with UDP: iperf3 3.12 then counts what was lost
	 * in that second among what was lost later, to more than 100 %.
	 */
	if (run->udp_stream) {
		char *udp[] = { "-u", "-b", "0", "-l", "1448" };

		for (size_t i = 0; i < RTE_DIM(udp); i++)
			argv[argc++] = udp[i];
	} else {
		argv[argc++] = (char *)(uintptr_t) "-O";
		argv[argc++] = (char *)(uintptr_t) "1";
	}
	argv[argc] = NULL;
	begin = monotonic_ns();
	before = process_cpu(forwarder);
	if (!program_start(&p[0], scene->side[1], times->tx_core, server) ||
	    !program_await_text(&p[0], "Server listening", READY_TIMEOUT_MS) ||
	    !program_start(&p[1], scene->side[0], times->tx_core, argv))
		run_fail(s, RUN_FAILED, "iperf3 does not start");
	else if (program_wait(&p[1], times->measure_ms + 15000) < 0)
		run_fail(s, RUN_FAILED, "iperf3 does not end");
	else
		read_report(&p[1], run, s);
	took = monotonic_ns() - begin;
	after = process_cpu(forwarder);
	meter.user_ns = after.user_ns - before.user_ns;
	meter.system_ns = after.system_ns - before.system_ns;
	value_forwarder(s->value, &meter, (double)took, 0);
	/* It polls, so what it did not get somebody else had. The vhost bridge sleeps. */
	if (run->forwarder == NULL)
		s->value[M_CORE_PCT] = s->value[M_FWD_USER_PCT] + s->value[M_FWD_SYS_PCT];
	process_end(&p[1]);
	process_end(&p[0]);
}

void
run_stream(const struct run *run, const struct run_times *times, struct scene *scene,
	   struct sample *s)
{
	struct forwarder f = { .folder = "" };
	bool ok;

	run_prepare_port(scene, run->receiver, "fwa");
	run_prepare_port(scene, run->receiver, "fwb");
	if ((scene->commands != NULL && !scene_apply(scene, -1)) || !scene_add_side(scene, 0) ||
	    !scene_add_side(scene, 1)) {
		run_fail(s, RUN_FAILED, "the network cannot be made");
		return;
	}
	ok = run->forwarder == NULL ? forwarder_start(&f, run, times, s) :
				      forwarder_start_vhost(&f, run, times, "fwa", s) &&
					      forwarder_start_guest(&f, run, times, "fwb", s);
	if (ok && place_ports(scene, run))
		run_iperf(run, times, scene, &f.process, s);
	else
		run_fail(s, RUN_FAILED, "ports cannot be placed");
	forwarder_end(&f);
}

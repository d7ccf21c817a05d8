/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Request and response: socket -> kernel -> port -> echo, and back. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "packet.h"
#include "process.h"
#include "run_private.h"
#include "scene.h"
#include "worker.h"

static bool
address_port(struct scene *scene, const struct run *run, char *name, size_t size)
{
	run_bridge_side(run->receiver, "rx0", name, size);
	scene_ip(scene, "link set %s up", name);
	scene_ip(scene, "address add 198.18.0.1/24 dev %s", name);
	scene_ip(scene,
		 "neighbour replace 198.18.0.2 lladdr " PACKET_DST_MAC " dev %s nud permanent",
		 name);
	/* A packet socket would see checksums that were never filled in. */
	return scene_apply(scene, -1) &&
	       (run->receiver->kind != DRIVER_VETH || run_kernel_cuts(scene, -1, name));
}

static void
echo_values(struct sample *s, const struct run *run, const struct run_times *times,
	    const struct outcome *echo, const struct outcome *client)
{
	double *v = s->value;

	value_rates(client, &v[M_RATE], NULL, &v[M_TX_BURST]);
	v[M_TX_BURST] = NAN;
	v[M_RATE] *= 1e6;
	v[M_CPU_PCT] = value_core_share(echo, times);
	if (!run->rx_interrupts)
		v[M_CORE_PCT] = v[M_CPU_PCT];
	v[M_WAKEUPS] = value_wakeups(echo);
	v[M_SWITCHES] = (double)(echo->to.switches - echo->from.switches) /
			(double)(echo->to.ns - echo->from.ns) * 1e9;
	v[M_RTT_MIN] = (double)client->rtt_min / 1e3;
	v[M_RTT_50] = (double)client->rtt_50 / 1e3;
	v[M_RTT_90] = (double)client->rtt_90 / 1e3;
	v[M_RTT_99] = (double)client->rtt_99 / 1e3;
	v[M_RTT_MAX] = (double)client->rtt_max / 1e3;
	v[M_SENT] = (double)client->requests;
	v[M_RECEIVED] = (double)client->replies;
	value_cpu(echo, &v[M_RX_NS], &v[M_RX_USER_NS], &v[M_RX_SYS_NS]);
	if (client->requests == 0)
		run_fail(s, RUN_INVALID, "no request could be made");
	else if (client->replies != client->requests)
		run_fail(s, RUN_INVALID, "%" PRIu64 " requests, %" PRIu64 " replies",
			 client->requests, client->replies);
}

void
run_echo(const struct run *run, const struct run_times *times, struct scene *scene,
	 struct sample *s)
{
	static struct outcome outcomes[2];
	struct process workers[2] = { 0 };
	struct meter meter = { 0 };
	struct job job;
	char name[16];

	memset(outcomes, 0, sizeof(outcomes));
	run_prepare_port(scene, run->receiver, "rx0");
	scene_ip(scene, "link set lo up");
	if (!scene_apply(scene, -1)) {
		run_fail(s, RUN_FAILED, "the network cannot be made");
		return;
	}
	run_make_job(&job, run, run->receiver, ROLE_ECHO, "rx0", run->rx_devargs, times->rx_core);
	job.interrupts = run->rx_interrupts;
	if (!worker_start(&workers[0], "echo", &job)) {
		run_fail(s, RUN_FAILED, "echo does not start");
		goto end;
	}
	if (!worker_await_ready(&workers[0], &outcomes[0])) {
		run_worker_failed(s, &outcomes[0]);
		goto end;
	}
	if (!address_port(scene, run, name, sizeof(name))) {
		run_fail(s, RUN_FAILED, "%s cannot be given an address", name);
		goto end;
	}
	run_make_job(&job, run, run->receiver, ROLE_CLIENT, name, "", times->tx_core);
	job.icmp = run->icmp;
	job.interval_ns = run->interval_ns;
	job.load = run->load;
	if (!worker_start(&workers[1], "client", &job)) {
		run_fail(s, RUN_FAILED, "client does not start");
		goto end;
	}
	if (!worker_await_ready(&workers[1], &outcomes[1]))
		run_worker_failed(s, &outcomes[1]);
	else if (run_go_through(workers, outcomes, 2, times, s, &meter) &&
		 run_collect(workers, outcomes, 2, s))
		echo_values(s, run, times, &outcomes[0], &outcomes[1]);
end:
	for (int i = 0; i < 2; i++)
		process_end(&workers[i]);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Sender -> port -> Linux bridge -> port -> receiver, and the books balanced: every
 * packet sent was received, or dropped where a counter says so, or the run is invalid.
 * With a forwarder, a guest behind it is one of the two ends.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forwarder.h"
#include "packet.h"
#include "process.h"
#include "run_private.h"
#include "scene.h"
#include "worker.h"

/* Most packets that one frame dropped by the kernel may have been. */
#define MAX_SEGMENTS 64

#define NAP_US 20 /* of those who share a core beside a forwarder */

static void
window_values(struct sample *s, const struct run *run, const struct run_times *times,
	      const struct outcome *tx, const struct outcome *rx, const struct meter *meter)
{
	double *v = s->value;
	double ns = (double)(rx->to.ns - rx->from.ns);
	uint64_t received = rx->to.count.packets - rx->from.count.packets;

	value_rates(tx, &v[M_TX_MPPS], &v[M_TX_GBPS], &v[M_TX_BURST]);
	value_rates(rx, &v[M_RX_MPPS], &v[M_RX_GBPS], &v[M_RX_BURST]);
	value_cpu(tx, &v[M_TX_NS], &v[M_TX_USER_NS], &v[M_TX_SYS_NS]);
	value_cpu(rx, &v[M_RX_NS], &v[M_RX_USER_NS], &v[M_RX_SYS_NS]);
	value_events(tx, &v[M_TX_CYCLES]);
	value_events(rx, &v[M_RX_CYCLES]);
	v[M_OTHER_NS] = value_per(0,
				  meter->softirq_ns +
					  value_grown(tx->from.other_ns, tx->to.other_ns) +
					  value_grown(rx->from.other_ns, rx->to.other_ns),
				  received);
	v[M_SLEEPS] = (double)(rx->to.count.sleeps - rx->from.count.sleeps) / ns * 1e9;
	v[M_WAKEUPS] = value_wakeups(rx);
	v[M_SWITCHES] = (double)(rx->to.switches - rx->from.switches) / ns * 1e9;
	value_forwarder(v, meter, ns, received);
	if (run->forwarder == NULL) /* behind one, all others share a core */
		v[M_CORE_PCT] = value_core_share(tx, times);
	if (run->forwarder == NULL && !run->rx_interrupts)
		v[M_CORE_PCT] = fmin(v[M_CORE_PCT], value_core_share(rx, times));
	v[M_CPU_PCT] = (double)(value_grown(rx->from.user_ns, rx->to.user_ns) +
				value_grown(rx->from.system_ns, rx->to.system_ns) +
				value_grown(rx->from.other_ns, rx->to.other_ns)) /
		       ns * 100;
}

/* Where every packet of the run, warm-up and all, has gone. */
static void
balance(struct sample *s, const struct run *run, const struct outcome *tx, const struct outcome *rx,
	const struct interface_counters *at_sender, const struct interface_counters *at_receiver)
{
	uint64_t sent = tx->total.packets, received = rx->total.packets;
	uint64_t lost = sent > received ? sent - received : 0;
	bool veth = run->receiver->kind == DRIVER_VETH;
	uint64_t errors = tx->out_errors + rx->in_errors + (veth ? rx->missed : 0);
	uint64_t counted = at_receiver->tx_dropped + errors;
	/* A superframe that is dropped counts as one, however many packets it held. */
	uint64_t at_most = at_receiver->tx_dropped * MAX_SEGMENTS + errors;
	uint64_t uncounted = lost > at_most ? lost - at_most : 0;

	if (!(run->sender->kind == DRIVER_TAPBATCH || run->sender->backend == BACKEND_SUPERFRAME ||
	      run->forwarder != NULL) ||
	    run->kernel_cuts)
		uncounted = lost > counted ? lost - counted : 0;
	s->value[M_SENT] = (double)sent;
	s->value[M_RECEIVED] = (double)received;
	s->value[M_LOST_PCT] = sent == 0 ? NAN : (double)lost / (double)sent * 100;
	s->value[M_DROPPED] = (double)at_receiver->tx_dropped;
	s->value[M_UNCOUNTED] = (double)uncounted;

	if (sent == 0 || received == 0)
		run_fail(s, RUN_INVALID, "%" PRIu64 " packets sent, %" PRIu64 " received", sent,
			 received);
	if (received > sent)
		run_fail(s, RUN_INVALID, "%" PRIu64 " packets sent, but %" PRIu64 " received", sent,
			 received);
	if (rx->late != 0)
		run_fail(s, RUN_INVALID, "%" PRIu64 " packets came twice or out of order",
			 rx->late);
	if (rx->misfit != 0)
		run_fail(s, RUN_INVALID, "%" PRIu64 " packets came with a wrong length or flow",
			 rx->misfit);
	if (at_sender->rx_dropped != 0)
		run_fail(s, RUN_INVALID, "%" PRIu64 " packets dropped at the sender's interface",
			 at_sender->rx_dropped);
	if (run->losses == LOSSES_NONE && lost != 0)
		run_fail(s, RUN_INVALID, "%" PRIu64 " of %" PRIu64 " packets lost, none expected",
			 lost, sent);
	if (uncounted != 0 && run->receiver->accounts && run->sender->accounts &&
	    (run->forwarder == NULL || run->forwarder->accounts))
		run_fail(s, RUN_INVALID,
			 "%" PRIu64 " of %" PRIu64 " packets lost, and only %" PRIu64
			 " frames counted as dropped",
			 lost, sent, counted);
}

static bool
start_pair(struct process *workers, const struct run *run, const struct run_times *times,
	   const struct forwarder *f, struct outcome *outcomes, struct sample *s)
{
	bool guest = run->receiver->kind == DRIVER_GUEST;
	struct job job;

	/* The forwarder has a core of its own. */
	run_make_job(&job, run, run->receiver, ROLE_RECEIVE, guest ? f->socket : "rx0",
		     run->rx_devargs, run->forwarder != NULL ? times->tx_core : times->rx_core);
	job.nap_us = run->forwarder != NULL ? NAP_US : 0;
	job.data_room = run->data_room;
	job.hold_ns = run->hold_ns;
	job.interrupts = run->rx_interrupts;
	job.armed = run->rx_armed;
	job.lro = run->lro;
	job.scatter = run->scatter;
	job.offloads = !run->kernel_cuts;
	if (!worker_start(&workers[0], "receiver", &job))
		return run_fail(s, RUN_FAILED, "receiver does not start");
	guest = run->sender->kind == DRIVER_GUEST;
	run_make_job(&job, run, run->sender, ROLE_SEND, guest ? f->socket : "tx0", run->tx_devargs,
		     times->tx_core);
	job.nap_us = run->forwarder != NULL ? NAP_US : 0;
	job.segments = run->segments;
	if (!worker_start(&workers[1], "sender", &job))
		return run_fail(s, RUN_FAILED, "sender does not start");
	for (int i = 0; i < 2; i++)
		if (!worker_await_ready(&workers[i], &outcomes[i]))
			return run_worker_failed(s, &outcomes[i]);
	return true;
}

static bool
connect_pair(struct scene *scene, const struct run *run, char names[2][16], struct sample *s)
{
	run_bridge_side(run->receiver, "rx0", names[0], sizeof(names[0]));
	run_bridge_side(run->sender, "tx0", names[1], sizeof(names[1]));
	if (run->txqlen != 0)
		scene_ip(scene, "link set %s txqueuelen %u", names[0], run->txqlen);
	if (run->kernel_cuts && !run_kernel_cuts(scene, -1, names[0]))
		return run_fail(s, RUN_FAILED, "offloads of %s cannot be turned off", names[0]);
	if (!scene_attach(scene, "br0", names[1], PACKET_SRC_MAC) ||
	    !scene_attach(scene, "br0", names[0], PACKET_DST_MAC))
		return run_fail(s, RUN_FAILED, "the bridge cannot be made");
	return true;
}

void
run_bridge(const struct run *run, const struct run_times *times, struct scene *scene,
	   struct sample *s)
{
	struct interface_counters at_receiver = { 0 }, at_sender = { 0 };
	static struct outcome outcomes[2];
	struct process workers[2] = { 0 };
	struct forwarder f = { .folder = "" };
	struct meter meter = { .forwarder = run->forwarder != NULL ? &f.process : NULL };
	const char *tap = run->receiver->kind == DRIVER_GUEST ? "rx0" : "tx0";
	char names[2][16];

	memset(outcomes, 0, sizeof(outcomes));
	scene_bridge(scene, "br0");
	run_prepare_port(scene, run->receiver, "rx0");
	run_prepare_port(scene, run->sender, "tx0");
	if (!scene_apply(scene, -1)) {
		run_fail(s, RUN_FAILED, "the network cannot be made");
		return;
	}
	/* A tap's counters go with its worker, so they are read in between. */
	if ((run->forwarder == NULL || forwarder_start_vhost(&f, run, times, tap, s)) &&
	    start_pair(workers, run, times, &f, outcomes, s) &&
	    connect_pair(scene, run, names, s) &&
	    run_go_through(workers, outcomes, 2, times, s, &meter) &&
	    scene_counters(names[0], &at_receiver) && scene_counters(names[1], &at_sender) &&
	    run_collect(workers, outcomes, 2, s)) {
		window_values(s, run, times, &outcomes[1], &outcomes[0], &meter);
		balance(s, run, &outcomes[1], &outcomes[0], &at_sender, &at_receiver);
	} else {
		run_fail(s, RUN_FAILED, "counters of %s and %s cannot be read", names[0], names[1]);
	}
	for (int i = 0; i < 2; i++)
		process_end(&workers[i]);
	forwarder_end(&f);
}

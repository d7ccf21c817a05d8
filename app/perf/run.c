/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * One run of a measurement: builds the network, starts the workers, tells them the
 * times, and balances the books: every packet sent was received, or dropped where
 * a counter says so, or the run is invalid.
 */

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "packet.h"
#include "process.h"
#include "run.h"
#include "run_private.h"
#include "scene.h"
#include "softirq.h"
#include "worker.h"

#define START_DELAY_NS 20000000ull /* so that all workers are waiting when it begins */
#define COOL_DOWN_NS 20000000ull
#define FINISH_TIMEOUT_MS 15000

/* Most packets that one frame dropped by the kernel may have been. */
#define MAX_SEGMENTS 64

bool
run_fail(struct sample *s, enum run_status status, const char *fmt, ...)
{
	va_list ap;

	if (s->status != RUN_OK)
		return false;
	s->status = status;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	return false;
}

static bool
worker_failed(struct sample *s, const struct outcome *out)
{
	return run_fail(s, out->unsupported ? RUN_UNSUPPORTED : RUN_FAILED, "%s", out->error);
}

void
run_bridge_side(const struct driver *d, const char *iface, char *name, size_t size)
{
	snprintf(name, size, "%s%s", iface, d->kind == DRIVER_VETH ? "k" : "");
}

void
run_prepare_port(struct scene *scene, const struct driver *d, const char *iface)
{
	char other[16];

	if (d->kind != DRIVER_VETH)
		return;
	run_bridge_side(d, iface, other, sizeof(other));
	scene_ip(scene, "link add %s type veth peer name %s", iface, other);
	scene_ip(scene, "link set %s up", iface);
	scene_ip(scene, "link set %s up", other);
}

bool
run_kernel_cuts(struct scene *scene, int side, const char *iface)
{
	char *argv[] = { "ethtool", "-K",  (char *)(uintptr_t)iface,
			 "tx",      "off", "sg",
			 "off",     "tso", "off",
			 "gso",     "off", NULL };

	return scene_run(scene, side, argv);
}

static void
make_job(struct job *job, const struct run *run, const struct driver *d, enum job_role role,
	 const char *iface, const char *devargs, int core)
{
	*job = (struct job){
		.role = role,
		.backend = d->backend,
		.core = core,
		.traffic = run->traffic,
		.burst = role == ROLE_SEND ? run->tx_burst : run->rx_burst,
		.queues = run->queues,
	};
	snprintf(job->iface, sizeof(job->iface), "%s", iface);
	if (d->backend != BACKEND_DPDK)
		return;
	driver_vdev(d, job->vdev, sizeof(job->vdev), 0, iface, devargs);
	if (d->kind == DRIVER_TAPBATCH)
		snprintf(job->plugin, sizeof(job->plugin), "%s", driver_plugin());
}

static void
sleep_until(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Lets workers run through the schedule, until all have counted what they saw.
 * kernel_ns: what ksoftirqd took in the window.
 */
static bool
go_through(struct process *workers, struct outcome *outcomes, int n, const struct run_times *times,
	   struct sample *s, uint64_t *kernel_ns)
{
	struct schedule schedule;
	uint64_t before;

	schedule.start = monotonic_ns() + START_DELAY_NS;
	schedule.from = schedule.start + times->warm_up_ms * 1000000ull;
	schedule.to = schedule.from + times->measure_ms * 1000000ull;
	schedule.stop = schedule.to + COOL_DOWN_NS;
	for (int i = 0; i < n; i++)
		if (!worker_go(&workers[i], &schedule))
			return run_fail(s, RUN_FAILED, "%s is gone", workers[i].name);
	sleep_until(schedule.from);
	before = softirq_ns();
	sleep_until(schedule.to);
	*kernel_ns = softirq_ns() - before;
	for (int i = 0; i < n; i++)
		if (!worker_await_finish(&workers[i], &outcomes[i], FINISH_TIMEOUT_MS))
			return worker_failed(s, &outcomes[i]);
	return true;
}

static bool
collect(struct process *workers, struct outcome *outcomes, int n, struct sample *s)
{
	for (int i = 0; i < n; i++)
		if (!worker_collect(&workers[i], &outcomes[i]))
			return worker_failed(s, &outcomes[i]);
	return true;
}

/* Times are accounted in ticks, so a difference may come out below nothing. */
static uint64_t
grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static double
per(uint64_t from, uint64_t to, uint64_t n)
{
	return n == 0 ? NAN : (double)grown(from, to) / (double)n;
}

static void
cpu_values(const struct outcome *o, double *all, double *user, double *system)
{
	uint64_t n = o->to.count.packets - o->from.count.packets;

	*user = per(o->from.user_ns, o->to.user_ns, n);
	*system = per(o->from.system_ns, o->to.system_ns, n);
	*all = *user + *system;
}

/* first: the metric of EVENT_CYCLES, those of the others follow. */
static void
event_values(const struct outcome *o, double *first)
{
	uint64_t n = o->to.count.packets - o->from.count.packets;

	for (int i = 0; i < EVENTS; i++)
		if (o->to.events[i] != 0)
			first[i] = per(o->from.events[i], o->to.events[i], n);
}

static void
rate_values(const struct outcome *o, double *mpps, double *gbps, double *burst)
{
	double ns = (double)(o->to.ns - o->from.ns);
	uint64_t packets = o->to.count.packets - o->from.count.packets;

	*mpps = (double)packets / ns * 1e3;
	if (gbps != NULL)
		*gbps = (double)(o->to.count.bytes - o->from.count.bytes) * 8 / ns;
	*burst = per(0, packets, o->to.count.calls - o->from.count.calls);
}

/* Somebody else on a worker's core spoils the figures; a worker that polls shows it. One
 * that was away when the window began, or ended, had a window of another length.
 */
static double
core_share(const struct outcome *o, const struct run_times *times)
{
	double wanted = times->measure_ms * 1e6;
	double had = (double)(o->to.ns - o->from.ns);

	return (double)(grown(o->from.user_ns, o->to.user_ns) +
			grown(o->from.system_ns, o->to.system_ns)) /
	       fmax(wanted, had) * 100;
}

static void
window_values(struct sample *s, const struct run *run, const struct run_times *times,
	      const struct outcome *tx, const struct outcome *rx, uint64_t kernel_ns)
{
	double *v = s->value;
	double ns = (double)(rx->to.ns - rx->from.ns);
	uint64_t received = rx->to.count.packets - rx->from.count.packets;

	rate_values(tx, &v[M_TX_MPPS], &v[M_TX_GBPS], &v[M_TX_BURST]);
	rate_values(rx, &v[M_RX_MPPS], &v[M_RX_GBPS], &v[M_RX_BURST]);
	cpu_values(tx, &v[M_TX_NS], &v[M_TX_USER_NS], &v[M_TX_SYS_NS]);
	cpu_values(rx, &v[M_RX_NS], &v[M_RX_USER_NS], &v[M_RX_SYS_NS]);
	event_values(tx, &v[M_TX_CYCLES]);
	event_values(rx, &v[M_RX_CYCLES]);
	v[M_OTHER_NS] = per(0,
			    kernel_ns + grown(tx->from.other_ns, tx->to.other_ns) +
				    grown(rx->from.other_ns, rx->to.other_ns),
			    received);
	v[M_SLEEPS] = (double)(rx->to.count.sleeps - rx->from.count.sleeps) / ns * 1e9;
	v[M_SWITCHES] = (double)(rx->to.switches - rx->from.switches) / ns * 1e9;
	v[M_CORE_PCT] = core_share(tx, times);
	if (!run->rx_interrupts)
		v[M_CORE_PCT] = fmin(v[M_CORE_PCT], core_share(rx, times));
	v[M_CPU_PCT] = (double)(grown(rx->from.user_ns, rx->to.user_ns) +
				grown(rx->from.system_ns, rx->to.system_ns) +
				grown(rx->from.other_ns, rx->to.other_ns)) /
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

	if (!(run->sender->kind == DRIVER_TAPBATCH || run->sender->backend == BACKEND_SUPERFRAME) ||
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
	if (uncounted != 0 && run->receiver->accounts && run->sender->accounts)
		run_fail(s, RUN_INVALID,
			 "%" PRIu64 " of %" PRIu64 " packets lost, and only %" PRIu64
			 " frames counted as dropped",
			 lost, sent, counted);
}

static bool
start_pair(struct process *workers, const struct run *run, const struct run_times *times,
	   struct outcome *outcomes, struct sample *s)
{
	struct job job;

	make_job(&job, run, run->receiver, ROLE_RECEIVE, "rx0", run->rx_devargs, times->rx_core);
	job.data_room = run->data_room;
	job.hold_ns = run->hold_ns;
	job.interrupts = run->rx_interrupts;
	job.armed = run->rx_armed;
	job.lro = run->lro;
	job.scatter = run->scatter;
	job.offloads = !run->kernel_cuts;
	if (!worker_start(&workers[0], "receiver", &job))
		return run_fail(s, RUN_FAILED, "receiver does not start");
	make_job(&job, run, run->sender, ROLE_SEND, "tx0", run->tx_devargs, times->tx_core);
	job.segments = run->segments;
	if (!worker_start(&workers[1], "sender", &job))
		return run_fail(s, RUN_FAILED, "sender does not start");
	for (int i = 0; i < 2; i++)
		if (!worker_await_ready(&workers[i], &outcomes[i]))
			return worker_failed(s, &outcomes[i]);
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

static void
run_bridge(const struct run *run, const struct run_times *times, struct scene *scene,
	   struct sample *s)
{
	struct interface_counters at_receiver = { 0 }, at_sender = { 0 };
	static struct outcome outcomes[2];
	struct process workers[2] = { 0 };
	uint64_t kernel_ns = 0;
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
	if (start_pair(workers, run, times, outcomes, s) && connect_pair(scene, run, names, s) &&
	    go_through(workers, outcomes, 2, times, s, &kernel_ns) &&
	    scene_counters(names[0], &at_receiver) && scene_counters(names[1], &at_sender) &&
	    collect(workers, outcomes, 2, s)) {
		window_values(s, run, times, &outcomes[1], &outcomes[0], kernel_ns);
		balance(s, run, &outcomes[1], &outcomes[0], &at_sender, &at_receiver);
	} else {
		run_fail(s, RUN_FAILED, "counters of %s and %s cannot be read", names[0], names[1]);
	}
	for (int i = 0; i < 2; i++)
		process_end(&workers[i]);
}

static void
run_sink(const struct run *run, const struct run_times *times, struct sample *s)
{
	static const struct driver sink = {
		.name = "net_null",
		.backend = BACKEND_DPDK,
		.vdev = "net_null%u%.0s",
	};
	static struct outcome out;
	struct process worker = { 0 };
	uint64_t kernel_ns = 0;
	double *v = s->value;
	struct job job;

	memset(&out, 0, sizeof(out));
	make_job(&job, run, &sink, ROLE_SEND, "tx0", "", times->tx_core);
	if (!worker_start(&worker, "sender", &job))
		run_fail(s, RUN_FAILED, "sender does not start");
	else if (!worker_await_ready(&worker, &out))
		worker_failed(s, &out);
	else if (go_through(&worker, &out, 1, times, s, &kernel_ns) &&
		 collect(&worker, &out, 1, s)) {
		rate_values(&out, &v[M_TX_MPPS], &v[M_TX_GBPS], &v[M_TX_BURST]);
		cpu_values(&out, &v[M_TX_NS], &v[M_TX_USER_NS], &v[M_TX_SYS_NS]);
	}
	process_end(&worker);
}

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

	rate_values(client, &v[M_RATE], NULL, &v[M_TX_BURST]);
	v[M_TX_BURST] = NAN;
	v[M_RATE] *= 1e6;
	v[M_CPU_PCT] = core_share(echo, times);
	if (!run->rx_interrupts)
		v[M_CORE_PCT] = v[M_CPU_PCT];
	v[M_SWITCHES] = (double)(echo->to.switches - echo->from.switches) /
			(double)(echo->to.ns - echo->from.ns) * 1e9;
	v[M_RTT_MIN] = (double)client->rtt_min / 1e3;
	v[M_RTT_50] = (double)client->rtt_50 / 1e3;
	v[M_RTT_90] = (double)client->rtt_90 / 1e3;
	v[M_RTT_99] = (double)client->rtt_99 / 1e3;
	v[M_RTT_MAX] = (double)client->rtt_max / 1e3;
	v[M_SENT] = (double)client->requests;
	v[M_RECEIVED] = (double)client->replies;
	cpu_values(echo, &v[M_RX_NS], &v[M_RX_USER_NS], &v[M_RX_SYS_NS]);
	if (client->requests == 0)
		run_fail(s, RUN_INVALID, "no request could be made");
	else if (client->replies != client->requests)
		run_fail(s, RUN_INVALID, "%" PRIu64 " requests, %" PRIu64 " replies",
			 client->requests, client->replies);
}

static void
run_echo(const struct run *run, const struct run_times *times, struct scene *scene,
	 struct sample *s)
{
	static struct outcome outcomes[2];
	struct process workers[2] = { 0 };
	uint64_t kernel_ns = 0;
	struct job job;
	char name[16];

	memset(outcomes, 0, sizeof(outcomes));
	run_prepare_port(scene, run->receiver, "rx0");
	scene_ip(scene, "link set lo up");
	if (!scene_apply(scene, -1)) {
		run_fail(s, RUN_FAILED, "the network cannot be made");
		return;
	}
	make_job(&job, run, run->receiver, ROLE_ECHO, "rx0", run->rx_devargs, times->rx_core);
	job.interrupts = run->rx_interrupts;
	if (!worker_start(&workers[0], "echo", &job)) {
		run_fail(s, RUN_FAILED, "echo does not start");
		goto end;
	}
	if (!worker_await_ready(&workers[0], &outcomes[0])) {
		worker_failed(s, &outcomes[0]);
		goto end;
	}
	if (!address_port(scene, run, name, sizeof(name))) {
		run_fail(s, RUN_FAILED, "%s cannot be given an address", name);
		goto end;
	}
	make_job(&job, run, run->receiver, ROLE_CLIENT, name, "", times->tx_core);
	job.icmp = run->icmp;
	job.interval_ns = run->interval_ns;
	job.load = run->load;
	if (!worker_start(&workers[1], "client", &job)) {
		run_fail(s, RUN_FAILED, "client does not start");
		goto end;
	}
	if (!worker_await_ready(&workers[1], &outcomes[1]))
		worker_failed(s, &outcomes[1]);
	else if (go_through(workers, outcomes, 2, times, s, &kernel_ns) &&
		 collect(workers, outcomes, 2, s))
		echo_values(s, run, times, &outcomes[0], &outcomes[1]);
end:
	for (int i = 0; i < 2; i++)
		process_end(&workers[i]);
}

static void
run_port(const struct run *run, const struct run_times *times, struct scene *scene,
	 struct sample *s)
{
	static struct outcome out;
	struct process worker = { 0 };
	double *v = s->value;
	struct job job;

	memset(&out, 0, sizeof(out));
	run_prepare_port(scene, run->receiver, "rx0");
	if (scene->commands != NULL && !scene_apply(scene, -1)) {
		run_fail(s, RUN_FAILED, "the network cannot be made");
		return;
	}
	make_job(&job, run, run->receiver, ROLE_PORT, "rx0", run->rx_devargs, times->rx_core);
	if (!worker_start(&worker, "port", &job))
		run_fail(s, RUN_FAILED, "worker does not start");
	else if (!worker_await_ready(&worker, &out))
		worker_failed(s, &out);
	else if (worker_go(&worker, &(struct schedule){ 0 }) &&
		 worker_await_finish(&worker, &out, FINISH_TIMEOUT_MS) &&
		 worker_collect(&worker, &out)) {
		v[M_PROBE_MS] = (double)out.probe_ns / 1e6;
		v[M_START_MS] = (double)out.start_ns / 1e6;
		v[M_CLOSE_MS] = (double)out.close_ns / 1e6;
		v[M_RSS_MIB] = (double)out.rss_kib / 1024;
	} else {
		worker_failed(s, &out);
	}
	process_end(&worker);
}

void
run_once(const struct run *run, const struct run_times *times, struct sample *s)
{
	struct scene scene;

	*s = (struct sample){ .status = RUN_OK };
	for (int i = 0; i < METRICS; i++)
		s->value[i] = NAN;
	if (!scene_enter(&scene)) {
		run_fail(s, RUN_FAILED, "no network namespace");
		return;
	}
	switch (run->kind) {
	case RUN_BRIDGE:
		run_bridge(run, times, &scene, s);
		break;
	case RUN_SINK:
		run_sink(run, times, s);
		break;
	case RUN_ECHO:
		run_echo(run, times, &scene, s);
		break;
	case RUN_STREAM:
		run_stream(run, times, &scene, s);
		break;
	case RUN_PORT:
		run_port(run, times, &scene, s);
		break;
	}
	scene_leave(&scene);
}

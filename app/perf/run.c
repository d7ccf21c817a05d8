/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * One run of a measurement: the kinds of them, and what all have in common: workers are
 * given their jobs, told the times, and asked what they counted.
 */

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "run.h"
#include "run_private.h"
#include "scene.h"
#include "softirq.h"
#include "worker.h"

#define START_DELAY_NS 20000000ull /* so that all workers are waiting when it begins */
#define COOL_DOWN_NS 20000000ull
#define FINISH_TIMEOUT_MS 15000

uint32_t run_tracepoint;

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

bool
run_worker_failed(struct sample *s, const struct outcome *out)
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

void
run_make_job(struct job *job, const struct run *run, const struct driver *d, enum job_role role,
	     const char *iface, const char *devargs, int core)
{
	*job = (struct job){
		.role = role,
		.backend = d->backend,
		.core = core,
		.traffic = run->traffic,
		.burst = role == ROLE_SEND ? run->tx_burst : run->rx_burst,
		.queues = run->queues,
		.threads = run->threads,
		.tracepoint = run_tracepoint,
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

bool
run_go_through(struct process *workers, struct outcome *outcomes, int n,
	       const struct run_times *times, struct sample *s, struct meter *meter)
{
	struct schedule schedule;
	struct process_cpu before = { 0 }, after = { 0 };
	uint64_t softirq;

	schedule.start = monotonic_ns() + START_DELAY_NS;
	schedule.from = schedule.start + times->warm_up_ms * 1000000ull;
	schedule.to = schedule.from + times->measure_ms * 1000000ull;
	schedule.stop = schedule.to + COOL_DOWN_NS;
	for (int i = 0; i < n; i++)
		if (!worker_go(&workers[i], &schedule))
			return run_fail(s, RUN_FAILED, "%s is gone", workers[i].name);
	sleep_until(schedule.from);
	softirq = softirq_ns();
	if (meter->forwarder != NULL)
		before = process_cpu(meter->forwarder);
	sleep_until(schedule.to);
	meter->softirq_ns = softirq_ns() - softirq;
	if (meter->forwarder != NULL)
		after = process_cpu(meter->forwarder);
	meter->user_ns = after.user_ns - before.user_ns;
	meter->system_ns = after.system_ns - before.system_ns;
	for (int i = n - 1; i >= 0; i--) {
		if (!worker_await_finish(&workers[i], &outcomes[i], FINISH_TIMEOUT_MS))
			return run_worker_failed(s, &outcomes[i]);
		if (i > 0)
			worker_senders_ended(&workers[0]);
	}
	return true;
}

bool
run_collect(struct process *workers, struct outcome *outcomes, int n, struct sample *s)
{
	for (int i = 0; i < n; i++)
		if (!worker_collect(&workers[i], &outcomes[i]))
			return run_worker_failed(s, &outcomes[i]);
	return true;
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
	struct meter meter = { 0 };
	double *v = s->value;
	struct job job;

	memset(&out, 0, sizeof(out));
	run_make_job(&job, run, &sink, ROLE_SEND, "tx0", "", times->tx_core);
	if (!worker_start(&worker, "sender", &job))
		run_fail(s, RUN_FAILED, "sender does not start");
	else if (!worker_await_ready(&worker, &out))
		run_worker_failed(s, &out);
	else if (run_go_through(&worker, &out, 1, times, s, &meter) &&
		 run_collect(&worker, &out, 1, s)) {
		value_rates(&out, &v[M_TX_MPPS], &v[M_TX_GBPS], &v[M_TX_BURST]);
		value_cpu(&out, &v[M_TX_NS], &v[M_TX_USER_NS], &v[M_TX_SYS_NS]);
	}
	process_end(&worker);
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
	run_make_job(&job, run, run->receiver, ROLE_PORT, "rx0", run->rx_devargs, times->rx_core);
	if (!worker_start(&worker, "port", &job))
		run_fail(s, RUN_FAILED, "worker does not start");
	else if (!worker_await_ready(&worker, &out))
		run_worker_failed(s, &out);
	else if (worker_go(&worker, &(struct schedule){ 0 }) &&
		 worker_await_finish(&worker, &out, FINISH_TIMEOUT_MS) &&
		 worker_collect(&worker, &out)) {
		v[M_UP_MS] = (double)(out.probe_ns + out.start_ns) / 1e6;
		v[M_PROBE_MS] = (double)out.probe_ns / 1e6;
		v[M_START_MS] = (double)out.start_ns / 1e6;
		v[M_CLOSE_MS] = (double)out.close_ns / 1e6;
		v[M_RSS_MIB] = (double)out.rss_kib / 1024;
	} else {
		run_worker_failed(s, &out);
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

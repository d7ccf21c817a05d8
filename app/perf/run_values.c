/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* From what workers counted at the ends of the window to rates, and times per packet. */

#include <math.h>

#include "run_private.h"

/* Times are accounted in ticks, so a difference may come out below nothing. */
uint64_t
value_grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

double
value_per(uint64_t from, uint64_t to, uint64_t n)
{
	return n == 0 ? NAN : (double)value_grown(from, to) / (double)n;
}

void
value_cpu(const struct outcome *o, double *all, double *user, double *system)
{
	uint64_t n = o->to.count.packets - o->from.count.packets;

	*user = value_per(o->from.user_ns, o->to.user_ns, n);
	*system = value_per(o->from.system_ns, o->to.system_ns, n);
	*all = *user + *system;
}

/* first: the metric of EVENT_CYCLES, those of the others follow. */
void
value_events(const struct outcome *o, double *first)
{
	uint64_t n = o->to.count.packets - o->from.count.packets;

	for (int i = 0; i < EVENTS_HARDWARE; i++)
		if (o->to.events[i] != EVENT_ABSENT)
			first[i] = value_per(o->from.events[i], o->to.events[i], n);
}

void
value_rates(const struct outcome *o, double *mpps, double *gbps, double *burst)
{
	double ns = (double)(o->to.ns - o->from.ns);
	uint64_t packets = o->to.count.packets - o->from.count.packets;

	*mpps = (double)packets / ns * 1e3;
	if (gbps != NULL)
		*gbps = (double)(o->to.count.bytes - o->from.count.bytes) * 8 / ns;
	*burst = value_per(0, packets, o->to.count.calls - o->from.count.calls);
}

/* Somebody else on a worker's core spoils the figures; a worker that polls shows it. One
 * that was away when the window began, or ended, had a window of another length.
 */
double
value_core_share(const struct outcome *o, const struct run_times *times)
{
	double wanted = times->measure_ms * 1e6;
	double had = (double)(o->to.ns - o->from.ns);

	return (double)(value_grown(o->from.user_ns, o->to.user_ns) +
			value_grown(o->from.system_ns, o->to.system_ns)) /
	       fmax(wanted, had) * 100;
}

void
value_forwarder(double *values, const struct meter *meter, double window_ns, uint64_t packets)
{
	if (meter->forwarder == NULL)
		return;
	values[M_FWD_NS] = value_per(0, meter->user_ns + meter->system_ns, packets);
	values[M_FWD_USER_PCT] = (double)meter->user_ns / window_ns * 100;
	values[M_FWD_SYS_PCT] = (double)meter->system_ns / window_ns * 100;
}

double
value_wakeups(const struct outcome *o)
{
	if (o->to.events[EVENT_WAKEUPS] == EVENT_ABSENT)
		return NAN;
	return (double)(o->to.events[EVENT_WAKEUPS] - o->from.events[EVENT_WAKEUPS]) /
	       (double)(o->to.ns - o->from.ns) * 1e9;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What a port costs before its first packet: time to probe, start and close, and
 * memory that becomes resident.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "port.h"

static uint64_t
resident_kib(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

bool
port_dpdk(struct worker *w)
{
	char name[64], *arguments, vdev[sizeof(w->job.vdev)];
	struct port p = { 0 };
	uint64_t before, t[5];

	/* EAL starts without the port, so that the port's own time can be told. */
	snprintf(vdev, sizeof(vdev), "%s", w->job.vdev);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(vdev, ","), vdev);
	arguments = strchr(vdev, ',');
	w->job.vdev[0] = '\0';
	t[0] = monotonic_ns();
	if (!port_eal(w) || !port_pools(w, &p))
		return false;
	t[1] = monotonic_ns();
	before = resident_kib();
	if (rte_eal_hotplug_add("vdev", name, arguments != NULL ? arguments + 1 : "") < 0) {
		w->out.unsupported = true;
		return worker_fail(w, "%s cannot be made", vdev);
	}
	t[2] = monotonic_ns();
	if (!port_start(w, &p))
		return false;
	t[3] = monotonic_ns();
	w->out.rss_kib = resident_kib() - before;
	if (!worker_ready(w))
		return false;
	t[4] = monotonic_ns();
	port_stop(w, &p);
	w->out.close_ns = monotonic_ns() - t[4];
	w->out.eal_ns = t[1] - t[0];
	w->out.probe_ns = t[2] - t[1];
	w->out.start_ns = t[3] - t[2];
	return true;
}

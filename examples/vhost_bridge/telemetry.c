/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Telemetry: /vhost_bridge/pairs lists the pairs, /vhost_bridge/pair,NAME gives all
 * that is counted of one, /vhost_bridge/workers what the cores do.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "fdb.h"
#include "guest.h"
#include "tap.h"
#include "view.h"

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define add_uint rte_tel_data_add_dict_uint
#else
#define add_uint rte_tel_data_add_dict_u64
#endif

static struct vb_pairs *all;

static int
pairs_cmd(const char *cmd __rte_unused, const char *params __rte_unused, struct rte_tel_data *d)
{
	const struct vb_tap *tap;
	unsigned int s;

	rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
	vb_pairs_lock();
	for (tap = all->taps; tap != NULL; tap = tap->next)
		for (s = 0; s < VB_MAX_GUESTS; s++)
			if (tap->guests[s] != NULL)
				rte_tel_data_add_array_string(d, tap->guests[s]->conf.name);
	vb_pairs_unlock();
	return 0;
}

static void
add_counts(struct rte_tel_data *d, const char *prefix, const struct vb_count *count)
{
	const struct {
		const char *name;
		uint64_t value;
	} items[] = {
		{ "frames", count->frames },           { "bytes", count->bytes },
		{ "superframes", count->superframes }, { "segmented", count->segmented },
		{ "bursts", count->bursts },           { "stalls", count->stalls },
	};
	char name[RTE_TEL_MAX_STRING_LEN];
	unsigned int i;

	for (i = 0; i < RTE_DIM(items); i++) {
		snprintf(name, sizeof(name), "%s_%s", prefix, items[i].name);
		add_uint(d, name, items[i].value);
	}
	for (i = 0; i < VB_NB_DROPS; i++) {
		snprintf(name, sizeof(name), "%s_drop_%s", prefix, vb_drop_names[i]);
		add_uint(d, name, count->drops[i]);
	}
}

/* Frames that the tap's driver could not hand to the kernel, by reason. The driver has
 * the numbers per queue, as tx_qN_REASON; other drivers have none.
 */
static void
add_tap_reasons(struct rte_tel_data *d, uint16_t port)
{
	static const char *const reasons[] = { "link_down", "rejected", "malformed" };
	uint64_t sums[RTE_DIM(reasons)] = { 0 };
	int n = rte_eth_xstats_get(port, NULL, 0);
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;
	char name[RTE_TEL_MAX_STRING_LEN];
	unsigned int r;
	int i;

	if (n <= 0)
		return;
	names = calloc((size_t)n, sizeof(*names));
	values = calloc((size_t)n, sizeof(*values));
	if (names != NULL && values != NULL &&
	    rte_eth_xstats_get_names(port, names, (unsigned int)n) == n &&
	    rte_eth_xstats_get(port, values, (unsigned int)n) == n)
		for (i = 0; i < n; i++) {
			unsigned int queue;
			int end = 0;

			if (sscanf(names[i].name, "tx_q%u_%n", &queue, &end) != 1 || end == 0)
				continue;
			for (r = 0; r < RTE_DIM(reasons); r++)
				if (strcmp(names[i].name + end, reasons[r]) == 0)
					sums[r] += values[i].value;
		}
	free(names);
	free(values);
	for (r = 0; r < RTE_DIM(reasons); r++) {
		snprintf(name, sizeof(name), "tap_drop_%s", reasons[r]);
		add_uint(d, name, sums[r]);
	}
}

static void
describe(const struct vb_guest *guest, struct rte_tel_data *d)
{
	const struct vb_tap *tap = guest->tap;
	struct rte_eth_stats stats;
	struct vb_count in;
	struct vb_count out;
	uint64_t waiting = 0;
	uint64_t waiting_tap = 0;
	uint16_t q;

	for (q = 0; q < guest->conf.queues; q++) {
		waiting += guest->lanes[q].to_guest.n + guest->lanes[q].raw_n -
			   guest->lanes[q].raw_at;
		waiting_tap += guest->lanes[q].to_tap.n;
	}
	rte_tel_data_add_dict_string(d, "name", guest->conf.name);
	rte_tel_data_add_dict_string(d, "tap", guest->conf.tap);
	rte_tel_data_add_dict_string(d, "socket", guest->conf.socket);
	add_uint(d, "lcore", tap->worker->lcore);
	add_uint(d, "tap_present", !vb_tap_gone(tap));
	add_uint(d, "connected", vb_guest_up(guest));
	add_uint(d, "connects", guest->connects);
	add_uint(d, "features", vb_guest_up(guest) ? guest->features : 0);
	add_uint(d, "queues_enabled", (uint64_t)__builtin_popcountll(guest->to_guest));
	add_uint(d, "to_guest_waiting", waiting);
	add_uint(d, "to_tap_waiting", waiting_tap);
	vb_guest_counts(guest, &in, &out);
	add_counts(d, "to_guest", &in);
	add_counts(d, "to_tap", &out);
	if (rte_eth_stats_get(tap->port, &stats) == 0) {
		/* Before and behind the bridge, but on its path. */
		add_uint(d, "tap_kernel_dropped", stats.imissed);
		add_uint(d, "tap_rx_nombuf", stats.rx_nombuf);
		add_uint(d, "tap_tx_errors", stats.oerrors);
	}
	add_tap_reasons(d, tap->port);
	add_uint(d, "tap_mbufs_in_use", rte_mempool_in_use_count(tap->pool));
	add_uint(d, "guest_mbufs_in_use", rte_mempool_in_use_count(guest->pool));
	if (tap->fdb != NULL)
		add_uint(d, "addresses", vb_fdb_count(tap->fdb, guest->slot));
}

static int
pair_cmd(const char *cmd __rte_unused, const char *params, struct rte_tel_data *d)
{
	const struct vb_tap *tap;
	unsigned int s;
	int ret = -ENOENT;

	if (params == NULL || params[0] == '\0')
		return -EINVAL;
	rte_tel_data_start_dict(d);
	vb_pairs_lock();
	for (tap = all->taps; tap != NULL; tap = tap->next)
		for (s = 0; s < VB_MAX_GUESTS; s++)
			if (tap->guests[s] != NULL &&
			    strcmp(tap->guests[s]->conf.name, params) == 0) {
				describe(tap->guests[s], d);
				ret = 0;
			}
	vb_pairs_unlock();
	return ret;
}

static int
workers_cmd(const char *cmd __rte_unused, const char *params __rte_unused, struct rte_tel_data *d)
{
	unsigned int i;

	rte_tel_data_start_dict(d);
	for (i = 0; i < all->nb_workers; i++) {
		const struct vb_worker *worker = &all->workers[i];
		char name[RTE_TEL_MAX_STRING_LEN];

		snprintf(name, sizeof(name), "lcore%u_turns", worker->lcore);
		add_uint(d, name, worker->turns);
		snprintf(name, sizeof(name), "lcore%u_sleeps", worker->lcore);
		add_uint(d, name, worker->sleeps);
		snprintf(name, sizeof(name), "lcore%u_slept_us", worker->lcore);
		add_uint(d, name, vb_worker_slept(worker) * 1e6 / rte_get_tsc_hz());
	}
	return 0;
}

void
vb_view_telemetry(struct vb_pairs *pairs)
{
	all = pairs;
	rte_telemetry_register_cmd("/vhost_bridge/pairs", pairs_cmd,
				   "Names of the pairs. No parameters");
	rte_telemetry_register_cmd("/vhost_bridge/pair", pair_cmd,
				   "State and counters of a pair. Parameter: its name");
	rte_telemetry_register_cmd("/vhost_bridge/workers", workers_cmd,
				   "Turns and sleeps of the worker lcores. No parameters");
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The table: two lines per pair, one per direction, in 80 columns.
 */

#include "view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "fdb.h"
#include "guest.h"
#include "tap.h"
#include "offload.h"

static uint64_t
sum_drops(const struct vb_count *count)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < VB_NB_DROPS; i++)
		sum += count->drops[i];
	return sum;
}

/* In seven columns. */
static const char *
short_number(uint64_t n, char *text, size_t size)
{
	static const char units[] = " kMGTPE";
	unsigned int unit = 0;

	while (n > 999999) {
		n /= 1000;
		unit++;
	}
	snprintf(text, size, unit == 0 ? "%llu" : "%llu%c", (unsigned long long)n, units[unit]);
	return text;
}

static void
line(const char *name, const char *direction, const struct vb_count *now, struct vb_count *before,
     double seconds, const char *state)
{
	double frames = (double)(now->frames - before->frames);
	double bursts = (double)(now->bursts - before->bursts);
	double super = (double)(now->superframes - before->superframes);
	char stalls[16];
	char drops[16];

	printf("%-14.14s %-5s %8.1f %7.3f %5.1f %4.0f%% %6s %7s %.15s\n", name, direction,
	       frames / seconds / 1e3, (double)(now->bytes - before->bytes) * 8 / seconds / 1e9,
	       bursts > 0 ? frames / bursts : 0, frames > 0 ? 100 * super / frames : 0,
	       short_number(now->stalls - before->stalls, stalls, sizeof(stalls)),
	       short_number(sum_drops(now), drops, sizeof(drops)), state);
	*before = *now;
}

static const char *
state_of(const struct vb_guest *guest, char *text, size_t size)
{
	uint64_t enabled = __atomic_load_n(&guest->to_guest, __ATOMIC_RELAXED);
	uint32_t waiting = 0;
	uint16_t q;

	if (vb_tap_gone(guest->tap))
		return "no tap";
	if (!vb_guest_up(guest))
		return "no guest";
	for (q = 0; q < guest->conf.queues; q++)
		waiting += guest->lanes[q].to_guest.n;
	if (waiting > 0)
		snprintf(text, size, "full, %u", waiting);
	else
		snprintf(text, size, "up, q %d/%u", __builtin_popcountll(enabled),
			 guest->conf.queues);
	return text;
}

void
vb_view_table(struct vb_pairs *pairs)
{
	static uint64_t last;
	uint64_t now = rte_get_timer_cycles();
	double seconds = (double)(now - last) / (double)rte_get_timer_hz();
	const struct vb_tap *tap;
	unsigned int i;
	unsigned int s;

	if (isatty(STDOUT_FILENO))
		printf("\033[H\033[2J");
	printf("%-14s %-5s %8s %7s %5s %5s %6s %7s %s\n", "pair", "to", "kframe/s", "Gbit/s",
	       "burst", "super", "stalls", "drops", "state");
	for (tap = pairs->taps; tap != NULL; tap = tap->next)
		for (s = 0; s < VB_MAX_GUESTS; s++) {
			struct vb_guest *guest = tap->guests[s];
			struct vb_count in;
			struct vb_count out;
			char text[32];

			if (guest == NULL)
				continue;
			vb_guest_counts(guest, &in, &out);
			line(guest->conf.name, "guest", &in, &guest->seen_in, seconds,
			     state_of(guest, text, sizeof(text)));
			line("", "host", &out, &guest->seen_out, seconds, tap->conf.tap);
		}
	for (i = 0; i < pairs->nb_workers; i++) {
		const struct vb_worker *worker = &pairs->workers[i];
		static uint64_t slept[RTE_MAX_LCORE];
		uint64_t tsc = vb_worker_slept(worker);
		double share = (double)(tsc - slept[worker->lcore]) / (double)rte_get_tsc_hz() /
			       seconds;

		printf("lcore %u: %.0f%% awake\n", worker->lcore, 100 * (1 - RTE_MIN(share, 1.0)));
		slept[worker->lcore] = tsc;
	}
	fflush(stdout);
	last = now;
}

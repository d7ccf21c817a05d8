/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The figures that the kernel's own commits gave, and our cases that come nearest. */

#include <math.h>
#include <string.h>

#include "original.h"

#define OURS_BOTH(before, after) \
	.driver = { "tapbatch", "tapbatch" }, .parameter = { before, after }

static const struct original originals[] = {
	{ "reader", "received, one socket", "kpps", 731, 783, M_RX_MPPS, 1e3,
	  OURS_BOTH("polling, armed", "polling") },
	{ "reader", "CPU of the receiver", "cores", 1.50, 1.53, M_CPU_PCT, 0.01,
	  OURS_BOTH("polling, armed", "polling") },
	{ "reader", "received, across sockets", "kpps", 558, 690, .metric = METRICS },
	{ "no-wakeups", "received", "Mpps", 1.37, 1.50, M_RX_MPPS, 1,
	  OURS_BOTH("polling, armed", "polling") },
	{ "batching", "received, batches of 48", "Mpps", 0.90, 1.09, M_RX_MPPS, 1,
	  OURS_BOTH("0 all flows differ", "48 all flows differ") },
	{ "batching", "the same, one flow", "Mpps", 0.90, 1.09, M_RX_MPPS, 1,
	  OURS_BOTH("0 one flow", "48 one flow") },
	{ "congestion",
	  "sent, ring of 1000",
	  "Mb/s",
	  2341,
	  9121,
	  M_TX_GBPS,
	  1e3,
	  { "net_tap", "tapbatch" },
	  { "1000 UDP", "1000 UDP" } },
	{ "congestion",
	  "received, ring of 1000",
	  "Mb/s",
	  1207,
	  1730,
	  M_RX_GBPS,
	  1e3,
	  { "net_tap", "tapbatch" },
	  { "1000 UDP", "1000 UDP" } },
	{ "dequeue", "received, small", "Mpps", 1.88, 2.25, M_RX_MPPS, 1,
	  OURS_BOTH("1 small", "64 small") },
	{ "dequeue", "received, mergeable", "Mpps", 1.83, 2.10, M_RX_MPPS, 1,
	  OURS_BOTH("1 scattered", "64 scattered") },
};

const struct original *
original_get(const struct experiment *e, size_t i)
{
	for (size_t k = 0; k < sizeof(originals) / sizeof(originals[0]); k++)
		if (strcmp(originals[k].experiment, e->name) == 0 && i-- == 0)
			return &originals[k];
	return NULL;
}

void
original_ours(const struct original *o, const struct case_list *list, double ours[2])
{
	for (int side = 0; side < 2; side++) {
		ours[side] = NAN;
		for (size_t i = 0; o->metric != METRICS && i < list->n; i++)
			if (strcmp(list->cases[i].driver, o->driver[side]) == 0 &&
			    strcmp(list->cases[i].parameter, o->parameter[side]) == 0)
				ours[side] = case_summary(&list->cases[i], o->metric).median *
					     o->scale;
	}
}

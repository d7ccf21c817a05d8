/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* What a run yields: named numbers with a unit, and what many of them come to. */

#ifndef PERF_METRIC_H
#define PERF_METRIC_H

#include <stdbool.h>
#include <stddef.h>

enum metric {
	M_RX_MPPS, /* received in the window */
	M_TX_MPPS, /* sent in the window */
	M_RX_GBPS, /* received, bits of frames without FCS */
	M_TX_GBPS,
	M_TX_NS, /* sender's CPU time per packet sent: user and system */
	M_TX_USER_NS,
	M_TX_SYS_NS,
	M_RX_NS, /* receiver's, per packet received */
	M_RX_USER_NS,
	M_RX_SYS_NS,
	M_TX_CYCLES, /* the processor's counters, where there are any, per packet */
	M_TX_INSTRUCTIONS,
	M_TX_CACHE_MISSES,
	M_RX_CYCLES,
	M_RX_INSTRUCTIONS,
	M_RX_CACHE_MISSES,
	M_FWD_NS,       /* a forwarder's CPU time, all threads, per packet */
	M_FWD_USER_PCT, /* and of a core */
	M_FWD_SYS_PCT,
	M_OTHER_NS, /* other threads of both, and ksoftirqd, per packet received */
	M_TX_BURST, /* packets per call */
	M_RX_BURST,
	M_SENT, /* packets, whole run */
	M_RECEIVED,
	M_LOST_PCT,  /* of those sent */
	M_DROPPED,   /* by the interface of the receiver, frames */
	M_UNCOUNTED, /* lost, and in no counter */
	M_SLEEPS,    /* waits for an interrupt per second */
	M_WAKEUPS,   /* of the receiver per second, by tracepoint */
	M_SWITCHES,  /* voluntary context switches of the receiver per second */
	M_CPU_PCT,   /* receiver's CPU time in the window */
	M_CORE_PCT,  /* of its core, that the worse off of two polling workers had */
	M_LINE_NS,   /* for a cache line from the sender's core to the receiver's */
	M_RTT_50,    /* round trips, microseconds */
	M_RTT_90,
	M_RTT_99,
	M_RTT_MIN,
	M_RTT_MAX,
	M_RATE,        /* requests per second */
	M_STREAM_GBPS, /* payload of a stream */
	M_RETRANSMITS,
	M_LOSS_PCT, /* datagrams of a UDP stream */
	M_UP_MS,    /* until a port receives: probe and start */
	M_PROBE_MS,
	M_START_MS,
	M_CLOSE_MS,
	M_RSS_MIB,
	METRICS
};

struct metric_info {
	const char *name;    /* in JSON and CSV */
	const char *heading; /* in tables */
	const char *unit;
	int decimals;
};

extern const struct metric_info metric_info[METRICS];

struct summary {
	size_t n; /* samples that count; 0: none, the rest is NAN */
	double median, min, max;
};

/* NAN among the values means: not measured. */
struct summary summarize(const double *values, size_t n);

#endif /* PERF_METRIC_H */

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Names and units of what is measured; median and spread. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"

const struct metric_info metric_info[METRICS] = {
	[M_RX_MPPS] = { "rx_mpps", "received", "Mpps", 3 },
	[M_TX_MPPS] = { "tx_mpps", "sent", "Mpps", 3 },
	[M_RX_GBPS] = { "rx_gbps", "received", "Gb/s", 2 },
	[M_TX_GBPS] = { "tx_gbps", "sent", "Gb/s", 2 },
	[M_TX_NS] = { "tx_cpu_ns", "tx CPU", "ns/pkt", 0 },
	[M_TX_USER_NS] = { "tx_user_ns", "tx user", "ns/pkt", 0 },
	[M_TX_SYS_NS] = { "tx_system_ns", "tx system", "ns/pkt", 0 },
	[M_RX_NS] = { "rx_cpu_ns", "rx CPU", "ns/pkt", 0 },
	[M_RX_USER_NS] = { "rx_user_ns", "rx user", "ns/pkt", 0 },
	[M_RX_SYS_NS] = { "rx_system_ns", "rx system", "ns/pkt", 0 },
	[M_TX_CYCLES] = { "tx_cycles", "tx", "cycles/pkt", 0 },
	[M_TX_INSTRUCTIONS] = { "tx_instructions", "tx", "instr/pkt", 0 },
	[M_TX_CACHE_MISSES] = { "tx_cache_misses", "tx", "misses/pkt", 2 },
	[M_RX_CYCLES] = { "rx_cycles", "rx", "cycles/pkt", 0 },
	[M_RX_INSTRUCTIONS] = { "rx_instructions", "rx", "instr/pkt", 0 },
	[M_RX_CACHE_MISSES] = { "rx_cache_misses", "rx", "misses/pkt", 2 },
	[M_FWD_NS] = { "forwarder_cpu_ns", "fwd CPU", "ns/pkt", 0 },
	[M_FWD_USER_PCT] = { "forwarder_user_percent", "fwd user", "%", 0 },
	[M_FWD_SYS_PCT] = { "forwarder_system_percent", "fwd sys", "%", 0 },
	[M_OTHER_NS] = { "other_cpu_ns", "other", "ns/pkt", 0 },
	[M_TX_BURST] = { "tx_burst", "tx burst", "pkts", 1 },
	[M_RX_BURST] = { "rx_burst", "rx burst", "pkts", 1 },
	[M_SENT] = { "packets_sent", "sent", "pkts", 0 },
	[M_RECEIVED] = { "packets_received", "received", "pkts", 0 },
	[M_LOST_PCT] = { "lost_percent", "lost", "%", 1 },
	[M_DROPPED] = { "frames_dropped", "dropped", "frames", 0 },
	[M_UNCOUNTED] = { "packets_uncounted", "unknown", "pkts", 0 },
	[M_SLEEPS] = { "sleeps_per_s", "sleeps", "1/s", 0 },
	[M_WAKEUPS] = { "wakeups_per_s", "wake-ups", "1/s", 0 },
	[M_SWITCHES] = { "switches_per_s", "switches", "1/s", 0 },
	[M_CPU_PCT] = { "rx_cpu_percent", "rx busy", "%", 0 },
	[M_CORE_PCT] = { "core_share_percent", "core", "%", 0 },
	[M_LINE_NS] = { "cache_line_ns", "line", "ns", 0 },
	[M_RTT_50] = { "rtt_p50_us", "median", "us", 1 },
	[M_RTT_90] = { "rtt_p90_us", "90 %", "us", 1 },
	[M_RTT_99] = { "rtt_p99_us", "99 %", "us", 1 },
	[M_RTT_MIN] = { "rtt_min_us", "least", "us", 1 },
	[M_RTT_MAX] = { "rtt_max_us", "most", "us", 0 },
	[M_RATE] = { "requests_per_s", "requests", "1/s", 0 },
	[M_STREAM_GBPS] = { "stream_gbps", "stream", "Gb/s", 2 },
	[M_RETRANSMITS] = { "retransmits", "resent", "segs", 0 },
	[M_LOSS_PCT] = { "datagrams_lost_percent", "lost", "%", 1 },
	[M_UP_MS] = { "up_ms", "up in", "ms", 2 },
	[M_PROBE_MS] = { "probe_ms", "probe", "ms", 2 },
	[M_START_MS] = { "start_ms", "start", "ms", 2 },
	[M_CLOSE_MS] = { "close_ms", "close", "ms", 2 },
	[M_RSS_MIB] = { "resident_mib", "memory", "MiB", 2 },
};

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct summary
summarize(const double *values, size_t n)
{
	struct summary s = { 0, NAN, NAN, NAN };
	double *sorted = malloc((n + 1) * sizeof(*sorted));

	if (sorted == NULL)
		return s;
	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			sorted[s.n++] = values[i];
	if (s.n > 0) {
		qsort(sorted, s.n, sizeof(*sorted), compare);
		s.min = sorted[0];
		s.max = sorted[s.n - 1];
		s.median = (sorted[(s.n - 1) / 2] + sorted[s.n / 2]) / 2;
	}
	free(sorted);
	return s;
}

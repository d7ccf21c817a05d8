/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What testpmd shows of a port's batches: counters per queue, in 80 columns.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "rte_pmd_tapbatch.h"
#include "tapbatch_testpmd.h"

#define COLUMNS 79
#define INDENT 4

const char *
tapbatch_testpmd_count(char text[TAPBATCH_TEXT], uint64_t n)
{
	static const char units[] = "MGTPE";
	double v = (double)n / 1e6;
	unsigned int i = 0;

	if (n < 10000000) {
		snprintf(text, TAPBATCH_TEXT, "%" PRIu64, n);
		return text;
	}
	for (; v >= 999.995; i++)
		v /= 1000;
	snprintf(text, TAPBATCH_TEXT, "%.2f%c", v, units[i]);
	return text;
}

const char *
tapbatch_testpmd_rate(char text[TAPBATCH_TEXT], double rate)
{
	static const char units[] = "kMGTPE";
	unsigned int i = 0;

	if (rate < 999.5) {
		snprintf(text, TAPBATCH_TEXT, "%.0f", rate);
		return text;
	}
	for (rate /= 1000; rate >= 999.95 && i < sizeof(units) - 2; i++)
		rate /= 1000;
	snprintf(text, TAPBATCH_TEXT, "%.*f%c",
		 rate < 9.9995 ? 3 :
		 rate < 99.995 ? 2 :
				 1,
		 rate, units[i]);
	return text;
}

const char *
tapbatch_testpmd_coalesce_text(uint32_t kinds)
{
	bool udp = (kinds & RTE_PMD_TAPBATCH_COALESCE_UDP) != 0;

	if ((kinds & RTE_PMD_TAPBATCH_COALESCE_TCP) != 0)
		return udp ? "tcp+udp" : "tcp";
	return udp ? "udp" : "none";
}

void
tapbatch_testpmd_complain(uint16_t port_id, int error)
{
	struct rte_eth_dev_info info;

	if (error == -ENODEV)
		fprintf(stderr, "Invalid port %u\n", port_id);
	else if (error == -ENOTSUP && rte_eth_dev_info_get(port_id, &info) == 0)
		fprintf(stderr, "Port %u is one of %s, not of net_tapbatch\n", port_id,
			info.driver_name);
	else
		fprintf(stderr, "Port %u: %s\n", port_id, strerror(-error));
}

/* Text that goes on in the next line rather than beyond the last column. */
__rte_format_printf(2, 3) static void add_text(unsigned int *column, const char *format, ...)
{
	char text[COLUMNS];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (*column + (unsigned int)len + 1 > COLUMNS) {
		printf("\n%*s", INDENT + 1, "");
		*column = INDENT + 1;
	}
	printf(" %s", text);
	*column += (unsigned int)len + 1;
}

static void
print_sizes(const char *what, const uint64_t sizes[RTE_PMD_TAPBATCH_SIZES])
{
	char text[TAPBATCH_TEXT];
	unsigned int i;

	printf("    %-11s", what);
	for (i = 0; i < RTE_PMD_TAPBATCH_SIZES; i++)
		printf(" %7s", tapbatch_testpmd_count(text, sizes[i]));
	printf("\n");
}

static void
print_size_columns(const char *of)
{
	unsigned int i;

	printf("    %-11s", of);
	for (i = 0; i < RTE_PMD_TAPBATCH_SIZES; i++) {
		char range[16];

		if (i == 0)
			snprintf(range, sizeof(range), "1");
		else if (i == RTE_PMD_TAPBATCH_SIZES - 1)
			snprintf(range, sizeof(range), "%u-", 1u << i);
		else
			snprintf(range, sizeof(range), "%u-%u", 1u << i, (2u << i) - 1);
		printf(" %7s", range);
	}
	printf("\n");
}

static void
show_rx(uint16_t queue_id, const struct rte_pmd_tapbatch_rx_batches *rx)
{
	uint64_t whole = rx->superframes - rx->split_superframes;
	uint64_t frames = rx->packets - rx->split_packets + rx->split_superframes;

	printf("  Rx queue %u: %" PRIu64 " packets in %" PRIu64 " batches of %.1f frames, %.3f "
	       "calls/packet\n",
	       queue_id, rx->packets, rx->batches,
	       tapbatch_testpmd_ratio((double)frames, (double)rx->batches),
	       tapbatch_testpmd_ratio((double)rx->syscalls, (double)rx->packets));
	if (rx->batches == 0)
		return;
	print_size_columns("frames");
	print_sizes("batches", rx->sizes);
	if (rx->superframes == 0)
		return;
	printf("    superframes: %.1f %% of packets; %" PRIu64 " split into %.1f packets each, "
	       "%" PRIu64 " handed on\n",
	       100 * tapbatch_testpmd_ratio((double)(rx->split_packets + whole),
					    (double)rx->packets),
	       rx->split_superframes,
	       tapbatch_testpmd_ratio((double)rx->split_packets, (double)rx->split_superframes),
	       whole);
}

static void
show_reasons(const struct rte_pmd_tapbatch_tx_batches *tx)
{
	const char *names[RTE_PMD_TAPBATCH_REASONS + 1];
	uint64_t counts[RTE_PMD_TAPBATCH_REASONS + 1];
	uint64_t known = tx->coalesced_packets;
	unsigned int column = INDENT - 1;
	unsigned int n = 0;
	unsigned int i;

	if (tx->packets <= tx->coalesced_packets)
		return;
	for (i = 0; i < RTE_PMD_TAPBATCH_REASONS; i++) {
		names[n] = rte_pmd_tapbatch_reason_name(i);
		if (names[n] == NULL)
			break;
		known += tx->unmerged[i];
		counts[n] = tx->unmerged[i];
		n += tx->unmerged[i] > 0;
	}
	/* Bursts of one, and what is sent while coalescing is off. */
	if (tx->packets > known) {
		names[n] = "not looked at";
		counts[n++] = tx->packets - known;
	}
	printf("%*s", INDENT - 1, "");
	add_text(&column, "sent alone: %" PRIu64 " =", tx->packets - tx->coalesced_packets);
	for (i = 0; i < n; i++)
		add_text(&column, "%s %" PRIu64 "%s", names[i], counts[i], i + 1 < n ? "," : "");
	printf("\n");
}

static void
show_tx(uint16_t queue_id, const struct rte_pmd_tapbatch_tx_batches *tx)
{
	printf("  Tx queue %u: %" PRIu64 " packets in %" PRIu64 " batches of %.1f packets, %.3f "
	       "calls/packet\n",
	       queue_id, tx->packets, tx->batches,
	       tapbatch_testpmd_ratio((double)tx->packets, (double)tx->batches),
	       tapbatch_testpmd_ratio((double)tx->syscalls, (double)tx->packets));
	if (tx->batches == 0)
		return;
	print_size_columns("packets");
	print_sizes("batches", tx->sizes);
	if (tx->superframes > 0) {
		print_sizes("superframes", tx->superframe_sizes);
		printf("    superframes: %.1f %% of packets; %" PRIu64 " of %.1f packets each\n",
		       100 * tapbatch_testpmd_ratio((double)tx->coalesced_packets,
						    (double)tx->packets),
		       tx->superframes,
		       tapbatch_testpmd_ratio((double)tx->coalesced_packets,
					      (double)tx->superframes));
	}
	show_reasons(tx);
	if (tx->refused_superframes + tx->no_room + tx->dropped > 0)
		printf("    refused superframes: %" PRIu64 "  no room: %" PRIu64
		       "  dropped: %" PRIu64 "\n",
		       tx->refused_superframes, tx->no_room, tx->dropped);
}

void
tapbatch_testpmd_show_batches(uint16_t port_id)
{
	struct rte_pmd_tapbatch_rx_batches rx;
	struct rte_pmd_tapbatch_tx_batches tx;
	struct rte_eth_dev_info info;
	uint64_t rx_drops, tx_drops;
	uint16_t i;
	int ret;

	ret = rte_pmd_tapbatch_kernel_drops_get(port_id, &rx_drops, &tx_drops);
	if (ret == 0)
		ret = rte_eth_dev_info_get(port_id, &info);
	if (ret != 0) {
		tapbatch_testpmd_complain(port_id, ret);
		return;
	}
	printf("\n  ######################## Batches of port %-2u ########################\n",
	       port_id);
	for (i = 0; i < info.nb_rx_queues; i++)
		if (rte_pmd_tapbatch_rx_batches_get(port_id, i, &rx) == 0)
			show_rx(i, &rx);
	for (i = 0; i < info.nb_tx_queues; i++)
		if (rte_pmd_tapbatch_tx_batches_get(port_id, i, &tx) == 0)
			show_tx(i, &tx);
	printf("  Dropped by the kernel: %" PRIu64 " on the way to Rx, %" PRIu64 " after Tx\n",
	       rx_drops, tx_drops);
	printf("  ####################################################################\n");
}

void
tapbatch_testpmd_show_config(uint16_t port_id)
{
	uint16_t packets;
	uint32_t kinds;
	int ret;

	ret = rte_pmd_tapbatch_tx_batched_get(port_id, &packets);
	if (ret == 0)
		ret = rte_pmd_tapbatch_coalesce_get(port_id, &kinds);
	if (ret != 0)
		tapbatch_testpmd_complain(port_id, ret);
	else
		printf("  Port %u: tx_batched %u, coalesce %s\n", port_id, packets,
		       tapbatch_testpmd_coalesce_text(kinds));
}

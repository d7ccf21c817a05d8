/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Counters: basic and extended statistics, from those that queues keep and those of
 * the kernel's interface.
 */

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_string_fns.h>

#include "tapbatch.h"

struct counter {
	const char *name;
	size_t offset;
};

#define RX(field)                                                  \
	{                                                          \
#field, offsetof(struct tapbatch_rxq, stats.field) \
	}
#define TX(field)                                                  \
	{                                                          \
#field, offsetof(struct tapbatch_txq, stats.field) \
	}

/* Packets and bytes of a queue are among ethdev's own extended statistics. */
static const struct counter rx_counters[] = {
	RX(batches),  RX(superframes), RX(split_packets), RX(filtered), RX(malformed),
	RX(oversize), RX(read_errors), RX(stop_drops),    RX(nombuf),
};

static const struct counter tx_counters[] = {
	TX(batches),
	TX(rejected),
	TX(link_down),
	TX(malformed),
	TX(no_room),
	TX(stop_drops),
	TX(refused_superframes),
	{ "superframes", offsetof(struct tapbatch_txq, coalesce.superframes) },
	{ "coalesced_packets", offsetof(struct tapbatch_txq, coalesce.coalesced) },
};

/* Beside those of the tables, each queue has its system calls. */
#define NB_RX (RTE_DIM(rx_counters) + 1)
#define NB_TX (RTE_DIM(tx_counters) + 1 + TAPBATCH_NB_UNMERGED)

static const char *const port_counters[] = { "rx_kernel_dropped", "tx_kernel_dropped" };

static uint64_t
read_counter(const void *queue, const struct counter *counter)
{
	return *(const uint64_t *)((const uint8_t *)queue + counter->offset);
}

void
tapbatch_kernel_drops(struct rte_eth_dev *dev, uint64_t *rx, uint64_t *tx)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_link_state state;
	uint64_t lost;
	int ret;

	pthread_mutex_lock(&local->lock);
	ret = tapbatch_link_get(&local->link, &state);
	lost = tapbatch_remote_lost(&local->remote, ret == 0 ? &local->link : NULL);
	pthread_mutex_unlock(&local->lock);
	if (ret != 0) {
		*rx = 0;
		*tx = 0;
		return;
	}
	/* The kernel transmits what we receive. */
	*rx = state.tx_dropped - port->tx_dropped_base;
	*tx = state.rx_dropped + lost - port->rx_dropped_base;
}

int
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
tapbatch_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats,
		   struct eth_queue_stats *queues)
{
#else
tapbatch_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	struct rte_eth_stats *queues = stats;
#endif
	uint64_t kernel_tx;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct tapbatch_rxq *rxq = dev->data->rx_queues[i];
		uint64_t errors;

		if (rxq == NULL)
			continue;
		errors = rxq->stats.malformed + rxq->stats.oversize + rxq->stats.stop_drops;
		stats->ipackets += rxq->stats.packets;
		stats->ibytes += rxq->stats.bytes;
		stats->ierrors += errors;
		stats->rx_nombuf += rxq->stats.nombuf;
		if (queues != NULL && i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
			queues->q_ipackets[i] = rxq->stats.packets;
			queues->q_ibytes[i] = rxq->stats.bytes;
			queues->q_errors[i] = errors;
		}
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct tapbatch_txq *txq = dev->data->tx_queues[i];

		if (txq == NULL)
			continue;
		stats->opackets += txq->stats.packets;
		stats->obytes += txq->stats.bytes;
		stats->oerrors += txq->stats.rejected + txq->stats.link_down +
				  txq->stats.malformed + txq->stats.stop_drops;
		if (queues != NULL && i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
			queues->q_opackets[i] = txq->stats.packets;
			queues->q_obytes[i] = txq->stats.bytes;
		}
	}
	tapbatch_kernel_drops(dev, &stats->imissed, &kernel_tx);
	return 0;
}

int
tapbatch_stats_reset(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	uint64_t rx, tx;
	uint16_t i;

	tapbatch_kernel_drops(dev, &rx, &tx);
	port->tx_dropped_base += rx;
	port->rx_dropped_base += tx;
	port->rx_drops_cleared = 0;
	port->tx_drops_cleared = 0;
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		struct tapbatch_rxq *rxq = dev->data->rx_queues[i];

		if (rxq == NULL)
			continue;
		memset(&rxq->stats, 0, sizeof(rxq->stats));
		memset(&rxq->base, 0, sizeof(rxq->base));
		if (local->rx[i] != NULL)
			local->rx[i]->io.syscalls = 0;
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct tapbatch_txq *txq = dev->data->tx_queues[i];

		if (txq == NULL)
			continue;
		memset(&txq->stats, 0, sizeof(txq->stats));
		memset(&txq->base, 0, sizeof(txq->base));
		txq->coalesce.superframes = 0;
		txq->coalesce.coalesced = 0;
		memset(txq->coalesce.sizes, 0, sizeof(txq->coalesce.sizes));
		memset(txq->coalesce.unmerged, 0, sizeof(txq->coalesce.unmerged));
		if (local->tx[i] != NULL)
			local->tx[i]->syscalls = 0;
	}
	return 0;
}

static unsigned int
count(const struct rte_eth_dev *dev)
{
	return (unsigned int)(dev->data->nb_rx_queues * NB_RX + dev->data->nb_tx_queues * NB_TX +
			      RTE_DIM(port_counters));
}

int
tapbatch_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	const struct tapbatch_local *local = tapbatch_local(dev);
	unsigned int total = count(dev);
	uint64_t values[2];
	unsigned int k = 0;
	unsigned int i, j;

	if (n < total || xstats == NULL)
		return (int)total;
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct tapbatch_rxq *rxq = dev->data->rx_queues[i];

		for (j = 0; j < RTE_DIM(rx_counters); j++)
			xstats[k++].value = rxq == NULL ? 0 : read_counter(rxq, &rx_counters[j]);
		xstats[k++].value = local->rx[i] == NULL ? 0 : local->rx[i]->io.syscalls;
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct tapbatch_txq *txq = dev->data->tx_queues[i];

		for (j = 0; j < RTE_DIM(tx_counters); j++)
			xstats[k++].value = txq == NULL ? 0 : read_counter(txq, &tx_counters[j]);
		xstats[k++].value = local->tx[i] == NULL ? 0 : local->tx[i]->syscalls;
		for (j = 0; j < TAPBATCH_NB_UNMERGED; j++)
			xstats[k++].value = txq == NULL ? 0 : txq->coalesce.unmerged[j];
	}
	tapbatch_kernel_drops(dev, &values[0], &values[1]);
	xstats[k++].value = values[0];
	xstats[k++].value = values[1];
	for (i = 0; i < k; i++)
		xstats[i].id = i;
	return (int)k;
}

int
tapbatch_xstats_get_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	unsigned int total = count(dev);
	unsigned int k = 0;
	unsigned int i, j;

	if (names == NULL || n < total)
		return (int)total;
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		for (j = 0; j < RTE_DIM(rx_counters); j++)
			snprintf(names[k++].name, sizeof(names[0].name), "rx_q%u_%s", i,
				 rx_counters[j].name);
		snprintf(names[k++].name, sizeof(names[0].name), "rx_q%u_syscalls", i);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		for (j = 0; j < RTE_DIM(tx_counters); j++)
			snprintf(names[k++].name, sizeof(names[0].name), "tx_q%u_%s", i,
				 tx_counters[j].name);
		snprintf(names[k++].name, sizeof(names[0].name), "tx_q%u_syscalls", i);
		for (j = 0; j < TAPBATCH_NB_UNMERGED; j++)
			snprintf(names[k++].name, sizeof(names[0].name), "tx_q%u_unmerged_%s", i,
				 tapbatch_unmerged_names[j]);
	}
	for (i = 0; i < RTE_DIM(port_counters); i++)
		strlcpy(names[k++].name, port_counters[i], sizeof(names[0].name));
	return (int)k;
}

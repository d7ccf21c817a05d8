/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The driver's public functions: what has been batched, and how it is to be.
 */

/* All else is hidden in our own build; in DPDK's, version.map does that. */
#pragma GCC visibility push(default)
#include "rte_pmd_tapbatch.h"
#pragma GCC visibility pop

#include <errno.h>
#include <string.h>

#include <rte_version.h>
#if RTE_VERSION >= RTE_VERSION_NUM(25, 7, 0, 0)
#include <eal_export.h>
#else
#define RTE_EXPORT_EXPERIMENTAL_SYMBOL(symbol, version)
#endif

#include "tapbatch.h"
#include "tapbatch_tuning.h"

#define TCP_KINDS (TAPBATCH_COALESCE_TCP4 | TAPBATCH_COALESCE_TCP6)
#define UDP_KINDS (TAPBATCH_COALESCE_UDP4 | TAPBATCH_COALESCE_UDP6)

_Static_assert((int)TAPBATCH_NB_UNMERGED <= RTE_PMD_TAPBATCH_REASONS, "all reasons have a place");
_Static_assert(sizeof(struct rte_pmd_tapbatch_rx_batches) % sizeof(uint64_t) == 0 &&
		       sizeof(struct rte_pmd_tapbatch_tx_batches) % sizeof(uint64_t) == 0,
	       "the structures are arrays of counters");

/* The device behind a port, if it is one of ours that this process has opened. */
static int
get_device(uint16_t port_id, struct rte_eth_dev **dev)
{
	RTE_ETH_VALID_PORTID_OR_ERR_RET(port_id, -ENODEV);
	*dev = &rte_eth_devices[port_id];
	if ((*dev)->device == NULL || (*dev)->device->driver == NULL ||
	    strcmp((*dev)->device->driver->name, TAPBATCH_DRIVER_NAME) != 0 ||
	    (*dev)->process_private == NULL)
		return -ENOTSUP;
	return 0;
}

/* What has been counted since the base was taken. */
static void
subtract(void *counters, const void *base, size_t size)
{
	uint64_t *c = counters;
	const uint64_t *b = base;
	size_t i;

	for (i = 0; i < size / sizeof(*c); i++)
		c[i] -= b[i];
}

static void
read_rx(const struct rte_eth_dev *dev, uint16_t id, struct rte_pmd_tapbatch_rx_batches *batches)
{
	const struct tapbatch_rxq *rxq = dev->data->rx_queues[id];
	const struct tapbatch_rx_local *rx = tapbatch_local(dev)->rx[id];

	*batches = (struct rte_pmd_tapbatch_rx_batches){
		.packets = rxq->stats.packets,
		.bytes = rxq->stats.bytes,
		.batches = rxq->stats.batches,
		.syscalls = rx->io.syscalls,
		.superframes = rxq->stats.superframes,
		.split_superframes = rxq->stats.split_superframes,
		.split_packets = rxq->stats.split_packets,
	};
	memcpy(batches->sizes, rxq->stats.sizes, sizeof(batches->sizes));
}

static void
read_tx(const struct rte_eth_dev *dev, uint16_t id, struct rte_pmd_tapbatch_tx_batches *batches)
{
	const struct tapbatch_txq *txq = dev->data->tx_queues[id];
	const struct tapbatch_tx_stats *stats = &txq->stats;

	*batches = (struct rte_pmd_tapbatch_tx_batches){
		.packets = stats->packets,
		.bytes = stats->bytes,
		.batches = stats->batches,
		.syscalls = tapbatch_local(dev)->tx[id]->syscalls,
		.superframes = txq->coalesce.superframes,
		.coalesced_packets = txq->coalesce.coalesced,
		.refused_superframes = stats->refused_superframes,
		.no_room = stats->no_room,
		.dropped = stats->rejected + stats->link_down + stats->malformed +
			   stats->stop_drops,
	};
	memcpy(batches->sizes, stats->sizes, sizeof(batches->sizes));
	memcpy(batches->superframe_sizes, txq->coalesce.sizes, sizeof(batches->superframe_sizes));
	memcpy(batches->unmerged, txq->coalesce.unmerged, sizeof(txq->coalesce.unmerged));
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_rx_batches_get, 26.11)
int
rte_pmd_tapbatch_rx_batches_get(uint16_t port_id, uint16_t queue_id,
				struct rte_pmd_tapbatch_rx_batches *batches)
{
	const struct tapbatch_rxq *rxq;
	struct rte_eth_dev *dev;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if (batches == NULL || queue_id >= dev->data->nb_rx_queues ||
	    dev->data->rx_queues[queue_id] == NULL)
		return -EINVAL;
	rxq = dev->data->rx_queues[queue_id];
	read_rx(dev, queue_id, batches);
	subtract(batches, &rxq->base, sizeof(*batches));
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_tx_batches_get, 26.11)
int
rte_pmd_tapbatch_tx_batches_get(uint16_t port_id, uint16_t queue_id,
				struct rte_pmd_tapbatch_tx_batches *batches)
{
	const struct tapbatch_txq *txq;
	struct rte_eth_dev *dev;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if (batches == NULL || queue_id >= dev->data->nb_tx_queues ||
	    dev->data->tx_queues[queue_id] == NULL)
		return -EINVAL;
	txq = dev->data->tx_queues[queue_id];
	read_tx(dev, queue_id, batches);
	subtract(batches, &txq->base, sizeof(*batches));
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_kernel_drops_get, 26.11)
int
rte_pmd_tapbatch_kernel_drops_get(uint16_t port_id, uint64_t *rx, uint64_t *tx)
{
	const struct tapbatch_port *port;
	struct rte_eth_dev *dev;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if (rx == NULL || tx == NULL)
		return -EINVAL;
	port = tapbatch_port(dev);
	/* Not below the base when the interface is gone, and both are 0. */
	tapbatch_kernel_drops(dev, rx, tx);
	*rx -= RTE_MIN(*rx, port->rx_drops_cleared);
	*tx -= RTE_MIN(*tx, port->tx_drops_cleared);
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_batches_clear, 26.11)
int
rte_pmd_tapbatch_batches_clear(uint16_t port_id)
{
	struct tapbatch_port *port;
	struct rte_eth_dev *dev;
	uint16_t i;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	port = tapbatch_port(dev);
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		struct tapbatch_rxq *rxq = dev->data->rx_queues[i];

		if (rxq != NULL)
			read_rx(dev, i, &rxq->base);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct tapbatch_txq *txq = dev->data->tx_queues[i];

		if (txq != NULL)
			read_tx(dev, i, &txq->base);
	}
	tapbatch_kernel_drops(dev, &port->rx_drops_cleared, &port->tx_drops_cleared);
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_reason_name, 26.11)
const char *
rte_pmd_tapbatch_reason_name(unsigned int reason)
{
	return reason < TAPBATCH_NB_UNMERGED ? tapbatch_unmerged_names[reason] : NULL;
}

/* Has all Tx queues act on what is wanted of the port. */
static void
tune_queues(struct rte_eth_dev *dev)
{
	const struct tapbatch_port *port = tapbatch_port(dev);
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (dev->data->tx_queues[i] != NULL)
			tapbatch_tune(dev->data->tx_queues[i], port->args.tx_batched,
				      port->coalesce);
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_tx_batched_get, 26.11)
int
rte_pmd_tapbatch_tx_batched_get(uint16_t port_id, uint16_t *packets)
{
	struct rte_eth_dev *dev;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if (packets == NULL)
		return -EINVAL;
	*packets = tapbatch_port(dev)->args.tx_batched;
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_tx_batched_set, 26.11)
int
rte_pmd_tapbatch_tx_batched_set(uint16_t port_id, uint16_t packets)
{
	const struct tapbatch_engine *engine;
	struct rte_eth_dev *dev;
	uint16_t i;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if (packets > TAPBATCH_MAX_BATCH)
		return -EINVAL;
	tapbatch_port(dev)->args.tx_batched = packets;
	tune_queues(dev);
	engine = tapbatch_local(dev)->engine;
	for (i = 0; engine->tx_tune != NULL && i < dev->data->nb_tx_queues; i++) {
		ret = engine->tx_tune(dev, i);
		if (ret != 0)
			return ret;
	}
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_coalesce_get, 26.11)
int
rte_pmd_tapbatch_coalesce_get(uint16_t port_id, uint32_t *kinds)
{
	const struct tapbatch_port *port;
	struct rte_eth_dev *dev;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if (kinds == NULL)
		return -EINVAL;
	port = tapbatch_port(dev);
	*kinds = ((port->coalesce & TCP_KINDS) != 0 ? RTE_PMD_TAPBATCH_COALESCE_TCP : 0) |
		 ((port->coalesce & UDP_KINDS) != 0 ? RTE_PMD_TAPBATCH_COALESCE_UDP : 0);
	return 0;
}

RTE_EXPORT_EXPERIMENTAL_SYMBOL(rte_pmd_tapbatch_coalesce_set, 26.11)
int
rte_pmd_tapbatch_coalesce_set(uint16_t port_id, uint32_t kinds)
{
	struct tapbatch_port *port;
	struct rte_eth_dev *dev;
	uint32_t wanted;
	int ret;

	ret = get_device(port_id, &dev);
	if (ret != 0)
		return ret;
	if ((kinds & ~(RTE_PMD_TAPBATCH_COALESCE_TCP | RTE_PMD_TAPBATCH_COALESCE_UDP)) != 0)
		return -EINVAL;
	port = tapbatch_port(dev);
	wanted = ((kinds & RTE_PMD_TAPBATCH_COALESCE_TCP) != 0 ? TCP_KINDS : 0) |
		 ((kinds & RTE_PMD_TAPBATCH_COALESCE_UDP) != 0 ? UDP_KINDS : 0);
	if ((wanted & ~port->sound) != 0)
		return -EPROTONOSUPPORT;
	port->args.coalesce = wanted;
	port->coalesce = wanted;
	tune_queues(dev);
	return 0;
}

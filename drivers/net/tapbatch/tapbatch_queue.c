/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Queues: set-up, start, stop and release. Each Rx queue has a queue file of the
 * kernel's; Tx queues use those files too, and may be more or fewer.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "tapbatch.h"
#include "tapbatch_log.h"
#include "tapbatch_tuning.h"
#include "tapbatch_vnet.h"

/* How long a queue that is stopped is read, until it is empty. */
#define STOP_DRAIN_MS 100

/* Slots' distance in the mapping: as in tapbatch_bufs.c, not a power of two. */
#define HUGE_PAGE (2u << 20)
#define SLOT_STRIDE (RTE_ALIGN_CEIL(TAPBATCH_SLOT_LEN, 1024) + 1024)

/* Slots of the queue's own. Memory is only touched, and so only taken, from the node of
 * the thread that polls, where frames really come. In one huge page, if the kernel has one:
 * a batch of small frames touches the beginning of each slot.
 */
static int
map_slots(struct tapbatch_rx_local *rx, uint16_t n)
{
	uint8_t *start;
	uint16_t i;

	rx->mapping_len = (size_t)n * SLOT_STRIDE + HUGE_PAGE;
	rx->mapping = mmap(NULL, rx->mapping_len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rx->mapping == MAP_FAILED) {
		rx->mapping = NULL;
		return -ENOMEM;
	}
	start = RTE_PTR_ALIGN_CEIL(rx->mapping, HUGE_PAGE);
	madvise(start, HUGE_PAGE, MADV_HUGEPAGE); /* advice: no harm if not taken */
	for (i = 0; i < n; i++)
		rx->io.slots[i].buf = start + (size_t)i * SLOT_STRIDE;
	return 0;
}

/* Slots whose buffers can be handed to the application. */
static int
take_slots(struct tapbatch_rx_local *rx, uint16_t n, int socket)
{
	uint16_t i;

	rx->bufs = tapbatch_bufs_create(TAPBATCH_LRO_BUFS + n, socket);
	if (rx->bufs == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		rx->io.slots[i].buf = tapbatch_bufs_get(rx->bufs);
		if (rx->io.slots[i].buf == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void
free_rx_local(struct tapbatch_rx_local *rx)
{
	uint8_t *held[TAPBATCH_MAX_SLOTS];
	unsigned int i;

	if (rx->bufs != NULL) {
		for (i = 0; i < TAPBATCH_MAX_SLOTS; i++)
			held[i] = rx->io.slots[i].buf;
		tapbatch_bufs_destroy(rx->bufs, held, TAPBATCH_MAX_SLOTS);
	}
	if (rx->mapping != NULL)
		munmap(rx->mapping, rx->mapping_len);
	free(rx);
}

static uint32_t
rx_wants(uint64_t offloads, bool l3_only)
{
	uint32_t wants = 0;

	if (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM)
		wants |= TAPBATCH_RX_IPV4_CKSUM;
	/* Both, since the verdict is about L4 in general. */
	if ((offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) && (offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM))
		wants |= TAPBATCH_RX_L4_CKSUM;
	if (offloads & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TCP_LRO))
		wants |= TAPBATCH_RX_SCATTER;
	if (l3_only)
		wants |= TAPBATCH_RX_L3_ONLY;
	return wants | TAPBATCH_RX_PTYPE;
}

int
tapbatch_rx_queue_check_room(const struct rte_eth_dev *dev, uint16_t id, uint32_t mtu)
{
	const struct tapbatch_rxq *rxq = dev->data->rx_queues[id];

	if (rxq->scatter || mtu + TAPBATCH_OVERHEAD <= rxq->room)
		return 0;
	TAPBATCH_LOG(ERR,
		     "port %u Rx queue %u: mempool %s has room for packets of %u bytes, an MTU of "
		     "%u needs %u: larger mbufs, RTE_ETH_RX_OFFLOAD_SCATTER or a smaller MTU",
		     dev->data->port_id, id, rxq->pool->name, rxq->room, mtu,
		     mtu + TAPBATCH_OVERHEAD);
	return -EINVAL;
}

int
tapbatch_rx_queue_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t nb_desc, unsigned int socket,
			const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	uint64_t offloads = conf->offloads | dev->data->dev_conf.rxmode.offloads;
	struct tapbatch_rx_local *rx;
	struct tapbatch_rxq *rxq;
	bool pinned;
	int ret;

	rxq = rte_zmalloc_socket("tapbatch_rxq", sizeof(*rxq), RTE_CACHE_LINE_SIZE, (int)socket);
	rx = calloc(1, sizeof(*rx));
	if (rxq == NULL || rx == NULL) {
		ret = -ENOMEM;
		goto fail;
	}
	rxq->pool = pool;
	rxq->port_id = dev->data->port_id;
	rxq->queue_id = id;
	rxq->nb_desc = nb_desc;
	rxq->deferred = conf->rx_deferred_start != 0;
	rxq->offloads = offloads;
	rxq->filter = &port->filter;
	rxq->room = (uint32_t)rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	rxq->wants = rx_wants(offloads, port->args.l3_only);
	rxq->scatter = (rxq->wants & TAPBATCH_RX_SCATTER) != 0;
	if (offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO)
		rxq->max_lro = dev->data->dev_conf.rxmode.max_lro_pkt_size;

	rx->io.fd = -1;
	rx->budget = 1;
	rx->segments = 1;
	rx->split.done = true;
	rx->intr_fd = -1;
	rx->intr_kick = -1;
	/* Buffers of our own can only be handed on where we read to them, and in mbufs that
	 * have none for good.
	 */
	pinned = rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF;
	ret = rxq->scatter && !pinned && local->engine->rx_burst == NULL ?
		      take_slots(rx, local->engine->nb_slots, (int)socket) :
		      map_slots(rx, local->engine->nb_slots);
	if (ret != 0) {
		TAPBATCH_LOG(ERR, "port %u Rx queue %u: no memory for %u superframes of 64 KiB",
			     rxq->port_id, id,
			     local->engine->nb_slots + (rxq->scatter ? TAPBATCH_LRO_BUFS : 0));
		goto fail;
	}
	dev->data->rx_queues[id] = rxq;
	local->rx[id] = rx;
	ret = tapbatch_rx_queue_check_room(dev, id, dev->data->mtu);
	if (ret != 0)
		tapbatch_rx_queue_release(dev, id);
	return ret;
fail:
	rte_free(rxq);
	if (rx != NULL)
		free_rx_local(rx);
	return ret;
}

void
tapbatch_rx_queue_close(struct tapbatch_local *local, struct tapbatch_rx_local *rx)
{
	rte_pktmbuf_free_bulk(rx->spare, rx->nb_spare);
	rx->nb_spare = 0;
	if (rx->io.fd < 0)
		return;
	if (local->engine->rx_close != NULL)
		local->engine->rx_close(&rx->io);
	rx->io.fd = -1;
}

void
tapbatch_rx_queue_release(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);

	if (local != NULL && local->rx[id] != NULL) {
		if (local->engine->rx_stop != NULL)
			local->engine->rx_stop(dev, id);
		tapbatch_rx_queue_close(local, local->rx[id]);
		free_rx_local(local->rx[id]);
		local->rx[id] = NULL;
	}
	rte_free(dev->data->rx_queues[id]);
	dev->data->rx_queues[id] = NULL;
}

int
tapbatch_tx_queue_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t nb_desc, unsigned int socket,
			const struct rte_eth_txconf *conf)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_tx_io *io;
	struct tapbatch_txq *txq;

	txq = rte_zmalloc_socket("tapbatch_txq", sizeof(*txq), RTE_CACHE_LINE_SIZE, (int)socket);
	io = calloc(1, sizeof(*io));
	if (txq == NULL || io == NULL) {
		TAPBATCH_LOG(ERR, "port %u Tx queue %u: no memory", dev->data->port_id, id);
		rte_free(txq);
		free(io);
		return -ENOMEM;
	}
	txq->port_id = dev->data->port_id;
	txq->queue_id = id;
	txq->nb_desc = nb_desc;
	txq->deferred = conf->tx_deferred_start != 0;
	txq->offloads = conf->offloads | dev->data->dev_conf.txmode.offloads;
	tapbatch_tune(txq, port->args.tx_batched, port->coalesce);
	txq->coalesce.l3_only = port->args.l3_only;
	txq->coalesce.frames = txq->frames;
	io->fd = -1;
	dev->data->tx_queues[id] = txq;
	local->tx[id] = io;
	return 0;
}

void
tapbatch_tx_queue_close(struct tapbatch_local *local, struct tapbatch_tx_io *io)
{
	if (io->fd < 0)
		return;
	if (local->engine->tx_close != NULL)
		local->engine->tx_close(io);
	io->fd = -1;
}

void
tapbatch_tx_queue_release(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);

	if (local != NULL && local->tx[id] != NULL) {
		if (local->engine->tx_stop != NULL)
			local->engine->tx_stop(dev, id);
		tapbatch_tx_queue_close(local, local->tx[id]);
		free(local->tx[id]);
		local->tx[id] = NULL;
	}
	rte_free(dev->data->tx_queues[id]);
	dev->data->tx_queues[id] = NULL;
}

int
tapbatch_queues_match(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	uint16_t wanted = RTE_MAX(dev->data->nb_rx_queues, 1);
	uint16_t i;

	/* A queue that is left over would get packets that nobody reads. */
	for (i = wanted; i < local->nb_fds; i++) {
		close(local->fds[i]);
		local->fds[i] = -1;
	}
	local->nb_fds = RTE_MIN(local->nb_fds, wanted);
	while (local->nb_fds < wanted) {
		int fd = tapbatch_tun_open_queue(local->fds[0], port->args.l3_only);

		if (fd < 0) {
			TAPBATCH_LOG(ERR, "port %u: the kernel gives no queue %u of %u: %s",
				     dev->data->port_id, local->nb_fds, wanted, strerror(-fd));
			return fd;
		}
		local->fds[local->nb_fds++] = fd;
	}
	return 0;
}

/* Whether another Rx queue of the port is started. */
static bool
others_started(const struct rte_eth_dev *dev, uint16_t id)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (i != id && dev->data->rx_queue_state[i] == RTE_ETH_QUEUE_STATE_STARTED)
			return true;
	return false;
}

/* Counts what the kernel drops with the queue's detachment, and what was read before. Who
 * sends faster than one can read would keep this from ending, so it has its time.
 */
static void
count_stop_drops(struct tapbatch_local *local, struct tapbatch_rxq *rxq,
		 struct tapbatch_rx_local *rx)
{
	uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() / (1000 / STOP_DRAIN_MS);
	uint16_t got;

	rxq->stats.stop_drops += rx->split.done ? 0 : rx->split.nb_left;
	rxq->stats.stop_drops += rx->count - rx->next;
	rx->split.done = true;
	do {
		got = local->engine->rx(&rx->io, local->engine->nb_slots);
		rxq->stats.stop_drops += got;
	} while (got > 0 && rte_get_timer_cycles() < end);
	rx->next = 0;
	rx->count = 0;
}

/* Nothing can be sent through a queue file that is detached: Tx queues use that of the
 * next Rx queue that is started, other than the one that is about to leave.
 */
static void
move_tx_queues(struct rte_eth_dev *dev, uint16_t leaving)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint16_t i, j, k;
	int ret;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct tapbatch_tx_io *io = local->tx[i];

		if (io == NULL || io->fd < 0)
			continue;
		for (k = 0; k < dev->data->nb_rx_queues; k++) {
			j = (uint16_t)((i + k) % dev->data->nb_rx_queues);
			if (j != leaving &&
			    dev->data->rx_queue_state[j] == RTE_ETH_QUEUE_STATE_STARTED)
				break;
		}
		if (k == dev->data->nb_rx_queues || local->fds[j] == io->fd)
			continue;
		__atomic_store_n(&io->fd, local->fds[j], __ATOMIC_RELAXED);
		ret = local->engine->tx_move == NULL ? 0 : local->engine->tx_move(dev, i);
		if (ret != 0)
			TAPBATCH_LOG(ERR, "port %u Tx queue %u cannot use another queue file: %s",
				     dev->data->port_id, i, strerror(-ret));
	}
}

/* The kernel steers no more flows to the queue. */
static void
detach_queue(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	int ret;

	if (local->rx[id]->io.fd >= 0)
		count_stop_drops(local, dev->data->rx_queues[id], local->rx[id]);
	move_tx_queues(dev, id);
	ret = tapbatch_tun_set_attached(local->fds[id], false);
	/* -EINVAL: it was detached before. */
	if (ret != 0 && ret != -EBADFD && ret != -EINVAL)
		TAPBATCH_LOG(WARNING, "port %u Rx queue %u cannot be detached: %s",
			     dev->data->port_id, id, strerror(-ret));
}

void
tapbatch_rx_queues_detach_unread(struct rte_eth_dev *dev)
{
	uint16_t i;

	/* A single queue has no other one that could take its flows. */
	for (i = 0; dev->data->nb_rx_queues > 1 && i < dev->data->nb_rx_queues; i++)
		if (dev->data->rx_queue_state[i] != RTE_ETH_QUEUE_STATE_STARTED)
			detach_queue(dev, i);
}

int
tapbatch_rx_queue_start(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_rx_local *rx = local->rx[id];
	int ret;

	ret = tapbatch_rx_queue_check_room(dev, id, dev->data->mtu);
	if (ret != 0)
		return ret;
	if (rx->io.fd < 0) {
		rx->io.fd = local->fds[id];
		ret = local->engine->rx_open == NULL ? 0 : local->engine->rx_open(&rx->io);
		if (ret != 0) {
			TAPBATCH_LOG(ERR, "port %u Rx queue %u: engine %s cannot start: %s",
				     dev->data->port_id, id, local->engine->name, strerror(-ret));
			rx->io.fd = -1;
			return ret;
		}
	}
	/* -EINVAL: it was attached all the time. */
	ret = tapbatch_tun_set_attached(local->fds[id], true);
	if (ret != 0 && ret != -EINVAL) {
		TAPBATCH_LOG(ERR, "port %u Rx queue %u cannot be attached: %s", dev->data->port_id,
			     id, strerror(-ret));
		return ret;
	}
	if (local->engine->rx_start != NULL) {
		ret = local->engine->rx_start(dev, id);
		if (ret != 0)
			return ret;
	}
	dev->data->rx_queue_state[id] = RTE_ETH_QUEUE_STATE_STARTED;
	move_tx_queues(dev, UINT16_MAX);
	/* The queue that was stopped last has stayed attached until now. */
	if (dev->data->dev_started)
		tapbatch_rx_queues_detach_unread(dev);
	return 0;
}

int
tapbatch_rx_queue_stop(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);

	if (dev->data->rx_queue_state[id] == RTE_ETH_QUEUE_STATE_STOPPED)
		return 0;
	/* The kernel must not steer flows to a queue that nobody reads. When it is the
	 * last one there is nowhere else to steer them.
	 */
	if (local->engine->rx_stop != NULL)
		local->engine->rx_stop(dev, id);
	if (others_started(dev, id))
		detach_queue(dev, id);
	dev->data->rx_queue_state[id] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}

int
tapbatch_tx_queue_start(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_tx_io *io = local->tx[id];
	int ret;

	if (io->fd < 0) {
		io->fd = local->fds[id % local->nb_fds];
		ret = local->engine->tx_open == NULL ? 0 : local->engine->tx_open(io);
		if (ret != 0) {
			TAPBATCH_LOG(ERR, "port %u Tx queue %u: engine %s cannot start: %s",
				     dev->data->port_id, id, local->engine->name, strerror(-ret));
			io->fd = -1;
			return ret;
		}
	}
	io->sequential = tapbatch_tun_sndbuf_limited(io->fd);
	if (local->engine->tx_start != NULL) {
		ret = local->engine->tx_start(dev, id);
		if (ret != 0)
			return ret;
	}
	dev->data->tx_queue_state[id] = RTE_ETH_QUEUE_STATE_STARTED;
	move_tx_queues(dev, UINT16_MAX);
	return 0;
}

int
tapbatch_tx_queue_stop(struct rte_eth_dev *dev, uint16_t id)
{
	const struct tapbatch_engine *engine = tapbatch_local(dev)->engine;

	if (engine->tx_stop != NULL)
		engine->tx_stop(dev, id);
	dev->data->tx_queue_state[id] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Engine vhost: instances of the kernel's vhost-net, their rings' start and stop, and
 * what happens when one breaks. Source of the requests: <linux/vhost.h> and Linux,
 * drivers/vhost/vhost.c and net.c.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <dev_driver.h>
#include <rte_telemetry.h>

#include "tapbatch.h"
#include "tapbatch_log.h"
#include "tapbatch_rw.h"
#include "tapbatch_vhost.h"
#include "tapbatch_worker.h"

#define VHOST_PATH "/dev/vhost-net"

#define FEATURES                                                       \
	(1ULL << VIRTIO_F_VERSION_1 | 1ULL << VIRTIO_NET_F_MRG_RXBUF | \
	 1ULL << VIRTIO_RING_F_EVENT_IDX | 1ULL << VIRTIO_RING_F_INDIRECT_DESC)

/* How long a queue that is stopped waits for the worker to take what it was given. */
#define DRAIN_MS 100

static int
open_device(char *why, size_t size)
{
	int fd = open(VHOST_PATH, O_RDWR | O_CLOEXEC);
	int err = errno;

	if (fd >= 0)
		return fd;
	snprintf(why, size, VHOST_PATH ": %s%s", strerror(err),
		 err == ENOENT || err == ENODEV || err == ENXIO ?
			 " (modprobe vhost_net; in a container it needs the device)" :
		 err == EACCES || err == EPERM ? " (this user needs read and write permission)" :
						 "");
	return -err;
}

static int
vhost_probe(char *why, size_t size)
{
	uint64_t features = 0;
	int fd;

	if (RTE_BYTE_ORDER != RTE_LITTLE_ENDIAN) {
		snprintf(why, size, "it needs a little-endian machine");
		return -ENOTSUP;
	}
	fd = open_device(why, size);
	if (fd < 0)
		return fd;
	if (ioctl(fd, VHOST_GET_FEATURES, &features) != 0) {
		int err = errno;

		snprintf(why, size, VHOST_PATH " does not tell its features: %s", strerror(err));
		close(fd);
		return -err;
	}
	close(fd);
	if ((features & FEATURES) != FEATURES) {
		snprintf(why, size, VHOST_PATH " lacks features 0x%llx of 0x%llx",
			 (unsigned long long)(FEATURES & ~features), (unsigned long long)FEATURES);
		return -ENOTSUP;
	}
	return 0;
}

/*
 * The table of memory that vhost-net translates addresses by: one region, which is all of
 * user space at the addresses that we use ourselves. A table of DPDK's segments would be
 * the alternative, and is worse:
 *  - Packets are not only there. Buffers that are attached to mbufs (those of other drivers'
 *    superframes among them) may be in memory that DPDK was never told of.
 *  - Memory that is added while the port runs could be named by a descriptor before the
 *    table knew it, unless every instance were stopped for it. Here it is reachable at
 *    once, and what is removed is unmapped for the worker, too.
 *  - Segments need not be adjacent, and the kernel takes max_mem_regions of them, 64
 *    unless an administrator says otherwise.
 * It gives away nothing: the rings' only writer is this process, and the worker copies
 * with this process's own mappings and rights. What is mapped nowhere is an error there
 * (-EFAULT), not an access to something else.
 *
 * The size is the largest that the kernel accepts as user space.
 */
static int
share_memory(int fd)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	union {
		struct vhost_memory memory;
		uint8_t bytes[sizeof(struct vhost_memory) + sizeof(struct vhost_memory_region)];
	} table = { .memory = { .nregions = 1 } };
	unsigned int bits;
	int err = EFAULT;

	for (bits = 56; bits >= 31; bits--) {
		table.memory.regions[0].memory_size = (1ULL << bits) - page;
		if (ioctl(fd, VHOST_SET_MEM_TABLE, &table) == 0)
			return 0;
		err = errno;
		if (err != EFAULT)
			break;
	}
	return -err;
}

static int
open_instance(struct rte_eth_dev *dev, uint16_t id, struct tapbatch_vhost *instance)
{
	const struct tapbatch_args *args = &tapbatch_port(dev)->args;
	const uint64_t features = FEATURES;
	struct tapbatch_workers before;
	const char *step = "open";
	char why[128];
	int ret;

	instance->fd = open_device(why, sizeof(why));
	if (instance->fd < 0) {
		TAPBATCH_LOG(ERR, "port %u queue %u: %s", dev->data->port_id, id, why);
		return instance->fd;
	}
	tapbatch_workers_list(&before);
	step = "own";
	if (ioctl(instance->fd, VHOST_SET_OWNER) != 0)
		goto fail;
	step = "set features of";
	if (ioctl(instance->fd, VHOST_SET_FEATURES, &features) != 0)
		goto fail;
	step = "share memory with";
	ret = share_memory(instance->fd);
	if (ret != 0) {
		errno = -ret;
		goto fail;
	}
	instance->worker = tapbatch_workers_new(&before);
	if (args->vhost_cpus > 0) {
		unsigned int cpu = args->vhost_cpu + id % args->vhost_cpus;

		ret = tapbatch_worker_pin(instance->worker, cpu);
		if (ret != 0)
			TAPBATCH_LOG(WARNING,
				     "port %u queue %u: the worker cannot be pinned to "
				     "CPU %u: %s",
				     dev->data->port_id, id, cpu,
				     ret == -ESRCH ? "it is not visible in this PID namespace" :
						     strerror(-ret));
	}
	TAPBATCH_LOG(INFO, "port %u queue %u: served by vhost worker %d", dev->data->port_id, id,
		     instance->worker);
	return 0;
fail:
	ret = -errno;
	TAPBATCH_LOG(ERR, "port %u queue %u: cannot %s " VHOST_PATH ": %s", dev->data->port_id, id,
		     step, strerror(-ret));
	close(instance->fd);
	return ret;
}

static int
hold_instance(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_vhost *instance = &tapbatch_local(dev)->vhost[id];
	int ret = 0;

	if (instance->users == 0)
		ret = open_instance(dev, id, instance);
	if (ret == 0)
		instance->users++;
	return ret;
}

static void
drop_instance(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_vhost *instance = &tapbatch_local(dev)->vhost[id];

	if (--instance->users > 0)
		return;
	close(instance->fd);
	instance->worker = 0;
}

static int
set_backend(const struct tapbatch_vhost *instance, unsigned int index, int fd)
{
	struct vhost_vring_file backend = { .index = index, .fd = fd };

	return ioctl(instance->fd, VHOST_NET_SET_BACKEND, &backend) == 0 ? 0 : -errno;
}

/* Tells the kernel where a ring is, and lets it go. */
static int
start_ring(struct rte_eth_dev *dev, uint16_t id, unsigned int index,
	   const struct tapbatch_vring *vr, int kick, int call, int tun_fd)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	const struct tapbatch_vhost *instance = &local->vhost[id];
	struct vhost_vring_state num = { .index = index, .num = vr->size };
	struct vhost_vring_state base = { .index = index };
	struct vhost_vring_file kick_file = { .index = index, .fd = kick };
	struct vhost_vring_file call_file = { .index = index, .fd = call };
	struct vhost_vring_file err_file = { .index = index, .fd = local->vhost_err };
	struct vhost_vring_file backend = { .index = index, .fd = tun_fd };
	struct vhost_vring_addr addr = {
		.index = index,
		.desc_user_addr = (uintptr_t)vr->desc,
		.avail_user_addr = (uintptr_t)vr->avail,
		.used_user_addr = (uintptr_t)vr->used,
	};
	const struct {
		const char *what;
		unsigned long request;
		void *arg;
	} steps[] = {
		{ "the ring's size", VHOST_SET_VRING_NUM, &num },
		{ "the ring's beginning", VHOST_SET_VRING_BASE, &base },
		{ "the ring's addresses", VHOST_SET_VRING_ADDR, &addr },
		{ "the eventfd for kicks", VHOST_SET_VRING_KICK, &kick_file },
		{ "the eventfd for calls", VHOST_SET_VRING_CALL, &call_file },
		{ "the eventfd for errors", VHOST_SET_VRING_ERR, &err_file },
		{ "the interface's queue", VHOST_NET_SET_BACKEND, &backend },
	};
	const char *kind = index == TAPBATCH_VHOST_RX ? "Rx" : "Tx";
	unsigned int i;

	TAPBATCH_LOG(DEBUG, "port %u %s queue %u: ring of %u at %p, avail %p, used %p",
		     dev->data->port_id, kind, id, vr->size, (void *)vr->desc, (void *)vr->avail,
		     (void *)vr->used);
	for (i = 0; i < RTE_DIM(steps); i++) {
		int err;

		if (ioctl(instance->fd, steps[i].request, steps[i].arg) == 0)
			continue;
		err = errno;
		TAPBATCH_LOG(ERR, "port %u %s queue %u: vhost-net refuses %s: %s",
			     dev->data->port_id, kind, id, steps[i].what, strerror(err));
		return -err;
	}
	return 0;
}

static int
no_memory(const struct rte_eth_dev *dev, const char *kind, uint16_t id)
{
	TAPBATCH_LOG(ERR, "port %u %s queue %u: no memory or no descriptors for a ring",
		     dev->data->port_id, kind, id);
	return -ENOMEM;
}

static int
vhost_rx_start(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_rx_local *queue = local->rx[id];
	struct tapbatch_rxq *rxq = dev->data->rx_queues[id];
	struct tapbatch_vhost_rx *rx;
	int ret;

	if (queue->io.vhost != NULL)
		return 0;
	ret = hold_instance(dev, id);
	if (ret != 0)
		return ret;
	rx = tapbatch_vhost_rx_create(rxq, dev->data->dev_conf.intr_conf.rxq != 0);
	if (rx == NULL) {
		ret = no_memory(dev, "Rx", id);
		goto fail;
	}
	/* Frames are put together where the other engines read them to. */
	rx->scratch = queue->io.slots[0].buf;
	tapbatch_vhost_rx_refill(rxq, rx);
	ret = start_ring(dev, id, TAPBATCH_VHOST_RX, &rx->vr, rx->kick, rx->call, queue->io.fd);
	if (ret != 0)
		goto fail;
	rx->running = true;
	queue->io.vhost = rx;
	return 0;
fail:
	tapbatch_vhost_rx_free(rx);
	drop_instance(dev, id);
	return ret;
}

/* Counts the frames that the worker has delivered and nobody takes. */
static void
count_undelivered(struct tapbatch_rxq *rxq)
{
	struct rte_mbuf *pkts[32];
	uint64_t packets = rxq->stats.packets;
	uint64_t bytes = rxq->stats.bytes;
	uint16_t n;

	do {
		n = tapbatch_vhost_rx_burst(rxq, pkts, RTE_DIM(pkts));
		rxq->stats.stop_drops += n;
		rte_pktmbuf_free_bulk(pkts, n);
	} while (n > 0);
	rxq->stats.packets = packets;
	rxq->stats.bytes = bytes;
}

static void
vhost_rx_stop(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_rx_local *queue = local->rx[id];
	struct tapbatch_vhost_rx *rx = queue->io.vhost;

	if (rx == NULL)
		return;
	/* Once this returns the worker touches nothing of the queue's any more. What it
	 * had taken from the kernel's queue and not delivered went back there.
	 */
	set_backend(&local->vhost[id], TAPBATCH_VHOST_RX, -1);
	count_undelivered(dev->data->rx_queues[id]);
	queue->split.done = true;
	queue->io.vhost = NULL;
	tapbatch_vhost_rx_free(rx);
	drop_instance(dev, id);
}

/*
 * An unlimited send buffer makes the worker collect up to 64 packets and hand them over
 * in one call. With a limit, which this one never reaches, it hands over each alone,
 * with a hint whether more follow, and the interface collects up to rx-frames of them.
 */
static int
choose_batching(struct rte_eth_dev *dev, int tun_fd)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	const struct tapbatch_args *args = &tapbatch_port(dev)->args;
	/* What is handed over together the kernel takes for Ethernet frames. */
	bool together = args->tx_batched > 1 && !args->l3_only;
	int sndbuf = together ? INT_MAX : INT_MAX - 1;
	int ret;

	if (ioctl(tun_fd, TUNSETSNDBUF, &sndbuf) != 0) {
		ret = -errno;
		TAPBATCH_LOG(ERR, "port %u: the send buffer of a queue cannot be set: %s",
			     dev->data->port_id, strerror(-ret));
		return ret;
	}
	pthread_mutex_lock(&local->lock);
	ret = tapbatch_link_set_rx_frames(&local->link,
					  args->tx_batched > 1 ? args->tx_batched : 0);
	pthread_mutex_unlock(&local->lock);
	if (ret != 0)
		TAPBATCH_LOG(NOTICE,
			     "port %u: the interface's batching (ethtool rx-frames) cannot "
			     "be set: %s",
			     dev->data->port_id, strerror(-ret));
	return 0;
}

static int
vhost_tx_start(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_txq *txq = dev->data->tx_queues[id];
	struct tapbatch_tx_io *io = local->tx[id];
	struct tapbatch_vhost_tx *tx;
	int ret;

	if (io->vhost != NULL)
		return 0;
	ret = hold_instance(dev, id);
	if (ret != 0)
		return ret;
	tx = tapbatch_vhost_tx_create(txq);
	ret = tx == NULL ? no_memory(dev, "Tx", id) : choose_batching(dev, io->fd);
	if (ret == 0)
		ret = start_ring(dev, id, TAPBATCH_VHOST_TX, &tx->vr, tx->kick, -1, io->fd);
	if (ret != 0) {
		tapbatch_vhost_tx_free(txq, tx);
		drop_instance(dev, id);
		return ret;
	}
	tx->instance = &local->vhost[id];
	tx->running = true;
	io->vhost = tx;
	return 0;
}

static int
vhost_tx_tune(struct rte_eth_dev *dev, uint16_t id)
{
	const struct tapbatch_tx_io *io = tapbatch_local(dev)->tx[id];

	return io == NULL || io->vhost == NULL ? 0 : choose_batching(dev, io->fd);
}

/* Gives the worker some time to take what is in the ring. */
static void
drain(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx)
{
	unsigned int ms;

	for (ms = 0; tx->running && tx->oldest != tx->vr.avail_idx && ms < DRAIN_MS; ms++) {
		if (tapbatch_vhost_tx_reclaim(txq, tx) == 0)
			rte_delay_us_sleep(1000);
		else
			ms = 0;
	}
}

static void
vhost_tx_stop(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_txq *txq = dev->data->tx_queues[id];
	struct tapbatch_tx_io *io = local->tx[id];
	struct tapbatch_vhost_tx *tx = io->vhost;

	if (tx == NULL)
		return;
	if (!tapbatch_port(dev)->gone)
		drain(txq, tx);
	set_backend(&local->vhost[id], TAPBATCH_VHOST_TX, -1);
	if (tx->running)
		tapbatch_vhost_tx_reclaim(txq, tx);
	io->vhost = NULL;
	tapbatch_vhost_tx_free(txq, tx);
	drop_instance(dev, id);
}

/* The Tx queue is to use another queue file of the interface. */
static int
vhost_tx_move(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_tx_io *io = local->tx[id];

	int ret;

	if (io->vhost == NULL)
		return 0;
	ret = choose_batching(dev, io->fd);
	return ret != 0 ? ret : set_backend(&local->vhost[id], TAPBATCH_VHOST_TX, io->fd);
}

void
tapbatch_vhost_notify(int fd)
{
	const uint64_t one = 1;

	/* EAGAIN: so many times that one more says nothing new. */
	if (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one) && errno != EAGAIN)
		TAPBATCH_LOG(ERR, "vhost: no notification through an eventfd: %s", strerror(errno));
}

void
tapbatch_vhost_break(uint16_t port_id, const char *kind, uint16_t queue_id, const char *what)
{
	struct rte_eth_dev *dev = &rte_eth_devices[port_id];

	TAPBATCH_LOG(ERR,
		     "port %u %s queue %u: vhost-net: %s; the port is down until it is stopped "
		     "and started again",
		     port_id, kind, queue_id, what);
	tapbatch_vhost_notify(tapbatch_local(dev)->vhost_err);
}

bool
tapbatch_vhost_worker_died(const struct tapbatch_vhost *instance)
{
	return instance->worker != 0 && !tapbatch_worker_exists(instance->worker);
}

static int
vhost_port_open(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct epoll_event event = { .events = EPOLLIN };

	local->vhost_err = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (local->vhost_err < 0)
		return -errno;
	/* EAL's interrupt thread watches this descriptor. */
	if (epoll_ctl(local->link.news_fd, EPOLL_CTL_ADD, local->vhost_err, &event) != 0) {
		int err = errno;

		close(local->vhost_err);
		return -err;
	}
	return 0;
}

static void
vhost_port_close(struct rte_eth_dev *dev)
{
	close(tapbatch_local(dev)->vhost_err);
}

/* The worker met an error, or a burst function found one. Returns whether the port has
 * become unusable by it just now.
 */
static bool
vhost_failed(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint64_t count;

	if (read(local->vhost_err, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return false;
	/* When the interface has vanished, the worker's calls fail. That has news of
	 * its own.
	 */
	if (!dev->data->dev_started || (dev->dev_ops->is_removed)(dev) != 0)
		return false;
	if (atomic_exchange(&tapbatch_port(dev)->broken, true))
		return false;
	TAPBATCH_LOG(ERR, "port %u: vhost-net has failed, the link is down", dev->data->port_id);
	return true;
}

static int
vhost_rx_interrupt(struct tapbatch_rx_io *io, bool enable)
{
	struct tapbatch_vhost_rx *rx = io->vhost;
	uint64_t count;

	if (rx == NULL || rx->call < 0)
		return -ENOTSUP;
	if (read(rx->call, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	if (tapbatch_vring_arm(&rx->vr, enable))
		tapbatch_vhost_notify(rx->call);
	return rx->call;
}

static int
vhost_tx_done_cleanup(void *queue, uint32_t free_cnt)
{
	struct tapbatch_txq *txq = queue;
	struct rte_eth_dev *dev = &rte_eth_devices[txq->port_id];
	struct tapbatch_vhost_tx *tx = tapbatch_local(dev)->tx[txq->queue_id]->vhost;

	RTE_SET_USED(free_cnt);
	return tx == NULL || !tx->running ? 0 : tapbatch_vhost_tx_reclaim(txq, tx);
}

/* Telemetry: the process ids of a port's workers, 0 where they are not to be seen. */
static int
handle_workers(const char *cmd, const char *params, struct rte_tel_data *data)
{
	const struct rte_eth_dev *dev;
	char *end;
	unsigned long id;
	unsigned int i;

	RTE_SET_USED(cmd);
	if (params == NULL || params[0] == '\0')
		return -EINVAL;
	id = strtoul(params, &end, 10);
	if (*end != '\0' || id >= RTE_MAX_ETHPORTS || !rte_eth_dev_is_valid_port((uint16_t)id))
		return -EINVAL;
	dev = &rte_eth_devices[id];
	if (strcmp(dev->device->driver->name, "net_tapbatch") != 0)
		return -ENOTSUP;
	rte_tel_data_start_array(data, RTE_TEL_INT_VAL);
	for (i = 0; i < TAPBATCH_MAX_QUEUES; i++)
		if (tapbatch_local(dev)->vhost[i].users > 0)
			rte_tel_data_add_array_int(data, tapbatch_local(dev)->vhost[i].worker);
	return 0;
}

RTE_INIT(tapbatch_vhost_init)
{
	rte_telemetry_register_cmd(
		"/tapbatch/vhost_workers", handle_workers,
		"Process ids of a port's vhost workers. Parameters: int port_id");
}

const struct tapbatch_engine tapbatch_engine_vhost = {
	.name = "vhost",
	/* To read what is left in the kernel's queue when the worker has stopped. */
	.nb_slots = 1,
	.probe = vhost_probe,
	.rx = tapbatch_rw_rx,
	.tx = tapbatch_rw_tx,
	.rx_burst = tapbatch_vhost_rx_burst,
	.tx_burst = tapbatch_vhost_tx_burst,
	.port_open = vhost_port_open,
	.port_close = vhost_port_close,
	.failed = vhost_failed,
	.rx_start = vhost_rx_start,
	.rx_stop = vhost_rx_stop,
	.tx_start = vhost_tx_start,
	.tx_stop = vhost_tx_stop,
	.tx_move = vhost_tx_move,
	.tx_tune = vhost_tx_tune,
	.rx_interrupt = vhost_rx_interrupt,
	.tx_done_cleanup = vhost_tx_done_cleanup,
};

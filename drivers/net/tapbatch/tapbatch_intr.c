/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Rx interrupts. What the application waits for is not the queue file but an epoll
 * descriptor of the queue's own, which holds that file while interrupts are enabled,
 * and nothing else while they are not: then a packet that arrives wakes nobody, and
 * polling costs the sender nothing. Putting the file in looks at its state, so a packet
 * that came between the last poll and the enabling is seen. Frames that were read but
 * did not fit in the last burst no longer show in that file: for them the descriptor
 * also holds an eventfd.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tapbatch.h"
#include "tapbatch_log.h"

static void
close_queue(struct tapbatch_rx_local *rx)
{
	if (rx->intr_fd >= 0)
		close(rx->intr_fd);
	if (rx->intr_kick >= 0)
		close(rx->intr_kick);
	rx->intr_fd = -1;
	rx->intr_kick = -1;
}

static int
open_queue(struct tapbatch_rx_local *rx)
{
	struct epoll_event event = { .events = EPOLLIN };

	rx->intr_fd = epoll_create1(EPOLL_CLOEXEC);
	rx->intr_kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rx->intr_fd < 0 || rx->intr_kick < 0 ||
	    epoll_ctl(rx->intr_fd, EPOLL_CTL_ADD, rx->intr_kick, &event) != 0) {
		int err = errno;

		close_queue(rx);
		return -err;
	}
	return 0;
}

void
tapbatch_rx_intr_remove(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint16_t i;

	/* The application's epoll instances let go of descriptors that are still open. */
	if (dev->intr_handle != NULL) {
		rte_intr_free_epoll_fd(dev->intr_handle);
		rte_intr_vec_list_free(dev->intr_handle);
		rte_intr_instance_free(dev->intr_handle);
		dev->intr_handle = NULL;
	}
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (local->rx[i] != NULL)
			close_queue(local->rx[i]);
}

int
tapbatch_rx_intr_install(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint16_t n = dev->data->nb_rx_queues;
	uint16_t i;
	int ret;

	if (dev->data->dev_conf.intr_conf.rxq == 0)
		return 0;
	if (n > RTE_MAX_RXTX_INTR_VEC_ID) {
		TAPBATCH_LOG(ERR, "port %u: Rx interrupts for %u queues, DPDK has room for %u",
			     dev->data->port_id, n, RTE_MAX_RXTX_INTR_VEC_ID);
		return -ENOTSUP;
	}
	tapbatch_rx_intr_remove(dev);
	dev->intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (dev->intr_handle == NULL)
		return -ENOMEM;
	ret = rte_intr_vec_list_alloc(dev->intr_handle, NULL, n);
	for (i = 0; i < n && ret == 0; i++) {
		ret = open_queue(local->rx[i]);
		if (ret == 0)
			ret = rte_intr_vec_list_index_set(dev->intr_handle, i,
							  RTE_INTR_VEC_RXTX_OFFSET + i);
		if (ret == 0)
			ret = rte_intr_efds_index_set(dev->intr_handle, i, local->rx[i]->intr_fd);
	}
	/* A counter size of 0: nothing is to be read from the descriptors. */
	if (ret == 0 && (rte_intr_nb_efd_set(dev->intr_handle, n) != 0 ||
			 rte_intr_max_intr_set(dev->intr_handle, n + 1) != 0 ||
			 rte_intr_efd_counter_size_set(dev->intr_handle, 0) != 0 ||
			 rte_intr_type_set(dev->intr_handle, RTE_INTR_HANDLE_VDEV) != 0))
		ret = -EINVAL;
	if (ret != 0) {
		TAPBATCH_LOG(ERR, "port %u: Rx interrupts cannot be set up: %s", dev->data->port_id,
			     strerror(-ret));
		tapbatch_rx_intr_remove(dev);
	}
	return ret;
}

/* The descriptor that is readable when the kernel has packets for the queue. */
static int
switch_signal(struct rte_eth_dev *dev, struct tapbatch_rx_local *rx, bool on)
{
	const struct tapbatch_engine *engine = tapbatch_local(dev)->engine;

	return engine->rx_interrupt == NULL ? rx->io.fd : engine->rx_interrupt(&rx->io, on);
}

int
tapbatch_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_rx_local *rx = tapbatch_local(dev)->rx[id];
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t one = 1;
	int fd;

	if (rx->intr_fd < 0)
		return -ENOTSUP;
	if (rx->next != rx->count || !rx->split.done)
		if (write(rx->intr_kick, &one, sizeof(one)) < 0 && errno != EAGAIN)
			return -errno;
	fd = switch_signal(dev, rx, true);
	if (fd < 0)
		return fd;
	if (epoll_ctl(rx->intr_fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	/* Enabled already: look at its state again. */
	if (errno == EEXIST && epoll_ctl(rx->intr_fd, EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	return -errno;
}

int
tapbatch_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t id)
{
	struct tapbatch_rx_local *rx = tapbatch_local(dev)->rx[id];
	uint64_t count;
	int fd;

	if (rx->intr_fd < 0)
		return -ENOTSUP;
	if (read(rx->intr_kick, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	fd = switch_signal(dev, rx, false);
	if (fd < 0)
		return fd;
	if (epoll_ctl(rx->intr_fd, EPOLL_CTL_DEL, fd, NULL) != 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The ethdev: the operations that control a port. What they do to queues, filters,
 * counters and interrupts is in files of their own.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ethdev_driver.h>
#include <rte_version.h>

#include "tapbatch.h"
#include "tapbatch_log.h"
#include "tapbatch_vnet.h"

/* What the kernel's interface is doing, or an error once it is gone. */
static int
get_link_state(struct rte_eth_dev *dev, struct tapbatch_link_state *state)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	int ret;

	pthread_mutex_lock(&local->lock);
	ret = tapbatch_link_get(&local->link, state);
	pthread_mutex_unlock(&local->lock);
	return ret;
}

int
tapbatch_link_update(struct rte_eth_dev *dev, int wait_to_complete)
{
	struct tapbatch_link_state state;
	struct rte_eth_link link = {
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_FIXED,
		.link_speed = RTE_ETH_SPEED_NUM_NONE,
		.link_status = RTE_ETH_LINK_DOWN,
	};

	RTE_SET_USED(wait_to_complete);
	if (get_link_state(dev, &state) == 0) {
		link.link_speed = state.speed;
		if (state.running && dev->data->dev_started && !tapbatch_port(dev)->broken &&
		    !tapbatch_port(dev)->link_down &&
		    tapbatch_remote_running(&tapbatch_local(dev)->remote))
			link.link_status = RTE_ETH_LINK_UP;
	}
	return rte_eth_linkstatus_set(dev, &link);
}

int
tapbatch_update_carrier(struct rte_eth_dev *dev, bool started)
{
	int ret = tapbatch_tun_set_carrier(tapbatch_local(dev)->fds[0],
					   started && !tapbatch_port(dev)->link_down);

	if (ret != 0 && ret != -EBADFD)
		TAPBATCH_LOG(WARNING, "port %u: the carrier cannot be set: %s", dev->data->port_id,
			     strerror(-ret));
	/* Kernels before 5.0 have no call for it; the port's link does not hang on it. */
	return ret == -EINVAL ? 0 : ret;
}

static int
bring_up(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_link_state state;
	int ret;

	ret = get_link_state(dev, &state);
	if (ret == 0 && !state.up) {
		pthread_mutex_lock(&local->lock);
		ret = tapbatch_link_set_up(&local->link, true);
		pthread_mutex_unlock(&local->lock);
	}
	/* An unprivileged owner cannot; whoever made the interface for him can. */
	if (ret == -EPERM) {
		TAPBATCH_LOG(NOTICE,
			     "port %u: no permission to set the interface up, that is left to "
			     "others",
			     dev->data->port_id);
		ret = 0;
	}
	return ret;
}

/* What is sent meanwhile is dropped and counted, as with an interface that is down. */
void
tapbatch_mark_tx_queues(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);

	local->tx_down = tapbatch_port(dev)->link_down || !tapbatch_remote_running(&local->remote);
}

/* The application is told at once: news of the carrier come up to a second late. */
static void
tell_link(struct rte_eth_dev *dev)
{
	if (tapbatch_link_update(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc != 0)
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
}

static int
tapbatch_set_link_up(struct rte_eth_dev *dev)
{
	int ret = 0;

	tapbatch_port(dev)->link_down = false;
	tapbatch_mark_tx_queues(dev);
	if (dev->data->dev_started) {
		ret = bring_up(dev);
		if (ret == 0)
			ret = tapbatch_update_carrier(dev, true);
	}
	tell_link(dev);
	return ret;
}

static int
tapbatch_set_link_down(struct rte_eth_dev *dev)
{
	int ret;

	tapbatch_port(dev)->link_down = true;
	tapbatch_mark_tx_queues(dev);
	ret = tapbatch_update_carrier(dev, dev->data->dev_started);
	tell_link(dev);
	return ret;
}

/* The remote first: it is the one that may not take it. */
static int
set_kernel_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_iface before = { 0 };
	struct tapbatch_link_state state;
	int ret;

	pthread_mutex_lock(&local->lock);
	tapbatch_remote_get(&local->remote, &before);
	ret = tapbatch_remote_set_mtu(&local->remote, mtu);
	if (ret != 0)
		goto out;
	ret = tapbatch_link_get(&local->link, &state);
	if (ret == 0 && state.mtu != mtu)
		ret = tapbatch_link_set_mtu(&local->link, mtu);
	if (ret == 0) {
		tapbatch_port(dev)->mtu = mtu;
		goto out;
	}
	TAPBATCH_LOG(ERR, "port %u: the interface's MTU cannot be set to %u: %s",
		     dev->data->port_id, mtu, strerror(-ret));
	if (before.mtu != 0)
		tapbatch_remote_set_mtu(&local->remote, before.mtu);
out:
	pthread_mutex_unlock(&local->lock);
	return ret;
}

static int
tapbatch_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	uint16_t i;
	int ret;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		if (dev->data->rx_queues[i] == NULL)
			continue;
		ret = tapbatch_rx_queue_check_room(dev, i, mtu);
		if (ret != 0)
			return ret;
	}
	return set_kernel_mtu(dev, mtu);
}

static int
tapbatch_dev_configure(struct rte_eth_dev *dev)
{
	struct tapbatch_port *port = tapbatch_port(dev);

	/* ethdev has checked the numbers of queues against dev_info. */
	if (!port->multi_queue && dev->data->nb_rx_queues > 1) {
		TAPBATCH_LOG(ERR, "port %u: interface %s was made for a single queue, not %u",
			     dev->data->port_id, port->args.iface, dev->data->nb_rx_queues);
		return -EINVAL;
	}
	return tapbatch_queues_match(dev);
}

static void
close_queue_io(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	const struct tapbatch_engine *engine = local->engine;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		if (local->rx[i] == NULL)
			continue;
		if (engine->rx_stop != NULL)
			engine->rx_stop(dev, i);
		tapbatch_rx_queue_close(local, local->rx[i]);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		if (local->tx[i] == NULL)
			continue;
		if (engine->tx_stop != NULL)
			engine->tx_stop(dev, i);
		tapbatch_tx_queue_close(local, local->tx[i]);
	}
}

/* Starts all queues but those that the application starts itself later. */
static int
start_queues(struct rte_eth_dev *dev)
{
	uint16_t i;
	int ret;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct tapbatch_txq *txq = dev->data->tx_queues[i];

		ret = txq->deferred ? 0 : tapbatch_tx_queue_start(dev, i);
		if (ret != 0)
			return ret;
	}
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct tapbatch_rxq *rxq = dev->data->rx_queues[i];

		if (rxq->deferred)
			continue;
		ret = tapbatch_rx_queue_start(dev, i);
		if (ret != 0)
			return ret;
	}
	return 0;
}

/* Undoes start_queues(), also where that failed half-way. */
static void
stop_queues(struct rte_eth_dev *dev)
{
	uint16_t i;

	tapbatch_rx_intr_remove(dev);
	close_queue_io(dev);
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		dev->data->rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		dev->data->tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
}

/* Does something with the remote, if there is one, and the interface where it is now. */
static int
with_remote(struct rte_eth_dev *dev,
	    int (*what)(struct tapbatch_remote *remote, const struct tapbatch_link *tap))
{
	struct tapbatch_local *local = tapbatch_local(dev);
	int ret;

	if (local->remote.ifindex == 0)
		return 0;
	pthread_mutex_lock(&local->lock);
	ret = tapbatch_link_follow(&local->link);
	if (ret >= 0)
		ret = what(&local->remote, &local->link);
	else
		TAPBATCH_LOG(ERR,
			     "port %u: remote=%s cannot be redirected, the port's interface is "
			     "gone or out of reach: %s",
			     dev->data->port_id, local->remote.name, strerror(-ret));
	pthread_mutex_unlock(&local->lock);
	return ret;
}

static void
leave_remote(struct tapbatch_local *local,
	     void (*leave)(struct tapbatch_remote *remote, const struct tapbatch_link *tap))
{
	if (local->remote.ifindex == 0)
		return;
	pthread_mutex_lock(&local->lock);
	leave(&local->remote, tapbatch_link_follow(&local->link) < 0 ? NULL : &local->link);
	pthread_mutex_unlock(&local->lock);
}

static int
tapbatch_dev_start(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	int ret;

	/* What cannot work changes nothing. */
	ret = with_remote(dev, tapbatch_remote_check);
	if (ret != 0)
		return ret;

	/* An unprivileged owner, or one that cannot follow the interface, leaves the MTU to
	 * others.
	 */
	ret = set_kernel_mtu(dev, dev->data->mtu);
	if (ret != 0 && ret != -EPERM)
		return ret;
	ret = tapbatch_tun_set_offloads(local->fds[0], TAPBATCH_TUN_OFFLOADS);
	if (ret < 0) {
		TAPBATCH_LOG(ERR, "port %u: the kernel refuses offloads: %s", dev->data->port_id,
			     strerror(-ret));
		return ret;
	}
	tapbatch_port(dev)->broken = false;
	ret = start_queues(dev);
	if (ret == 0)
		ret = tapbatch_rx_intr_install(dev);
	if (ret == 0)
		ret = bring_up(dev);
	if (ret == 0)
		ret = with_remote(dev, tapbatch_remote_redirect);
	if (ret != 0) {
		stop_queues(dev);
		return ret;
	}
	/* Whatever can be wrong with the carrier is told, and is no reason to stop. The kernel
	 * sets it for an interface with queues only, and all of them may have been left
	 * detached.
	 */
	tapbatch_tun_set_attached(local->fds[0], true);
	tapbatch_update_carrier(dev, true);
	tapbatch_rx_queues_detach_unread(dev);
	dev->data->dev_started = 1;
	tapbatch_mark_tx_queues(dev);
	tapbatch_link_update(dev, 0);
	return 0;
}

static int
tapbatch_dev_stop(struct rte_eth_dev *dev)
{
	leave_remote(tapbatch_local(dev), tapbatch_remote_release);
	tapbatch_update_carrier(dev, false);
	stop_queues(dev);
	dev->data->dev_started = 0;
	dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
	return 0;
}

static int
tapbatch_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	const struct tapbatch_port *port = tapbatch_port(dev);

	info->if_index = tapbatch_local(dev)->link.ifindex;
	info->max_rx_queues = port->max_queues;
	info->max_tx_queues = TAPBATCH_MAX_QUEUES;
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = TAPBATCH_MAX_MTU;
	info->min_rx_bufsize = TAPBATCH_VNET_MAX_HDR;
	info->max_rx_pktlen = TAPBATCH_MAX_MTU + TAPBATCH_OVERHEAD;
	info->max_lro_pkt_size = TAPBATCH_MAX_LRO_LEN;
	info->max_mac_addrs = port->args.l3_only ? 1 : TAPBATCH_MAX_MACS;
	info->speed_capa = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_10M |
			   RTE_ETH_LINK_SPEED_100M | RTE_ETH_LINK_SPEED_1G |
			   RTE_ETH_LINK_SPEED_10G | RTE_ETH_LINK_SPEED_25G |
			   RTE_ETH_LINK_SPEED_40G | RTE_ETH_LINK_SPEED_100G;
	info->rx_queue_offload_capa = TAPBATCH_RX_OFFLOADS & ~RTE_ETH_RX_OFFLOAD_TCP_LRO;
	info->rx_offload_capa = TAPBATCH_RX_OFFLOADS;
	info->tx_queue_offload_capa = TAPBATCH_TX_OFFLOADS |
				      (port->uso ? RTE_ETH_TX_OFFLOAD_UDP_TSO : 0);
	info->tx_offload_capa = info->tx_queue_offload_capa;
	info->rx_desc_lim.nb_max = UINT16_MAX;
	info->rx_desc_lim.nb_min = 0;
	info->rx_desc_lim.nb_align = 1;
	info->tx_desc_lim = info->rx_desc_lim;
	info->tx_desc_lim.nb_seg_max = TAPBATCH_MAX_IOV - 1;
	info->tx_desc_lim.nb_mtu_seg_max = TAPBATCH_MAX_IOV - 1;
	info->default_rxportconf.burst_size = 32;
	info->default_txportconf.burst_size = TAPBATCH_MAX_BATCH;
	info->default_rxportconf.nb_queues = 1;
	info->default_txportconf.nb_queues = 1;
	info->default_rxportconf.ring_size = 512;
	info->default_txportconf.ring_size = 512;
	return 0;
}

static int
tapbatch_burst_mode_get(struct rte_eth_dev *dev, uint16_t id, struct rte_eth_burst_mode *mode)
{
	RTE_SET_USED(id);
	snprintf(mode->info, sizeof(mode->info), "Engine %s", tapbatch_local(dev)->engine->name);
	return 0;
}

/* Everything that tapbatch_vnet_to_mbuf() can say. */
static const uint32_t *
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
tapbatch_supported_ptypes_get(struct rte_eth_dev *dev, size_t *n)
#else
tapbatch_supported_ptypes_get(struct rte_eth_dev *dev)
#endif
{
	static const uint32_t ptypes[] = {
		RTE_PTYPE_L2_ETHER,
		RTE_PTYPE_L2_ETHER_VLAN,
		RTE_PTYPE_L2_ETHER_QINQ,
		RTE_PTYPE_L2_ETHER_MPLS,
		RTE_PTYPE_L3_IPV4,
		RTE_PTYPE_L3_IPV4_EXT,
		RTE_PTYPE_L3_IPV6,
		RTE_PTYPE_L3_IPV6_EXT,
		RTE_PTYPE_L4_FRAG,
		RTE_PTYPE_L4_UDP,
		RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L4_SCTP,
#if RTE_VERSION < RTE_VERSION_NUM(24, 3, 0, 0)
		RTE_PTYPE_UNKNOWN,
#endif
	};

	RTE_SET_USED(dev);
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
	*n = RTE_DIM(ptypes);
#endif
	return ptypes;
}

/* All or nothing: parsing is one pass. */
static int
tapbatch_ptypes_set(struct rte_eth_dev *dev, uint32_t mask)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		struct tapbatch_rxq *rxq = dev->data->rx_queues[i];

		if (rxq == NULL)
			continue;
		if (mask == 0)
			rxq->wants &= ~(uint32_t)TAPBATCH_RX_PTYPE;
		else
			rxq->wants |= TAPBATCH_RX_PTYPE;
	}
	return 0;
}

/* In most engines nothing waits to be freed: the kernel has copied when a burst returns. */
static int
tapbatch_tx_done_cleanup(void *queue, uint32_t free_cnt)
{
	const struct tapbatch_txq *txq = queue;
	const struct tapbatch_engine *engine =
		tapbatch_local(&rte_eth_devices[txq->port_id])->engine;

	return engine->tx_done_cleanup == NULL ? 0 : engine->tx_done_cleanup(queue, free_cnt);
}

static void
tapbatch_rxq_info_get(struct rte_eth_dev *dev, uint16_t id, struct rte_eth_rxq_info *info)
{
	const struct tapbatch_rxq *rxq = dev->data->rx_queues[id];

	info->mp = rxq->pool;
	info->scattered_rx = rxq->scatter;
	info->nb_desc = rxq->nb_desc;
	info->conf.rx_deferred_start = rxq->deferred;
	info->conf.offloads = rxq->offloads;
}

static void
tapbatch_txq_info_get(struct rte_eth_dev *dev, uint16_t id, struct rte_eth_txq_info *info)
{
	const struct tapbatch_txq *txq = dev->data->tx_queues[id];

	info->nb_desc = txq->nb_desc;
	info->conf.tx_deferred_start = txq->deferred;
	info->conf.offloads = txq->offloads;
}

int
tapbatch_is_removed(struct rte_eth_dev *dev)
{
	char name[IF_NAMESIZE];

	return tapbatch_tun_name(tapbatch_local(dev)->fds[0], name) != 0;
}

void
tapbatch_local_free(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint16_t i;

	if (local == NULL)
		return;
	tapbatch_news_remove(dev);
	if (local->port_opened)
		local->engine->port_close(dev);
	leave_remote(local, tapbatch_remote_close);
	tapbatch_link_close(&local->link);
	for (i = 0; i < local->nb_fds; i++)
		close(local->fds[i]);
	pthread_mutex_destroy(&local->lock);
	free(local);
	dev->process_private = NULL;
}

int
tapbatch_dev_close(struct rte_eth_dev *dev)
{
	uint16_t i;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	/* First what runs in another thread. */
	if (tapbatch_local(dev) != NULL)
		tapbatch_news_remove(dev);
	/* A port that is unplugged may never have been stopped. */
	tapbatch_rx_intr_remove(dev);
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		tapbatch_rx_queue_release(dev, i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		tapbatch_tx_queue_release(dev, i);
	/* What is left of a persistent interface promises nothing. */
	if (tapbatch_local(dev) != NULL)
		tapbatch_tun_set_offloads(tapbatch_local(dev)->fds[0], 0);
	tapbatch_local_free(dev);
	return 0;
}

const struct eth_dev_ops tapbatch_ops = {
	.dev_configure = tapbatch_dev_configure,
	.dev_start = tapbatch_dev_start,
	.dev_stop = tapbatch_dev_stop,
	.dev_close = tapbatch_dev_close,
	.dev_infos_get = tapbatch_dev_infos_get,
	.dev_set_link_up = tapbatch_set_link_up,
	.dev_set_link_down = tapbatch_set_link_down,
	.dev_supported_ptypes_get = tapbatch_supported_ptypes_get,
	.dev_ptypes_set = tapbatch_ptypes_set,
	.link_update = tapbatch_link_update,
	.is_removed = tapbatch_is_removed,
	.mtu_set = tapbatch_mtu_set,
	.promiscuous_enable = tapbatch_promiscuous_enable,
	.promiscuous_disable = tapbatch_promiscuous_disable,
	.allmulticast_enable = tapbatch_allmulticast_enable,
	.allmulticast_disable = tapbatch_allmulticast_disable,
	.mac_addr_set = tapbatch_mac_addr_set,
	.mac_addr_add = tapbatch_mac_addr_add,
	.mac_addr_remove = tapbatch_mac_addr_remove,
	.set_mc_addr_list = tapbatch_set_mc_addr_list,
	.rx_queue_setup = tapbatch_rx_queue_setup,
	.rx_queue_release = tapbatch_rx_queue_release,
	.rx_queue_start = tapbatch_rx_queue_start,
	.rx_queue_stop = tapbatch_rx_queue_stop,
	.rx_queue_intr_enable = tapbatch_rx_queue_intr_enable,
	.rx_queue_intr_disable = tapbatch_rx_queue_intr_disable,
	.tx_queue_setup = tapbatch_tx_queue_setup,
	.tx_queue_release = tapbatch_tx_queue_release,
	.tx_queue_start = tapbatch_tx_queue_start,
	.tx_queue_stop = tapbatch_tx_queue_stop,
	.tx_done_cleanup = tapbatch_tx_done_cleanup,
	.rxq_info_get = tapbatch_rxq_info_get,
	.txq_info_get = tapbatch_txq_info_get,
	.rx_burst_mode_get = tapbatch_burst_mode_get,
	.tx_burst_mode_get = tapbatch_burst_mode_get,
	.stats_get = tapbatch_stats_get,
	.stats_reset = tapbatch_stats_reset,
	.xstats_get = tapbatch_xstats_get,
	.xstats_get_names = tapbatch_xstats_get_names,
	.xstats_reset = tapbatch_stats_reset,
};

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The ethdev: probe and removal of devices, and the operations that control a port.
 * What they do to queues, counters and interrupts is in files of their own.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_kvargs.h>
#include <rte_string_fns.h>
#include <rte_version.h>

#include "tapbatch.h"
#include "tapbatch_log.h"

#define TUN_OFFLOADS                                                                  \
	(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN | TAPBATCH_TUN_F_USO4 | \
	 TAPBATCH_TUN_F_USO6)

static struct rte_vdev_driver tapbatch_driver;

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

static int
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
		    tapbatch_remote_running(&tapbatch_local(dev)->remote))
			link.link_status = RTE_ETH_LINK_UP;
	}
	return rte_eth_linkstatus_set(dev, &link);
}

/* The carrier that the kernel sees is there while the port is started and not set down:
 * without it the kernel queues nothing for us, and keeps addresses and routes.
 */
static int
update_carrier(struct rte_eth_dev *dev, bool started)
{
	int ret = tapbatch_tun_set_carrier(tapbatch_local(dev)->fds[0],
					   started && !tapbatch_port(dev)->link_down);

	if (ret != 0 && ret != -EBADFD)
		TAPBATCH_LOG(WARNING, "port %u: the carrier cannot be set: %s", dev->data->port_id,
			     strerror(-ret));
	return ret;
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
static void
mark_tx_queues(struct rte_eth_dev *dev)
{
	bool link_down = tapbatch_port(dev)->link_down ||
			 !tapbatch_remote_running(&tapbatch_local(dev)->remote);
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct tapbatch_txq *txq = dev->data->tx_queues[i];

		if (txq != NULL)
			txq->link_down = link_down;
	}
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
	mark_tx_queues(dev);
	if (dev->data->dev_started) {
		ret = bring_up(dev);
		if (ret == 0)
			ret = update_carrier(dev, true);
	}
	tell_link(dev);
	return ret;
}

static int
tapbatch_set_link_down(struct rte_eth_dev *dev)
{
	int ret;

	tapbatch_port(dev)->link_down = true;
	mark_tx_queues(dev);
	ret = update_carrier(dev, dev->data->dev_started);
	tell_link(dev);
	return ret;
}

/* The remote first: it is the one that may not take it. */
static int
set_kernel_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_remote_state before = { 0 };
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
	ret = tapbatch_tun_set_offloads(local->fds[0], TUN_OFFLOADS);
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
	/* Whatever can be wrong with the carrier is told, and is no reason to stop. */
	update_carrier(dev, true);
	/* Behind the carrier, which the kernel sets for an interface with queues only. */
	tapbatch_rx_queues_detach_unread(dev);
	dev->data->dev_started = 1;
	mark_tx_queues(dev);
	tapbatch_link_update(dev, 0);
	return 0;
}

static int
tapbatch_dev_stop(struct rte_eth_dev *dev)
{
	leave_remote(tapbatch_local(dev), tapbatch_remote_release);
	update_carrier(dev, false);
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
	info->min_rx_bufsize = 0;
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

static int
set_modes(struct rte_eth_dev *dev, bool promiscuous, bool allmulticast)
{
	struct tapbatch_port *port = tapbatch_port(dev);
	int ret;

	ret = tapbatch_remote_set_modes(&tapbatch_local(dev)->remote, promiscuous, allmulticast);
	if (ret != 0)
		return ret;
	port->filter.multicast = allmulticast;
	port->filter.enabled = !promiscuous && !port->args.l3_only;
	return 0;
}

static int
tapbatch_promiscuous_enable(struct rte_eth_dev *dev)
{
	return set_modes(dev, true, dev->data->all_multicast);
}

static int
tapbatch_promiscuous_disable(struct rte_eth_dev *dev)
{
	return set_modes(dev, false, dev->data->all_multicast);
}

static int
tapbatch_allmulticast_enable(struct rte_eth_dev *dev)
{
	return set_modes(dev, dev->data->promiscuous, true);
}

static int
tapbatch_allmulticast_disable(struct rte_eth_dev *dev)
{
	return set_modes(dev, dev->data->promiscuous, false);
}

/* The first of the filter's addresses is the port's own. */
static int
tapbatch_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	struct tapbatch_port *port = tapbatch_port(dev);
	int ret;

	if (port->args.l3_only)
		return -ENOTSUP;
	/* ethdev sets it again at each start, and somebody may have given the interface
	 * another one, as a bridge member needs it.
	 */
	ret = tapbatch_remote_set_mac(&tapbatch_local(dev)->remote, mac);
	if (ret != 0 || rte_is_same_ether_addr(mac, &port->filter.macs[0]))
		return ret;
	ret = tapbatch_tun_set_mac(tapbatch_local(dev)->fds[0], mac);
	if (ret != 0) {
		tapbatch_remote_set_mac(&tapbatch_local(dev)->remote, &port->filter.macs[0]);
		TAPBATCH_LOG(ERR,
			     "port %u: the address " RTE_ETHER_ADDR_PRT_FMT " cannot be set: %s",
			     dev->data->port_id, RTE_ETHER_ADDR_BYTES(mac), strerror(-ret));
		return ret;
	}
	rte_ether_addr_copy(mac, &port->filter.macs[0]);
	return 0;
}

static int
tapbatch_mac_addr_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t index,
		      uint32_t vmdq)
{
	struct tapbatch_filter *filter = &tapbatch_port(dev)->filter;
	uint16_t i;
	int ret;

	RTE_SET_USED(index);
	RTE_SET_USED(vmdq);
	/* ethdev adds all of them again at each start. */
	for (i = 1; i < filter->nb_macs; i++)
		if (rte_is_same_ether_addr(&filter->macs[i], mac))
			return 0;
	if (filter->nb_macs == TAPBATCH_MAX_MACS)
		return -ENOSPC;
	ret = tapbatch_remote_set_address(&tapbatch_local(dev)->remote, mac, true);
	if (ret != 0)
		return ret;
	rte_ether_addr_copy(mac, &filter->macs[filter->nb_macs]);
	filter->nb_macs++;
	return 0;
}

static void
tapbatch_mac_addr_remove(struct rte_eth_dev *dev, uint32_t index)
{
	struct tapbatch_filter *filter = &tapbatch_port(dev)->filter;
	const struct rte_ether_addr *mac = &dev->data->mac_addrs[index];
	uint16_t i;

	tapbatch_remote_set_address(&tapbatch_local(dev)->remote, mac, false);
	for (i = 1; i < filter->nb_macs; i++) {
		if (!rte_is_same_ether_addr(&filter->macs[i], mac))
			continue;
		filter->macs[i] = filter->macs[filter->nb_macs - 1];
		filter->nb_macs--;
		return;
	}
}

static int
tapbatch_set_mc_addr_list(struct rte_eth_dev *dev, struct rte_ether_addr *macs, uint32_t n)
{
	struct tapbatch_filter *filter = &tapbatch_port(dev)->filter;
	struct tapbatch_remote *remote = &tapbatch_local(dev)->remote;
	uint32_t i;
	int ret;

	if (n > TAPBATCH_MAX_MC_MACS)
		return -ENOSPC;
	for (i = 0; i < n; i++) {
		ret = tapbatch_remote_set_address(remote, &macs[i], true);
		if (ret != 0) {
			while (i-- > 0)
				tapbatch_remote_set_address(remote, &macs[i], false);
			return ret;
		}
	}
	for (i = 0; i < filter->nb_mc_macs; i++)
		tapbatch_remote_set_address(remote, &filter->mc_macs[i], false);
	filter->nb_mc_macs = 0;
	if (n > 0)
		memcpy(filter->mc_macs, macs, n * sizeof(*macs));
	filter->nb_mc_macs = (uint16_t)n;
	return 0;
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

static int
tapbatch_is_removed(struct rte_eth_dev *dev)
{
	char name[IF_NAMESIZE];

	return tapbatch_tun_name(tapbatch_local(dev)->fds[0], name) != 0;
}

/* What somebody else has set on one of the two interfaces is set on the other one, or
 * taken back there if that one refuses. Returns whether the port has a new MTU.
 */
static bool
spread_mtu(struct rte_eth_dev *dev, uint32_t mtu, bool by_remote)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint32_t old = tapbatch_port(dev)->mtu;
	int ret;

	if (!dev->data->dev_started || local->remote.ifindex == 0)
		return true;
	if (!by_remote && tapbatch_remote_set_mtu(&local->remote, mtu) == 0)
		return true;
	ret = tapbatch_link_set_mtu(&local->link, by_remote ? mtu : old);
	if (by_remote && ret == 0)
		return true;
	TAPBATCH_LOG(NOTICE, "port %u: the MTU stays %u%s%s", dev->data->port_id, old,
		     ret == 0 ? "" : ", the interface's cannot be set: ",
		     ret == 0 ? "" : strerror(-ret));
	return false;
}

/* Under the lock, so that what is being set is not taken for somebody else's change. */
static void
follow_mtu(struct rte_eth_dev *dev, uint32_t mtu)
{
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_remote_state remote;
	bool by_remote = mtu == port->mtu;

	if (by_remote) {
		if (!dev->data->dev_started ||
		    tapbatch_remote_get(&tapbatch_local(dev)->remote, &remote) != 0)
			return;
		mtu = remote.mtu;
	}
	if (mtu == port->mtu || mtu > UINT16_MAX)
		return;
	TAPBATCH_LOG(NOTICE, "port %u: the %s MTU was changed from %u to %u", dev->data->port_id,
		     by_remote ? "remote's" : "interface's", port->mtu, mtu);
	if (!spread_mtu(dev, mtu, by_remote))
		return;
	port->mtu = (uint16_t)mtu;
	dev->data->mtu = (uint16_t)mtu;
}

/* News of interfaces, in EAL's interrupt thread: this one may have changed, moved to
 * another namespace, or vanished.
 */
static void
handle_news(void *opaque)
{
	struct rte_eth_dev *dev = opaque;
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_link_state state;
	bool remote_deleted = false;
	bool ours;
	int ret = 0;

	if (local->engine->failed != NULL && local->engine->failed(dev)) {
		update_carrier(dev, false);
		tapbatch_link_update(dev, 0);
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
		if (dev->process_private != local)
			return; /* the application has closed the port */
	}
	pthread_mutex_lock(&local->lock);
	ours = tapbatch_link_read_news(&local->link,
				       tapbatch_remote_news(&local->remote, &local->link),
				       &remote_deleted);
	if (ours) {
		ret = tapbatch_link_follow(&local->link);
		tapbatch_remote_follow(&local->remote, dev->data->port_id,
				       ret < 0 ? NULL : &local->link, remote_deleted);
		ret = tapbatch_link_get(&local->link, &state);
		if (ret == 0)
			follow_mtu(dev, state.mtu);
	}
	pthread_mutex_unlock(&local->lock);
	if (!ours)
		return;
	mark_tx_queues(dev);
	if (tapbatch_link_update(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc != 0)
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
	if (dev->process_private != local)
		return;
	if (tapbatch_is_removed(dev) && !atomic_exchange(&port->gone, true)) {
		TAPBATCH_LOG(NOTICE, "port %u: the interface is gone", dev->data->port_id);
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, NULL);
	}
}

static int
install_news(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);

	local->news_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (local->news_handle == NULL ||
	    rte_intr_fd_set(local->news_handle, local->link.news_fd) ||
	    rte_intr_type_set(local->news_handle, RTE_INTR_HANDLE_EXT))
		return -ENOMEM;
	return rte_intr_callback_register(local->news_handle, handle_news, dev);
}

static void
remove_news(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	int ret;

	if (local->news_handle != NULL) {
		/* -EAGAIN: the callback is running; here, if an application closes a port when
		 * it is told of an event.
		 */
		do {
			ret = rte_intr_callback_unregister(local->news_handle, handle_news, dev);
		} while (ret == -EAGAIN && !rte_thread_is_intr());
		if (ret == -EAGAIN)
			rte_intr_callback_unregister_pending(local->news_handle, handle_news, dev,
							     NULL);
		rte_intr_instance_free(local->news_handle);
		local->news_handle = NULL;
	}
}

static void
free_local(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint16_t i;

	if (local == NULL)
		return;
	remove_news(dev);
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

static int
tapbatch_dev_close(struct rte_eth_dev *dev)
{
	uint16_t i;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	/* A port that is unplugged may never have been stopped. */
	tapbatch_rx_intr_remove(dev);
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		tapbatch_rx_queue_release(dev, i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		tapbatch_tx_queue_release(dev, i);
	/* What is left of a persistent interface promises nothing. */
	if (tapbatch_local(dev) != NULL)
		tapbatch_tun_set_offloads(tapbatch_local(dev)->fds[0], 0);
	free_local(dev);
	return 0;
}

static const struct eth_dev_ops tapbatch_ops = {
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

/* The engine that was asked for, or the best that works. */
static int
choose_engine(const char *name, enum tapbatch_engine_kind asked,
	      const struct tapbatch_engine **engine)
{
	char why[128] = "not built in: liburing was missing";
	int ret = -ENOTSUP;

	if (asked == TAPBATCH_ENGINE_VHOST) {
		ret = tapbatch_engine_vhost.probe(why, sizeof(why));
		if (ret != 0)
			TAPBATCH_LOG(ERR,
				     "%s: engine=vhost does not work here: %s; engine=auto or "
				     "engine=rw does without",
				     name, why);
		*engine = &tapbatch_engine_vhost;
		return ret;
	}
#ifdef TAPBATCH_HAVE_URING
	if (asked != TAPBATCH_ENGINE_RW) {
		const struct tapbatch_engine *uring = asked == TAPBATCH_ENGINE_URING ?
							      &tapbatch_engine_uring :
							      &tapbatch_engine_uring_auto;

		ret = uring->probe(why, sizeof(why));
		if (ret == 0) {
			*engine = uring;
			return 0;
		}
	}
#endif
	if (asked == TAPBATCH_ENGINE_URING) {
		TAPBATCH_LOG(ERR,
			     "%s: engine=uring does not work here: %s; engine=auto or "
			     "engine=rw does without",
			     name, why);
		return ret;
	}
	if (asked == TAPBATCH_ENGINE_AUTO)
		TAPBATCH_LOG(NOTICE, "%s: engine rw is used, uring does not work here: %s", name,
			     why);
	*engine = &tapbatch_engine_rw;
	return 0;
}

/* Linux 7.0 to 7.1.4 damage UDP superframes whose segments are all of one length. */
static bool
kernel_mangles_udp(void)
{
	unsigned int major, minor, patch = 0;
	struct utsname uts;

	if (uname(&uts) != 0 || sscanf(uts.release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return false;
	return major == 7 && (minor == 0 || (minor == 1 && patch <= 4));
}

/* What may be coalesced: what was asked for, less what this kernel cannot segment. */
static void
choose_kinds(const char *name, struct tapbatch_port *port)
{
	const uint32_t udp = TAPBATCH_COALESCE_UDP4 | TAPBATCH_COALESCE_UDP6;
	bool sound = port->uso && !kernel_mangles_udp();

	port->sound = TAPBATCH_COALESCE_TCP4 | TAPBATCH_COALESCE_TCP6 | (sound ? udp : 0);
	port->coalesce = port->args.coalesce & port->sound;
	if (sound || port->args.tx_batched <= 1 || (port->args.coalesce & udp) == 0)
		return;
	TAPBATCH_LOG(NOTICE, "%s: UDP is not coalesced, this kernel %s", name,
		     port->uso ? "damages it when segmenting (Linux 7.0 to 7.1.4)" :
				 "does not segment it (Linux 6.2 does)");
}

/* A port with a remote has its MTU, and its address unless another one was asked for:
 * then the remote takes that.
 */
static int
open_remote(struct rte_eth_dev *dev, const char *name)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_args *args = &tapbatch_port(dev)->args;
	struct tapbatch_remote_state state;
	int ret;

	if (args->remote[0] == '\0')
		return 0;
	ret = tapbatch_remote_open(&local->remote, name, args->remote, &local->link, &state);
	if (ret != 0)
		return ret;
	if (args->mac_kind == TAPBATCH_MAC_RANDOM) {
		args->mac_kind = TAPBATCH_MAC_GIVEN;
		args->mac = state.mac;
	}
	ret = tapbatch_link_set_mtu(&local->link, state.mtu);
	if (ret != 0) {
		TAPBATCH_LOG(ERR,
			     "%s: the MTU of remote=%s, %u, cannot be set on the port's interface: "
			     "%s (that takes %u to %u)",
			     name, args->remote, state.mtu, strerror(-ret), RTE_ETHER_MIN_MTU,
			     TAPBATCH_MAX_MTU);
		return ret;
	}
	dev->data->mtu = (uint16_t)RTE_MIN(state.mtu, (uint32_t)UINT16_MAX);
	tapbatch_port(dev)->mtu = dev->data->mtu;
	return 0;
}

static int
set_initial_mac(struct rte_eth_dev *dev, const char *name)
{
	static unsigned int nb_fixed;
	struct tapbatch_port *port = tapbatch_port(dev);
	struct rte_ether_addr mac;
	int fd = tapbatch_local(dev)->fds[0];
	int ret = 0;

	if (port->args.l3_only) {
		/* There are none on a tun interface, but ethdev wants one. */
		rte_eth_random_addr(mac.addr_bytes);
		goto out;
	}
	switch (port->args.mac_kind) {
	case TAPBATCH_MAC_RANDOM:
		/* What the kernel chose when it made the interface. */
		ret = tapbatch_tun_get_mac(fd, &mac);
		break;
	case TAPBATCH_MAC_FIXED:
		mac = (struct rte_ether_addr){ { 0x02, 't', 'a', 'p', 'b', (uint8_t)nb_fixed++ } };
		break;
	case TAPBATCH_MAC_GIVEN:
		mac = port->args.mac;
		break;
	}
	if (port->args.mac_kind != TAPBATCH_MAC_RANDOM) {
		ret = tapbatch_remote_set_mac(&tapbatch_local(dev)->remote, &mac);
		if (ret != 0)
			return ret;
		ret = tapbatch_tun_set_mac(fd, &mac);
	}
	if (ret != 0) {
		TAPBATCH_LOG(ERR, "%s: the interface's address cannot be %s: %s", name,
			     port->args.mac_kind == TAPBATCH_MAC_RANDOM ? "read" : "set",
			     strerror(-ret));
		return ret;
	}
out:
	rte_ether_addr_copy(&mac, &dev->data->mac_addrs[0]);
	rte_ether_addr_copy(&mac, &port->filter.macs[0]);
	port->filter.nb_macs = 1;
	port->filter.enabled = !port->args.l3_only;
	return 0;
}

/* Creates or attaches to the interface, and finds out what it and the kernel can. */
static int
open_interface(struct rte_eth_dev *dev, const char *name)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_link_state state;
	int ret;

	ret = tapbatch_tun_open(name, &port->args, &port->multi_queue, &port->created);
	if (ret < 0)
		return ret;
	local->fds[0] = ret;
	local->nb_fds = 1;
	port->max_queues = port->multi_queue ? TAPBATCH_MAX_QUEUES : 1;

	ret = tapbatch_tun_set_carrier(local->fds[0], false);
	if (ret != 0)
		TAPBATCH_LOG(INFO, "%s: this kernel sets no carrier: %s", name, strerror(-ret));
	ret = tapbatch_tun_set_offloads(local->fds[0], TUN_OFFLOADS);
	if (ret < 0) {
		TAPBATCH_LOG(ERR, "%s: the kernel refuses offloads: %s", name, strerror(-ret));
		return ret;
	}
	port->uso = (ret & TAPBATCH_TUN_F_USO4) != 0;
	choose_kinds(name, port);

	ret = tapbatch_link_open(&local->link, local->fds[0]);
	if (ret != 0)
		return ret;
	if (port->args.txqlen != 0) {
		ret = tapbatch_link_set_txqlen(&local->link, port->args.txqlen);
		if (ret != 0) {
			TAPBATCH_LOG(ERR, "%s: txqlen=%u cannot be set: %s", name,
				     port->args.txqlen, strerror(-ret));
			return ret;
		}
	}
	ret = tapbatch_link_get(&local->link, &state);
	if (ret != 0)
		return ret;
	port->tx_dropped_base = state.tx_dropped;
	port->rx_dropped_base = state.rx_dropped;
	dev->data->mtu = (uint16_t)RTE_MIN(state.mtu, (uint32_t)UINT16_MAX);
	port->mtu = dev->data->mtu;
	return tapbatch_tun_name(local->fds[0], port->args.iface);
}

static int
create_port(struct rte_vdev_device *vdev, const struct tapbatch_args *args,
	    const struct tapbatch_engine *engine)
{
	const char *name = rte_vdev_device_name(vdev);
	struct tapbatch_local *local;
	struct rte_eth_dev *dev;
	int ret;

	dev = rte_eth_vdev_allocate(vdev, sizeof(struct tapbatch_port));
	if (dev == NULL) {
		TAPBATCH_LOG(ERR, "%s: ethdev has no free port, or the name is taken", name);
		return -ENOSPC;
	}
	tapbatch_port(dev)->args = *args;
	local = calloc(1, sizeof(*local));
	dev->data->mac_addrs = rte_zmalloc_socket(name,
						  sizeof(struct rte_ether_addr) * TAPBATCH_MAX_MACS,
						  0, dev->data->numa_node);
	if (local == NULL || dev->data->mac_addrs == NULL) {
		TAPBATCH_LOG(ERR, "%s: no memory", name);
		free(local);
		rte_eth_dev_release_port(dev);
		return -ENOMEM;
	}
	local->engine = engine;
	local->link.ioctl_sock = -1;
	local->link.news_fd = -1;
	local->remote = TAPBATCH_REMOTE_NONE;
	pthread_mutex_init(&local->lock, NULL);
	dev->process_private = local;

	ret = open_interface(dev, name);
	if (ret == 0)
		ret = open_remote(dev, name);
	if (ret == 0)
		ret = set_initial_mac(dev, name);
	if (ret == 0)
		ret = install_news(dev);
	if (ret == 0 && engine->port_open != NULL) {
		ret = engine->port_open(dev);
		local->port_opened = ret == 0;
	}
	/* Last: what fails leaves no interface behind. */
	if (ret == 0 && args->persist)
		ret = tapbatch_tun_set_persistent(name, local->fds[0]);
	if (ret != 0) {
		free_local(dev);
		rte_eth_dev_release_port(dev);
		return ret;
	}
	dev->dev_ops = &tapbatch_ops;
	dev->rx_pkt_burst = engine->rx_burst != NULL ? engine->rx_burst : tapbatch_rx_burst;
	dev->tx_pkt_burst = engine->tx_burst != NULL ? engine->tx_burst : tapbatch_tx_burst;
	dev->tx_pkt_prepare = tapbatch_tx_prepare;
	dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_INTR_RMV |
				RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
	dev->data->dev_link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
	rte_eth_dev_probing_finish(dev);
	TAPBATCH_LOG(INFO, "%s: interface %s, engine %s", name, tapbatch_port(dev)->args.iface,
		     engine->name);
	return 0;
}

static int
tapbatch_probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	const struct tapbatch_engine *engine;
	struct tapbatch_args args;
	int ret;

	if (name == NULL)
		return -EINVAL;
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		TAPBATCH_LOG(ERR, "%s: not supported in a secondary process", name);
		return -ENOTSUP;
	}
	ret = tapbatch_args_parse(name, rte_vdev_device_args(vdev), &args);
	if (ret != 0)
		return ret;
	ret = choose_engine(name, args.engine, &engine);
	if (ret != 0)
		return ret;
	return create_port(vdev, &args, engine);
}

static int
tapbatch_remove(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (dev == NULL)
		return 0;
	tapbatch_dev_close(dev);
	return rte_eth_dev_release_port(dev);
}

static struct rte_vdev_driver tapbatch_driver = {
	.probe = tapbatch_probe,
	.remove = tapbatch_remove,
};

RTE_PMD_REGISTER_VDEV(net_tapbatch, tapbatch_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_tapbatch, TAPBATCH_ARG_IFACE
			      "=<name> " TAPBATCH_ARG_TYPE "=tap|tun " TAPBATCH_ARG_ENGINE
			      "=auto|uring|rw|vhost " TAPBATCH_ARG_TX_BATCHED
			      "=<0..64> " TAPBATCH_ARG_COALESCE
			      "=none|tcp|udp|tcp+udp " TAPBATCH_ARG_MAC
			      "=random|fixed|xx:xx:xx:xx:xx:xx " TAPBATCH_ARG_TXQLEN
			      "=<packets> " TAPBATCH_ARG_PERSIST "=0|1 " TAPBATCH_ARG_OWNER
			      "=<uid> " TAPBATCH_ARG_GROUP "=<gid> " TAPBATCH_ARG_REMOTE
			      "=<interface> " TAPBATCH_ARG_VHOST_CPU "=<cpu>[-<cpu>]");

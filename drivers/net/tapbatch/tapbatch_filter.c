/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Which frames a port takes: its addresses, promiscuous and all-multicast mode. The
 * remote of a port, if there is one, is made to receive accordingly.
 */

#include <errno.h>
#include <string.h>

#include "tapbatch.h"
#include "tapbatch_log.h"

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

int
tapbatch_promiscuous_enable(struct rte_eth_dev *dev)
{
	return set_modes(dev, true, dev->data->all_multicast);
}

int
tapbatch_promiscuous_disable(struct rte_eth_dev *dev)
{
	return set_modes(dev, false, dev->data->all_multicast);
}

int
tapbatch_allmulticast_enable(struct rte_eth_dev *dev)
{
	return set_modes(dev, dev->data->promiscuous, true);
}

int
tapbatch_allmulticast_disable(struct rte_eth_dev *dev)
{
	return set_modes(dev, dev->data->promiscuous, false);
}

/* The first of the filter's addresses is the port's own. */
int
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

int
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

void
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

int
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

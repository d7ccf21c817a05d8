/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * From device arguments to a port, and its removal: the driver as the vdev bus sees it.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "tapbatch.h"
#include "tapbatch_log.h"

static struct rte_vdev_driver tapbatch_driver;

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
	struct tapbatch_iface state;
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
	ret = tapbatch_tun_set_offloads(local->fds[0], TAPBATCH_TUN_OFFLOADS);
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
	if (ret == 0 && engine->port_open != NULL) {
		ret = engine->port_open(dev);
		local->port_opened = ret == 0;
	}
	/* From now on another thread calls the driver. */
	if (ret == 0)
		ret = tapbatch_news_install(dev);
	/* Last: what fails leaves no interface behind. */
	if (ret == 0 && args->persist)
		ret = tapbatch_tun_set_persistent(name, local->fds[0]);
	if (ret != 0) {
		tapbatch_local_free(dev);
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

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Taps: superframes on, checksums left to who can do them, every frame taken
 * whatever its address, as the addresses are the guests'.
 */

#include "tap.h"

#include <errno.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "fdb.h"
#include "offload.h"
#include "worker.h"

#define TAP_MBUFS 4095 /* per queue; one superframe split takes up to some hundreds */
#define CACHE 250
#define TAP_DESC 1024

static const char our_driver[] = "net_tapbatch";

/* In EAL's interrupt thread. */
static int
interface_deleted(uint16_t port __rte_unused, enum rte_eth_event_type type __rte_unused, void *arg,
		  void *ret __rte_unused)
{
	struct vb_tap *tap = arg;

	VB_LOG(WARNING,
	       "tap %s: the interface is gone, its pairs stand still until a reload (SIGHUP)",
	       tap->conf.tap);
	__atomic_store_n(&tap->gone, true, __ATOMIC_RELAXED);
	vb_worker_wake(tap->worker);
	return 0;
}

/* The port's number is another's soon: waits for an event that is being handled. */
static void
forget_events(struct vb_tap *tap)
{
	while (rte_eth_dev_callback_unregister(tap->port, RTE_ETH_EVENT_INTR_RMV, interface_deleted,
					       tap) == -EAGAIN)
		rte_delay_us_sleep(100);
}

static int
configure(struct vb_tap *tap)
{
	const struct vb_pair_conf *conf = &tap->conf;
	struct rte_eth_conf eth = { 0 };
	struct rte_eth_dev_info info;
	uint16_t rx_desc = TAP_DESC;
	uint16_t tx_desc = TAP_DESC;
	uint16_t mtu = conf->mtu;
	uint16_t q;
	int ret;

	ret = rte_eth_dev_info_get(tap->port, &info);
	if (ret < 0)
		return ret;
	tap->translate = strcmp(info.driver_name, our_driver) != 0;
	eth.intr_conf.rxq = 1;
	if (mtu == 0)
		rte_eth_dev_get_mtu(tap->port, &mtu);
	eth.rxmode.mtu = mtu;
	eth.rxmode.max_lro_pkt_size = info.max_lro_pkt_size;
	eth.rxmode.offloads = info.rx_offload_capa &
			      (RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_SCATTER |
			       RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM |
			       RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
	eth.txmode.offloads = info.tx_offload_capa &
			      (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
			       RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
			       RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_UDP_TSO);
	eth.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	ret = rte_eth_dev_configure(tap->port, conf->queues, conf->queues, &eth);
	if (ret < 0)
		return ret;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(tap->port, &rx_desc, &tx_desc);
	for (q = 0; ret == 0 && q < conf->queues; q++) {
		ret = rte_eth_rx_queue_setup(tap->port, q, rx_desc, SOCKET_ID_ANY, NULL, tap->pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(tap->port, q, tx_desc, SOCKET_ID_ANY, NULL);
	}
	if (ret == 0 && conf->mtu != 0)
		ret = rte_eth_dev_set_mtu(tap->port, conf->mtu);
	if (ret == 0)
		ret = rte_eth_dev_start(tap->port);
	if (ret < 0)
		return ret;
	ret = rte_eth_promiscuous_enable(tap->port);
	if (ret == 0)
		ret = rte_eth_macaddr_get(tap->port, &tap->addr);
	if (ret < 0)
		return ret;
	/* Without interrupts the worker looks every millisecond. */
	tap->intr = true;
	for (q = 0; q < conf->queues; q++)
		if (rte_eth_dev_rx_intr_ctl_q(tap->port, q, tap->worker->epfd, RTE_INTR_EVENT_ADD,
					      tap) < 0)
			tap->intr = false;
	if (!tap->intr)
		VB_LOG(NOTICE,
		       "%s: driver %s has no Rx interrupts, it is polled each millisecond "
		       "when idle",
		       conf->tap, info.driver_name);
	return 0;
}

static void
device_name(const struct vb_tap *tap, const char *driver, char *name)
{
	snprintf(name, RTE_DEV_NAME_MAX_LEN, "%s_%s", driver, tap->conf.tap);
}

int
vb_tap_open(struct vb_tap *tap, const char *driver)
{
	const struct vb_pair_conf *conf = &tap->conf;
	char device[RTE_DEV_NAME_MAX_LEN];
	char args[VB_ARGS_LEN + IFNAMSIZ + 16];
	char pool[RTE_MEMPOOL_NAMESIZE];
	int ret;

	snprintf(pool, sizeof(pool), "t-%s", conf->tap);
	tap->pool = rte_pktmbuf_pool_create(pool, conf->queues * (TAP_MBUFS + 1u) - 1, CACHE, 0,
					    RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (tap->pool == NULL) {
		VB_LOG(ERR, "%s: no memory for %u mbufs (EAL's -m, or hugepages)", conf->tap,
		       conf->queues * (TAP_MBUFS + 1u) - 1);
		return -1;
	}
	if (conf->switched) {
		tap->fdb = vb_fdb_create(conf->age, SOCKET_ID_ANY);
		if (tap->fdb == NULL) {
			VB_LOG(ERR, "%s: no memory for the table of addresses", conf->tap);
			goto free_pool;
		}
	}
	device_name(tap, driver, device);
	snprintf(args, sizeof(args), "iface=%s%s%s", conf->tap, conf->tap_args[0] ? "," : "",
		 conf->tap_args);
	ret = rte_eal_hotplug_add("vdev", device, args);
	if (ret < 0 || rte_eth_dev_get_port_by_name(device, &tap->port) < 0) {
		VB_LOG(ERR, "tap %s could not be made or attached to (%s %s): %s", conf->tap,
		       driver, args, rte_strerror(-ret));
		goto free_fdb;
	}
	rte_eth_dev_callback_register(tap->port, RTE_ETH_EVENT_INTR_RMV, interface_deleted, tap);
	ret = configure(tap);
	if (ret < 0) {
		VB_LOG(ERR, "tap %s could not be set up: %s", conf->tap, rte_strerror(-ret));
		forget_events(tap);
		rte_eth_dev_close(tap->port);
		rte_eal_hotplug_remove("vdev", device);
		goto free_fdb;
	}
	return 0;

free_fdb:
	vb_fdb_free(tap->fdb);
	tap->fdb = NULL;
free_pool:
	rte_mempool_free(tap->pool);
	return -1;
}

void
vb_tap_close(struct vb_tap *tap)
{
	char device[RTE_DEV_NAME_MAX_LEN];
	struct rte_eth_dev_info info;
	uint16_t q;

	if (tap->intr)
		for (q = 0; q < tap->conf.queues; q++)
			rte_eth_dev_rx_intr_ctl_q(tap->port, q, tap->worker->epfd,
						  RTE_INTR_EVENT_DEL, tap);
	forget_events(tap);
	device[0] = '\0';
	if (rte_eth_dev_info_get(tap->port, &info) == 0)
		rte_eth_dev_get_name_by_port(tap->port, device);
	rte_eth_dev_stop(tap->port);
	rte_eth_dev_close(tap->port);
	rte_eal_hotplug_remove("vdev", device);
	vb_fdb_free(tap->fdb);
	rte_mempool_free(tap->pool);
}

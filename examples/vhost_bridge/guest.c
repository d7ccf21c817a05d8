/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Guests. The vhost driver's thread tells of their coming and going; workers see
 * it as a number, the epoch, that changes each time and is odd while a guest is
 * there.
 */

#include "guest.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_eth_vhost.h>
#include <rte_malloc.h>

#include "offload.h"
#include "sockfile.h"
#include "worker.h"

/* Pages of most guests' buffers; a superframe takes 17 of them. */
#define GUEST_DATA_ROOM (RTE_PKTMBUF_HEADROOM + 4096)
#define GUEST_MBUFS 3071 /* per queue */
#define CACHE 250

/*
 * Not offered: UDP fragmentation, which Linux has dropped and no tap takes; and
 * packed rings, whose free buffers the library does not count.
 */
#define NOT_OFFERED (VB_F_GUEST_UFO | VB_F_HOST_UFO | VB_F_RING_PACKED)

/* Lines of one pair's guest that the log takes in a minute. */
#define MAX_LINES 20

/* Nor shall a guest fill the log by coming and going. */
static bool
may_say(struct vb_guest *guest)
{
	uint64_t now = rte_rdtsc();

	if (guest->said == 0 || now - guest->said_since > 60 * rte_get_tsc_hz()) {
		guest->said = 0;
		guest->said_since = now;
	}
	if (guest->said == MAX_LINES)
		VB_LOG(WARNING, "%s: guests come and go too often to be said each time",
		       guest->conf.name);
	if (guest->said <= MAX_LINES)
		guest->said++;
	return guest->said <= MAX_LINES;
}

static void
log_features(struct vb_guest *guest)
{
	uint64_t f = guest->features;

	if (!may_say(guest))
		return;

	VB_LOG(INFO, "%s: guest connected:%s%s%s%s%s%s", guest->conf.name,
	       f & VB_F_GUEST_CSUM ? " checksums" : "", f & VB_F_GUEST_TSO4 ? " tso4" : "",
	       f & VB_F_GUEST_TSO6 ? " tso6" : "", f & VB_F_MRG_RXBUF ? " mergeable" : "",
	       f & (VB_F_HOST_TSO4 | VB_F_HOST_TSO6) ? " sends-tso" : "",
	       f & (VB_F_GUEST_CSUM | VB_F_MRG_RXBUF) ? "" : " plain");
}

/* In the vhost thread, or in that of vb_guest_close(). */
static int
link_changed(uint16_t port, enum rte_eth_event_type type __rte_unused, void *arg,
	     void *ret __rte_unused)
{
	struct vb_guest *guest = arg;
	uint32_t epoch = guest->epoch;
	struct rte_eth_link link;
	int vid;

	if (rte_eth_link_get_nowait(port, &link) < 0)
		return 0;
	if (link.link_status == RTE_ETH_LINK_UP) {
		vid = rte_eth_vhost_get_vid_from_port_id(port);
		if (vid < 0 || rte_vhost_get_negotiated_features(vid, &guest->features) < 0)
			return 0;
		guest->vid = vid;
		guest->connects++;
		if (epoch & 1) {
			if (may_say(guest))
				VB_LOG(WARNING,
				       "%s: one more guest connected to %s and takes the place "
				       "of the one before",
				       guest->conf.name, guest->conf.socket);
			guest->crowded = true;
		}
		__atomic_store_n(&guest->epoch, (epoch | 1) + (epoch & 1) * 2, __ATOMIC_RELEASE);
		vb_worker_wake(guest->tap->worker);
		log_features(guest);
		return 0;
	}
	if (epoch & 1) {
		__atomic_store_n(&guest->epoch, epoch + 1, __ATOMIC_RELEASE);
		if (may_say(guest))
			VB_LOG(INFO, "%s: guest disconnected", guest->conf.name);
	}
	__atomic_store_n(&guest->to_guest, 0, __ATOMIC_RELEASE);
	/* The library frees the device when this returns: no worker may be in a
	 * call with its number by then.
	 */
	vb_worker_wait(guest->tap->worker);
	/* Of two guests on one socket it is not said which one left, and the driver
	 * serves neither any more. Hung up on, the other one can connect again.
	 */
	if (guest->crowded) {
		guest->crowded = false;
		vb_sockfile_hang_up(guest->conf.socket);
	}
	return 0;
}

/* In the vhost thread, with the rings' locks held: only notes it. */
static int
queue_changed(uint16_t port, enum rte_eth_event_type type __rte_unused, void *arg,
	      void *ret __rte_unused)
{
	struct rte_eth_vhost_queue_event event;
	struct vb_guest *guest = arg;

	while (rte_eth_vhost_get_queue_event(port, &event) == 0) {
		uint64_t bit;

		if (event.rx || event.queue_id >= guest->conf.queues)
			continue;
		bit = 1ULL << event.queue_id;
		if (event.enable)
			__atomic_or_fetch(&guest->to_guest, bit, __ATOMIC_RELEASE);
		else
			__atomic_and_fetch(&guest->to_guest, ~bit, __ATOMIC_RELEASE);
	}
	vb_worker_wake(guest->tap->worker);
	return 0;
}

/* The vhost library is silent, as guests can make it say things; but why a socket can't
 * be opened only it can say. Unless more was asked for on the command line.
 */
static void
let_library_speak(bool on)
{
	static uint32_t before;
	int type = rte_log_register("lib.vhost.config");

	if (type < 0)
		return;
	if (on)
		before = (uint32_t)rte_log_get_level((uint32_t)type);
	if (before < RTE_LOG_ERR)
		rte_log_set_level((uint32_t)type, on ? RTE_LOG_ERR : before);
}

static int
configure(struct vb_guest *guest)
{
	const struct vb_pair_conf *conf = &guest->conf;
	struct rte_eth_conf eth = { 0 };
	struct rte_eth_dev_info info;
	mode_t mask;
	int ret;

	ret = rte_eth_dev_info_get(guest->port, &info);
	if (ret < 0)
		return ret;
	eth.intr_conf.rxq = 1;
	eth.intr_conf.lsc = 1;
	eth.rxmode.offloads = info.rx_offload_capa &
			      (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
	eth.txmode.offloads = info.tx_offload_capa &
			      (RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
			       RTE_ETH_TX_OFFLOAD_MULTI_SEGS);

	/* This is where the driver opens the socket; nobody else's it is until its
	 * owner and mode are set.
	 */
	mask = umask(0177);
	let_library_speak(true);
	ret = rte_eth_dev_configure(guest->port, conf->queues, conf->queues, &eth);
	let_library_speak(false);
	umask(mask);
	if (ret < 0)
		return ret;
	ret = rte_vhost_driver_disable_features(conf->socket, NOT_OFFERED);
	return ret < 0 ? -EIO : 0;
}

static int
start(struct vb_guest *guest)
{
	const struct vb_pair_conf *conf = &guest->conf;
	uint16_t q;
	int ret;

	for (q = 0; q < conf->queues; q++) {
		ret = rte_eth_rx_queue_setup(guest->port, q, 0, SOCKET_ID_ANY, NULL, guest->pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(guest->port, q, 0, SOCKET_ID_ANY, NULL);
		if (ret < 0)
			return ret;
	}
	rte_eth_dev_callback_register(guest->port, RTE_ETH_EVENT_INTR_LSC, link_changed, guest);
	rte_eth_dev_callback_register(guest->port, RTE_ETH_EVENT_QUEUE_STATE, queue_changed, guest);
	ret = rte_eth_dev_start(guest->port);
	for (q = 0; ret == 0 && q < conf->queues; q++)
		ret = rte_eth_dev_rx_intr_ctl_q(guest->port, q, guest->tap->worker->epfd,
						RTE_INTR_EVENT_ADD, guest);
	return ret;
}

/* They stay with the port's number, which the next port may get: no event may find a
 * guest that is gone. One that is being handled is waited for.
 */
static void
forget_events(struct vb_guest *guest)
{
	while (rte_eth_dev_callback_unregister(guest->port, RTE_ETH_EVENT_INTR_LSC, link_changed,
					       guest) == -EAGAIN ||
	       rte_eth_dev_callback_unregister(guest->port, RTE_ETH_EVENT_QUEUE_STATE,
					       queue_changed, guest) == -EAGAIN)
		rte_delay_us_sleep(100);
}

int
vb_guest_open(struct vb_guest *guest)
{
	static unsigned int number;
	const struct vb_pair_conf *conf = &guest->conf;
	char device[RTE_DEV_NAME_MAX_LEN];
	char args[VB_SOCKET_LEN + 64];
	char pool[RTE_MEMPOOL_NAMESIZE];
	int ret;

	if (!conf->client && vb_sockfile_prepare(conf->socket) < 0)
		return -1;
	snprintf(pool, sizeof(pool), "guest%u", number++); /* a pair's name may be longer */
	guest->pool = rte_pktmbuf_pool_create(pool, conf->queues * (GUEST_MBUFS + 1u) - 1, CACHE, 0,
					      GUEST_DATA_ROOM, SOCKET_ID_ANY);
	if (guest->pool == NULL) {
		VB_LOG(ERR, "%s: no memory for %u mbufs (EAL's -m, or hugepages)", conf->name,
		       conf->queues * (GUEST_MBUFS + 1u) - 1);
		return -1;
	}
	snprintf(device, sizeof(device), "net_vhost_%s", conf->name);
	snprintf(args, sizeof(args), "iface=%s,queues=%u,client=%u,tso=1", conf->socket,
		 conf->queues, conf->client);
	ret = rte_eal_hotplug_add("vdev", device, args);
	if (ret < 0 || rte_eth_dev_get_port_by_name(device, &guest->port) < 0) {
		VB_LOG(ERR, "%s: no vhost port could be made: %s", conf->name, rte_strerror(-ret));
		goto free_pool;
	}
	ret = configure(guest);
	if (ret == 0)
		ret = start(guest);
	if (ret < 0) {
		VB_LOG(ERR, "%s: socket %s could not be opened: %s", conf->name, conf->socket,
		       ret == -1 ? "see the lines above" : rte_strerror(-ret));
		goto close;
	}
	if (!conf->client &&
	    vb_sockfile_finish(conf->socket, conf->owner, conf->group, conf->mode) < 0)
		goto close;
	return 0;

close:
	forget_events(guest);
	rte_eth_dev_close(guest->port);
	rte_eal_hotplug_remove("vdev", device);
free_pool:
	rte_mempool_free(guest->pool);
	return -1;
}

void
vb_guest_close(struct vb_guest *guest)
{
	char device[RTE_DEV_NAME_MAX_LEN];
	uint16_t q;

	for (q = 0; q < guest->conf.queues; q++)
		rte_eth_dev_rx_intr_ctl_q(guest->port, q, guest->tap->worker->epfd,
					  RTE_INTR_EVENT_DEL, guest);
	forget_events(guest);
	rte_eth_dev_stop(guest->port);
	/* Ends the connection and removes the socket file. */
	rte_eth_dev_close(guest->port);
	snprintf(device, sizeof(device), "net_vhost_%s", guest->conf.name);
	rte_eal_hotplug_remove("vdev", device);
	/* Better lost than used after. */
	if (rte_mempool_full(guest->pool))
		rte_mempool_free(guest->pool);
	else
		VB_LOG(WARNING, "%s: %u of its mbufs did not come back, its memory is kept",
		       guest->conf.name, rte_mempool_in_use_count(guest->pool));
}

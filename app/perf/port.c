/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The one ethdev port of a DPDK worker: EAL, pools, queues, statistics. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_memory.h>
#include <rte_eal.h>
#include <rte_epoll.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>

#include "packet.h"
#include "port.h"
#include "threads.h"

#define POOL_SIZE 8191 /* mbufs; enough for every queue's descriptors and the bursts */
#define POOL_CACHE 256
#define MEMORY_MB "384"

/* What a guest that forwards asks for, where it is there. */
#define FORWARD_RX                                                                                \
	(RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | \
	 RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
#define FORWARD_TX                                                    \
	(RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_TCP_TSO | \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)

/* DPDK's memory is in huge pages where it is used in earnest. None need be reserved for
 * that here: the kernel is asked to make them of what --no-huge has got. Raw loops have no
 * memory worth that.
 */
static int
advise_huge_pages(const struct rte_memseg_list *list, const struct rte_memseg *first, size_t len,
		  void *unused)
{
	(void)list;
	(void)unused;
	madvise(first->addr, len, MADV_HUGEPAGE);
	return 0;
}

bool
port_eal(struct worker *w)
{
	char cores[80], vdev[sizeof(w->job.vdev) + 8], peer[sizeof(vdev)],
		plugin[sizeof(w->job.plugin)];
	unsigned int ports = w->job.peer_vdev[0] != '\0' ? 2 : 1;
	char *argv[20];
	int argc = 0, at = 0;

	for (int i = 0; i == 0 || i < w->job.threads; i++)
		at += snprintf(cores + at, sizeof(cores) - (size_t)at, "%s%d@%d", i ? "," : "", i,
			       thread_core(&w->job, i));
	snprintf(vdev, sizeof(vdev), "--vdev=%s", w->job.vdev);
	snprintf(peer, sizeof(peer), "--vdev=%s", w->job.peer_vdev);
	snprintf(plugin, sizeof(plugin), "%s", w->job.plugin);
	argv[argc++] = (char *)(uintptr_t) "dpdk-tapbatch-perf";
	argv[argc++] = (char *)(uintptr_t) "--lcores";
	argv[argc++] = cores;
	argv[argc++] = (char *)(uintptr_t) "--no-huge";
	argv[argc++] = (char *)(uintptr_t) "-m";
	argv[argc++] = (char *)(uintptr_t)MEMORY_MB;
	argv[argc++] = (char *)(uintptr_t) "--no-shconf";
	argv[argc++] = (char *)(uintptr_t) "--no-pci";
	argv[argc++] = (char *)(uintptr_t) "--no-telemetry";
	if (w->job.vdev[0] != '\0')
		argv[argc++] = vdev;
	if (w->job.peer_vdev[0] != '\0')
		argv[argc++] = peer;
	if (plugin[0] != '\0') {
		argv[argc++] = (char *)(uintptr_t) "-d";
		argv[argc++] = plugin;
	}
	if (rte_eal_init(argc, argv) < 0)
		return worker_fail(w, "EAL does not start with --vdev=%s: %s", w->job.vdev,
				   rte_strerror(rte_errno));
	rte_memseg_contig_walk(advise_huge_pages, NULL);
	if (w->job.vdev[0] != '\0' && rte_eth_dev_count_avail() != ports) {
		w->out.unsupported = true;
		return worker_fail(w, "--vdev=%s made %u ports, not %u", w->job.vdev,
				   rte_eth_dev_count_avail(), ports);
	}
	return true;
}

static void
fill_mbuf(struct rte_mempool *pool, void *arg, void *obj, unsigned int index)
{
	struct rte_mbuf *m = obj;

	RTE_SET_USED(pool);
	RTE_SET_USED(index);
	packet_fill((uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM, *(uint16_t *)arg);
}

bool
port_pools(struct worker *w, struct port *p)
{
	uint16_t room = w->job.data_room ? (uint16_t)w->job.data_room : 2048;
	uint16_t largest = PACKET_TEMPLATE;

	p->rx_pool = rte_pktmbuf_pool_create("perf_rx", POOL_SIZE, POOL_CACHE, 0,
					     (uint16_t)(room + RTE_PKTMBUF_HEADROOM),
					     SOCKET_ID_ANY);
	if (p->rx_pool == NULL)
		return worker_fail(w, "no pool of %u mbufs: %s", POOL_SIZE,
				   rte_strerror(rte_errno));
	if (w->job.role != ROLE_SEND)
		return true;
	for (int i = 0; i < w->job.traffic.nb_sizes; i++)
		largest = RTE_MAX(largest, w->job.traffic.size[i]);
	p->tx_pool = rte_pktmbuf_pool_create("perf_tx", POOL_SIZE, POOL_CACHE, 0,
					     (uint16_t)(RTE_MAX(largest, 2048) +
							RTE_PKTMBUF_HEADROOM),
					     SOCKET_ID_ANY);
	if (p->tx_pool == NULL)
		return worker_fail(w, "no pool of %u mbufs: %s", POOL_SIZE,
				   rte_strerror(rte_errno));
	/* Drivers do not write to what they send, so the payload stays in the pool. */
	rte_mempool_obj_iter(p->tx_pool, fill_mbuf, &largest);
	return true;
}

static bool
setup_queues(struct worker *w, struct port *p, const struct rte_eth_conf *conf, uint16_t queues)
{
	uint16_t nb_rxd = w->job.descriptors ? w->job.descriptors : 1024;
	uint16_t nb_txd = nb_rxd;
	int ret;

	ret = rte_eth_dev_configure(p->id, queues, queues, conf);
	if (ret < 0) {
		w->out.unsupported = true;
		return worker_fail(w, "%s cannot be configured with %u queues%s%s: %s", w->job.vdev,
				   queues, w->job.lro ? ", LRO" : "",
				   w->job.interrupts ? ", Rx interrupts" : "", rte_strerror(-ret));
	}
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &nb_rxd, &nb_txd);
	for (uint16_t q = 0; ret == 0 && q < queues; q++) {
		ret = rte_eth_rx_queue_setup(p->id, q, nb_rxd, SOCKET_ID_ANY, NULL, p->rx_pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(p->id, q, nb_txd, SOCKET_ID_ANY, NULL);
	}
	if (ret < 0)
		return worker_fail(w, "no queues on %s: %s", w->job.vdev, rte_strerror(-ret));
	return true;
}

bool
port_start(struct worker *w, struct port *p)
{
	uint16_t queues = w->job.queues ? w->job.queues : 1;
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint64_t wanted = 0;
	int ret;

	p->id = rte_eth_find_next(p->id);
	ret = rte_eth_dev_info_get(p->id, &info);
	if (ret < 0)
		return worker_fail(w, "no device info of %s: %s", w->job.vdev, rte_strerror(-ret));
	if (w->job.lro)
		wanted |= RTE_ETH_RX_OFFLOAD_TCP_LRO;
	if (w->job.scatter)
		wanted |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (wanted & ~info.rx_offload_capa) {
		w->out.unsupported = true;
		return worker_fail(w, "%s has no %s", w->job.vdev,
				   w->job.lro ? "LRO" : "scattered receive");
	}
	conf.rxmode.offloads = wanted;
	if (w->job.role == ROLE_FORWARD) {
		conf.rxmode.offloads = FORWARD_RX & info.rx_offload_capa;
		conf.txmode.offloads = FORWARD_TX & info.tx_offload_capa;
	}
	if (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO)
		conf.rxmode.max_lro_pkt_size = info.max_lro_pkt_size;
	conf.intr_conf.rxq = w->job.interrupts || w->job.armed;
	if (p->rx_pool == NULL && !port_pools(w, p))
		return false;
	if (!setup_queues(w, p, &conf, queues))
		return false;
	ret = rte_eth_dev_start(p->id);
	if (ret < 0)
		return worker_fail(w, "%s does not start: %s", w->job.vdev, rte_strerror(-ret));
	/* The bridge's port must not have the packets' address, so it is no port's own. */
	ret = rte_eth_promiscuous_enable(p->id);
	if (ret < 0 && ret != -ENOTSUP)
		return worker_fail(w, "%s cannot be promiscuous: %s", w->job.vdev,
				   rte_strerror(-ret));
	return true;
}

bool
port_interrupts(struct worker *w, struct port *p)
{
	int ret = rte_eth_dev_rx_intr_ctl_q(p->id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD,
					    NULL);

	if (ret == 0)
		ret = rte_eth_dev_rx_intr_enable(p->id, 0);
	if (ret == 0 && !w->job.armed)
		ret = rte_eth_dev_rx_intr_disable(p->id, 0);
	if (ret == 0)
		return true;
	w->out.unsupported = true;
	return worker_fail(w, "%s has no Rx interrupts: %s", w->job.vdev, rte_strerror(-ret));
}

uint16_t
port_wait_burst(struct worker *w, struct port *p, struct rte_mbuf **burst, uint16_t n)
{
	struct rte_epoll_event event;
	uint16_t got = rte_eth_rx_burst(p->id, 0, burst, n);

	if (got > 0)
		return got;
	w->count.idle++;
	rte_eth_dev_rx_intr_enable(p->id, 0);
	got = rte_eth_rx_burst(p->id, 0, burst, n);
	if (got == 0) {
		w->count.sleeps++;
		/* Not longer, so that the end of the time is seen. */
		rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 10);
	}
	rte_eth_dev_rx_intr_disable(p->id, 0);
	return got;
}

static uint64_t
xstat(uint16_t port, const char *name)
{
	uint64_t id, value;

	if (rte_eth_xstats_get_id_by_name(port, name, &id) < 0 ||
	    rte_eth_xstats_get_by_id(port, &id, &value, 1) != 1)
		return 0;
	return value;
}

void
port_stop(struct worker *w, struct port *p)
{
	struct rte_eth_stats stats;

	if (rte_eth_stats_get(p->id, &stats) == 0) {
		w->out.missed = stats.imissed;
		w->out.no_mbuf = stats.rx_nombuf;
		w->out.in_errors = stats.ierrors;
		w->out.out_errors = stats.oerrors;
	}
	w->out.superframes = xstat(p->id, "tx_q0_superframes") + xstat(p->id, "rx_q0_superframes");
	w->out.coalesced = xstat(p->id, "tx_q0_coalesced_packets");
	w->out.split = xstat(p->id, "rx_q0_split_packets");
	worker_finish(w);
	rte_eth_dev_stop(p->id);
	rte_eth_dev_close(p->id);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A guest without a VM, for tests: forwards between a virtio-user port and a tap of
 * its own namespace, both ways, superframes whole. With --pps it is a slow guest:
 * it takes at most so many frames a second from its virtio port.
 *
 *	virtio_guest EAL-OPTIONS --vdev=net_virtio_user0,... --vdev=net_tapbatch0,...
 *		-- [--pps N] [--sink] [--lro] [--nap US]
 *
 * --sink drops what it receives, and has no tap. --lro offers TSO and LRO. --nap US
 * sleeps so long when there is nothing, for machines with fewer cores than pollers.
 * Ends on SIGTERM and prints the frames it received and sent.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "offload.h"

#define BURST 64
#define MBUFS 16383

static volatile sig_atomic_t done;

static void
on_signal(int sig)
{
	(void)sig;
	done = 1;
}

static struct rte_mempool *
start_port(uint16_t port, const char *name, bool lro)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	struct rte_mempool *pool;
	uint16_t rx = 1024;
	uint16_t tx = 1024;

	if (rte_eth_dev_info_get(port, &info) < 0)
		return NULL;
	if (lro) {
		conf.rxmode.offloads = info.rx_offload_capa &
			(RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_SCATTER |
			 RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
		conf.txmode.offloads = info.tx_offload_capa &
			(RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_TCP_TSO |
			 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
		conf.rxmode.max_lro_pkt_size = info.max_lro_pkt_size;
	}
	pool = rte_pktmbuf_pool_create(name, MBUFS, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL || rte_eth_dev_configure(port, 1, 1, &conf) < 0 ||
	    rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx) < 0 ||
	    rte_eth_rx_queue_setup(port, 0, rx, SOCKET_ID_ANY, NULL, pool) < 0 ||
	    rte_eth_tx_queue_setup(port, 0, tx, SOCKET_ID_ANY, NULL) < 0 ||
	    rte_eth_dev_start(port) < 0)
		return NULL;
	rte_eth_promiscuous_enable(port);
	return pool;
}

/* All of a burst, however long it takes; nothing may be lost here. */
static void
send_all(uint16_t port, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = 0;

	while (sent < n && !done)
		sent += rte_eth_tx_burst(port, 0, pkts + sent, n - sent);
	rte_pktmbuf_free_bulk(pkts + sent, n - sent);
}

int
main(int argc, char **argv)
{
	struct rte_mbuf *pkts[BURST];
	uint64_t received = 0;
	uint64_t sent = 0;
	uint64_t start;
	uint64_t pps = 0;
	unsigned int nap = 0;
	uint16_t virtio;
	uint16_t tap;
	bool sink = false;
	bool lro = false;
	int n = rte_eal_init(argc, argv);
	int i;

	if (n < 0)
		return EXIT_FAILURE;
	for (i = n + 1; i < argc; i++) {
		if (strcmp(argv[i], "--pps") == 0 && i + 1 < argc)
			pps = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--nap") == 0 && i + 1 < argc)
			nap = (unsigned int)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--sink") == 0)
			sink = true;
		else if (strcmp(argv[i], "--lro") == 0)
			lro = true;
		else {
			fprintf(stderr, "virtio_guest: what is '%s'?\n", argv[i]);
			return EXIT_FAILURE;
		}
	}
	if (rte_eth_dev_get_port_by_name("net_virtio_user0", &virtio) < 0 ||
	    start_port(virtio, "virtio", lro) == NULL) {
		fprintf(stderr, "virtio_guest: net_virtio_user0 does not start\n");
		return EXIT_FAILURE;
	}
	if (!sink && (rte_eth_dev_get_port_by_name("net_tapbatch0", &tap) < 0 ||
		      start_port(tap, "tap", lro) == NULL)) {
		fprintf(stderr, "virtio_guest: net_tapbatch0 does not start\n");
		return EXIT_FAILURE;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	printf("virtio_guest: ready\n");
	fflush(stdout);

	start = rte_get_timer_cycles();
	while (!done) {
		uint16_t want = BURST;
		uint16_t taken;
		uint16_t got;
		uint16_t k;

		if (pps != 0) {
			uint64_t due = (rte_get_timer_cycles() - start) * pps / rte_get_timer_hz();

			want = (uint16_t)RTE_MIN(due > received ? due - received : 0, 8u);
		}
		taken = want == 0 ? 0 : rte_eth_rx_burst(virtio, 0, pkts, want);
		received += taken;
		if (sink) {
			rte_pktmbuf_free_bulk(pkts, taken);
			if (taken == 0 && nap != 0)
				usleep(nap);
			continue;
		}
		send_all(tap, pkts, taken);
		got = rte_eth_rx_burst(tap, 0, pkts, BURST);
		if (taken == 0 && got == 0 && nap != 0)
			usleep(nap);
		for (k = 0; k < got; k++)
			vb_offload_to_port(pkts[k]);
		sent += got;
		got = rte_eth_tx_prepare(virtio, 0, pkts, got);
		send_all(virtio, pkts, got);
	}
	printf("virtio_guest: received %llu sent %llu\n", (unsigned long long)received,
	       (unsigned long long)sent);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}

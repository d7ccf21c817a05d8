/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The smallest application of the driver: answers pings that the kernel sends to it.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rte_debug.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#define PORT 0
#define NB_MBUFS 4096
#define NB_DESC 512
#define BURST 32

static volatile sig_atomic_t stop;

static void
on_signal(int number __rte_unused)
{
	stop = 1;
}

/* An interface "echo0" for IP packets without Ethernet headers, hence without ARP; --vdev
 * on the command line goes before.
 */
static void
make_port(void)
{
	struct rte_devargs *asked;
	int ret;

	if (rte_eth_dev_count_avail() > 0)
		return;
	/* EAL goes on without a device that failed. */
	RTE_EAL_DEVARGS_FOREACH("vdev", asked)
	rte_exit(EXIT_FAILURE, "no port %s (see above)\n", asked->name);
	ret = rte_eal_hotplug_add("vdev", "net_tapbatch0", "iface=echo0,type=tun");
	if (ret < 0)
		rte_exit(EXIT_FAILURE, "no port net_tapbatch0: %s\n", rte_strerror(-ret));
}

static void
start_port(struct rte_mempool *pool)
{
	const struct rte_eth_conf conf = { 0 };
	int socket = rte_eth_dev_socket_id(PORT);
	int ret;

	ret = rte_eth_dev_configure(PORT, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(PORT, 0, NB_DESC, socket, NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(PORT, 0, NB_DESC, socket, NULL);
	if (ret == 0)
		ret = rte_eth_dev_start(PORT);
	if (ret < 0)
		rte_exit(EXIT_FAILURE, "port %u does not start: %s\n", PORT, rte_strerror(-ret));
}

/* Makes the answer of an ICMP echo request over IPv4 (RFC 792). False if it is none. */
static bool
answer(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
	const rte_be16_t fragment = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);
	struct rte_icmp_hdr *icmp;
	rte_be32_t address;
	uint32_t sum;

	if (m->data_len < sizeof(*ip) || ip->version != 4 || ip->ihl < 5 ||
	    ip->next_proto_id != IPPROTO_ICMP || (ip->fragment_offset & fragment) != 0 ||
	    m->data_len < rte_ipv4_hdr_len(ip) + sizeof(*icmp))
		return false;
	icmp = rte_pktmbuf_mtod_offset(m, struct rte_icmp_hdr *, rte_ipv4_hdr_len(ip));
	if (icmp->icmp_type != RTE_IP_ICMP_ECHO_REQUEST)
		return false;

	address = ip->src_addr;
	ip->src_addr = ip->dst_addr;
	ip->dst_addr = address;
	/* The type goes from 8 to 0, and the checksum accordingly (RFC 1624). */
	icmp->icmp_type = RTE_IP_ICMP_ECHO_REPLY;
	sum = rte_be_to_cpu_16(icmp->icmp_cksum) + (RTE_IP_ICMP_ECHO_REQUEST << 8);
	icmp->icmp_cksum = rte_cpu_to_be_16(sum + (sum >> 16));
	return true;
}

static void
echo_burst(void)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(PORT, 0, pkts, BURST);
	uint16_t kept = 0;
	uint16_t i;

	for (i = 0; i < n; i++) {
		if (answer(pkts[i]))
			pkts[kept++] = pkts[i];
		else
			rte_pktmbuf_free(pkts[i]);
	}
	/* What the kernel has no room for stays ours. */
	n = rte_eth_tx_burst(PORT, 0, pkts, kept);
	if (n < kept)
		rte_pktmbuf_free_bulk(&pkts[n], kept - n);
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool;

	if (rte_eal_init(argc, argv) < 0)
		rte_exit(EXIT_FAILURE, "EAL did not start (see above)\n");
	make_port();
	pool = rte_pktmbuf_pool_create("mbufs", NB_MBUFS, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       rte_socket_id());
	if (pool == NULL)
		rte_exit(EXIT_FAILURE, "no memory for %u packets: %s\n", NB_MBUFS,
			 rte_strerror(rte_errno));
	start_port(pool);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);

	printf("Answering pings. Ctrl-C ends.\n");
	fflush(stdout);
	while (!stop)
		echo_burst();

	rte_eth_dev_stop(PORT);
	rte_eth_dev_close(PORT);
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}

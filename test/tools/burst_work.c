/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Sends or receives packets of 64 bytes through port 0, whatever its driver, in a way
 * that lets callgrind count what the bursts cost the application and nothing else:
 *	valgrind --tool=callgrind --toggle-collect=counted_tx --toggle-collect=counted_rx
 *		burst_work EAL-ARGUMENT... -- tx|rx|rx-types INTERFACE BURSTS
 * Between bursts the other side gets the time to do its part. rx-types: packet types are
 * asked for. Prints "packets N calls N".
 */

#include <err.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "../unit/mkpkt.h"
#include "rawif.h"

/* The profiler counts what runs inside of it, under its name. */
#ifdef __clang__
#define ONE_FUNCTION __attribute__((noinline))
#else
#define ONE_FUNCTION __attribute__((noipa))
#endif

#define BURST 32
#define FRAME 60 /* the four bytes of the check sequence are nobody's business here */
#define PAUSE_US 3000

static struct rte_mempool *pool;

uint16_t counted_tx(struct rte_mbuf **pkts, uint16_t n);
uint16_t counted_rx(struct rte_mbuf **pkts, uint16_t n);

ONE_FUNCTION uint16_t
counted_tx(struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_tx_burst(0, 0, pkts, n);
}

ONE_FUNCTION uint16_t
counted_rx(struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_rx_burst(0, 0, pkts, n);
}

static void
start_port(bool types)
{
	struct rte_eth_conf conf = { 0 };

	pool = rte_pktmbuf_pool_create("mbufs", 4095, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL || rte_eth_dev_configure(0, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(0, 0, 256, SOCKET_ID_ANY, NULL, pool) != 0 ||
	    rte_eth_tx_queue_setup(0, 0, 256, SOCKET_ID_ANY, NULL) != 0)
		errx(1, "the port can't be set up");
	rte_eth_promiscuous_enable(0); /* some are that always, and can't be told to */
	/* Others never tell packet types. */
	if (!types)
		rte_eth_dev_set_ptypes(0, RTE_PTYPE_UNKNOWN, NULL, 0);
	if (rte_eth_dev_start(0) != 0)
		errx(1, "the port does not start");
}

/* UDP, each packet of a flow of its own. */
static void
make_frame(uint8_t *frame, unsigned int flow)
{
	struct mkpkt p = {
		.proto = IPPROTO_UDP,
		.ttl = 64,
		.frag = 0x4000,
		.host = 1,
		.sport = (uint16_t)flow,
		.dport = 2000,
		.mac_low = 1,
		.payload = FRAME - 14 - 28,
	};

	mkpkt(&p, frame);
}

static uint64_t
transmit(unsigned long bursts, uint64_t *calls)
{
	struct rte_mbuf *pkts[BURST];
	uint64_t packets = 0;
	unsigned int i;

	for (; bursts > 0; bursts--) {
		uint16_t sent = 0;

		if (rte_pktmbuf_alloc_bulk(pool, pkts, BURST) != 0)
			errx(1, "no mbufs");
		for (i = 0; i < BURST; i++)
			make_frame((uint8_t *)rte_pktmbuf_append(pkts[i], FRAME), i);
		while (sent < BURST) {
			sent += counted_tx(pkts + sent, BURST - sent);
			(*calls)++;
			usleep(PAUSE_US);
		}
		packets += BURST;
	}
	return packets;
}

/* Not all drivers do that. */
static void
set_up(const char *iface)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(ifr.ifr_name, iface, sizeof(ifr.ifr_name) - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &ifr) != 0)
		err(1, "%s", iface);
	ifr.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &ifr) != 0)
		err(1, "%s up", iface);
	close(fd);
}

static uint64_t
receive(const char *iface, unsigned long bursts, uint64_t *calls)
{
	struct rte_mbuf *pkts[BURST];
	uint8_t frame[FRAME];
	struct rawif raw;
	uint64_t packets = 0;
	unsigned int i, tries;

	if (rawif_open(&raw, RAWIF_SOCKET, iface) != 0)
		errx(1, "no packet socket on %s", iface);
	for (; bursts > 0; bursts--) {
		unsigned int left = BURST;

		for (i = 0; i < BURST; i++) {
			make_frame(frame, i);
			if (rawif_send(&raw, frame, FRAME, NULL) != 0)
				errx(1, "the kernel refuses a packet");
		}
		usleep(PAUSE_US);
		for (tries = 0; left > 0 && tries < 1000; tries++) {
			uint16_t n = counted_rx(pkts, BURST);

			(*calls)++;
			rte_pktmbuf_free_bulk(pkts, n);
			packets += n;
			left -= RTE_MIN(left, n);
			if (left > 0)
				usleep(PAUSE_US);
		}
	}
	rawif_close(&raw);
	return packets;
}

int
main(int argc, char **argv)
{
	uint64_t packets, calls = 0;
	int used = rte_eal_init(argc, argv);

	if (used < 0)
		return 1;
	argc -= used;
	argv += used;
	if (argc != 4)
		errx(2, "tx, rx or rx-types, an interface and a number of bursts?");
	start_port(strcmp(argv[1], "rx-types") == 0);
	set_up(argv[2]);
	/* What others send there would be counted, too: let it come before. */
	sleep(1);
	packets = strcmp(argv[1], "tx") == 0 ? transmit(strtoul(argv[3], NULL, 0), &calls) :
					       receive(argv[2], strtoul(argv[3], NULL, 0), &calls);
	printf("packets %llu calls %llu\n", (unsigned long long)packets, (unsigned long long)calls);
	rte_eth_dev_stop(0);
	rte_eth_dev_close(0);
	rte_eal_cleanup();
	return 0;
}

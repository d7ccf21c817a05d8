/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* portool's loops: one that sleeps on Rx interrupts, and a forwarder that loses and
 * swaps packets, on the second core.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "portool.h"

/* The queue's descriptor goes into this thread's epoll set. */
static int
intr_add(char **argv)
{
	return rte_eth_dev_rx_intr_ctl_q((uint16_t)strtoul(argv[1], NULL, 0),
					 (uint16_t)strtoul(argv[2], NULL, 0), RTE_EPOLL_PER_THREAD,
					 RTE_INTR_EVENT_ADD, NULL);
}

/* intr PORT QUEUE on|off */
static int
intr(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	uint16_t queue = (uint16_t)strtoul(argv[2], NULL, 0);

	return strcmp(argv[3], "on") == 0 ? rte_eth_dev_rx_intr_enable(port, queue) :
					    rte_eth_dev_rx_intr_disable(port, queue);
}

/* wait MS: whether the thread is woken up within that time. */
static int
wait_cmd(char **argv)
{
	struct rte_epoll_event event;
	int n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, atoi(argv[1]));

	printf("events %d\n", n);
	return n < 0 ? -EIO : 0;
}

static uint64_t
cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* sleep PORT QUEUE N [ms= burst=32]: receives N packets, sleeping when there are none.
 * Nothing is polled after interrupts were enabled: a lost wake-up is a stall of 1 s.
 */
static int
sleep_cmd(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	uint16_t queue = (uint16_t)strtoul(argv[2], NULL, 0);
	unsigned long wanted = strtoul(argv[3], NULL, 0), got = 0, wakeups = 0, stalls = 0;
	uint16_t burst = (uint16_t)RTE_MIN(arg_number(argv, "burst", 32), 32);
	uint64_t deadline = now_ms() + (uint64_t)arg_number(argv, "ms", 5000);
	unsigned long empty = 0;
	struct rte_epoll_event event;
	struct rte_mbuf *pkts[32];
	uint64_t cpu = cpu_us();
	int ret;

	printf("sleeping\n");
	while (got < wanted && now_ms() < deadline) {
		uint64_t begin = now_ms();
		uint16_t n;

		ret = rte_eth_dev_rx_intr_enable(port, queue);
		if (ret != 0)
			return ret;
		ret = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1,
				     deadline > begin ? (int)RTE_MIN(deadline - begin, 1000u) : 0);
		rte_eth_dev_rx_intr_disable(port, queue);
		wakeups += ret > 0;
		n = rte_eth_rx_burst(port, queue, pkts, burst);
		/* It slept until the time was up, and there was something. */
		stalls += ret == 0 && n > 0;
		empty += ret > 0 && n == 0;
		rte_pktmbuf_free_bulk(pkts, n);
		got += n;
	}
	printf("packets %lu\nwakeups %lu\nempty %lu\nstalls %lu\ncpu_us %" PRIu64 "\n", got,
	       wakeups, empty, stalls, cpu_us() - cpu);
	return 0;
}

struct forwarder {
	uint16_t ports[2];
	uint32_t drop, swap; /* per thousand */
	atomic_bool stop;
	uint64_t forwarded, dropped, swapped;
	uint32_t random;
};

static struct forwarder fwd;

static bool
happens(struct forwarder *f, uint32_t per_thousand)
{
	f->random = f->random * 1664525 + 1013904223;
	return (f->random >> 8) % 1000 < per_thousand;
}

static void
forward_burst(struct forwarder *f, uint16_t from, uint16_t to)
{
	struct rte_mbuf *pkts[32];
	uint16_t n = rte_eth_rx_burst(from, 0, pkts, 32);
	uint16_t sent = 0, k = 0, i;
	unsigned int tries;

	for (i = 0; i < n; i++) {
		if (happens(f, f->drop)) {
			f->dropped++;
			rte_pktmbuf_free(pkts[i]);
			continue;
		}
		pkts[k++] = pkts[i];
		if (k >= 2 && happens(f, f->swap)) {
			RTE_SWAP(pkts[k - 1], pkts[k - 2]);
			f->swapped++;
		}
	}
	for (tries = 0; sent < k && tries < 1000; tries++)
		sent += rte_eth_tx_burst(to, 0, pkts + sent, k - sent);
	f->forwarded += sent;
	rte_pktmbuf_free_bulk(pkts + sent, k - sent);
}

static int
forward_loop(void *arg)
{
	struct forwarder *f = arg;

	while (!atomic_load(&f->stop)) {
		forward_burst(f, f->ports[0], f->ports[1]);
		forward_burst(f, f->ports[1], f->ports[0]);
	}
	return 0;
}

/* forward PORT PORT [drop= swap=]: until forward_stop, on the second core. */
static int
forward(char **argv)
{
	fwd = (struct forwarder){
		.ports = { (uint16_t)strtoul(argv[1], NULL, 0),
			   (uint16_t)strtoul(argv[2], NULL, 0) },
		.drop = (uint32_t)arg_number(argv, "drop", 0),
		.swap = (uint32_t)arg_number(argv, "swap", 0),
		.random = 1,
	};
	return rte_eal_remote_launch(forward_loop, &fwd, rte_get_next_lcore(-1, 1, 0));
}

static int
forward_stop(char **argv)
{
	(void)argv;
	atomic_store(&fwd.stop, true);
	rte_eal_mp_wait_lcore();
	printf("forwarded %" PRIu64 "\ndropped %" PRIu64 "\nswapped %" PRIu64 "\n", fwd.forwarded,
	       fwd.dropped, fwd.swapped);
	return 0;
}

const struct command loop_commands[] = {
	{ "intr_add", intr_add, "PORT QUEUE" },
	{ "intr", intr, "PORT QUEUE on|off" },
	{ "wait", wait_cmd, "MS" },
	{ "sleep", sleep_cmd, "PORT QUEUE N [ms= burst=]" },
	{ "forward", forward, "PORT PORT [drop=PER-THOUSAND swap=PER-THOUSAND]" },
	{ "forward_stop", forward_stop, "" },
	{ NULL, NULL, NULL },
};

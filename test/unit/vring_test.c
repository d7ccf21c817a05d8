/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The burst functions of engine vhost against a device that lies: what can't be true on
 * the used ring is noticed and told, nothing behind an array is touched, and no mbuf is
 * lost or given twice. The test plays the kernel's side of the rings. Each array that an
 * index from there might leave ends at a page that can't be touched.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "tapbatch.h"

#define POOL_SIZE 1023
#define RING 128
#define RX_RING 256 /* for the longest frame, in such buffers */
#define ROOM 512    /* of a buffer, with its virtio header */
#define PACKET 60
#define PAGE 4096

static struct rte_mempool *pool;
static struct rte_eth_dev_data data;
static struct eth_dev_ops ops;
static struct tapbatch_port port;
static struct tapbatch_local local;
static struct tapbatch_rx_local rx_local;
static struct tapbatch_tx_io tx_io;
static struct tapbatch_rxq rxq;
static struct tapbatch_txq txq;
static struct tapbatch_vhost_rx *rx;
static struct tapbatch_vhost_tx *tx;
static uint8_t scratch[TAPBATCH_SLOT_LEN];
static uint16_t used_idx; /* the device's */

static struct guarded {
	uint8_t *start;
	size_t len;
} guarded[16];
static unsigned int nb_guarded;

/* Zeroed memory that ends at a page which can't be touched. */
static void *
guard(size_t len)
{
	size_t total = RTE_ALIGN_CEIL(len, (size_t)PAGE) + PAGE;
	uint8_t *p = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + total - PAGE, PAGE, PROT_NONE), 0);
	guarded[nb_guarded].start = p;
	guarded[nb_guarded++].len = total;
	return p + total - PAGE - len;
}

/* The same for what was allocated, which is freed. */
static void *
move_to_guard(void *from, size_t len)
{
	void *to = guard(len);

	memcpy(to, from, len);
	rte_free(from);
	return to;
}

static void
move_ring(struct tapbatch_vring *vr, void **memory)
{
	struct tapbatch_vring old = *vr;
	uint8_t *p = guard(RTE_ALIGN_CEIL(tapbatch_vring_bytes(vr->size), (size_t)8));

	tapbatch_vring_init(vr, p, old.size);
	memcpy(vr->desc, old.desc, tapbatch_vring_bytes(old.size));
	rte_free(*memory);
	*memory = NULL;
}

static int
is_removed(struct rte_eth_dev *dev)
{
	RTE_SET_USED(dev);
	return 0;
}

static int
start(void **state)
{
	struct rte_eth_dev *dev = &rte_eth_devices[0];

	RTE_SET_USED(state);
	memset(&port, 0, sizeof(port));
	memset(&local, 0, sizeof(local));
	memset(&rx_local, 0, sizeof(rx_local));
	memset(&tx_io, 0, sizeof(tx_io));
	memset(&rxq, 0, sizeof(rxq));
	memset(&txq, 0, sizeof(txq));
	used_idx = 0;
	ops.is_removed = is_removed;
	data.dev_private = &port;
	data.dev_started = 1;
	dev->data = &data;
	dev->dev_ops = &ops;
	dev->process_private = &local;
	local.vhost_err = eventfd(0, EFD_NONBLOCK);
	assert_true(local.vhost_err >= 0);
	local.rx[0] = &rx_local;
	local.tx[0] = &tx_io;

	rxq.pool = pool;
	rxq.nb_desc = RING;
	rxq.room = ROOM - TAPBATCH_VNET_HDR_LEN;
	rxq.scatter = true;
	rxq.filter = &port.filter;
	rx = tapbatch_vhost_rx_create(&rxq, false);
	assert_non_null(rx);
	assert_int_equal(rx->vr.size, RX_RING);
	move_ring(&rx->vr, &rx->memory);
	rx->mbufs = move_to_guard(rx->mbufs, rx->vr.size * sizeof(rx->mbufs[0]));
	rx->spare = guard(rx->vr.size * sizeof(rx->spare[0]));
	rx->scratch = scratch;
	rx->running = true;
	rx_local.io.vhost = rx;
	rx_local.split.done = true;
	tapbatch_vhost_rx_refill(&rxq, rx);

	txq.batch = 64;
	txq.nb_desc = RING;
	txq.coalesce.frames = txq.frames;
	tx = tapbatch_vhost_tx_create(&txq);
	assert_non_null(tx);
	assert_int_equal(tx->vr.size, RING);
	move_ring(&tx->vr, &tx->memory);
	tx->frames = move_to_guard(tx->frames, RING * sizeof(tx->frames[0]));
	tx->pkts = move_to_guard(tx->pkts, RING * sizeof(tx->pkts[0]));
	tx->instance = &local.vhost[0];
	tx->running = true;
	tx_io.vhost = tx;
	return 0;
}

/* Afterwards every mbuf is back. */
static int
stop(void **state)
{
	RTE_SET_USED(state);
	while (rx->nb_spare > 0)
		rte_pktmbuf_free(rx->spare[--rx->nb_spare]);
	for (unsigned int i = 0; i < rx->vr.size; i++)
		rte_pktmbuf_free(rx->mbufs[i]);
	rx->mbufs = NULL;
	tapbatch_vhost_rx_free(rx);
	while (tx->pkts_tail != tx->pkts_head)
		rte_pktmbuf_free(tx->pkts[tx->pkts_tail++ & tx->vr.mask]);
	tx->frames = NULL;
	tx->pkts = NULL;
	tapbatch_vhost_tx_free(&txq, tx);
	while (nb_guarded > 0) {
		nb_guarded--;
		munmap(guarded[nb_guarded].start, guarded[nb_guarded].len);
	}
	close(local.vhost_err);
	assert_int_equal(rte_mempool_avail_count(pool), POOL_SIZE);
	return 0;
}

/* The device writes an element, and does not yet say so. */
static void
element(struct tapbatch_vring *vr, uint16_t at, uint32_t id, uint32_t len)
{
	vr->used->ring[at & vr->mask].id = id;
	vr->used->ring[at & vr->mask].len = len;
}

/* It says that there are n more. */
static void
says(struct tapbatch_vring *vr, uint16_t n)
{
	used_idx += n;
	vr->used->idx = used_idx;
}

/* A packet is in the buffer of this descriptor. */
static void
put_packet(uint32_t id, uint16_t num_buffers)
{
	struct tapbatch_vnet_hdr *vnet = (void *)(uintptr_t)rx->vr.desc[id].addr;

	memset(vnet, 0, sizeof(*vnet));
	vnet->num_buffers = num_buffers;
	memset(vnet + 1, 0x55, PACKET);
}

/* The device gives back a packet in one buffer. */
static void
deliver(uint32_t id)
{
	put_packet(id, 1);
	element(&rx->vr, used_idx, id, TAPBATCH_VNET_HDR_LEN + PACKET);
	says(&rx->vr, 1);
}

static unsigned int
receive(void)
{
	struct rte_mbuf *pkts[32];
	uint16_t n = tapbatch_vhost_rx_burst(&rxq, pkts, RTE_DIM(pkts));

	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(rte_mbuf_refcnt_read(pkts[i]), 1);
		rte_mbuf_sanity_check(pkts[i], 1);
		for (const struct rte_mbuf *m = pkts[i]; m != NULL; m = m->next)
			assert_in_range(m->data_off + m->data_len, m->data_off, m->buf_len);
	}
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

static unsigned int
send_packets(unsigned int n)
{
	struct rte_mbuf *pkts[RING];
	uint16_t sent;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (unsigned int i = 0; i < n; i++)
		memset(rte_pktmbuf_append(pkts[i], PACKET), 0x55, PACKET);
	sent = tapbatch_vhost_tx_burst(&txq, pkts, (uint16_t)n);
	rte_pktmbuf_free_bulk(pkts + sent, n - sent);
	return sent;
}

/* The port has been told of an error, once, and tells of it once. */
static void
assert_breaks(void)
{
	assert_true(tapbatch_engine_vhost.failed(&rte_eth_devices[0]));
	assert_true(port.broken);
	assert_false(tapbatch_engine_vhost.failed(&rte_eth_devices[0]));
}

static void
assert_sound(void)
{
	assert_false(tapbatch_engine_vhost.failed(&rte_eth_devices[0]));
	assert_false(port.broken);
}

/* Nothing moves any longer, whatever else the ring says; what is sent is counted. */
static void
assert_rx_stopped(void)
{
	assert_false(rx->running);
	assert_breaks();
	deliver(3);
	assert_int_equal(receive(), 0);
	assert_int_equal(send_packets(5), 5);
	assert_int_equal(txq.stats.link_down, 5);
}

static void
assert_tx_stopped(void)
{
	uint64_t before = txq.stats.link_down;

	assert_false(tx->running);
	assert_breaks();
	assert_int_equal(send_packets(5), 5);
	assert_int_equal(txq.stats.link_down - before, 5);
}

static void
an_honest_device_is_believed(void **state)
{
	unsigned int i, round;

	RTE_SET_USED(state);
	/* More than once around all indices; in order, and then out of it. */
	for (round = 0; round < 2 * 70000 / 16; round++) {
		uint16_t begin = used_idx;
		uint16_t flip = round < 70000 / 16 ? 0 : round % 16;
		uint16_t ids[16];

		for (i = 0; i < 16; i++)
			ids[i] = rx->vr.avail->ring[(begin + (i ^ flip)) & rx->vr.mask];
		for (i = 0; i < 16; i++)
			deliver(ids[i]);
		assert_int_equal(receive(), 16);
	}
	assert_sound();
}

static void
rx_index_jumps(void **state)
{
	RTE_SET_USED(state);
	says(&rx->vr, rx->vr.size + 1);
	assert_int_equal(receive(), 0);
	assert_rx_stopped();
}

static void
rx_index_goes_back(void **state)
{
	RTE_SET_USED(state);
	deliver(0);
	deliver(1);
	assert_int_equal(receive(), 2);
	assert_sound();
	says(&rx->vr, (uint16_t)-1);
	assert_int_equal(receive(), 0);
	assert_rx_stopped();
}

static void
rx_id_behind_the_ring(void **state)
{
	static const uint32_t ids[] = {
		RX_RING, RX_RING + 1, 65535, 65536, 0x80000000, UINT32_MAX
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(ids); i++) {
		if (i > 0) {
			stop(state);
			start(state);
		}
		deliver(0);
		element(&rx->vr, used_idx, ids[i], 100);
		says(&rx->vr, 1);
		assert_int_equal(receive(), 1);
		assert_rx_stopped();
	}
}

static void
rx_id_twice(void **state)
{
	RTE_SET_USED(state);
	deliver(7);
	element(&rx->vr, used_idx, 7, 100);
	says(&rx->vr, 1);
	assert_int_equal(receive(), 1);
	assert_rx_stopped();
}

static void
rx_length_impossible(void **state)
{
	static const uint32_t lens[] = { 0, TAPBATCH_VNET_HDR_LEN - 1, ROOM + 1, 65536,
					 UINT32_MAX };
	unsigned int i;

	for (i = 0; i < RTE_DIM(lens); i++) {
		if (i > 0) {
			stop(state);
			start(state);
		}
		put_packet(0, 1);
		element(&rx->vr, used_idx, 0, lens[i]);
		says(&rx->vr, 1);
		assert_int_equal(receive(), 0);
		assert_rx_stopped();
	}
}

static void
rx_number_of_buffers_impossible(void **state)
{
	/* None; more than were given back. */
	static const uint16_t numbers[] = { 0, 3, 600, UINT16_MAX };
	unsigned int i;

	for (i = 0; i < RTE_DIM(numbers); i++) {
		if (i > 0) {
			stop(state);
			start(state);
		}
		put_packet(0, numbers[i]);
		element(&rx->vr, used_idx, 0, ROOM);
		element(&rx->vr, used_idx + 1, 1, ROOM);
		says(&rx->vr, 2);
		assert_int_equal(receive(), 0);
		assert_rx_stopped();
	}
}

static void
rx_second_buffer_impossible(void **state)
{
	RTE_SET_USED(state);
	put_packet(0, 3);
	element(&rx->vr, used_idx, 0, ROOM);
	element(&rx->vr, used_idx + 1, 1, ROOM);
	element(&rx->vr, used_idx + 2, 1, ROOM);
	says(&rx->vr, 3);
	assert_int_equal(receive(), 0);
	assert_rx_stopped();
}

static void
tx_index_jumps(void **state)
{
	RTE_SET_USED(state);
	assert_int_equal(send_packets(10), 10);
	says(&tx->vr, 11);
	assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), 0);
	assert_tx_stopped();
}

static void
tx_index_goes_back(void **state)
{
	RTE_SET_USED(state);
	assert_int_equal(send_packets(2), 2);
	element(&tx->vr, 0, 0, 0);
	says(&tx->vr, 1);
	assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), 1);
	assert_sound();
	says(&tx->vr, (uint16_t)-1);
	assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), 0);
	assert_tx_stopped();
}

static void
tx_id_that_was_not_given(void **state)
{
	/* Not in flight; behind the ring; as far behind it as makes an id in flight. */
	static const uint32_t ids[] = {
		4, RING - 1, RING, RING + 1, 65536, 0x80000001, UINT32_MAX
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(ids); i++) {
		if (i > 0) {
			stop(state);
			start(state);
		}
		assert_int_equal(send_packets(4), 4);
		element(&tx->vr, 0, 0, 0);
		element(&tx->vr, 1, ids[i], 0);
		says(&tx->vr, 2);
		assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), 1);
		assert_tx_stopped();
	}
}

static void
tx_id_twice(void **state)
{
	RTE_SET_USED(state);
	/* In order: the second time it is not in flight. Out of order: it is noted. */
	assert_int_equal(send_packets(4), 4);
	element(&tx->vr, 0, 2, 0);
	element(&tx->vr, 1, 2, 0);
	says(&tx->vr, 2);
	assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), 0);
	assert_tx_stopped();
	stop(state);
	start(state);
	assert_int_equal(send_packets(4), 4);
	element(&tx->vr, 0, 0, 0);
	element(&tx->vr, 1, 0, 0);
	says(&tx->vr, 2);
	assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), 1);
	assert_tx_stopped();
}

static void
tx_out_of_order_is_no_lie(void **state)
{
	static const uint16_t order[] = { 3, 1, 0, 2 };
	static const uint16_t freed[] = { 0, 0, 2, 2 };
	unsigned int i;

	RTE_SET_USED(state);
	assert_int_equal(send_packets(4), 4);
	for (i = 0; i < RTE_DIM(order); i++) {
		element(&tx->vr, (uint16_t)i, order[i], 0);
		says(&tx->vr, 1);
		assert_int_equal(tapbatch_vhost_tx_reclaim(&txq, tx), freed[i]);
	}
	assert_sound();
}

static uint32_t random_state = 1;

static uint32_t
below(uint32_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(random_state >> 8) * limit >> 24);
}

/* Mostly what is right, now and then anything. */
static uint32_t
odd(uint32_t right, uint32_t per_thousand)
{
	if (below(1000) >= per_thousand)
		return right;
	return below(2) == 0 ? below(2048) : (uint32_t)rte_rand();
}

static void
rx_random_lies_lose_no_mbuf(void **state)
{
	unsigned int round, steps, i;
	uint64_t packets = 0, lies = 0;

	for (round = 0; round < 3000; round++) {
		/* As long as it is believed. */
		for (steps = 0; rx->running && steps < 200; steps++) {
			uint16_t n = (uint16_t)below(40);

			for (i = 0; i < n; i++) {
				uint16_t at = (uint16_t)(used_idx + i);
				uint32_t id = rx->vr.avail->ring[at & rx->vr.mask];

				put_packet(id, (uint16_t)odd(1, 2));
				element(&rx->vr, at, odd(id, 2),
					odd(TAPBATCH_VNET_HDR_LEN + PACKET, 2));
			}
			says(&rx->vr, (uint16_t)odd(n, 2));
			packets += receive();
			/* Or the ring would run dry. */
			while (rx->running && tapbatch_vring_used(&rx->vr) > 0)
				packets += receive();
		}
		if (!rx->running) {
			lies++;
			assert_breaks();
		}
		stop(state);
		start(state);
	}
	assert_true(packets > 10000 && lies > 1000);
}

static void
tx_random_lies_lose_no_mbuf(void **state)
{
	unsigned int round, steps, i;
	uint64_t packets = 0, lies = 0;

	for (round = 0; round < 3000; round++) {
		for (steps = 0; tx->running && steps < 100; steps++) {
			uint16_t n = (uint16_t)(1 + below(40));
			uint16_t in_flight;

			packets += send_packets(n);
			if (!tx->running)
				break;
			in_flight = tapbatch_vring_in_flight(&tx->vr);
			n = (uint16_t)below(in_flight + 1u);
			for (i = 0; i < n; i++)
				element(&tx->vr, (uint16_t)(used_idx + i),
					odd((used_idx + i) & tx->vr.mask, 2), 0);
			says(&tx->vr, (uint16_t)odd(n, 2));
			tapbatch_vhost_tx_reclaim(&txq, tx);
		}
		if (!tx->running) {
			lies++;
			assert_breaks();
		}
		stop(state);
		start(state);
	}
	assert_true(packets > 10000 && lies > 1000);
}

static pid_t
ended_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void
the_end_of_the_worker_is_noticed(void **state)
{
	RTE_SET_USED(state);
	/* It takes nothing: for a while that is a pause. */
	local.vhost[0].worker = getpid();
	assert_int_equal(send_packets(RING), RING);
	assert_int_equal(send_packets(1), 0);
	usleep(1100000);
	assert_int_equal(send_packets(1), 0);
	assert_sound();
	assert_int_equal(txq.stats.no_room, 2);

	local.vhost[0].worker = ended_process();
	usleep(1100000);
	assert_int_equal(send_packets(1), 0);
	assert_tx_stopped();
}

static int
make_pool(void **state)
{
	RTE_SET_USED(state);
	pool = rte_pktmbuf_pool_create("packets", POOL_SIZE, 0, 0,
				       ROOM - TAPBATCH_VNET_HDR_LEN + RTE_PKTMBUF_HEADROOM,
				       SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int
free_pool(void **state)
{
	RTE_SET_USED(state);
	rte_mempool_free(pool);
	return 0;
}

#define RING_TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int
main(void)
{
	/* What the driver says of each of thousands of lies is not worth reading. */
	char *eal[] = { "vring_test",
			"--no-huge",
			"--no-shconf",
			"--no-pci",
			"-m",
			"64",
			"--no-telemetry",
			"--log-level",
			"lib.eal:error",
			"--log-level",
			"pmd.net.tapbatch:emerg",
			NULL };
	const struct CMUnitTest tests[] = {
		RING_TEST(an_honest_device_is_believed),
		RING_TEST(rx_index_jumps),
		RING_TEST(rx_index_goes_back),
		RING_TEST(rx_id_behind_the_ring),
		RING_TEST(rx_id_twice),
		RING_TEST(rx_length_impossible),
		RING_TEST(rx_number_of_buffers_impossible),
		RING_TEST(rx_second_buffer_impossible),
		RING_TEST(tx_index_jumps),
		RING_TEST(tx_index_goes_back),
		RING_TEST(tx_id_that_was_not_given),
		RING_TEST(tx_id_twice),
		RING_TEST(tx_out_of_order_is_no_lie),
		RING_TEST(rx_random_lies_lose_no_mbuf),
		RING_TEST(tx_random_lies_lose_no_mbuf),
		RING_TEST(the_end_of_the_worker_is_noticed),
	};
	int ret;

	if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
		return EXIT_FAILURE;
	ret = cmocka_run_group_tests(tests, make_pool, free_pool);
	rte_eal_cleanup();
	return ret;
}

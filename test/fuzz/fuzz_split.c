/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Fuzzes the splitter: any virtio header, any bytes, pieces that meet anywhere, a pool
 * that runs dry, chains and single mbufs. Every byte of payload must come out once and in
 * order, checksums must be right, no mbuf lost, none written to beyond its room.
 *
 * Input: 12 bytes of virtio header, 12 that say how to call; then the frame.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "tapbatch_cksum.h"
#include "tapbatch_split.h"

#define POOL_SIZE 63
#define ROOM 333      /* odd, and no multiple of the splitter's blocks */
#define GUARD 64      /* bytes behind the room, nobody's */
#define GUARD_BYTE 0xc5
#define CONTROL 24
#define MAX_FRAME (1 << 17)

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

static struct rte_mempool *pool;

/* Takes the last bytes of each room away, and marks them. */
static void
guard(struct rte_mempool *mp, void *opaque, void *obj, unsigned int index)
{
	struct rte_mbuf *m = obj;

	(void)mp;
	(void)opaque;
	(void)index;
	m->buf_len -= GUARD;
	memset((uint8_t *)m->buf_addr + m->buf_len, GUARD_BYTE, GUARD);
}

static void
start(void)
{
	char *eal[] = { "fuzz_split", "--no-huge", "--no-shconf", "--no-pci", "-m", "64",
			"--no-telemetry", "--log-level", "lib.eal:error", NULL };
	struct rte_pktmbuf_pool_private *private;

	CHECK(rte_eal_init(RTE_DIM(eal) - 1, eal) >= 0);
	pool = rte_pktmbuf_pool_create("fuzz", POOL_SIZE, 0, 0,
				       RTE_PKTMBUF_HEADROOM + ROOM + GUARD, SOCKET_ID_ANY);
	CHECK(pool != NULL);
	private = rte_mempool_get_priv(pool);
	private->mbuf_data_room_size -= GUARD;
	rte_mempool_obj_iter(pool, guard, NULL);
}

static void
check_guards(const struct rte_mbuf *m)
{
	for (; m != NULL; m = m->next) {
		const uint8_t *p = (const uint8_t *)m->buf_addr + m->buf_len;
		unsigned int i;

		CHECK(m->data_off + m->data_len <= m->buf_len);
		for (i = 0; i < GUARD; i++)
			CHECK(p[i] == GUARD_BYTE);
	}
}

/* One segment: its bytes of payload, lengths, checksums. */
static void
check_segment(const struct rte_mbuf *m, const uint8_t *payload, uint32_t len,
	      const struct tapbatch_layout *layout, bool sums_right, uint32_t wants)
{
	static uint8_t buf[1 << 16];
	uint32_t hdr_len = layout->payload;
	const uint8_t *data;
	uint64_t sum;

	rte_mbuf_sanity_check(m, 1);
	check_guards(m);
	CHECK(m->pkt_len == hdr_len + len);
	CHECK(m->nb_segs == 1 || wants & TAPBATCH_RX_SCATTER);
	data = rte_pktmbuf_read(m, 0, m->pkt_len, buf);
	CHECK(memcmp(data + hdr_len, payload, len) == 0);
	if (!layout->ipv6) {
		sum = tapbatch_cksum(data + layout->l3, (data[layout->l3] & 0xf) * 4);
		CHECK(tapbatch_cksum_fold(sum) == 0xffff);
		CHECK((uint32_t)(data[layout->l3 + 2] << 8 | data[layout->l3 + 3]) ==
		      m->pkt_len - layout->l3);
	} else {
		CHECK((uint32_t)(data[layout->l3 + 4] << 8 | data[layout->l3 + 5]) ==
		      m->pkt_len - layout->l3 - 40);
	}
	if (!sums_right)
		return;
	sum = tapbatch_cksum_pseudo(data + layout->l3, layout->ipv6, layout->proto,
				    m->pkt_len - layout->l4);
	if (wants & TAPBATCH_RX_L4_CKSUM) {
		uint32_t offset = layout->l4 + (layout->proto == IPPROTO_TCP ? 16 : 6);
		uint16_t field;

		memcpy(&field, data + offset, sizeof(field));
		CHECK(tapbatch_cksum_canonical(sum) == tapbatch_cksum_canonical(field));
	} else {
		sum += tapbatch_cksum(data + layout->l4, m->pkt_len - layout->l4);
		CHECK(tapbatch_cksum_fold(sum) == 0xffff);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tapbatch_split split;
	static uint8_t frame[MAX_FRAME];
	struct tapbatch_layout layout;
	struct tapbatch_vnet_hdr vnet;
	struct rte_mbuf *held[POOL_SIZE];
	struct rte_mbuf *pkts[256];
	uint32_t len, boundary, at, wants, n_held, calls = 0, segments = 0;
	uint16_t extra, where, burst;
	uint8_t *head, *rest;
	uint64_t dropped;
	bool sums_right;
	int ret;

	if (pool == NULL)
		start();
	if (size < CONTROL)
		return 0;
	memcpy(&vnet, data, sizeof(vnet));
	wants = data[12] & 0x1f;
	burst = data[13];
	n_held = data[14] % (POOL_SIZE + 1);
	memcpy(&where, data + 16, 2);
	memcpy(&extra, data + 18, 2);
	sums_right = data[20] & 1;

	/* More bytes than a fuzzer likes to handle. */
	len = (uint32_t)RTE_MIN(size - CONTROL, (size_t)UINT16_MAX);
	memcpy(frame, data + CONTROL, len);
	for (at = len; at < len + extra; at++)
		frame[at] = (uint8_t)(at * 7 + (at >> 8));
	len += extra;
	/* Hundreds of segments are enough, thousands only take time. */
	if (vnet.gso_size != 0 && len / vnet.gso_size > 300)
		return 0;

	if (sums_right) {
		/* A field that holds what the kernel would have put there. */
		vnet.flags &= ~TAPBATCH_VNET_F_NEEDS_CSUM;
		if ((vnet.gso_type & 0x7f) == TAPBATCH_VNET_GSO_UDP_L4) {
			vnet.flags |= TAPBATCH_VNET_F_NEEDS_CSUM;
			/* Where that is, is tried out. */
			vnet.csum_offset = 6;
			for (at = 20; at < 120; at++) {
				vnet.csum_start = (uint16_t)at;
				if (tapbatch_vnet_superframe(&vnet, frame, RTE_MIN(len, 256u), len,
							     wants & TAPBATCH_RX_L3_ONLY,
							     &layout) == 0)
					break;
			}
			if (at < 120) {
				uint16_t field = tapbatch_cksum_fold(
					tapbatch_cksum_pseudo(frame + layout.l3, layout.ipv6,
							      IPPROTO_UDP, len - layout.l4));

				frame[layout.l4 + 4] = (uint8_t)((len - layout.l4) >> 8);
				frame[layout.l4 + 5] = (uint8_t)(len - layout.l4);
				memcpy(frame + layout.l4 + 6, &field, sizeof(field));
				sums_right = len - layout.l4 <= UINT16_MAX;
			}
		}
	}

	boundary = RTE_MIN((uint32_t)where, len);
	head = malloc(boundary + (boundary == 0));
	rest = malloc(len - boundary + (len == boundary));
	CHECK(head != NULL && rest != NULL);
	memcpy(head, frame, boundary);
	memcpy(rest, frame + boundary, len - boundary);

	dropped = split.dropped;
	ret = tapbatch_split_begin(&split, &vnet, head, boundary, rest, len - boundary, wants);
	CHECK(ret == -EINVAL || ret >= 1);
	CHECK(split.done == (ret < 0));
	if (ret > 0)
		CHECK(tapbatch_vnet_superframe(&vnet, frame, RTE_MIN(len, 256u), len,
					       wants & TAPBATCH_RX_L3_ONLY, &layout) == 0);
	at = ret > 0 ? layout.payload : 0;
	while (!split.done) {
		uint32_t holding = calls++ % 2 == 0 ? n_held : 0;
		uint64_t dropped_before = split.dropped;
		uint16_t n, i;

		CHECK(calls < 100000);
		if (holding > 0)
			CHECK(rte_pktmbuf_alloc_bulk(pool, held, holding) == 0);
		n = tapbatch_split_next(&split, pool, 3, pkts, burst == 0 ? 256 : burst);
		if (holding > 0)
			rte_pktmbuf_free_bulk(held, holding);
		/* Whole segments are as long as each other, so all of them are dropped. */
		at += (uint32_t)(split.dropped - dropped_before) * vnet.gso_size;
		for (i = 0; i < n; i++) {
			uint32_t seg_len = RTE_MIN(len - at, (uint32_t)vnet.gso_size);

			check_segment(pkts[i], frame + at, seg_len, &layout, sums_right, wants);
			at += seg_len;
			segments++;
		}
		rte_pktmbuf_free_bulk(pkts, n);
		/* A chain that takes more than the whole pool never gets its turn. */
		if (n == 0 && holding == 0 && !split.done) {
			CHECK(wants & TAPBATCH_RX_SCATTER &&
			      layout.payload + vnet.gso_size > POOL_SIZE * ROOM);
			break;
		}
	}
	if (ret > 0 && split.done) {
		CHECK(segments + split.dropped - dropped == (uint64_t)ret);
		CHECK(at >= len);
		CHECK(split.dropped == dropped || !(wants & TAPBATCH_RX_SCATTER) ||
		      layout.payload > ROOM);
	}
	CHECK(rte_mempool_avail_count(pool) == POOL_SIZE);
	free(head);
	free(rest);
	return 0;
}

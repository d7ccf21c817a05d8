/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Fuzzes the translation between virtio header and mbuf flags: any flags, lengths and
 * bytes in any mbuf layout, each mbuf's room exactly as long as its data. What goes to
 * the kernel must be what the kernel accepts; nothing of a transmitted mbuf may change.
 *
 * Input: 12 bytes of virtio header, 8 of flags, 6 of lengths, segment size, wants, cut;
 * then the packet.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tapbatch_vnet.h"

#define MAX_SEGS 64
#define CONTROL 32

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

struct packet {
	struct rte_mbuf segs[MAX_SEGS];
	uint8_t *rooms[MAX_SEGS];
	unsigned int nb_segs;
};

/* Cuts the bytes in segments of seg_len, the first one of first_len. */
static struct rte_mbuf *
build(struct packet *p, const uint8_t *data, size_t size, size_t first_len, size_t seg_len)
{
	size_t n = RTE_MIN(first_len, size);

	memset(p, 0, sizeof(*p));
	for (;;) {
		struct rte_mbuf *m = &p->segs[p->nb_segs];

		if (p->nb_segs == MAX_SEGS - 1)
			n = size;
		p->rooms[p->nb_segs] = malloc(n + (n == 0));
		CHECK(p->rooms[p->nb_segs] != NULL);
		memcpy(p->rooms[p->nb_segs], data, n);
		m->buf_addr = p->rooms[p->nb_segs];
		m->buf_len = (uint16_t)n;
		m->data_len = (uint16_t)n;
		p->nb_segs++;
		p->segs[0].pkt_len += n;
		p->segs[0].nb_segs = (uint16_t)p->nb_segs;
		data += n;
		size -= n;
		if (size == 0)
			return p->segs;
		m->next = m + 1;
		n = RTE_MIN(seg_len, size);
	}
}

static void
drop(struct packet *p)
{
	unsigned int i;

	for (i = 0; i < p->nb_segs; i++)
		free(p->rooms[i]);
}

/* What the kernel's virtio_net_hdr_to_skb() and our own splitter ask of a frame. */
static void
check_frame(const struct tapbatch_frame *frame, const uint8_t *data, size_t size, bool l3_only)
{
	static uint8_t wire[1 << 17];
	const struct tapbatch_vnet_hdr *vnet = &frame->vnet;
	struct tapbatch_layout layout;

	CHECK(frame->len == size && frame->hdr_len <= size && frame->hdr_len <= TAPBATCH_MAX_HDR);
	memcpy(wire, data, size);
	memcpy(wire, frame->hdr, frame->hdr_len);
	CHECK((vnet->flags & ~TAPBATCH_VNET_F_NEEDS_CSUM) == 0);
	if (vnet->flags)
		CHECK((size_t)vnet->csum_start + vnet->csum_offset + 2 <= size);
	if (vnet->gso_type == TAPBATCH_VNET_GSO_NONE) {
		CHECK(vnet->gso_size == 0 && vnet->hdr_len == 0);
		return;
	}
	CHECK(vnet->flags == TAPBATCH_VNET_F_NEEDS_CSUM);
	CHECK(tapbatch_vnet_superframe(vnet, wire, (uint32_t)size, (uint32_t)size, l3_only,
				       &layout) == 0);
	CHECK(layout.payload == vnet->hdr_len && size - layout.payload > vnet->gso_size);
}

static void
fuzz_from_mbuf(struct packet *p, const uint8_t *data, size_t size, bool l3_only)
{
	static struct rte_mbuf before[MAX_SEGS];
	struct rte_mbuf *m = p->segs;
	struct tapbatch_frame frame;
	const uint8_t *at = data;
	unsigned int i;
	int ret;

	memset(&frame, 0xa5, sizeof(frame));
	memcpy(before, p->segs, sizeof(before));
	ret = tapbatch_vnet_from_mbuf(m, l3_only, &frame);
	CHECK(memcmp(before, p->segs, sizeof(before)) == 0);
	for (i = 0; i < p->nb_segs; i++) {
		CHECK(memcmp(p->rooms[i], at, p->segs[i].data_len) == 0);
		at += p->segs[i].data_len;
	}
	CHECK(ret == 0 || ret == -EINVAL || ret == -ENOTSUP);
	if (ret != 0) {
		CHECK(frame.hdr_len == 0 && frame.vnet.flags == 0 && frame.vnet.gso_type == 0);
		return;
	}
	check_frame(&frame, data, size, l3_only);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct packet p;
	struct tapbatch_vnet_hdr vnet;
	struct rte_mbuf *m;
	uint8_t control[CONTROL];
	uint64_t flags;
	uint32_t wants;
	bool l3_only;
	int ret;

	if (size < CONTROL)
		return 0;
	memcpy(control, data, CONTROL);
	data += CONTROL;
	size = RTE_MIN(size - CONTROL, (size_t)UINT16_MAX);
	memcpy(&vnet, control, sizeof(vnet));
	memcpy(&flags, control + 12, sizeof(flags));
	wants = control[28] & 0x1f;
	l3_only = wants & TAPBATCH_RX_L3_ONLY;

	m = build(&p, data, size, control[29] ? control[29] : size,
		  control[30] ? control[30] : size);
	m->ol_flags = flags;
	m->l2_len = control[20];
	m->l3_len = control[21] | (control[22] & 1) << 8;
	m->l4_len = control[23];
	m->tso_segsz = (uint16_t)(control[24] | control[25] << 8);
	fuzz_from_mbuf(&p, data, size, l3_only);

	m->ol_flags = 0;
	m->tso_segsz = 0;
	ret = tapbatch_vnet_to_mbuf(&vnet, m, wants);
	CHECK(ret == 0 || ret == -EINVAL);
	CHECK(m->pkt_len == size);
	if (ret == 0 && m->ol_flags & RTE_MBUF_F_RX_LRO) {
		CHECK((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE);
		CHECK(m->tso_segsz == vnet.gso_size && m->tso_segsz != 0);
	}
	if (ret == 0 && vnet.flags == 0 && vnet.gso_type == 0) {
		/* Nothing was to be written to it. */
		const uint8_t *at = data;
		unsigned int i;

		for (i = 0; i < p.nb_segs; i++) {
			CHECK(memcmp(p.rooms[i], at, p.segs[i].data_len) == 0);
			at += p.segs[i].data_len;
		}
	}
	drop(&p);
	return 0;
}

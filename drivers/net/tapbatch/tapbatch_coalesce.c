/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Coalescing on transmit. One pass over the batch: each packet is parsed, its flow
 * looked up, and it joins the flow's open superframe or closes it and opens the
 * next. What the kernel's segmentation makes of a superframe decides the rules;
 * it is inet_gso_segment(), ipv6_gso_segment(), tcp_gso_segment(),
 * __udp_gso_segment() of Linux, reached through virtio_net_hdr_to_skb().
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "tapbatch_cksum.h"
#include "tapbatch_coalesce.h"
#include "tapbatch_sizes.h"

const char *const tapbatch_unmerged_names[TAPBATCH_NB_UNMERGED] = {
	[TAPBATCH_UNMERGED_OTHER] = "other",
	[TAPBATCH_UNMERGED_MALFORMED] = "malformed",
	[TAPBATCH_UNMERGED_FRAGMENT] = "fragment",
	[TAPBATCH_UNMERGED_EXTENSION] = "extension",
	[TAPBATCH_UNMERGED_KIND_OFF] = "kind_off",
	[TAPBATCH_UNMERGED_OFFLOAD] = "offload",
	[TAPBATCH_UNMERGED_IP_OPTIONS] = "ip_options",
	[TAPBATCH_UNMERGED_IP_RESERVED] = "ip_reserved",
	[TAPBATCH_UNMERGED_PADDING] = "padding",
	[TAPBATCH_UNMERGED_NO_PAYLOAD] = "no_payload",
	[TAPBATCH_UNMERGED_TCP_FLAGS] = "tcp_flags",
	[TAPBATCH_UNMERGED_UDP_LENGTH] = "udp_length",
	[TAPBATCH_UNMERGED_UDP_NO_CHECKSUM] = "udp_no_checksum",
	[TAPBATCH_UNMERGED_BAD_CHECKSUM] = "bad_checksum",
	[TAPBATCH_UNMERGED_CHECKSUM_ZERO] = "checksum_zero",
	[TAPBATCH_UNMERGED_HEADER_DIFFERS] = "header_differs",
	[TAPBATCH_UNMERGED_IP_ID] = "ip_id",
	[TAPBATCH_UNMERGED_SEQUENCE] = "sequence",
	[TAPBATCH_UNMERGED_SIZE] = "size",
	[TAPBATCH_UNMERGED_PUSH] = "push",
	[TAPBATCH_UNMERGED_FULL] = "full",
	[TAPBATCH_UNMERGED_INTERRUPTED] = "interrupted",
	[TAPBATCH_UNMERGED_ALONE] = "alone",
};

/* Bytes of payload. Smaller segments are made 8 bytes long by some kernels: seen with TCP
 * on Debian's 6.1.192, not on 6.18.
 */
#define MIN_SEGMENT 8

/* No reason against: the value that stands beside the reasons. */
#define MERGES TAPBATCH_NB_UNMERGED

#define IP4_LEN sizeof(struct rte_ipv4_hdr)
#define TCP_MIN_LEN sizeof(struct rte_tcp_hdr)
#define UDP_LEN sizeof(struct rte_udp_hdr)

#define TCP_CLOSING_FLAGS (RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG)
/* The kernel repeats CWR in every segment or only the first, by version and by a bit of
 * the virtio header that older ones reject; the reserved bits have no promise at all.
 */
#define TCP_MERGED_FLAGS (RTE_TCP_ACK_FLAG | RTE_TCP_ECE_FLAG | TCP_CLOSING_FLAGS)

/* Tx requests that a superframe can carry or that only describe. */
#define TX_HARMLESS \
	(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)

#define HASH_BUCKETS 128 /* power of 2, twice the most flows of a batch */
#define PREFETCH_AHEAD 4u

/* A packet under consideration. */
struct packet {
	const struct rte_mbuf *m;
	const uint8_t *hdr; /* its headers in one piece: in the mbuf, or copied out */
	struct tapbatch_layout at;
	uint32_t payload_len;
	uint16_t nb_iov; /* iovecs that its payload takes, at most */
	uint8_t tcp_flags;
	bool ip_open; /* IPv4 checksum asked for: any value stands there */
	bool l4_open; /* the same of TCP's or UDP's */
};

/* Addresses, ports and protocol; IPv4 uses the first of the address words. */
struct flow_key {
	uint64_t addr[4];
	uint64_t id;
};

/* A flow of this batch, and the frame that its next packet may join. */
struct flow {
	struct flow_key key;
	struct packet first;          /* of the open frame */
	struct tapbatch_frame *frame; /* NULL: none */
	uint32_t next_seq;
	uint32_t iov; /* iovecs of the frame */
	uint16_t next_ip_id;
	uint8_t chain;     /* next flow of the bucket, plus 1 */
	uint8_t tcp_flags; /* of the last packet */
	uint8_t closed;    /* why nothing more may join; MERGES if it may */
	uint8_t reason;    /* why the frame's only packet is in no superframe */
	uint8_t verdict;   /* on the checksums of the first packet */
};

/* Values of verdict besides reasons and MERGES. */
#define VERDICT_OPEN 0xff

static inline uint16_t
load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Sum over an IPv4 header without options, its checksum included. */
static inline uint64_t
sum_ip4(const uint8_t *l3)
{
	return tapbatch_cksum_word_(load64(l3)) + tapbatch_cksum_word_(load64(l3 + 8)) +
	       load32(l3 + 16);
}

/*
 * Whether both checksums are what the kernel's segmentation will write. Where two
 * representations of a sum exist, only the one that it writes will do.
 */
static inline uint8_t
verify(const struct packet *p)
{
	const struct tapbatch_layout *at = &p->at;
	const uint8_t *l3 = p->hdr + at->l3;
	uint32_t l4_len;
	uint64_t sum;

	if (!at->ipv6 && !p->ip_open) {
		if (tapbatch_cksum_fold(sum_ip4(l3)) != UINT16_MAX || load16(l3 + 10) == UINT16_MAX)
			return TAPBATCH_UNMERGED_BAD_CHECKSUM;
	}
	if (p->l4_open)
		return MERGES;

	/* Segmentation completes a TCP sum to 0, skb_checksum_help() to 0xffff, and which
	 * of them it will be depends on the way behind our interface.
	 */
	if (at->proto == IPPROTO_TCP) {
		uint16_t stored = load16(p->hdr + at->l4 + offsetof(struct rte_tcp_hdr, cksum));

		if (stored == 0 || stored == UINT16_MAX)
			return TAPBATCH_UNMERGED_CHECKSUM_ZERO;
	}
	l4_len = at->l3_end - at->l4;
	sum = tapbatch_cksum_pseudo(l3, at->ipv6, at->proto, l4_len);
	if (likely(p->m->next == NULL))
		sum += tapbatch_cksum(p->hdr + at->l4, l4_len);
	else
		sum += tapbatch_cksum_mbuf(p->m, at->l4, l4_len);
	return tapbatch_cksum_fold(sum) == UINT16_MAX ? MERGES : TAPBATCH_UNMERGED_BAD_CHECKSUM;
}

static inline void
get_key(const struct packet *p, struct flow_key *key)
{
	const uint8_t *l3 = p->hdr + p->at.l3;

	if (p->at.ipv6) {
		memcpy(key->addr, l3 + offsetof(struct rte_ipv6_hdr, src_addr), 32);
	} else {
		key->addr[0] = load64(l3 + offsetof(struct rte_ipv4_hdr, src_addr));
		key->addr[1] = 0;
		key->addr[2] = 0;
		key->addr[3] = 0;
	}
	/* Both kinds of header begin with the ports. */
	key->id = load32(p->hdr + p->at.l4) | (uint64_t)p->at.proto << 32 |
		  (uint64_t)p->at.ipv6 << 40;
}

static inline bool
same_key(const struct flow_key *a, const struct flow_key *b)
{
	return ((a->id ^ b->id) | (a->addr[0] ^ b->addr[0]) | (a->addr[1] ^ b->addr[1]) |
		(a->addr[2] ^ b->addr[2]) | (a->addr[3] ^ b->addr[3])) == 0;
}

static inline unsigned int
hash_key(const struct flow_key *key)
{
	uint64_t h = key->addr[0] ^ key->addr[1] * 3 ^ key->addr[2] * 5 ^ key->addr[3] * 7;

	h = (h ^ h >> 32 ^ key->id * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
	return (unsigned int)(h >> 57) & (HASH_BUCKETS - 1);
}

/* What a packet is, if that alone keeps it out of any superframe; else MERGES. */
static inline uint8_t
examine(struct packet *p)
{
	const struct tapbatch_layout *at = &p->at;
	const uint8_t *l4 = p->hdr + at->l4;
	uint64_t flags = p->m->ol_flags;
	uint64_t l4_flags = flags & RTE_MBUF_F_TX_L4_MASK;

	p->ip_open = (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0;
	p->l4_open = l4_flags != 0 ||
		     (flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE;
	p->payload_len = at->l3_end - at->payload;

	if ((flags & ((RTE_MBUF_F_TX_OFFLOAD_MASK & ~TX_HARMLESS) | RTE_MBUF_F_RX_LRO)) != 0)
		return TAPBATCH_UNMERGED_OFFLOAD;
	if (l4_flags != 0 && l4_flags != (at->proto == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM :
								     RTE_MBUF_F_TX_UDP_CKSUM))
		return TAPBATCH_UNMERGED_OFFLOAD;
	if (!at->ipv6) {
		if (at->l4 - at->l3 != IP4_LEN)
			return TAPBATCH_UNMERGED_IP_OPTIONS;
		if (p->hdr[at->l3 + offsetof(struct rte_ipv4_hdr, fragment_offset)] & 0x80)
			return TAPBATCH_UNMERGED_IP_RESERVED;
	}
	if (at->l3_end != rte_pktmbuf_pkt_len(p->m))
		return TAPBATCH_UNMERGED_PADDING;

	if (at->proto == IPPROTO_TCP) {
		p->tcp_flags = l4[offsetof(struct rte_tcp_hdr, tcp_flags)];
		if ((p->tcp_flags & ~TCP_MERGED_FLAGS) != 0 ||
		    (l4[offsetof(struct rte_tcp_hdr, data_off)] & 0x0f) != 0)
			return TAPBATCH_UNMERGED_TCP_FLAGS;
	} else {
		const struct rte_udp_hdr *udp = (const void *)l4;

		p->tcp_flags = 0;
		if (rte_be_to_cpu_16(udp->dgram_len) != at->l3_end - at->l4)
			return TAPBATCH_UNMERGED_UDP_LENGTH;
		if (udp->dgram_cksum == 0 && l4_flags == 0)
			return TAPBATCH_UNMERGED_UDP_NO_CHECKSUM;
	}
	return p->payload_len > 0 ? MERGES : TAPBATCH_UNMERGED_NO_PAYLOAD;
}

/* Whether any bytes differ that segmentation copies from the first packet to all. */
static inline bool
headers_differ(const struct packet *a, const struct packet *b)
{
	const struct tapbatch_layout *at = &a->at;
	const uint8_t *l3a = a->hdr + at->l3;
	const uint8_t *l3b = b->hdr + at->l3;
	const uint8_t *l4a = a->hdr + at->l4;
	const uint8_t *l4b = b->hdr + at->l4;
	uint32_t diff;

	if (at->l3 != b->at.l3 || at->payload != b->at.payload)
		return true;
	/* A constant length compiles to a few instructions. */
	if (at->l3 == RTE_ETHER_HDR_LEN ? memcmp(a->hdr, b->hdr, RTE_ETHER_HDR_LEN) :
					  memcmp(a->hdr, b->hdr, at->l3))
		return true;

	if (at->ipv6) /* version, traffic class, flow label; hop limit */
		diff = (load32(l3a) ^ load32(l3b)) | (uint32_t)(l3a[7] ^ l3b[7]);
	else /* type of service; DF; time to live */
		diff = (uint32_t)(load16(l3a) ^ load16(l3b)) | (load32(l3a + 6) ^ load32(l3b + 6));

	if (at->proto == IPPROTO_TCP) {
		unsigned int options = at->payload - at->l4 - TCP_MIN_LEN;

		/* acknowledgement; flags; window; urgent pointer */
		diff |= load32(l4a + 8) ^ load32(l4b + 8);
		diff |= (uint32_t)((a->tcp_flags ^ b->tcp_flags) & ~TCP_CLOSING_FLAGS);
		diff |= (uint32_t)(load16(l4a + 14) ^ load16(l4b + 14));
		diff |= (uint32_t)(load16(l4a + 18) ^ load16(l4b + 18));
		if (options == 12) /* time stamps alone, the usual case */
			diff |= (uint32_t)(memcmp(l4a + TCP_MIN_LEN, l4b + TCP_MIN_LEN, 12) != 0);
		else if (options != 0)
			diff |= (uint32_t)(memcmp(l4a + TCP_MIN_LEN, l4b + TCP_MIN_LEN, options) !=
					   0);
	}
	return diff != 0;
}

static inline uint32_t
tcp_seq(const struct packet *p)
{
	return rte_be_to_cpu_32(load32(p->hdr + p->at.l4 + offsetof(struct rte_tcp_hdr, sent_seq)));
}

static inline uint16_t
ip_id(const struct packet *p)
{
	return rte_be_to_cpu_16(
		load16(p->hdr + p->at.l3 + offsetof(struct rte_ipv4_hdr, packet_id)));
}

/* Writes the headers of a frame that has got all its packets. */
static void
write_headers(const struct flow *f)
{
	const struct packet *p = &f->first;
	const struct tapbatch_layout *at = &p->at;
	struct tapbatch_frame *frame = f->frame;
	uint8_t *hdr = frame->hdr;
	uint32_t l4_len = frame->len - at->l4;
	rte_be16_t pseudo = tapbatch_cksum_fold(
		tapbatch_cksum_pseudo(p->hdr + at->l3, at->ipv6, at->proto, l4_len));

	if (p->hdr != hdr)
		memcpy(hdr, p->hdr, at->payload);
	frame->hdr_len = at->payload;

	memset(&frame->vnet, 0, sizeof(frame->vnet));
	frame->vnet.flags = TAPBATCH_VNET_F_NEEDS_CSUM;
	frame->vnet.hdr_len = at->payload;
	frame->vnet.gso_size = (uint16_t)p->payload_len;
	frame->vnet.csum_start = at->l4;

	if (at->ipv6) {
		struct rte_ipv6_hdr *ip = (void *)(hdr + at->l3);

		ip->payload_len = rte_cpu_to_be_16((uint16_t)l4_len);
	} else {
		struct rte_ipv4_hdr *ip = (void *)(hdr + at->l3);

		ip->total_length = rte_cpu_to_be_16((uint16_t)(l4_len + IP4_LEN));
		ip->hdr_checksum = 0;
		ip->hdr_checksum = tapbatch_cksum_finish(sum_ip4(hdr + at->l3));
	}

	/* The sum that the kernel goes on from is not complemented, and is that of the
	 * whole superframe's length: segmentation takes the difference from there.
	 */
	if (at->proto == IPPROTO_TCP) {
		struct rte_tcp_hdr *tcp = (void *)(hdr + at->l4);

		tcp->tcp_flags = (p->tcp_flags & ~TCP_CLOSING_FLAGS) | f->tcp_flags;
		tcp->cksum = pseudo;
		frame->vnet.csum_offset = offsetof(struct rte_tcp_hdr, cksum);
		frame->vnet.gso_type = at->ipv6 ? TAPBATCH_VNET_GSO_TCPV6 : TAPBATCH_VNET_GSO_TCPV4;
	} else {
		struct rte_udp_hdr *udp = (void *)(hdr + at->l4);

		udp->dgram_len = rte_cpu_to_be_16((uint16_t)l4_len);
		udp->dgram_cksum = pseudo;
		frame->vnet.csum_offset = offsetof(struct rte_udp_hdr, dgram_cksum);
		frame->vnet.gso_type = TAPBATCH_VNET_GSO_UDP_L4;
	}
}

/* Not inlined: the loop over packets gets slower by it. */
static __rte_noinline void
finish_superframe(struct tapbatch_coalesce *c, const struct flow *f)
{
	uint8_t nb_pkts = f->frame->nb_pkts;

	write_headers(f);
	c->superframes++;
	c->coalesced += nb_pkts;
	tapbatch_count_size(c->sizes, nb_pkts);
}

/* Done with a flow's frame: the one place where each is completed and counted. */
static inline void
finish(struct tapbatch_coalesce *c, struct flow *f)
{
	if (f->frame == NULL)
		return;
	if (f->frame->nb_pkts == 1)
		c->unmerged[f->reason]++;
	else
		finish_superframe(c, f);
	f->frame = NULL;
}

/* Nothing more may join the flow's frame. */
static inline void
close_flow(struct tapbatch_coalesce *c, struct flow *f, uint8_t reason)
{
	if (f->reason == TAPBATCH_UNMERGED_ALONE)
		f->reason = reason;
	f->closed = reason;
	finish(c, f);
}

static inline struct tapbatch_frame *
add_frame(struct tapbatch_coalesce *c, const struct rte_mbuf *m, unsigned int index)
{
	struct tapbatch_frame *frame = &c->frames[c->nb_frames++];

	frame->first = (uint8_t)index;
	frame->last = (uint8_t)index;
	frame->nb_pkts = 1;
	frame->hdr_len = 0;
	frame->len = rte_pktmbuf_pkt_len(m);
	return frame;
}

static inline void
add_unmerged(struct tapbatch_coalesce *c, const struct rte_mbuf *m, unsigned int index,
	     uint8_t reason)
{
	add_frame(c, m, index);
	c->unmerged[reason]++;
}

/* Begins a frame that others may join. */
static inline void
open_frame(struct tapbatch_coalesce *c, struct flow *f, const struct packet *p, unsigned int index,
	   uint8_t reason)
{
	struct tapbatch_frame *frame = add_frame(c, p->m, index);

	f->first = *p;
	f->frame = frame;
	f->reason = reason;
	f->verdict = VERDICT_OPEN;
	f->closed = p->payload_len < MIN_SEGMENT ? TAPBATCH_UNMERGED_SIZE : MERGES;
	f->tcp_flags = p->tcp_flags;
	f->iov = 1u + p->nb_iov;
	/* Headers that were copied out of several segments stay where they will be edited. */
	if (unlikely(p->m->next != NULL)) {
		memcpy(frame->hdr, p->hdr, p->at.payload);
		f->first.hdr = frame->hdr;
	}
	if (p->at.proto == IPPROTO_TCP) {
		f->next_seq = tcp_seq(p) + p->payload_len;
		if ((p->tcp_flags & TCP_CLOSING_FLAGS) != 0)
			f->closed = TAPBATCH_UNMERGED_PUSH;
	}
	if (!p->at.ipv6)
		f->next_ip_id = (uint16_t)(ip_id(p) + 1);
}

/* Whether a packet may follow the last one of the flow's open frame; MERGES if so. */
static inline uint8_t
may_join(struct flow *f, const struct packet *p)
{
	const struct packet *first = &f->first;
	const struct tapbatch_frame *frame = f->frame;

	if (f->closed != MERGES)
		return f->closed;
	if (headers_differ(first, p))
		return TAPBATCH_UNMERGED_HEADER_DIFFERS;
	if (p->payload_len > first->payload_len)
		return TAPBATCH_UNMERGED_SIZE;
	if (p->at.proto == IPPROTO_TCP && tcp_seq(p) != f->next_seq)
		return TAPBATCH_UNMERGED_SEQUENCE;
	if (!p->at.ipv6 && ip_id(p) != f->next_ip_id &&
	    !(p->hdr[p->at.l3 + offsetof(struct rte_ipv4_hdr, fragment_offset)] & 0x40))
		return TAPBATCH_UNMERGED_IP_ID;
	/* The IP packet is shorter than the frame, by its Ethernet header. */
	if (frame->len + p->payload_len > TAPBATCH_MAX_FRAME ||
	    f->iov + p->nb_iov > TAPBATCH_MAX_IOV)
		return TAPBATCH_UNMERGED_FULL;
	return MERGES;
}

static inline void
join(struct tapbatch_coalesce *c, struct flow *f, const struct packet *p, unsigned int index)
{
	struct tapbatch_frame *frame = f->frame;

	c->next[frame->last] = (uint8_t)index;
	frame->last = (uint8_t)index;
	frame->nb_pkts++;
	frame->len += p->payload_len;
	f->iov += p->nb_iov;
	f->tcp_flags = p->tcp_flags;
	f->next_seq += p->payload_len;
	f->next_ip_id++;
	if ((p->tcp_flags & TCP_CLOSING_FLAGS) != 0)
		f->closed = TAPBATCH_UNMERGED_PUSH;
	else if (p->payload_len < f->first.payload_len)
		f->closed = TAPBATCH_UNMERGED_SIZE;
}

/* A packet that could be merged, and its flow: joins the open frame, or opens one. */
static inline void
add_packet(struct tapbatch_coalesce *c, struct flow *f, const struct packet *p, unsigned int index)
{
	uint8_t reason = may_join(f, p);
	uint8_t bad;

	if (reason != MERGES) {
		close_flow(c, f, reason);
		open_frame(c, f, p, index, reason);
		return;
	}
	/* Sums of the first packet are worth the time only when a second could follow. */
	if (f->verdict == VERDICT_OPEN) {
		f->verdict = verify(&f->first);
		if (f->verdict != MERGES) {
			f->reason = f->verdict;
			close_flow(c, f, f->verdict);
			open_frame(c, f, p, index, TAPBATCH_UNMERGED_INTERRUPTED);
			return;
		}
	}
	bad = verify(p);
	if (bad != MERGES) {
		close_flow(c, f, TAPBATCH_UNMERGED_INTERRUPTED);
		add_unmerged(c, p->m, index, bad);
		return;
	}
	join(c, f, p, index);
}

/*
 * Finds the headers of a packet, copied to scratch if they lie in several segments.
 * Lengths of the mbuf that contradict each other make it malformed.
 */
static inline enum tapbatch_parsed
parse(struct packet *p, bool l3_only, uint8_t *scratch)
{
	const struct rte_mbuf *m = p->m;
	uint32_t frame = rte_pktmbuf_pkt_len(m);
	uint32_t avail = rte_pktmbuf_data_len(m);
	uint32_t sum = 0;
	uint32_t copied = 0;

	p->hdr = rte_pktmbuf_mtod(m, const uint8_t *);
	p->nb_iov = 1;
	if (likely(m->next == NULL)) {
		if (avail != frame)
			return TAPBATCH_PARSED_MALFORMED;
		return tapbatch_parse(p->hdr, avail, frame, l3_only, &p->at);
	}

	/* Where the payload begins is not known yet: count all segments that are not empty. */
	p->nb_iov = 0;
	do {
		uint32_t len = rte_pktmbuf_data_len(m);
		uint32_t piece = RTE_MIN(len, TAPBATCH_MAX_HDR - copied);

		memcpy(scratch + copied, rte_pktmbuf_mtod(m, const uint8_t *), piece);
		copied += piece;
		if (sum > UINT32_MAX - len)
			return TAPBATCH_PARSED_MALFORMED;
		sum += len;
		if (len != 0 && p->nb_iov < UINT16_MAX)
			p->nb_iov++;
		m = m->next;
	} while (m != NULL);
	if (sum != frame)
		return TAPBATCH_PARSED_MALFORMED;
	p->hdr = scratch;
	return tapbatch_parse(scratch, copied, frame, l3_only, &p->at);
}

static const uint8_t reason_of_parsed[] = {
	[TAPBATCH_PARSED_L4] = MERGES,
	[TAPBATCH_PARSED_OTHER] = TAPBATCH_UNMERGED_OTHER,
	[TAPBATCH_PARSED_FRAGMENT] = TAPBATCH_UNMERGED_FRAGMENT,
	[TAPBATCH_PARSED_EXTENSION] = TAPBATCH_UNMERGED_EXTENSION,
	[TAPBATCH_PARSED_MALFORMED] = TAPBATCH_UNMERGED_MALFORMED,
};

static inline uint32_t
kind_of(const struct tapbatch_layout *at)
{
	if (at->proto == IPPROTO_TCP)
		return at->ipv6 ? TAPBATCH_COALESCE_TCP6 : TAPBATCH_COALESCE_TCP4;
	return at->ipv6 ? TAPBATCH_COALESCE_UDP6 : TAPBATCH_COALESCE_UDP4;
}

void
tapbatch_coalesce_batch(struct tapbatch_coalesce *c, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct flow flows[TAPBATCH_MAX_BATCH]; /* no value read that was not set here */
	uint8_t buckets[HASH_BUCKETS];         /* first flow, plus 1 */
	uint8_t scratch[TAPBATCH_MAX_HDR];
	unsigned int nb_flows = 0;
	struct flow *last = NULL; /* the flow of the packet before */
	unsigned int i;
	unsigned int j;

	c->nb_frames = 0;
	if (nb_pkts == 1 || c->kinds == 0) {
		for (i = 0; i < nb_pkts; i++)
			add_frame(c, pkts[i], i);
		c->unmerged[c->kinds == 0 ? TAPBATCH_UNMERGED_KIND_OFF : TAPBATCH_UNMERGED_ALONE] +=
			nb_pkts;
		return;
	}

	memset(buckets, 0, sizeof(buckets));
	for (i = 0; i < PREFETCH_AHEAD && i < nb_pkts; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));

	for (i = 0; i < nb_pkts; i++) {
		struct packet p = { .m = pkts[i] };
		struct flow_key key;
		struct flow *f;
		uint8_t reason;

		if (i + PREFETCH_AHEAD < nb_pkts)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + PREFETCH_AHEAD], void *));

		reason = reason_of_parsed[parse(&p, c->l3_only, scratch)];
		if (unlikely(reason != MERGES)) {
			/* These might belong to any flow. */
			if (reason != TAPBATCH_UNMERGED_OTHER)
				for (j = 0; j < nb_flows; j++)
					close_flow(c, &flows[j], TAPBATCH_UNMERGED_INTERRUPTED);
			add_unmerged(c, p.m, i, reason);
			continue;
		}
		if ((c->kinds & kind_of(&p.at)) == 0) {
			add_unmerged(c, p.m, i, TAPBATCH_UNMERGED_KIND_OFF);
			continue;
		}

		reason = examine(&p);
		get_key(&p, &key);
		f = last;
		if (f == NULL || !same_key(&f->key, &key)) {
			uint8_t *bucket = &buckets[hash_key(&key)];
			unsigned int link = *bucket;

			while (link != 0 && !same_key(&flows[link - 1].key, &key))
				link = flows[link - 1].chain;
			if (link == 0) {
				if (reason != MERGES) {
					add_unmerged(c, p.m, i, reason);
					continue;
				}
				f = &flows[nb_flows++];
				f->key = key;
				f->chain = *bucket;
				*bucket = (uint8_t)nb_flows;
				last = f;
				open_frame(c, f, &p, i, TAPBATCH_UNMERGED_ALONE);
				continue;
			}
			f = &flows[link - 1];
			last = f;
		}
		if (unlikely(reason != MERGES)) {
			close_flow(c, f, TAPBATCH_UNMERGED_INTERRUPTED);
			add_unmerged(c, p.m, i, reason);
			continue;
		}
		add_packet(c, f, &p, i);
	}

	for (j = 0; j < nb_flows; j++)
		finish(c, &flows[j]);
}

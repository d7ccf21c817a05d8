/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Superframes for tests: built from a description, and segmented in the plainest way
 * there is, to compare with. Nothing here comes from the driver but the virtio header.
 */

#ifndef SUPERFRAME_H
#define SUPERFRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>

#include "tapbatch_virtio.h"

#define SUPERFRAME_MAX (70 * 1024)

struct superframe {
	/* The description. */
	bool ipv6;
	bool udp;
	bool l3_only;
	uint8_t vlans;     /* tags */
	uint8_t ip_opts;   /* IPv4: bytes of options, a multiple of 4 */
	uint8_t ext_hdrs;  /* IPv6: destination options headers of 8 bytes */
	uint8_t tcp_opts;  /* bytes, a multiple of 4 */
	uint8_t tcp_flags;
	uint16_t gso_size;
	uint32_t payload_len;
	uint16_t ip_id;
	uint32_t seq;
	bool no_csum_flag; /* virtio header without NEEDS_CSUM */

	/* What superframe_build() makes of it. */
	uint16_t l3, l4, hdr_len;
	uint32_t len;
	struct tapbatch_vnet_hdr vnet;
	uint8_t data[SUPERFRAME_MAX];
};

static inline void
put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void
put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static inline uint32_t
get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Ones' complement sum of bytes as big-endian words, one at a time. */
static inline uint32_t
plain_sum(uint32_t sum, const uint8_t *p, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static inline uint32_t
plain_pseudo_sum(const uint8_t *ip, bool ipv6, uint8_t proto, uint32_t l4_len)
{
	uint32_t sum = ipv6 ? plain_sum(0, ip + 8, 32) : plain_sum(0, ip + 12, 8);

	sum += proto + (l4_len & 0xffff) + (l4_len >> 16);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Writes headers with the lengths and checksums of that payload at data + hdr_len. */
static inline void
superframe_headers(const struct superframe *f, uint8_t *data, uint32_t payload_len, uint16_t ip_id,
		   uint32_t seq, uint8_t tcp_flags, bool open)
{
	uint8_t *ip = data + f->l3;
	uint8_t *l4 = data + f->l4;
	uint32_t l4_len = f->hdr_len - f->l4 + payload_len;
	uint8_t proto = f->udp ? IPPROTO_UDP : IPPROTO_TCP;
	uint8_t *csum = l4 + (f->udp ? 6 : 16);
	uint32_t sum;
	unsigned int i;

	if (!f->l3_only) {
		uint8_t *type = data + 12;

		memcpy(data, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02", 12);
		for (i = 0; i < f->vlans; i++, type += 4) {
			put16(type, i + 1 < f->vlans ? 0x88a8 : 0x8100);
			put16(type + 2, 100 + i);
		}
		put16(type, f->ipv6 ? 0x86dd : 0x0800);
	}
	if (f->ipv6) {
		put32(ip, 0x60012345);
		put16(ip + 4, f->hdr_len - f->l3 - 40 + payload_len);
		ip[6] = f->ext_hdrs ? 60 : proto;
		ip[7] = 61;
		for (i = 0; i < 32; i++)
			ip[8 + i] = (uint8_t)(0x20 + 3 * i);
		for (i = 0; i < f->ext_hdrs; i++) {
			memset(ip + 40 + 8 * i, 0, 8);
			ip[40 + 8 * i] = i + 1 < f->ext_hdrs ? 60 : proto;
			ip[40 + 8 * i + 2] = 1; /* PadN */
			ip[40 + 8 * i + 3] = 4;
		}
	} else {
		ip[0] = (uint8_t)(0x45 + f->ip_opts / 4);
		ip[1] = 0x02;
		put16(ip + 2, f->hdr_len - f->l3 + payload_len);
		put16(ip + 4, ip_id);
		put16(ip + 6, 0x4000);
		ip[8] = 63;
		ip[9] = proto;
		put16(ip + 10, 0);
		memcpy(ip + 12, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
		memset(ip + 20, 1, f->ip_opts);
		put16(ip + 10, ~plain_sum(0, ip, 20 + f->ip_opts));
	}
	put16(l4, 5001);
	put16(l4 + 2, 443);
	if (f->udp) {
		put16(l4 + 4, l4_len);
	} else {
		put32(l4 + 4, seq);
		put32(l4 + 8, 0x89abcdef);
		l4[12] = (uint8_t)((5 + f->tcp_opts / 4) << 4);
		l4[13] = tcp_flags;
		put16(l4 + 14, 501);
		put16(l4 + 18, 0);
		for (i = 0; i < f->tcp_opts; i++)
			l4[20 + i] = (uint8_t)(i < 2 ? 1 : i);
	}
	sum = plain_pseudo_sum(ip, f->ipv6, proto, l4_len);
	if (open) {
		put16(csum, sum);
		return;
	}
	put16(csum, 0);
	sum = plain_sum(sum, l4, l4_len) ^ 0xffff;
	put16(csum, f->udp && sum == 0 ? 0xffff : sum);
}

/* Makes data, len, offsets and vnet from the description; payload from a seed. */
static inline void
superframe_build(struct superframe *f, uint32_t seed)
{
	uint32_t i;

	f->l3 = f->l3_only ? 0 : 14 + 4 * f->vlans;
	f->l4 = f->l3 + (f->ipv6 ? 40 + 8 * f->ext_hdrs : 20 + f->ip_opts);
	f->hdr_len = f->l4 + (f->udp ? 8 : 20 + f->tcp_opts);
	f->len = f->hdr_len + f->payload_len;
	for (i = f->hdr_len; i < f->len; i++) {
		seed = seed * 1103515245 + 12345;
		f->data[i] = (uint8_t)(seed >> 16);
	}
	superframe_headers(f, f->data, f->payload_len, f->ip_id, f->seq, f->tcp_flags, true);
	memset(&f->vnet, 0, sizeof(f->vnet));
	if (!f->no_csum_flag) {
		f->vnet.flags = TAPBATCH_VNET_F_NEEDS_CSUM;
		f->vnet.csum_start = f->l4;
		f->vnet.csum_offset = f->udp ? 6 : 16;
	}
	f->vnet.gso_type = f->udp ? TAPBATCH_VNET_GSO_UDP_L4 :
			   f->ipv6 ? TAPBATCH_VNET_GSO_TCPV6 : TAPBATCH_VNET_GSO_TCPV4;
	if (!f->udp && (f->tcp_flags & 0x80))
		f->vnet.gso_type |= TAPBATCH_VNET_GSO_ECN;
	f->vnet.gso_size = f->gso_size;
	f->vnet.hdr_len = f->hdr_len;
}

static inline uint32_t
superframe_segments(const struct superframe *f)
{
	return f->payload_len == 0 ? 1 : (f->payload_len + f->gso_size - 1) / f->gso_size;
}

/*
 * The segment of that index, in the plainest way.
 *
 * @param out   SUPERFRAME_MAX bytes
 * @param open  leave the pseudo-header's sum in the checksum field
 * @return its length
 */
static inline uint32_t
superframe_segment(const struct superframe *f, uint32_t index, uint8_t *out, bool open)
{
	uint32_t offset = index * f->gso_size;
	uint32_t n = f->payload_len - offset;
	uint8_t flags = f->tcp_flags;

	if (n > f->gso_size) {
		n = f->gso_size;
		flags &= (uint8_t)~0x09; /* FIN, PSH */
	}
	if (index > 0)
		flags &= 0x7f; /* CWR */
	memset(out, 0, f->hdr_len);
	memcpy(out + f->hdr_len, f->data + f->hdr_len + offset, n);
	superframe_headers(f, out, n, (uint16_t)(f->ip_id + index), f->seq + offset, flags, open);
	return f->hdr_len + n;
}

#endif /* SUPERFRAME_H */

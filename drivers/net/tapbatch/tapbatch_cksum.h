/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The Internet checksum (RFC 1071), in the pieces that coalescing and splitting
 * need: sums over bytes, over mbufs, while copying, and of pseudo-headers. Pure.
 *
 * A "sum" is a 64-bit value not folded yet, of 16-bit words in the order they have
 * in memory: no byte swaps, results are stored as they are. Sums of up to 64 KiB
 * each may be added with +, at least 65536 of them, before 64 bits are too few.
 */

#ifndef TAPBATCH_CKSUM_H
#define TAPBATCH_CKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

/* Folds a sum to 16 bits: 0 only for a sum of 0; 0xffff for its other multiples. */
static inline uint16_t
tapbatch_cksum_fold(uint64_t sum)
{
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 16) + (uint16_t)sum;
	sum = (sum >> 16) + (uint16_t)sum;
	sum = (sum >> 16) + (uint16_t)sum;
	return (uint16_t)sum;
}

/*
 * Folds to the one of two equal values that compares: ones' complement has two
 * zeros, 0 and 0xffff; this gives 0 for both.
 */
static inline uint16_t
tapbatch_cksum_canonical(uint64_t sum)
{
	uint16_t folded = tapbatch_cksum_fold(sum);

	return folded == 0xffff ? 0 : folded;
}

/* The sum that bytes have when they are moved by an odd number of bytes. */
static inline uint64_t
tapbatch_cksum_swap(uint64_t sum)
{
	uint16_t folded = tapbatch_cksum_fold(sum);

	return (uint16_t)(folded << 8 | folded >> 8);
}

/* The sum without a part of it (a field that was, or is to be, replaced). */
static inline uint64_t
tapbatch_cksum_sub(uint64_t sum, uint16_t part)
{
	return sum + (uint16_t)~part;
}

static inline uint64_t
tapbatch_cksum_word_(uint64_t word)
{
	return (word >> 32) + (uint32_t)word;
}

/* The sum of the last 0 to 7 bytes; an odd one is followed by a byte of 0. */
static inline uint64_t
tapbatch_cksum_tail_(const uint8_t *p, uint32_t len)
{
	uint64_t sum = 0;
	uint32_t word4;
	uint16_t word2;

	if (len & 4) {
		memcpy(&word4, p, 4);
		sum += word4;
		p += 4;
	}
	if (len & 2) {
		memcpy(&word2, p, 2);
		sum += word2;
		p += 2;
	}
	if (len & 1) {
		word2 = 0;
		memcpy(&word2, p, 1);
		sum += word2;
	}
	return sum;
}

/*
 * Long sums go by vectors of 64-bit lanes, which compilers have as an extension of
 * the language: plain loops were up to six times slower with one or other of them.
 */
#if defined(__AVX512F__)
#define TAPBATCH_CKSUM_VECTOR 64
#elif defined(__AVX2__)
#define TAPBATCH_CKSUM_VECTOR 32
#else
#define TAPBATCH_CKSUM_VECTOR 16
#endif
#define TAPBATCH_CKSUM_LANES (TAPBATCH_CKSUM_VECTOR / 8)

typedef uint64_t tapbatch_cksum_vector __attribute__((vector_size(TAPBATCH_CKSUM_VECTOR)));

/*
 * Sum of bytes that start at an even offset of what is summed; an odd last byte
 * counts as followed by 0.
 */
static inline uint64_t
tapbatch_cksum(const void *data, uint32_t len)
{
	const uint8_t *p = data;
	uint64_t word;
	uint64_t sum = 0;

	if (len >= TAPBATCH_CKSUM_VECTOR) {
		tapbatch_cksum_vector low = { 0 };
		tapbatch_cksum_vector high = { 0 };
		unsigned int i;

		do {
			tapbatch_cksum_vector v;

			memcpy(&v, p, sizeof(v));
			low += v & UINT32_MAX;
			high += v >> 32;
			p += sizeof(v);
			len -= sizeof(v);
		} while (len >= TAPBATCH_CKSUM_VECTOR);
		low += high;
		for (i = 0; i < TAPBATCH_CKSUM_LANES; i++)
			sum += low[i];
	}
	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		sum += tapbatch_cksum_word_(word);
	}
	return sum + tapbatch_cksum_tail_(p, len);
}

/* Copies bytes that don't overlap and gives their sum, reading them once. */
static inline uint64_t
tapbatch_cksum_copy(void *restrict to, const void *restrict from, uint32_t len)
{
	const uint8_t *p = from;
	uint8_t *q = to;
	uint64_t word;
	uint64_t sum = 0;

	if (len >= TAPBATCH_CKSUM_VECTOR) {
		tapbatch_cksum_vector low = { 0 };
		tapbatch_cksum_vector high = { 0 };
		unsigned int i;

		do {
			tapbatch_cksum_vector v;

			memcpy(&v, p, sizeof(v));
			memcpy(q, &v, sizeof(v));
			low += v & UINT32_MAX;
			high += v >> 32;
			p += sizeof(v);
			q += sizeof(v);
			len -= sizeof(v);
		} while (len >= TAPBATCH_CKSUM_VECTOR);
		low += high;
		for (i = 0; i < TAPBATCH_CKSUM_LANES; i++)
			sum += low[i];
	}
	for (; len >= 8; p += 8, q += 8, len -= 8) {
		memcpy(&word, p, 8);
		memcpy(q, &word, 8);
		sum += tapbatch_cksum_word_(word);
	}
	sum += tapbatch_cksum_tail_(p, len);
	if (len & 4) {
		memcpy(q, p, 4);
		p += 4;
		q += 4;
	}
	if (len & 2) {
		memcpy(q, p, 2);
		p += 2;
		q += 2;
	}
	if (len & 1)
		*q = *p;
	return sum;
}

/*
 * Sum of len bytes from offset of a chain of mbufs on, as if they lay in one piece
 * that starts at an even offset. The chain must hold them.
 */
static inline uint64_t
tapbatch_cksum_mbuf(const struct rte_mbuf *m, uint32_t offset, uint32_t len)
{
	uint64_t sum = 0;
	uint32_t done = 0;

	while (offset > m->data_len) {
		offset -= m->data_len;
		m = m->next;
	}
	while (done < len) {
		uint32_t n = RTE_MIN(m->data_len - offset, len - done);
		uint64_t part = tapbatch_cksum(rte_pktmbuf_mtod_offset(m, const uint8_t *, offset),
					       n);

		sum += (done & 1) ? tapbatch_cksum_swap(part) : part;
		done += n;
		offset = 0;
		m = m->next;
	}
	return sum;
}

/*
 * Sum of the pseudo-header. l4_len is the length of the L4 header and its payload
 * in bytes, and may exceed 16 bits.
 *
 * @param src  the source address, the destination address right behind it
 */
static inline uint64_t
tapbatch_cksum_pseudo4(const void *src, uint8_t proto, uint32_t l4_len)
{
	uint64_t word;

	memcpy(&word, src, 8);
	return tapbatch_cksum_word_(word) + rte_cpu_to_be_16(proto) + rte_cpu_to_be_32(l4_len);
}

static inline uint64_t
tapbatch_cksum_pseudo6(const void *src, uint8_t proto, uint32_t l4_len)
{
	uint64_t word[4];

	memcpy(word, src, 32);
	return tapbatch_cksum_word_(word[0]) + tapbatch_cksum_word_(word[1]) +
	       tapbatch_cksum_word_(word[2]) + tapbatch_cksum_word_(word[3]) +
	       rte_cpu_to_be_16(proto) + rte_cpu_to_be_32(l4_len);
}

/* The same with the IP header of a packet: its first byte is at ip. */
static inline uint64_t
tapbatch_cksum_pseudo(const uint8_t *ip, bool ipv6, uint8_t proto, uint32_t l4_len)
{
	return ipv6 ? tapbatch_cksum_pseudo6(ip + offsetof(struct rte_ipv6_hdr, src_addr), proto,
					     l4_len) :
		      tapbatch_cksum_pseudo4(ip + offsetof(struct rte_ipv4_hdr, src_addr), proto,
					     l4_len);
}

/* The checksum field of a sum over everything that it covers, the field as 0. */
static inline uint16_t
tapbatch_cksum_finish(uint64_t sum)
{
	return (uint16_t)~tapbatch_cksum_fold(sum);
}

/* The same for UDP, where a field of 0 says "no checksum". */
static inline uint16_t
tapbatch_cksum_finish_udp(uint64_t sum)
{
	uint16_t field = tapbatch_cksum_finish(sum);

	return field == 0 ? 0xffff : field;
}

#endif /* TAPBATCH_CKSUM_H */

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What a received packet's offload flags mean to the next port: from Rx flags
 * ("this is a superframe", "this checksum is open") to what a guest with given
 * virtio features, or a port with Tx offloads, can take. Pure: no I/O.
 */

#ifndef VHOST_BRIDGE_OFFLOAD_H
#define VHOST_BRIDGE_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_net.h>

#define VB_F_GUEST_CSUM (1ULL << 1) /* virtio 1.2, 5.1.3 "Feature bits" */
#define VB_F_GUEST_TSO4 (1ULL << 7)
#define VB_F_GUEST_TSO6 (1ULL << 8)
#define VB_F_GUEST_UFO (1ULL << 10)
#define VB_F_HOST_TSO4 (1ULL << 11)
#define VB_F_HOST_TSO6 (1ULL << 12)
#define VB_F_HOST_UFO (1ULL << 14)
#define VB_F_MRG_RXBUF (1ULL << 15)
#define VB_F_RING_PACKED (1ULL << 34)

/* Longest frame: 64 KiB of IP, Ethernet header, two VLAN tags. */
#define VB_MAX_FRAME (UINT16_MAX + 14 + 8)

enum vb_ready {
	VB_READY,   /* may be sent as it is now */
	VB_SEGMENT, /* a superframe to be split by vb_segment() first */
	VB_BAD,     /* flags and bytes contradict: drop */
	VB_NO_MBUF, /* no mbuf for its headers: nothing changed, may be tried again */
};

struct vb_headers {
	uint16_t l2;
	uint16_t l3;
	uint16_t l4;
	bool ipv6;
	bool tcp;     /* else UDP */
	bool routed;  /* IPv6 routing header with segments left */
	uint32_t end; /* offset where the IP packet ends */
};

/*
 * Makes a packet with a port's Rx flags ready for a guest.
 *
 * @param m         in and out; another mbuf may have come before the first
 * @param features  that the guest negotiated
 * @param headers   set where the result is VB_SEGMENT
 */
enum vb_ready vb_offload_to_guest(struct rte_mbuf **m, uint64_t features,
				  struct vb_headers *headers);

/*
 * Makes a packet with a port's Rx flags ready for a port that wants Tx flags
 * and does TSO and checksums. For drivers other than net_tapbatch, which
 * understands Rx flags itself.
 */
enum vb_ready vb_offload_to_port(struct rte_mbuf *m);

/* Where in its first segment a packet has its L4 checksum. */
rte_be16_t *vb_offload_l4_cksum(struct rte_mbuf *m, const struct vb_headers *headers);

/*
 * Asks for the checksum of one packet whose headers are known, or, if the
 * receiver cannot be asked, completes it.
 *
 * @param complete  the receiver takes no open checksums
 */
void vb_offload_cksum(struct rte_mbuf *m, const struct vb_headers *headers, bool complete);

#endif /* VHOST_BRIDGE_OFFLOAD_H */

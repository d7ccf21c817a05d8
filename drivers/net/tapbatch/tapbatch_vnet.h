/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Between the virtio header and an mbuf's offload flags, both ways. Pure.
 */

#ifndef TAPBATCH_VNET_H
#define TAPBATCH_VNET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "tapbatch_frame.h"
#include "tapbatch_parse.h"
#include "tapbatch_virtio.h"

/* Longest headers that are looked into, Ethernet to L4; IPv6 extension headers count. */
#define TAPBATCH_VNET_MAX_HDR 256

/* Tx flags that ask for something, served here or not. */
#define TAPBATCH_VNET_TX_REQUESTS                                                 \
	(RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG | \
	 RTE_MBUF_F_TX_UDP_SEG | TAPBATCH_VNET_TX_UNSERVED)
#define TAPBATCH_VNET_TX_UNSERVED                                                            \
	(RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_UDP_CKSUM | RTE_MBUF_F_TX_VLAN | \
	 RTE_MBUF_F_TX_QINQ | RTE_MBUF_F_TX_MACSEC | RTE_MBUF_F_TX_SEC_OFFLOAD)

/* tapbatch_vnet_from_mbuf() for a packet with flags; call that one. */
int tapbatch_vnet_from_mbuf_flags(const struct rte_mbuf *m, bool l3_only,
				  struct tapbatch_frame *frame);

/* Whether the flags of a packet leave anything for the virtio header to say. */
static inline bool
tapbatch_vnet_is_plain(uint64_t ol_flags)
{
	return (ol_flags & (TAPBATCH_VNET_TX_REQUESTS | RTE_MBUF_F_RX_LRO)) == 0 &&
	       (ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) != RTE_MBUF_F_RX_L4_CKSUM_NONE &&
	       (ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) != RTE_MBUF_F_RX_IP_CKSUM_NONE;
}

/*
 * Fills in what the kernel must know of one packet: virtio header, and those
 * protocol headers that offloads edit (IPv4 checksum, pseudo-header sums,
 * lengths of a superframe), from the mbuf's Tx flags:
 * RTE_MBUF_F_TX_IP_CKSUM, _TCP_CKSUM, _UDP_CKSUM, _TCP_SEG, _UDP_SEG; and where no
 * Tx flag asks for anything, or for IPv4's checksum alone, from the Rx flags of an mbuf
 * that came from a driver like this one: RTE_MBUF_F_RX_LRO with tso_segsz,
 * RTE_MBUF_F_RX_L4_CKSUM_NONE (and RTE_MBUF_F_RX_IP_CKSUM_NONE). Nothing of the mbuf is
 * changed, and no tx_prepare is needed before, but for IPv6 packets with a routing header
 * that has segments left: theirs must have the pseudo-header's sum, since the last address
 * on the way is in it, and they are not segmented.
 *
 * A packet that asks for segmentation and fits in one segment goes out as a plain one.
 * Packets with bytes behind the IP packet (padding) get their checksum here, since the
 * kernel would sum those bytes too.
 *
 * @param m      pkt_len must be the sum of the segments' data_len
 * @param frame  vnet, hdr, hdr_len and len are set, the rest is left as it is
 * @return 0, or negative: -EINVAL flags and bytes contradict, -ENOTSUP a request
 *         that this driver does not serve (tunnels, SCTP, VLAN insertion, MACsec,
 *         IPsec, edited headers longer than TAPBATCH_MAX_HDR); hdr_len is 0 then
 */
static inline int
tapbatch_vnet_from_mbuf(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame)
{
	memset(&frame->vnet, 0, sizeof(frame->vnet));
	frame->hdr_len = 0;
	frame->len = m->pkt_len;
	if (likely(tapbatch_vnet_is_plain(m->ol_flags)))
		return 0;
	return tapbatch_vnet_from_mbuf_flags(m, l3_only, frame);
}

/* What the application enabled; decides what a received packet may look like. */
#define TAPBATCH_RX_IPV4_CKSUM (1u << 0) /* wants the IPv4 checksum verdict in flags */
#define TAPBATCH_RX_L4_CKSUM (1u << 1)   /* L4 verdict in flags; sum may be left open */
#define TAPBATCH_RX_PTYPE (1u << 2)      /* wants packet_type */
#define TAPBATCH_RX_L3_ONLY (1u << 3)    /* tun port */
#define TAPBATCH_RX_SCATTER (1u << 4)    /* split: segments may be chains of mbufs */

/* tapbatch_vnet_to_mbuf() when there is something to do; call that one. */
int tapbatch_vnet_to_mbuf_flags(const struct tapbatch_vnet_hdr *vnet, struct rte_mbuf *m,
				uint32_t wants);

/*
 * Sets ol_flags, packet_type and tso_segsz of a packet that was received whole
 * (not to be split), from its virtio header. The header is not trusted. Without
 * TAPBATCH_RX_L4_CKSUM an open checksum is completed in the packet, but for that of
 * a superframe (RTE_MBUF_F_RX_LRO), which is always left open and marked
 * RTE_MBUF_F_RX_L4_CKSUM_NONE.
 *
 * UDP over IPv4 without a checksum is RTE_MBUF_F_RX_L4_CKSUM_GOOD, where net_tap says
 * NONE: with that mark a driver may add a checksum on transmit.
 *
 * @param m  data, data_len, pkt_len, next, nb_segs set, ol_flags and packet_type as
 *           rte_pktmbuf_reset() leaves them; the packet's bytes may be written to
 * @return 0, or -EINVAL: header and bytes contradict, the packet must be dropped
 */
static inline int
tapbatch_vnet_to_mbuf(const struct tapbatch_vnet_hdr *vnet, struct rte_mbuf *m, uint32_t wants)
{
	if ((wants & (TAPBATCH_RX_IPV4_CKSUM | TAPBATCH_RX_L4_CKSUM | TAPBATCH_RX_PTYPE)) == 0 &&
	    (vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM) == 0 &&
	    vnet->gso_type == TAPBATCH_VNET_GSO_NONE)
		return 0;
	return tapbatch_vnet_to_mbuf_flags(vnet, m, wants);
}

/*
 * Finds the headers of a superframe and checks that its virtio header agrees. As the
 * kernel's segmentation does, this looks at no length field of IP or UDP, at no
 * fragment offset, and through IPv6 extension headers. hdr_len of the virtio header is only a hint and not used.
 *
 * @param avail  bytes that may be read at data
 * @param frame  bytes of the whole frame; layout->l3_end is set to it
 * @return 0, or -EINVAL: not a superframe that could be segmented
 */
int tapbatch_vnet_superframe(const struct tapbatch_vnet_hdr *vnet, const uint8_t *data,
			     uint32_t avail, uint32_t frame, bool l3_only,
			     struct tapbatch_layout *layout);

/*
 * packet_type from the first bytes of a packet, for Ethernet or, with l3_only, IP:
 * as rte_net_get_ptype() has it, which knows no frames that start with IP.
 */
uint32_t tapbatch_vnet_ptype(const struct rte_mbuf *m, bool l3_only);

#endif /* TAPBATCH_VNET_H */

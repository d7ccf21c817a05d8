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

#include <rte_mbuf.h>

#include "tapbatch_frame.h"
#include "tapbatch_virtio.h"

/*
 * Fills in what the kernel must know of one packet: virtio header, and those
 * protocol headers that offloads edit (IPv4 checksum, pseudo-header sums,
 * lengths of a superframe), from the mbuf's Tx flags:
 * RTE_MBUF_F_TX_IP_CKSUM, _TCP_CKSUM, _UDP_CKSUM, _TCP_SEG, _UDP_SEG; and where no
 * Tx L4 flag is set, from the Rx flags of an mbuf that came from a driver like
 * this one: RTE_MBUF_F_RX_LRO with tso_segsz, RTE_MBUF_F_RX_L4_CKSUM_NONE.
 * Nothing of the mbuf is changed, and no tx_prepare is needed before.
 *
 * @return 0, or negative: -EINVAL flags and bytes contradict, -ENOTSUP a request
 *         that no driver of this kind serves (tunnels, SCTP)
 */
int tapbatch_vnet_from_mbuf(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame);

/* What the application enabled; decides what a received packet may look like. */
#define TAPBATCH_RX_IPV4_CKSUM (1u << 0) /* wants the IPv4 checksum verdict in flags */
#define TAPBATCH_RX_L4_CKSUM (1u << 1)   /* L4 verdict in flags; sum may be left open */
#define TAPBATCH_RX_PTYPE (1u << 2)      /* wants packet_type */
#define TAPBATCH_RX_L3_ONLY (1u << 3)    /* tun port */

/*
 * Sets ol_flags, packet_type and tso_segsz of a packet that was received whole
 * (not to be split), from its virtio header. The header is not trusted. Without
 * TAPBATCH_RX_L4_CKSUM an open checksum is completed in the packet.
 *
 * @param m  data, data_len, pkt_len, next set; may have several segments
 * @return 0, or -EINVAL: header and bytes contradict, the packet must be dropped
 */
int tapbatch_vnet_to_mbuf(const struct tapbatch_vnet_hdr *vnet, struct rte_mbuf *m, uint32_t wants);

#endif /* TAPBATCH_VNET_H */

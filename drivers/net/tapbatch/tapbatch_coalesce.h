/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Coalescing on transmit: packets of one flow in a batch become one superframe,
 * if the kernel's segmentation makes of it, byte for byte, what the application
 * sent. Pure: mbufs in, frames out, no I/O and no memory of its own.
 */

#ifndef TAPBATCH_COALESCE_H
#define TAPBATCH_COALESCE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "rte_pmd_tapbatch.h"
#include "tapbatch_frame.h"

#define TAPBATCH_COALESCE_TCP4 (1u << 0)
#define TAPBATCH_COALESCE_TCP6 (1u << 1)
#define TAPBATCH_COALESCE_UDP4 (1u << 2)
#define TAPBATCH_COALESCE_UDP6 (1u << 3)

/*
 * Why a packet was sent in a frame of its own. Each such packet counts once: for
 * what is wrong with it alone, else for the first refusal it was party to, as the
 * earlier or the later of two packets of its flow.
 */
enum tapbatch_unmerged {
	/* What the packet is. */
	TAPBATCH_UNMERGED_OTHER,           /* neither TCP nor UDP */
	TAPBATCH_UNMERGED_MALFORMED,       /* headers cut short, lengths that contradict */
	TAPBATCH_UNMERGED_FRAGMENT,        /* of an IP packet */
	TAPBATCH_UNMERGED_EXTENSION,       /* IPv6 with extension headers */
	TAPBATCH_UNMERGED_KIND_OFF,        /* TCP or UDP of a kind that is switched off */
	TAPBATCH_UNMERGED_OFFLOAD,         /* mbuf flags ask for more than checksums */
	TAPBATCH_UNMERGED_IP_OPTIONS,      /* IPv4 with options */
	TAPBATCH_UNMERGED_IP_RESERVED,     /* IPv4 with the reserved flag */
	TAPBATCH_UNMERGED_PADDING,         /* bytes behind the IP packet */
	TAPBATCH_UNMERGED_NO_PAYLOAD,      /* a bare ACK, an empty datagram */
	TAPBATCH_UNMERGED_TCP_FLAGS,       /* others than ACK, PSH, FIN, ECE */
	TAPBATCH_UNMERGED_UDP_LENGTH,      /* not that of the IP payload */
	TAPBATCH_UNMERGED_UDP_NO_CHECKSUM, /* merging would give it one */
	TAPBATCH_UNMERGED_BAD_CHECKSUM,    /* merging would repair it */
	TAPBATCH_UNMERGED_CHECKSUM_ZERO,   /* TCP: the kernel writes 0 or 0xffff */
	/* What stands between it and its neighbours in the flow. */
	TAPBATCH_UNMERGED_HEADER_DIFFERS,
	TAPBATCH_UNMERGED_IP_ID,       /* without DF: not the one after */
	TAPBATCH_UNMERGED_SEQUENCE,    /* TCP: a gap, or sent again */
	TAPBATCH_UNMERGED_SIZE,        /* longer than the one before, or that is too short */
	TAPBATCH_UNMERGED_PUSH,        /* the earlier has PSH or FIN */
	TAPBATCH_UNMERGED_FULL,        /* superframe would exceed 64 KiB, or its iovecs */
	TAPBATCH_UNMERGED_INTERRUPTED, /* a neighbour can't be merged */
	TAPBATCH_UNMERGED_ALONE,       /* no neighbour in this batch */
	TAPBATCH_NB_UNMERGED
};

/* Names of the reasons, as in tx_q0_unmerged_<name>. */
extern const char *const tapbatch_unmerged_names[TAPBATCH_NB_UNMERGED];

struct tapbatch_coalesce {
	/* Set by the caller. */
	uint32_t kinds; /* TAPBATCH_COALESCE_*: what may be merged */
	bool l3_only;   /* packets start with IP (tun) */

	/* Result of the last batch: frames[0..nb_frames), in order of their first
	 * packets. Of a frame of one packet first, last, nb_pkts, len and hdr_len (0)
	 * are set; superframes are complete, with virtio header and edited headers.
	 */
	uint16_t nb_frames;
	uint8_t next[TAPBATCH_MAX_BATCH];
	struct tapbatch_frame *frames; /* caller's memory, TAPBATCH_MAX_BATCH of them */

	/* Counters, only ever increased here. */
	uint64_t superframes;
	uint64_t coalesced;                     /* packets in them */
	uint64_t sizes[RTE_PMD_TAPBATCH_SIZES]; /* superframes by their number of packets */
	uint64_t unmerged[TAPBATCH_NB_UNMERGED];
};

/*
 * Sorts a batch of packets into frames. Each packet is in exactly one of them, and
 * those of one flow (addresses, ports, protocol) keep their order.
 *
 * @param c     kinds, l3_only and frames set
 * @param pkts  packets, TAPBATCH_MAX_BATCH at most; none is changed, none may be
 *              freed before its frame is written
 */
void tapbatch_coalesce_batch(struct tapbatch_coalesce *c, struct rte_mbuf **pkts, uint16_t nb_pkts);

#endif /* TAPBATCH_COALESCE_H */

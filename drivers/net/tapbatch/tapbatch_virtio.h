/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The virtio-net header that stands before each frame on the tun queue:
 * Virtual I/O Device (VIRTIO) 1.2, 5.1.6 "Device Operation". Own definition,
 * since the kernel headers of older systems lack the UDP kind (Linux 6.2).
 */

#ifndef TAPBATCH_VIRTIO_H
#define TAPBATCH_VIRTIO_H

#include <stdint.h>

#include <rte_common.h>

#define TAPBATCH_VNET_F_NEEDS_CSUM 1 /* sum from csum_start, put at csum_offset */
#define TAPBATCH_VNET_F_DATA_VALID 2 /* checksum was verified */

#define TAPBATCH_VNET_GSO_NONE 0
#define TAPBATCH_VNET_GSO_TCPV4 1
#define TAPBATCH_VNET_GSO_UDP 3 /* fragmentation (UFO): neither asked for nor sent */
#define TAPBATCH_VNET_GSO_TCPV6 4
#define TAPBATCH_VNET_GSO_UDP_L4 5 /* segmentation (USO) */
#define TAPBATCH_VNET_GSO_ECN 0x80 /* TCP with CWR set, or'ed to the kind */

/* In the byte order of the machine (TUNSETVNETLE is not used). 12 bytes, the size
 * that TUNSETVNETHDRSZ is given; num_buffers is only used by the vhost engine.
 */
struct tapbatch_vnet_hdr {
	uint8_t flags;
	uint8_t gso_type;
	uint16_t hdr_len;     /* bytes of headers, Ethernet to L4 */
	uint16_t gso_size;    /* bytes of payload per segment */
	uint16_t csum_start;  /* offset from the start of the frame */
	uint16_t csum_offset; /* offset from csum_start */
	uint16_t num_buffers;
};

#define TAPBATCH_VNET_HDR_LEN 12

_Static_assert(sizeof(struct tapbatch_vnet_hdr) == TAPBATCH_VNET_HDR_LEN,
	       "the virtio header is 12 bytes");

#endif /* TAPBATCH_VIRTIO_H */

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Taps without DPDK, for the loops that say what the kernel can do at best. */

#ifndef PERF_RAW_H
#define PERF_RAW_H

#include <stdint.h>

#include "worker.h"

#define RAW_FRAME_ROOM 2048           /* buffer of a packet */
#define RAW_SUPERFRAME_ROOM (1 << 16) /* buffer of a superframe, virtio header not counted */

/* struct virtio_net_hdr_v1 of the kernel, VIRTIO 1.2 section 5.1.6; own, since the
 * headers of older systems lack the UDP kind.
 */
struct raw_vnet_hdr {
	uint8_t flags;
	uint8_t gso_type;
	uint16_t hdr_len;
	uint16_t gso_size;
	uint16_t csum_start;
	uint16_t csum_offset;
	uint16_t num_buffers;
};

#define RAW_VNET_NEEDS_CSUM 1
#define RAW_VNET_TCPV4 1
#define RAW_VNET_UDP_L4 5

/*
 * Opens a tap by name, non-blocking, making it if it is not there.
 *
 * @param vnet      frames carry a virtio header of 12 bytes
 * @param offloads  the tap takes superframes from the kernel (needs vnet)
 * @return the descriptor, or -1 with the worker's error set
 */
int raw_open(struct worker *w, const char *iface, bool vnet, bool offloads);

#endif /* PERF_RAW_H */

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel's side of an interface without any driver: packet sockets, and taps that
 * take no offloads, so that what is read from them is what the kernel's segmentation
 * made.
 */

#ifndef RAWIF_H
#define RAWIF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tapbatch_virtio.h"

#define RAWIF_MAX_FRAME (70 * 1024)

enum rawif_kind {
	RAWIF_SOCKET,      /* packet socket */
	RAWIF_SOCKET_VNET, /* packet socket with virtio headers: superframes stay whole */
	RAWIF_TAP,         /* tap without offloads */
	RAWIF_TAP_VNET,    /* tap that can send superframes, and receives none */
};

struct rawif {
	enum rawif_kind kind;
	int fd;
};

/*
 * Opens a packet socket on an interface of this network namespace, or creates a tap.
 *
 * @return 0 or negative errno
 */
int rawif_open(struct rawif *raw, enum rawif_kind kind, const char *name);
void rawif_close(struct rawif *raw);

/*
 * Receives one frame, with the VLAN tag that the kernel took out put back in.
 *
 * @param frame       RAWIF_MAX_FRAME bytes
 * @param vnet        set from the virtio header, or to zeros; may be NULL
 * @param timeout_ms  0: do not wait
 * @return its length; 0: none came; or negative errno
 */
ssize_t rawif_recv(struct rawif *raw, uint8_t *frame, struct tapbatch_vnet_hdr *vnet,
		   int timeout_ms);

/*
 * Sends one frame.
 *
 * @param vnet  NULL: nothing to say
 * @return 0 or negative errno
 */
int rawif_send(struct rawif *raw, const uint8_t *frame, size_t len,
	       const struct tapbatch_vnet_hdr *vnet);

#endif /* RAWIF_H */

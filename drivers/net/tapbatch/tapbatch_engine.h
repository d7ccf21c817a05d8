/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * An engine is one way in which bytes cross between user space and a kernel queue.
 * It knows nothing of packets' contents: the Rx and Tx paths above it do the rest.
 */

#ifndef TAPBATCH_ENGINE_H
#define TAPBATCH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <ethdev_driver.h>
#include <rte_mbuf.h>

#include "tapbatch_frame.h"

/* Most frames that one call of an engine reads. Measured: with io_uring 16 are
 * nearly as fast, and more than 32 bring nothing.
 */
#define TAPBATCH_MAX_SLOTS 32

/* The largest superframe whatever the mbuf's size: virtio header, Ethernet header
 * and VLAN tags, 64 KiB of IP packet.
 */
#define TAPBATCH_SLOT_LEN (TAPBATCH_VNET_HDR_LEN + 14 + 4 * 4 + 65536)

/* One frame that can be read, in one piece: measured at 64 bytes, reading so and
 * copying the packet to an mbuf takes 15 % less than reading into mbuf and tail
 * with two vectors; at 1500 bytes it takes 4 % more.
 */
struct tapbatch_slot {
	uint8_t *buf; /* TAPBATCH_SLOT_LEN bytes: virtio header, then the frame */
	uint32_t len; /* bytes of the frame, virtio header not counted */
};

/* What the engine uring keeps for one queue; private to it and to the process. */
struct tapbatch_uring;
/* The same of the engine vhost. */
struct tapbatch_vhost_rx;
struct tapbatch_vhost_tx;

/* One Rx queue as this process sees it. */
struct tapbatch_rx_io {
	int fd;  /* queue file, non-blocking; -1: none */
	int err; /* errno of the last read that failed otherwise than by EAGAIN */
	uint64_t syscalls;
	struct tapbatch_uring *uring;
	struct tapbatch_vhost_rx *vhost;
	struct tapbatch_slot slots[TAPBATCH_MAX_SLOTS];
};

/* One Tx queue as this process sees it. */
struct tapbatch_tx_io {
	int fd;          /* queue file, may be shared with other queues */
	bool sequential; /* stop at the first frame that finds no room */
	uint64_t syscalls;
	struct tapbatch_uring *uring;
	struct tapbatch_vhost_tx *vhost;
};

/* One frame to write: what the engine is given, and what it answers. */
struct tapbatch_write {
	struct iovec *iov; /* first of the frame's vectors */
	uint16_t nb_iov;
	int16_t result; /* 0: written, else negative errno */
};

struct tapbatch_engine {
	const char *name;
	uint16_t nb_slots; /* frames that rx can read at once */

	/* Whether it works here: 0, or a negative errno and why in words. */
	int (*probe)(char *why, size_t size);

	/* Set up and release what it keeps for a queue, whose fd is set. NULL: nothing. */
	int (*rx_open)(struct tapbatch_rx_io *io);
	void (*rx_close)(struct tapbatch_rx_io *io);
	int (*tx_open)(struct tapbatch_tx_io *io);
	void (*tx_close)(struct tapbatch_tx_io *io);

	/*
	 * Reads up to n frames into slots[0..n) without ever waiting, and leaves
	 * nothing armed behind. Returns how many were read: they are in slots[0..), in
	 * the order of the kernel's queue.
	 */
	uint16_t (*rx)(struct tapbatch_rx_io *io, uint16_t n);

	/*
	 * Writes n frames in order and sets the result of each. Does not wait. The
	 * memory behind the vectors is the caller's again when it returns.
	 */
	void (*tx)(struct tapbatch_tx_io *io, struct tapbatch_write *writes, uint16_t n);

	/*
	 * What an engine has that moves packets by itself, behind the caller's back
	 * (vhost); NULL in the others. It brings bursts of its own; rx and tx above
	 * are for what is left in the kernel's queue while it does not run.
	 */
	eth_rx_burst_t rx_burst;
	eth_tx_burst_t tx_burst;

	/* Of a port, when it is created and when it goes. */
	int (*port_open)(struct rte_eth_dev *dev);
	void (*port_close)(struct rte_eth_dev *dev);

	/* Called when the descriptor of the link's news is readable. Returns whether
	 * the port has become unusable just now.
	 */
	bool (*failed)(struct rte_eth_dev *dev);

	/* Start and stop of a queue, which has its descriptor then. Both do nothing if
	 * that is the state already. Stop counts and frees what did not get through.
	 */
	int (*rx_start)(struct rte_eth_dev *dev, uint16_t id);
	void (*rx_stop)(struct rte_eth_dev *dev, uint16_t id);
	int (*tx_start)(struct rte_eth_dev *dev, uint16_t id);
	void (*tx_stop)(struct rte_eth_dev *dev, uint16_t id);

	/* The port's tx_batched was changed, while the queue may be in use. */
	int (*tx_tune)(struct rte_eth_dev *dev, uint16_t id);

	/* The queue's descriptor was changed to another one of the interface. */
	int (*tx_move)(struct rte_eth_dev *dev, uint16_t id);

	/*
	 * Switches the signal for a queue that is not empty.
	 *
	 * @return the descriptor that becomes readable by it, also if the queue was not
	 *         empty before, or a negative errno
	 */
	int (*rx_interrupt)(struct tapbatch_rx_io *io, bool enable);

	int (*tx_done_cleanup)(void *queue, uint32_t free_cnt);
};

extern const struct tapbatch_engine tapbatch_engine_rw;
extern const struct tapbatch_engine tapbatch_engine_vhost;
#ifdef TAPBATCH_HAVE_URING
extern const struct tapbatch_engine tapbatch_engine_uring;
/* The same for engine=auto: with rings only where they are faster than system calls. */
extern const struct tapbatch_engine tapbatch_engine_uring_auto;
#endif

#endif /* TAPBATCH_ENGINE_H */

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Engine uring: all reads or writes of a batch in one io_uring_enter. The queue
 * files are non-blocking, so that each operation ends within that call: nothing is
 * ever armed, no task work and no worker thread waits behind the caller's back, and
 * operations end in the order of their submission.
 *
 * The ring is a plain one. SINGLE_ISSUER and DEFER_TASKRUN were measured to bring
 * nothing for operations that end at once, and would tie a queue to one thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <liburing.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "tapbatch_log.h"
#include "tapbatch_rw.h"

/* Below this many frames single system calls are faster everywhere. */
#define MIN_BATCH 4

struct tapbatch_uring {
	struct io_uring ring;
	int registered_fd; /* the file at index 0 of the ring's table */
	int rw_flags;      /* of each operation */
};

/* Whether rings are faster than system calls on this machine; found out by the probe of
 * the first port.
 */
static bool ring_pays;
static bool measured;

/* What makes an operation end at once with -EAGAIN when there is no packet or no room.
 * A file that claims non-blocking I/O, as tun's do from Linux 6.4 on, would be polled and
 * waited for in spite of its O_NONBLOCK, so it takes RWF_NOWAIT. A file that does not
 * claim it refuses that flag, and is not waited for if it is O_NONBLOCK
 * (io_rw_init_file() in io_uring/rw.c). To ask, a byte is written that is too short to be
 * a frame.
 */
static int
nowait_flags(int fd)
{
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };

	if (pwritev2(fd, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
		return 0;
	return RWF_NOWAIT;
}

static int
open_ring(struct tapbatch_uring **uring, int fd, unsigned int entries)
{
	/* A batch goes on behind an operation that fails. */
	struct io_uring_params params = { .flags = IORING_SETUP_SUBMIT_ALL };
	struct tapbatch_uring *u;
	int ret;

	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return -ENOMEM;
	ret = io_uring_queue_init_params(entries, &u->ring, &params);
	if (ret != 0) {
		free(u);
		return ret;
	}
	ret = io_uring_register_files(&u->ring, &fd, 1);
	if (ret != 0) {
		io_uring_queue_exit(&u->ring);
		free(u);
		return ret;
	}
	u->registered_fd = fd;
	u->rw_flags = nowait_flags(fd);
	*uring = u;
	return 0;
}

static void
close_ring(struct tapbatch_uring **uring)
{
	if (*uring == NULL)
		return;
	/* At once: what is left to io_uring_queue_exit() is released some time later,
	 * and would keep the interface alive until then.
	 */
	io_uring_unregister_files(&(*uring)->ring);
	io_uring_queue_exit(&(*uring)->ring);
	free(*uring);
	*uring = NULL;
}

static int
uring_rx_open(struct tapbatch_rx_io *io)
{
	return open_ring(&io->uring, io->fd, TAPBATCH_MAX_SLOTS);
}

static void
uring_rx_close(struct tapbatch_rx_io *io)
{
	close_ring(&io->uring);
}

static int
uring_tx_open(struct tapbatch_tx_io *io)
{
	return open_ring(&io->uring, io->fd, TAPBATCH_MAX_BATCH);
}

static void
uring_tx_close(struct tapbatch_tx_io *io)
{
	close_ring(&io->uring);
}

/* Submits n operations and waits for their end, which comes within the call. Returns how
 * many did: fewer when the kernel has no memory, or forbids io_uring from now on.
 */
static unsigned int
submit(struct io_uring *ring, unsigned int n)
{
	int ret;

	do {
		ret = io_uring_submit_and_wait(ring, n);
	} while (unlikely(ret == -EINTR));
	if (unlikely(ret < (int)n))
		TAPBATCH_LOG(NOTICE,
			     "io_uring takes %d of %u operations (%s): the queue goes on "
			     "with system calls",
			     RTE_MAX(ret, 0), n, ret < 0 ? strerror(-ret) : "no memory");
	return (unsigned int)RTE_MAX(ret, 0);
}

static uint16_t
uring_rx(struct tapbatch_rx_io *io, uint16_t n)
{
	struct io_uring_cqe *cqe;
	struct io_uring *ring;
	unsigned int head;
	unsigned int seen = 0;
	unsigned int submitted;
	uint16_t got = 0;
	uint16_t i;

	if (n < MIN_BATCH || io->uring == NULL)
		return tapbatch_rw_rx(io, n);

	ring = &io->uring->ring;
	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		io_uring_prep_read(sqe, 0, io->slots[i].buf, TAPBATCH_SLOT_LEN, 0);
		sqe->rw_flags = io->uring->rw_flags;
		sqe->flags = IOSQE_FIXED_FILE;
		sqe->user_data = i;
	}
	submitted = submit(ring, n);
	io->syscalls++;

	io_uring_for_each_cqe(ring, head, cqe)
	{
		struct tapbatch_slot *slot = &io->slots[cqe->user_data];

		seen++;
		if (likely(cqe->res >= TAPBATCH_VNET_HDR_LEN)) {
			slot->len = (uint32_t)cqe->res - TAPBATCH_VNET_HDR_LEN;
			/* A frame that came while the batch ran may lie behind an empty
			 * read: close the gap.
			 */
			if (unlikely(cqe->user_data != got)) {
				struct tapbatch_slot empty = io->slots[got];

				io->slots[got] = *slot;
				*slot = empty;
			}
			got++;
		} else if (cqe->res != -EAGAIN && cqe->res != -EINTR) {
			io->err = cqe->res < 0 ? -cqe->res : EPROTO;
		}
	}
	io_uring_cq_advance(ring, seen);
	/* What is left in the ring would read to slots some other time. */
	if (unlikely(submitted < n))
		close_ring(&io->uring);
	return got;
}

static void
uring_tx(struct tapbatch_tx_io *io, struct tapbatch_write *writes, uint16_t n)
{
	struct io_uring_cqe *cqe;
	struct io_uring *ring;
	unsigned int head;
	unsigned int seen = 0;
	unsigned int submitted;
	uint16_t i;
	int fd;

	/* In a ring, a frame behind one that found no room may still find some: out of
	 * order. So where the room is limited, one by one.
	 */
	if (n < MIN_BATCH || io->uring == NULL || io->sequential) {
		tapbatch_rw_tx(io, writes, n);
		return;
	}
	ring = &io->uring->ring;
	/* Another thread may stop the Rx queue whose file this is. */
	fd = __atomic_load_n(&io->fd, __ATOMIC_RELAXED);
	if (unlikely(fd != io->uring->registered_fd)) {
		if (io_uring_register_files_update(ring, 0, &fd, 1) != 1) {
			tapbatch_rw_tx(io, writes, n);
			return;
		}
		io->uring->registered_fd = fd;
	}

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (writes[i].nb_iov == 1)
			io_uring_prep_write(sqe, 0, writes[i].iov->iov_base,
					    (unsigned int)writes[i].iov->iov_len, 0);
		else
			io_uring_prep_writev(sqe, 0, writes[i].iov, writes[i].nb_iov, 0);
		sqe->rw_flags = io->uring->rw_flags;
		sqe->flags = IOSQE_FIXED_FILE;
		sqe->user_data = i;
		writes[i].result = -EAGAIN;
	}
	submitted = submit(ring, n);
	io->syscalls++;

	io_uring_for_each_cqe(ring, head, cqe)
	{
		seen++;
		writes[cqe->user_data].result = cqe->res < 0 ? (int16_t)cqe->res : 0;
		if (unlikely(tapbatch_no_room(cqe->res)))
			io->sequential = true;
	}
	io_uring_cq_advance(ring, seen);
	if (unlikely(submitted < n)) {
		/* What is left in the ring are packets that must not go out later. */
		close_ring(&io->uring);
		if (!io->sequential)
			tapbatch_rw_tx(io, writes + submitted, (uint16_t)(n - submitted));
	}
}

/* Cycles that a batch takes, one by one or through a ring, best of some. */
static uint64_t
time_batch(struct tapbatch_tx_io *io, bool ring)
{
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct tapbatch_write writes[TAPBATCH_MAX_SLOTS];
	uint64_t best = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < RTE_DIM(writes); i++)
		writes[i] = (struct tapbatch_write){ .iov = &iov, .nb_iov = 1 };
	for (i = 0; i < 6; i++) {
		uint64_t start = rte_rdtsc();

		if (ring)
			uring_tx(io, writes, RTE_DIM(writes));
		else
			tapbatch_rw_tx(io, writes, RTE_DIM(writes));
		best = RTE_MIN(best, rte_rdtsc() - start);
	}
	return best;
}

static int
uring_probe(char *why, size_t size)
{
	struct tapbatch_tx_io io = { 0 };
	int ret;

	io.fd = open("/dev/null", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (io.fd < 0) {
		snprintf(why, size, "/dev/null: %s", strerror(errno));
		return -errno;
	}
	ret = open_ring(&io.uring, io.fd, TAPBATCH_MAX_BATCH);
	if (ret != 0) {
		snprintf(why, size, "io_uring: %s%s", strerror(-ret),
			 ret == -EPERM || ret == -EACCES ?
				 " (forbidden here, see kernel.io_uring_disabled and seccomp)" :
			 ret == -ENOSYS ? " (this kernel has none)" :
			 ret == -EINVAL ? " (Linux 5.18 is needed)" :
					  "");
		close(io.fd);
		return ret;
	}
	/* What a ring saves is the cost of system calls, which differs much between
	 * machines, and what it adds is work of its own. So it is measured.
	 */
	if (!measured)
		ring_pays = time_batch(&io, true) < time_batch(&io, false);
	measured = true;
	close_ring(&io.uring);
	close(io.fd);
	return 0;
}

/* For a queue of engine=auto: a ring if that pays, and none if it cannot be had. */
static int
open_if_it_pays(struct tapbatch_uring **uring, int fd, unsigned int entries)
{
	int ret;

	if (!ring_pays)
		return 0;
	ret = open_ring(uring, fd, entries);
	if (ret != 0)
		TAPBATCH_LOG(NOTICE, "no io_uring for a queue, it goes by system calls: %s",
			     strerror(-ret));
	return 0;
}

static int
auto_probe(char *why, size_t size)
{
	int ret = uring_probe(why, size);

	if (ret == 0)
		TAPBATCH_LOG(INFO, "batches go through %s, which %s here",
			     ring_pays ? "io_uring" : "system calls",
			     ring_pays ? "is faster" : "are faster");
	return ret;
}

static int
auto_rx_open(struct tapbatch_rx_io *io)
{
	return open_if_it_pays(&io->uring, io->fd, TAPBATCH_MAX_SLOTS);
}

static int
auto_tx_open(struct tapbatch_tx_io *io)
{
	return open_if_it_pays(&io->uring, io->fd, TAPBATCH_MAX_BATCH);
}

const struct tapbatch_engine tapbatch_engine_uring = {
	.name = "uring",
	.nb_slots = TAPBATCH_MAX_SLOTS,
	.probe = uring_probe,
	.rx_open = uring_rx_open,
	.rx_close = uring_rx_close,
	.tx_open = uring_tx_open,
	.tx_close = uring_tx_close,
	.rx = uring_rx,
	.tx = uring_tx,
};

const struct tapbatch_engine tapbatch_engine_uring_auto = {
	.name = "uring",
	.nb_slots = TAPBATCH_MAX_SLOTS,
	.probe = auto_probe,
	.rx_open = auto_rx_open,
	.rx_close = uring_rx_close,
	.tx_open = auto_tx_open,
	.tx_close = uring_tx_close,
	.rx = uring_rx,
	.tx = uring_tx,
};

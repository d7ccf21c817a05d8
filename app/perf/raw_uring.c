/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * io_uring on a tap: a burst of writes, or of reads that do not wait
 * (RWF_NOWAIT), per system call. Nothing stays armed, so that the kernel has
 * nobody to wake when a packet comes.
 */

#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <sys/uio.h>

#include "packet.h"
#include "raw.h"

#define MAX_BATCH 64

static uint8_t frames[MAX_BATCH][RAW_FRAME_ROOM];

static bool
ring_open(struct worker *w, struct io_uring *ring, int fd)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	int ret = io_uring_queue_init_params(MAX_BATCH, ring, &params);

	if (ret == -EINVAL) { /* before Linux 6.1 */
		params = (struct io_uring_params){ 0 };
		ret = io_uring_queue_init_params(MAX_BATCH, ring, &params);
	}
	if (ret < 0) {
		w->out.unsupported = true;
		return worker_fail(w, "no io_uring: %s", strerror(-ret));
	}
	ret = io_uring_register_ring_fd(ring);
	if (ret != 1 && ret != -EINVAL)
		return worker_fail(w, "ring cannot be registered: %s", strerror(-ret));
	ret = io_uring_register_files(ring, &fd, 1);
	if (ret < 0)
		return worker_fail(w, "file cannot be registered: %s", strerror(-ret));
	return true;
}

static uint16_t
batch_size(const struct worker *w)
{
	return RTE_MIN(w->job.burst, MAX_BATCH);
}

static void
prepare_write(struct io_uring *ring, uint16_t i, uint32_t len)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_write(sqe, 0, frames[i], len, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	sqe->user_data = i;
}

static void
prepare_read(struct io_uring *ring, uint16_t i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_read(sqe, 0, frames[i], RAW_FRAME_ROOM, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	sqe->rw_flags = RWF_NOWAIT;
	sqe->user_data = i;
}

bool
send_uring(struct worker *w)
{
	static struct generator g;
	const char *why = generator_init(&g, &w->job.traffic);
	uint16_t batch = batch_size(w);
	uint16_t len[MAX_BATCH];
	struct io_uring ring;
	int fd;

	if (why != NULL)
		return worker_fail(w, "%s", why);
	if (g.max_size > RAW_FRAME_ROOM)
		return worker_fail(w, "packets of %u bytes are too large", g.max_size);
	fd = raw_open(w, w->job.iface, false, false);
	if (fd < 0 || !ring_open(w, &ring, fd) || !worker_ready(w))
		return false;
	for (uint16_t i = 0; i < batch; i++)
		packet_fill(frames[i], g.max_size);
	worker_begin(w);
	while (!worker_over(w)) {
		struct io_uring_cqe *cqe;
		unsigned int head, done = 0;

		for (uint16_t i = 0; i < batch; i++) {
			len[i] = generator_next(&g, frames[i]);
			prepare_write(&ring, i, len[i]);
		}
		io_uring_submit_and_wait(&ring, batch);
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			if (unlikely(cqe->res < 0))
				return worker_fail(w, "write to %s: %s", w->job.iface,
						   strerror(-cqe->res));
			w->count.packets++;
			w->count.bytes += len[cqe->user_data];
			done++;
		}
		io_uring_cq_advance(&ring, done);
		w->count.calls++;
	}
	return true;
}

/* Packets of one batch of reads. The next batch is as long as this one was full. */
static int
read_batch(struct worker *w, struct io_uring *ring, struct checker *check, uint16_t batch)
{
	struct io_uring_cqe *cqe;
	unsigned int head, done = 0;
	int got = 0;

	for (uint16_t i = 0; i < batch; i++)
		prepare_read(ring, i);
	io_uring_submit_and_wait(ring, batch);
	io_uring_for_each_cqe(ring, head, cqe)
	{
		uint32_t len = (uint32_t)cqe->res;

		done++;
		if (cqe->res == -EAGAIN)
			continue;
		if (cqe->res < 0) {
			worker_fail(w, "read from %s: %s", w->job.iface, strerror(-cqe->res));
			return -1;
		}
		got++;
		if (checker_packet(check, frames[cqe->user_data], len, len)) {
			w->count.packets++;
			w->count.bytes += len;
		}
	}
	io_uring_cq_advance(ring, done);
	return got;
}

bool
receive_uring(struct worker *w)
{
	static struct checker check;
	uint16_t most = batch_size(w);
	uint16_t batch = 1;
	struct io_uring ring;
	int fd = raw_open(w, w->job.iface, false, false);
	int got;

	checker_init(&check, &w->job.traffic);
	if (fd < 0 || !ring_open(w, &ring, fd) || !worker_ready(w))
		return false;
	worker_begin(w);
	do {
		got = read_batch(w, &ring, &check, batch);
		if (got < 0)
			return false;
		if (got > 0)
			w->count.calls++;
		else
			w->count.idle++;
		batch = (uint16_t)RTE_MIN(most, got == batch ? batch * 2 : got + 1);
	} while (!worker_drained(w, got == 0));
	w->out.late = check.late;
	w->out.misfit = check.misfit;
	w->out.foreign = check.foreign;
	return true;
}

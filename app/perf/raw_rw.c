/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* One system call per packet: write() and read() on a tap. */

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "packet.h"
#include "raw.h"

static size_t
header_len(const struct worker *w)
{
	return w->job.backend == BACKEND_VNET ? sizeof(struct raw_vnet_hdr) : 0;
}

bool
send_rw(struct worker *w)
{
	static uint8_t room[RAW_SUPERFRAME_ROOM];
	static struct generator g;
	const size_t header = header_len(w);
	uint8_t *frame = room + header;
	const char *why = generator_init(&g, &w->job.traffic);
	int fd;

	if (why != NULL)
		return worker_fail(w, "%s", why);
	fd = raw_open(w, w->job.iface, header > 0, false);
	if (fd < 0 || !worker_ready(w))
		return false;
	packet_fill(frame, g.max_size);
	worker_begin(w);
	while (!worker_over(w)) {
		for (uint16_t i = 0; i < w->job.burst; i++) {
			uint32_t len = generator_next(&g, frame);
			struct iovec iov = { .iov_base = room, .iov_len = header + len };

			while (writev(fd, &iov, 1) < 0) {
				if (errno != EAGAIN && errno != ENOBUFS)
					return worker_fail(w, "write to %s: %s", w->job.iface,
							   strerror(errno));
				w->count.idle++;
			}
			w->count.calls++;
			w->count.packets++;
			w->count.bytes += len;
		}
	}
	return true;
}

bool
receive_rw(struct worker *w)
{
	static uint8_t room[RAW_SUPERFRAME_ROOM];
	static struct checker check;
	const size_t header = header_len(w);
	struct iovec iov = { .iov_base = room, .iov_len = sizeof(room) };
	int fd = raw_open(w, w->job.iface, header > 0, false);
	bool idle = true;

	checker_init(&check, &w->job.traffic);
	if (fd < 0 || !worker_ready(w))
		return false;
	worker_begin(w);
	do {
		for (uint16_t i = 0; i < w->job.burst; i++) {
			ssize_t len = readv(fd, &iov, 1);

			if (len < 0) {
				if (errno != EAGAIN)
					return worker_fail(w, "read from %s: %s", w->job.iface,
							   strerror(errno));
				w->count.idle++;
				idle = i == 0;
				break;
			}
			idle = false;
			w->count.calls++;
			len -= (ssize_t)header;
			if (len > 0 &&
			    checker_packet(&check, room + header, (uint32_t)len, (uint32_t)len)) {
				w->count.packets++;
				w->count.bytes += (uint64_t)len;
			}
			worker_dawdle(w, 1);
		}
	} while (!worker_drained(w, idle));
	w->out.late = check.late;
	w->out.misfit = check.misfit;
	w->out.foreign = check.foreign;
	return true;
}

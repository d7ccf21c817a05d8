/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Superframes by hand: the sender writes one for the kernel to cut or to carry
 * whole, the receiver takes them whole, the forwarder passes them on between two
 * taps with the virtio header untouched.
 */

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "packet.h"
#include "raw.h"

struct superframe {
	struct raw_vnet_hdr vnet;
	uint8_t data[RAW_SUPERFRAME_ROOM];
};

static struct superframe frame;

bool
send_superframe(struct worker *w)
{
	const struct traffic *t = &w->job.traffic;
	static struct generator g;
	const char *why = generator_init(&g, t);
	uint16_t header = traffic_header(t);
	uint16_t payload = (uint16_t)(t->size[0] - header);
	uint16_t segments = RTE_MIN(w->job.segments ? w->job.segments : 64,
				    (UINT16_MAX - header) / payload);
	int fd;

	if (why != NULL)
		return worker_fail(w, "%s", why);
	fd = raw_open(w, w->job.iface, true, true);
	if (fd < 0 || !worker_ready(w))
		return false;
	packet_fill(frame.data, UINT16_MAX);
	frame.vnet = (struct raw_vnet_hdr){
		.flags = RAW_VNET_NEEDS_CSUM,
		.gso_type = t->tcp ? RAW_VNET_TCPV4 : RAW_VNET_UDP_L4,
		.hdr_len = header,
		.gso_size = payload,
		.csum_start = 34,
		.csum_offset = t->tcp ? 16 : 6,
	};
	worker_begin(w);
	while (!worker_over(w)) {
		uint32_t len = generator_superframe(&g, frame.data, segments);

		while (write(fd, &frame, sizeof(frame.vnet) + len) < 0) {
			if (errno == EINVAL) {
				w->out.unsupported = true;
				return worker_fail(w, "the kernel refuses superframes of %s",
						   t->tcp ? "TCP" : "UDP (Linux 6.2 has them)");
			}
			if (errno != EAGAIN && errno != ENOBUFS)
				return worker_fail(w, "write to %s: %s", w->job.iface,
						   strerror(errno));
			w->count.idle++;
		}
		w->count.calls++;
		w->count.packets += segments;
		w->count.bytes += (uint64_t)segments * t->size[0];
	}
	return true;
}

static void
check_superframe(struct worker *w, struct checker *check, uint32_t len)
{
	uint32_t step = frame.vnet.gso_type ? frame.vnet.gso_size : len;

	for (uint32_t at = check->tag; at + 8 <= len; at += step) {
		uint32_t size = check->tag + RTE_MIN(step, len - at);

		if (frame.vnet.gso_type == 0)
			size = len;
		if (checker_tag(check,
				rte_be_to_cpu_64(*(const unaligned_uint64_t *)(frame.data + at)),
				size)) {
			w->count.packets++;
			w->count.bytes += size;
		}
	}
}

bool
receive_superframe(struct worker *w)
{
	static struct checker check;
	int fd = raw_open(w, w->job.iface, true, true);
	ssize_t len;

	checker_init(&check, &w->job.traffic);
	if (fd < 0 || !worker_ready(w))
		return false;
	worker_begin(w);
	do {
		len = read(fd, &frame, sizeof(frame));
		if (len < 0) {
			if (errno != EAGAIN)
				return worker_fail(w, "read from %s: %s", w->job.iface,
						   strerror(errno));
			w->count.idle++;
			worker_nap(w);
		} else {
			w->count.calls++;
			check_superframe(w, &check, (uint32_t)len - sizeof(frame.vnet));
		}
	} while (!worker_drained(w, len < 0));
	w->out.late = check.late;
	w->out.misfit = check.misfit;
	w->out.foreign = check.foreign;
	return true;
}

/* @return packets passed on, or -1 */
static int
pass_on(struct worker *w, int from, int to)
{
	int n;

	for (n = 0; n < w->job.burst; n++) {
		ssize_t len = read(from, &frame, sizeof(frame));

		if (len < 0 && errno == EAGAIN)
			break;
		/* An interface that is down, or on its way to another namespace. */
		if (len < 0 && (errno == EIO || errno == EBADFD))
			break;
		if (len < 0) {
			worker_fail(w, "read: %s", strerror(errno));
			return -1;
		}
		if (write(to, &frame, (size_t)len) != len)
			w->count.idle++;
		w->count.packets++;
		w->count.bytes += (uint64_t)len;
		w->count.calls++;
	}
	return n;
}

bool
forward_superframe(struct worker *w)
{
	int a = raw_open(w, w->job.iface, true, true);
	int b = a < 0 ? -1 : raw_open(w, w->job.peer, true, true);
	int n, m;

	if (b < 0 || !worker_ready(w))
		return false;
	worker_begin(w);
	do {
		n = pass_on(w, a, b);
		m = pass_on(w, b, a);
		if (n < 0 || m < 0)
			return false;
	} while (!worker_over(w));
	return true;
}

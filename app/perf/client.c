/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Request and response through the kernel's own sockets: one request under way at
 * a time, by UDP or by ping, each round trip timed.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "packet.h"
#include "worker.h"

#define MAX_SAMPLES (1 << 21)
#define REQUEST_SIZE 64 /* bytes of payload */
#define PATIENCE_S 1    /* a busy machine makes one wait; what is lost never comes */

struct request {
	struct icmphdr icmp; /* of a ping */
	uint64_t number;
	uint8_t rest[REQUEST_SIZE - 8 - sizeof(struct icmphdr)];
};

static int
open_socket(struct worker *w, bool icmp)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(PACKET_DST_PORT),
		.sin_addr.s_addr = htonl(PACKET_DST_IP),
	};
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = icmp ? socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP) :
			socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		worker_fail(w, "no socket: %s", strerror(errno));
		return -1;
	}
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0) {
		worker_fail(w, "socket: %s", strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

static uint16_t
icmp_sum(const struct request *r)
{
	const uint16_t *word = (const void *)r;
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*r) / 2; i++)
		sum += word[i];
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

/* Waits for the answer to the request of that number; late ones are passed over. */
static bool
await_reply(const struct worker *w, int fd, uint64_t number)
{
	uint8_t buffer[256];

	for (;;) {
		ssize_t len = recv(fd, buffer, sizeof(buffer), 0);
		size_t skip = w->job.icmp ? sizeof(struct rte_ipv4_hdr) : 0;
		struct request reply;

		if (len < 0)
			return false;
		if ((size_t)len != skip + sizeof(reply))
			continue;
		memcpy(&reply, buffer + skip, sizeof(reply));
		if (w->job.icmp && reply.icmp.type != ICMP_ECHOREPLY)
			continue;
		if (reply.number == number)
			return true;
	}
}

/* Datagrams that are answered too, but not waited for: the request is behind them. With pings they have
 * a socket of their own, where the answers stay.
 */
static void
send_load(const struct worker *w, int fd)
{
	struct request r = { .number = 0 };

	for (uint16_t i = 0; i < w->job.load; i++)
		if (send(fd, &r, sizeof(r), MSG_DONTWAIT) < 0)
			break;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
percentiles(struct worker *w, uint32_t *rtt, size_t n)
{
	if (n == 0)
		return;
	qsort(rtt, n, sizeof(*rtt), compare);
	w->out.rtt_min = rtt[0];
	w->out.rtt_50 = rtt[n / 2];
	w->out.rtt_90 = rtt[n * 9 / 10];
	w->out.rtt_99 = rtt[n * 99 / 100];
	w->out.rtt_max = rtt[n - 1];
}

bool
client(struct worker *w)
{
	uint32_t *rtt = malloc(MAX_SAMPLES * sizeof(*rtt));
	struct request r = { .icmp = { .type = ICMP_ECHO } };
	int fd = open_socket(w, w->job.icmp);
	int load_fd = w->job.icmp && w->job.load ? open_socket(w, false) : fd;
	size_t n = 0;
	bool ok = false;

	if (rtt == NULL || fd < 0 || load_fd < 0)
		goto out;
	r.icmp.un.echo.id = htons((uint16_t)getpid());
	memset(rtt, 0, MAX_SAMPLES * sizeof(*rtt)); /* no page faults later */
	if (!worker_ready(w))
		goto out;
	worker_begin(w);
	while (!worker_over(w)) {
		uint64_t begin, took;

		r.number++;
		if (w->job.icmp) {
			r.icmp.un.echo.sequence = htons((uint16_t)r.number);
			r.icmp.checksum = 0;
			r.icmp.checksum = icmp_sum(&r);
		}
		send_load(w, load_fd);
		begin = monotonic_ns();
		if (send(fd, &r, sizeof(r), 0) != sizeof(r) && errno != ECONNREFUSED) {
			worker_fail(w, "send: %s", strerror(errno));
			goto out;
		}
		w->out.requests++;
		if (!await_reply(w, fd, r.number))
			continue;
		took = monotonic_ns() - begin;
		w->out.replies++;
		w->count.packets++;
		if (w->phase == PHASE_MEASURE && n < MAX_SAMPLES)
			rtt[n++] = (uint32_t)RTE_MIN(took, UINT32_MAX);
		if (w->job.interval_ns != 0) {
			struct timespec t = { .tv_nsec = w->job.interval_ns };

			nanosleep(&t, NULL);
		}
	}
	percentiles(w, rtt, n);
	ok = true;
out:
	free(rtt);
	if (load_fd >= 0 && load_fd != fd)
		close(load_fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Sends small UDP packets as fast as the kernel takes them, each of 64 in turn to
 * another port, so that no two neighbours are of one flow. 64 bytes a frame.
 *
 *	udp_flood ADDRESS SECONDS
 *
 * Prints how many the kernel took.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 64
#define PAYLOAD (64 - 14 - 20 - 8)

static double
seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in to[BATCH];
	struct mmsghdr msgs[BATCH];
	static char payload[PAYLOAD];
	struct iovec iov = { payload, sizeof(payload) };
	unsigned long long sent = 0;
	double end;
	int fd;
	int i;

	if (argc != 3) {
		fprintf(stderr, "usage: udp_flood ADDRESS SECONDS\n");
		return EXIT_FAILURE;
	}
	memset(to, 0, sizeof(to));
	memset(msgs, 0, sizeof(msgs));
	for (i = 0; i < BATCH; i++) {
		to[i].sin_family = AF_INET;
		to[i].sin_port = htons((unsigned short)(9000 + i));
		if (inet_pton(AF_INET, argv[1], &to[i].sin_addr) != 1) {
			fprintf(stderr, "udp_flood: '%s' is no IPv4 address\n", argv[1]);
			return EXIT_FAILURE;
		}
		msgs[i].msg_hdr.msg_name = &to[i];
		msgs[i].msg_hdr.msg_namelen = sizeof(to[i]);
		msgs[i].msg_hdr.msg_iov = &iov;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0) {
		perror("udp_flood: socket");
		return EXIT_FAILURE;
	}
	end = seconds_now() + atof(argv[2]);
	while (seconds_now() < end) {
		int n = sendmmsg(fd, msgs, BATCH, 0);

		if (n > 0)
			sent += (unsigned int)n;
		else if (errno != EAGAIN && errno != ENOBUFS) {
			perror("udp_flood: sendmmsg");
			return EXIT_FAILURE;
		}
	}
	printf("%llu\n", sent);
	return EXIT_SUCCESS;
}

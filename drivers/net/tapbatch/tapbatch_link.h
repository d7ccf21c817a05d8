/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The network interface as rtnetlink shows it: MTU, flags, counters, and news of
 * its changes. Found by descriptor, index and namespace, never by name.
 */

#ifndef TAPBATCH_LINK_H
#define TAPBATCH_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mnl_socket;

/* Private to one process, and to one caller at a time. */
struct tapbatch_link {
	int tun_fd;                  /* the interface; not owned */
	struct mnl_socket *requests; /* in the interface's namespace */
	struct mnl_socket *news;     /* likewise; non-blocking */
	int ioctl_sock;              /* likewise */
	int news_fd;                 /* epoll: readable when there is news of some interface */
	unsigned int ifindex;
	ino_t netns;       /* inode of that namespace, 0: not known */
	ino_t unreachable; /* of one that could not be entered */
	int unreachable_err;
};

struct tapbatch_link_state {
	bool up;             /* IFF_UP */
	bool running;        /* up and with carrier */
	uint32_t mtu;        /* bytes */
	uint32_t speed;      /* Mb/s, 0: not known */
	uint64_t rx_dropped; /* packets that we wrote and the kernel dropped */
	uint64_t tx_dropped; /* packets meant for us that the kernel dropped */
};

/*
 * Opens the sockets. 0, or a negative errno after a message; nothing to close then.
 */
int tapbatch_link_open(struct tapbatch_link *link, int tun_fd);
void tapbatch_link_close(struct tapbatch_link *link);

/*
 * Makes sure that the sockets are in the namespace where the interface is now.
 *
 * @return 0: nothing had to be done; 1: it had moved, the sockets are new;
 *         -EBADFD: the interface is gone; other negative errno: not reachable
 */
int tapbatch_link_follow(struct tapbatch_link *link);

/* All return 0 or a negative errno (-ENODEV or -EBADFD: the interface is gone). */
int tapbatch_link_get(struct tapbatch_link *link, struct tapbatch_link_state *state);
int tapbatch_link_set_up(struct tapbatch_link *link, bool up);
int tapbatch_link_set_mtu(struct tapbatch_link *link, uint32_t mtu);
int tapbatch_link_set_txqlen(struct tapbatch_link *link, uint32_t packets);
/* Packets that the interface collects while its writer says that more follow (ethtool -C
 * rx-frames).
 */
int tapbatch_link_set_rx_frames(struct tapbatch_link *link, uint32_t packets);

/*
 * Reads away all news.
 *
 * @param other    index of one more interface that matters; 0: none
 * @param deleted  set if that one was deleted, or moved away
 * @return whether any of the news can concern one of the two
 */
bool tapbatch_link_read_news(struct tapbatch_link *link, unsigned int other, bool *deleted);

#endif /* TAPBATCH_LINK_H */

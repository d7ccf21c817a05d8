/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The interface that a port captures from and sends through (device argument remote):
 * traffic control redirects between it and the port's tap interface, inside the kernel.
 */

#ifndef TAPBATCH_REMOTE_H
#define TAPBATCH_REMOTE_H

#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rte_ether.h>

#include "tapbatch_link.h"
#include "tapbatch_netlink.h"

/* Private to one process; its functions may be called by several threads. */
struct tapbatch_remote {
	pthread_mutex_t lock;
	unsigned int ifindex;              /* 0: the port has no remote */
	char name[IF_NAMESIZE];            /* as in the device argument, for messages */
	ino_t netns;                       /* inode of its namespace, 0: not known */
	bool gone;                         /* deleted, or moved to another namespace */
	struct mnl_socket *requests;       /* rtnetlink, in the remote's namespace */
	int members;                       /* packet socket that holds addresses and modes, or -1 */
	struct rte_ether_addr mac;         /* the port's: frames for it are redirected */
	struct rte_ether_addr foreign_mac; /* that somebody gave it since, told already */
	unsigned int tap_ifindex;          /* that is redirected to; 0: not redirected */
	uint64_t lost;       /* frames sent that it did not take, up to the last release */
	uint64_t lost_since; /* and since then, as last seen */
	bool promiscuous;
	bool allmulticast;
	/* What we changed last, and what was there before: to be put back. */
	bool changed_mac;
	bool changed_mtu;
	bool changed_up;
	struct rte_ether_addr our_mac;
	struct rte_ether_addr found_mac;
	uint32_t our_mtu; /* bytes */
	uint32_t found_mtu;
};

/* For an object that is not opened, so that it can be closed. */
#define TAPBATCH_REMOTE_NONE \
	((struct tapbatch_remote){ .lock = PTHREAD_MUTEX_INITIALIZER, .members = -1 })

/*
 * Finds the interface in the namespace of this thread. All errors here and below come with
 * a message that names the remote.
 *
 * @param device  name of the DPDK device, for messages
 * @param tap     the port's interface, which must not be the same
 * @param state   set
 * @return 0, or a negative errno (-EBUSY: it serves another port); nothing to close then
 */
int tapbatch_remote_open(struct tapbatch_remote *remote, const char *device, const char *name,
			 const struct tapbatch_link *tap, struct tapbatch_iface *state);

/*
 * Undoes all: redirection, addresses, modes; and MTU, address and IFF_UP as far as nobody
 * else has changed them meanwhile. Safe on one that was never opened.
 */
void tapbatch_remote_close(struct tapbatch_remote *remote, const struct tapbatch_link *tap);

/* Without a remote all that follow are no-ops that return 0. "tap" has been followed. */

/*
 * Whether the redirection is possible now: 0, or a negative errno. -ENODEV: the remote is
 * gone; -EXDEV: tap is in another namespace; -EBUSY: the remote serves another interface;
 * -EEXIST: somebody else's filter is where ours belongs.
 */
int tapbatch_remote_check(struct tapbatch_remote *remote, const struct tapbatch_link *tap);

/*
 * Sets the remote up and redirects: what it receives for the port's address goes to the tap
 * interface only, other frames also there; what comes from the tap interface leaves through
 * the remote.
 *
 * @return as of tapbatch_remote_check(), and what the kernel says; nothing is redirected then
 */
int tapbatch_remote_redirect(struct tapbatch_remote *remote, const struct tapbatch_link *tap);

/* Ends that. tap: NULL once that interface is gone. */
void tapbatch_remote_release(struct tapbatch_remote *remote, const struct tapbatch_link *tap);

/*
 * To be called when one of the two interfaces may have changed. If they are no longer
 * together a notice says so, and the host gets its traffic back.
 *
 * @param port_id  for messages
 * @param tap      NULL: it is gone
 * @param deleted  there was news of the remote's end
 */
void tapbatch_remote_follow(struct tapbatch_remote *remote, uint16_t port_id,
			    const struct tapbatch_link *tap, bool deleted);

/* Index of the interface if there is news of it in the namespace of tap, else 0. */
unsigned int tapbatch_remote_news(const struct tapbatch_remote *remote,
				  const struct tapbatch_link *tap);

/* Whether frames pass: it is redirected, up and has carrier. True without a remote. */
bool tapbatch_remote_running(struct tapbatch_remote *remote);
/* What the kernel says of it; no message. -ENODEV: gone, or there is no remote. */
int tapbatch_remote_get(struct tapbatch_remote *remote, struct tapbatch_iface *state);

/* Frames that were sent and that the remote did not take, since it was opened. */
uint64_t tapbatch_remote_lost(struct tapbatch_remote *remote, const struct tapbatch_link *tap);

int tapbatch_remote_set_mac(struct tapbatch_remote *remote, const struct rte_ether_addr *mac);
int tapbatch_remote_set_mtu(struct tapbatch_remote *remote, uint32_t mtu);

/*
 * Makes the remote receive more, or no longer, as long as this process lives
 * (packet(7), PACKET_ADD_MEMBERSHIP).
 */
int tapbatch_remote_set_modes(struct tapbatch_remote *remote, bool promiscuous, bool allmulticast);
int tapbatch_remote_set_address(struct tapbatch_remote *remote, const struct rte_ether_addr *mac,
				bool on);

#endif /* TAPBATCH_REMOTE_H */

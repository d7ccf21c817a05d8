/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The interface that a port captures from and sends through (device argument remote):
 * traffic control redirects between it and the port's tap interface, inside the kernel.
 */

#ifndef TAPBATCH_REMOTE_H
#define TAPBATCH_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

struct mnl_socket;

/* Private to one process, and to one caller at a time. */
struct tapbatch_remote {
	unsigned int ifindex;        /* 0: the port has no remote */
	struct mnl_socket *requests; /* rtnetlink, in the remote's namespace */
	int members;                 /* packet socket that holds addresses and modes, or -1 */
	struct rte_ether_addr mac;   /* the remote's at open, or set since */
	uint32_t mtu;                /* bytes, likewise */
	unsigned int tap_ifindex;    /* that is redirected to; 0: not redirected */
	bool promiscuous;
	bool allmulticast;
	bool own_qdisc;     /* the remote had no ingress qdisc before */
	bool own_tap_qdisc; /* nor had the tap interface */
};

/* For an object that is not opened, so that it can be closed. */
#define TAPBATCH_REMOTE_NONE ((struct tapbatch_remote){ .members = -1 })

/*
 * Finds the interface in the namespace of this thread.
 *
 * @return 0, or a negative errno after a message that names the device; nothing to
 *         close then
 */
int tapbatch_remote_open(struct tapbatch_remote *remote, const char *device, const char *name);

/* Undoes all: redirection, addresses, modes. Safe on one that was never opened. */
void tapbatch_remote_close(struct tapbatch_remote *remote);

/*
 * Redirects: what the remote receives for its own address goes to the tap interface only,
 * other frames also there; what comes from the tap interface leaves through the remote.
 * (tc-u32(8), tc-mirred(8); Linux net/sched/act_mirred.c)
 *
 * @param tap_ifindex  in the same namespace
 * @return 0, or a negative errno after a message; nothing is redirected then
 */
int tapbatch_remote_redirect(struct tapbatch_remote *remote, unsigned int tap_ifindex);
void tapbatch_remote_release(struct tapbatch_remote *remote);

/* Both are no-ops that return 0 without a remote; else 0 or a negative errno. */
int tapbatch_remote_set_mac(struct tapbatch_remote *remote, const struct rte_ether_addr *mac);
int tapbatch_remote_set_mtu(struct tapbatch_remote *remote, uint32_t mtu);

/*
 * Makes the remote receive more, or no longer, as long as this process lives
 * (packet(7), PACKET_ADD_MEMBERSHIP). No-ops that return 0 without a remote.
 */
int tapbatch_remote_set_modes(struct tapbatch_remote *remote, bool promiscuous, bool allmulticast);
int tapbatch_remote_set_address(struct tapbatch_remote *remote, const struct rte_ether_addr *mac,
				bool on);

#endif /* TAPBATCH_REMOTE_H */

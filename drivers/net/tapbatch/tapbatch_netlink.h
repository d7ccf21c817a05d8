/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Questions and orders to the kernel over rtnetlink (rtnetlink(7)), and what it says of a
 * network interface.
 */

#ifndef TAPBATCH_NETLINK_H
#define TAPBATCH_NETLINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include <rte_ether.h>

/* Bytes of a request that tapbatch_netlink_begin_link() begins. */
#define TAPBATCH_NETLINK_REQUEST 256

struct tapbatch_iface {
	char name[IF_NAMESIZE];
	unsigned int type; /* ARPHRD_* */
	bool up;           /* IFF_UP */
	bool running;      /* up and with carrier */
	uint32_t mtu;      /* bytes */
	uint32_t queues;   /* of a tun interface with several, attached or not; else 0 */
	struct rte_ether_addr mac;
	uint64_t rx_dropped; /* packets, of the interface's counters */
	uint64_t tx_dropped;
};

/*
 * Sends a request and reads what comes back, up to the kernel's acknowledgement or the
 * end of its answer.
 *
 * @param socket    bound; nobody else may use it at the same time
 * @param nlh       the request
 * @param callback  gets each message of the answer, returns MNL_CB_STOP for the last one
 *                  if no acknowledgement follows; NULL: only errors matter
 * @return 0, or the negative errno of the kernel or the callback (MNL_CB_ERROR)
 */
int tapbatch_netlink_talk(struct mnl_socket *socket, struct nlmsghdr *nlh, mnl_cb_t callback,
			  void *data);

/* Begins a request about an interface, RTM_GETLINK or RTM_NEWLINK, in buffer. */
struct nlmsghdr *tapbatch_netlink_begin_link(void *buffer, uint16_t type, unsigned int ifindex);

/* All return 0 or a negative errno (-ENODEV: there is no such interface). */
int tapbatch_netlink_get_link(struct mnl_socket *socket, unsigned int ifindex,
			      struct tapbatch_iface *iface);
int tapbatch_netlink_set_up(struct mnl_socket *socket, unsigned int ifindex, bool up);
/* attribute: IFLA_MTU or another of 32 bits */
int tapbatch_netlink_set_u32(struct mnl_socket *socket, unsigned int ifindex, uint16_t attribute,
			     uint32_t value);

#endif /* TAPBATCH_NETLINK_H */

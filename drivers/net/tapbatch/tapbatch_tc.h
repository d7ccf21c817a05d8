/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What an interface receives, passed to another one by traffic control: an ingress qdisc
 * and our filters there (tc-u32(8), tc-mirred(8); Linux net/sched/act_mirred.c).
 */

#ifndef TAPBATCH_TC_H
#define TAPBATCH_TC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

struct mnl_socket;

/* Preferences of our filters, behind those that people number by hand. */
#define TAPBATCH_TC_PREF_ADDRESS 42160 /* to one address */
#define TAPBATCH_TC_PREF_ALL 42161

/* What is at the ingress of an interface. */
struct tapbatch_tc_ingress {
	bool ours;           /* filters that this driver made, perhaps in another process */
	bool own_qdisc;      /* it made the qdisc, too */
	bool taken;          /* somebody else's filter has one of our preferences */
	unsigned int others; /* somebody else's filters */
	unsigned int target; /* where ours pass frames to; 0: nowhere, that one is gone */
	uint64_t lost;       /* frames that they could not pass on */
};

/* All are called with a bound rtnetlink socket in the namespace of the interfaces, and
 * return 0 or a negative errno.
 */
int tapbatch_tc_read(struct mnl_socket *socket, unsigned int ifindex,
		     struct tapbatch_tc_ingress *ingress);

/*
 * Passes all that ifindex receives to the interface "to". Our filters that are there
 * already are replaced.
 *
 * @param mac  what goes to this address is redirected, of the rest go copies; NULL: all
 *             is redirected
 * @return -EEXIST: somebody else's filter has one of our preferences; after any error
 *         nothing is passed
 */
int tapbatch_tc_pass(struct mnl_socket *socket, unsigned int ifindex, unsigned int to,
		     const struct rte_ether_addr *mac);

/* Has another address redirected. After an error the filter of the address is missing. */
int tapbatch_tc_pass_address(struct mnl_socket *socket, unsigned int ifindex, unsigned int to,
			     const struct rte_ether_addr *mac);

/* Removes our filters, and the qdisc if it is ours and nobody else has put a filter there. */
int tapbatch_tc_clear(struct mnl_socket *socket, unsigned int ifindex);

#endif /* TAPBATCH_TC_H */

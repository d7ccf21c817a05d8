/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Ingress qdiscs, and u32 filters whose mirred actions pass frames to another interface.
 * u32 is the classifier that the fewest kernels lack. What the driver made it knows again by
 * the class (tc's flowid) of its filters, which has no other meaning at an ingress.
 */

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <string.h>

#include <rte_byteorder.h>

#include "tapbatch_netlink.h"
#include "tapbatch_tc.h"

#define INGRESS_FILTERS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)

/* 'tb': the qdisc was made with the filter, or was there. */
#define CLASS_OWN_QDISC TC_H_MAKE(0x74620000U, 1)
#define CLASS_FOUND_QDISC TC_H_MAKE(0x74620000U, 2)

/* What one filter's message tells. */
struct filter {
	bool selects; /* has a selector: is no mere table of such */
	uint32_t class;
	unsigned int target;
	uint64_t lost;
};

static int
read_action_stats(const struct nlattr *attr, void *data)
{
	struct filter *filter = data;
	struct gnet_stats_queue queue = { 0 };
	size_t len = mnl_attr_get_payload_len(attr);

	if (mnl_attr_get_type(attr) != TCA_STATS_QUEUE)
		return MNL_CB_OK;
	memcpy(&queue, mnl_attr_get_payload(attr), len < sizeof(queue) ? len : sizeof(queue));
	/* mirred counts there what the other interface did not take. */
	filter->lost = queue.overlimits;
	return MNL_CB_OK;
}

static int
read_action_options(const struct nlattr *attr, void *data)
{
	struct filter *filter = data;
	struct tc_mirred mirred;

	if (mnl_attr_get_type(attr) != TCA_MIRRED_PARMS ||
	    mnl_attr_get_payload_len(attr) < sizeof(mirred))
		return MNL_CB_OK;
	memcpy(&mirred, mnl_attr_get_payload(attr), sizeof(mirred));
	filter->target = mirred.ifindex;
	return MNL_CB_OK;
}

static int
read_action(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == TCA_ACT_OPTIONS)
		mnl_attr_parse_nested(attr, read_action_options, data);
	if (mnl_attr_get_type(attr) == TCA_ACT_STATS)
		mnl_attr_parse_nested(attr, read_action_stats, data);
	return MNL_CB_OK;
}

static int
read_actions(const struct nlattr *attr, void *data)
{
	mnl_attr_parse_nested(attr, read_action, data);
	return MNL_CB_OK;
}

static int
read_options(const struct nlattr *attr, void *data)
{
	struct filter *filter = data;

	switch (mnl_attr_get_type(attr)) {
	case TCA_U32_SEL:
		filter->selects = true;
		break;
	case TCA_U32_CLASSID:
		if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
			filter->class = mnl_attr_get_u32(attr);
		break;
	case TCA_U32_ACT:
		mnl_attr_parse_nested(attr, read_actions, filter);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

/* Finds the attributes that tell whose filter this is. */
struct parts {
	const char *kind;
	const struct nlattr *options;
};

static int
read_part(const struct nlattr *attr, void *data)
{
	struct parts *parts = data;

	if (mnl_attr_get_type(attr) == TCA_KIND &&
	    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
		parts->kind = mnl_attr_get_str(attr);
	if (mnl_attr_get_type(attr) == TCA_OPTIONS)
		parts->options = attr;
	return MNL_CB_OK;
}

static int
read_filter(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *what = mnl_nlmsg_get_payload(nlh);
	struct tapbatch_tc_ingress *ingress = data;
	struct parts parts = { .kind = "" };
	struct filter filter = { 0 };
	uint32_t pref;

	if (nlh->nlmsg_type != RTM_NEWTFILTER || mnl_nlmsg_get_payload_len(nlh) < sizeof(*what))
		return MNL_CB_OK;
	pref = what->tcm_info >> 16;
	mnl_attr_parse(nlh, sizeof(*what), read_part, &parts);
	if (pref != TAPBATCH_TC_PREF_ALL && pref != TAPBATCH_TC_PREF_ADDRESS) {
		ingress->others++;
		return MNL_CB_OK;
	}
	if (strcmp(parts.kind, "u32") != 0) {
		ingress->taken = true;
		ingress->others++;
		return MNL_CB_OK;
	}
	if (parts.options != NULL)
		mnl_attr_parse_nested(parts.options, read_options, &filter);
	if (!filter.selects)
		return MNL_CB_OK;
	if (filter.class != CLASS_OWN_QDISC && filter.class != CLASS_FOUND_QDISC) {
		ingress->taken = true;
		ingress->others++;
		return MNL_CB_OK;
	}
	ingress->ours = true;
	ingress->own_qdisc |= filter.class == CLASS_OWN_QDISC;
	if (filter.target != 0)
		ingress->target = filter.target;
	ingress->lost += filter.lost;
	return MNL_CB_OK;
}

static struct nlmsghdr *
begin(void *buffer, uint16_t type, uint16_t flags, const struct tcmsg *what)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(*what)), what, sizeof(*what));
	return nlh;
}

int
tapbatch_tc_read(struct mnl_socket *socket, unsigned int ifindex,
		 struct tapbatch_tc_ingress *ingress)
{
	struct tcmsg what = {
		.tcm_ifindex = (int)ifindex,
		.tcm_parent = INGRESS_FILTERS,
	};
	char buffer[256];

	memset(ingress, 0, sizeof(*ingress));
	return tapbatch_netlink_talk(socket, begin(buffer, RTM_GETTFILTER, NLM_F_DUMP, &what),
				     read_filter, ingress);
}

static int
change_qdisc(struct mnl_socket *socket, unsigned int ifindex, bool add)
{
	struct tcmsg what = {
		.tcm_ifindex = (int)ifindex,
		.tcm_parent = TC_H_INGRESS,
		.tcm_handle = TC_H_MAKE(TC_H_INGRESS, 0),
	};
	char buffer[256];
	struct nlmsghdr *nlh;

	nlh = begin(buffer, add ? RTM_NEWQDISC : RTM_DELQDISC,
		    NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_EXCL : 0), &what);
	mnl_attr_put_strz(nlh, TCA_KIND, "ingress");
	return tapbatch_netlink_talk(socket, nlh, NULL, NULL);
}

static struct tcmsg
filter_of(unsigned int ifindex, uint32_t pref)
{
	return (struct tcmsg){
		.tcm_ifindex = (int)ifindex,
		.tcm_parent = INGRESS_FILTERS,
		.tcm_info = TC_H_MAKE(pref << 16, rte_cpu_to_be_16(ETH_P_ALL)),
	};
}

static int
delete_filter(struct mnl_socket *socket, unsigned int ifindex, uint32_t pref)
{
	struct tcmsg what = filter_of(ifindex, pref);
	char buffer[256];

	return tapbatch_netlink_talk(socket, begin(buffer, RTM_DELTFILTER, NLM_F_ACK, &what), NULL,
				     NULL);
}

/* Frames to an address, or all (NULL), go to the interface "to": they themselves, or
 * copies.
 */
static int
add_filter(struct mnl_socket *socket, unsigned int ifindex, uint32_t pref,
	   const struct rte_ether_addr *mac, unsigned int to, bool copies, uint32_t class)
{
	struct tcmsg what = filter_of(ifindex, pref);
	struct tc_mirred mirred = {
		.action = copies ? TC_ACT_PIPE : TC_ACT_STOLEN,
		.eaction = copies ? TCA_EGRESS_MIRROR : TCA_EGRESS_REDIR,
		.ifindex = to,
	};
	union {
		struct tc_u32_sel sel;
		uint8_t room[sizeof(struct tc_u32_sel) + 2 * sizeof(struct tc_u32_key)];
	} match = { .room = { 0 } };
	struct nlattr *options, *actions, *action, *action_options;
	struct tc_u32_key *keys = match.sel.keys;
	char buffer[1024];
	struct nlmsghdr *nlh;

	match.sel.flags = TC_U32_TERMINAL;
	match.sel.nkeys = 2;
	/* Offsets count from the network header; keys are words of 32 bits. */
	keys[0].off = -ETH_HLEN;
	keys[1].off = -ETH_HLEN + 4;
	if (mac != NULL) {
		memcpy(&keys[0].val, &mac->addr_bytes[0], 4);
		memcpy(&keys[1].val, &mac->addr_bytes[4], 2);
		keys[0].mask = RTE_BE32(0xffffffff);
		keys[1].mask = RTE_BE32(0xffff0000);
	}
	nlh = begin(buffer, RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &what);
	mnl_attr_put_strz(nlh, TCA_KIND, "u32");
	options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	mnl_attr_put(nlh, TCA_U32_SEL, sizeof(match), &match);
	mnl_attr_put_u32(nlh, TCA_U32_CLASSID, class);
	actions = mnl_attr_nest_start(nlh, TCA_U32_ACT);
	action = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, TCA_ACT_KIND, "mirred");
	action_options = mnl_attr_nest_start(nlh, TCA_ACT_OPTIONS);
	mnl_attr_put(nlh, TCA_MIRRED_PARMS, sizeof(mirred), &mirred);
	mnl_attr_nest_end(nlh, action_options);
	mnl_attr_nest_end(nlh, action);
	mnl_attr_nest_end(nlh, actions);
	mnl_attr_nest_end(nlh, options);
	return tapbatch_netlink_talk(socket, nlh, NULL, NULL);
}

int
tapbatch_tc_pass(struct mnl_socket *socket, unsigned int ifindex, unsigned int to,
		 const struct rte_ether_addr *mac)
{
	struct tapbatch_tc_ingress ingress;
	uint32_t class;
	int ret;

	ret = tapbatch_tc_read(socket, ifindex, &ingress);
	if (ret != 0)
		return ret;
	if (ingress.taken)
		return -EEXIST;
	if (ingress.ours) {
		delete_filter(socket, ifindex, TAPBATCH_TC_PREF_ADDRESS);
		delete_filter(socket, ifindex, TAPBATCH_TC_PREF_ALL);
	}
	ret = change_qdisc(socket, ifindex, true);
	if (ret != 0 && ret != -EEXIST)
		return ret;
	class = ret == 0 || ingress.own_qdisc ? CLASS_OWN_QDISC : CLASS_FOUND_QDISC;
	ret = add_filter(socket, ifindex, TAPBATCH_TC_PREF_ALL, NULL, to, mac != NULL, class);
	if (ret == 0 && mac != NULL)
		ret = add_filter(socket, ifindex, TAPBATCH_TC_PREF_ADDRESS, mac, to, false, class);
	if (ret != 0) {
		delete_filter(socket, ifindex, TAPBATCH_TC_PREF_ALL);
		if (class == CLASS_OWN_QDISC && ingress.others == 0)
			change_qdisc(socket, ifindex, false);
	}
	return ret;
}

int
tapbatch_tc_pass_address(struct mnl_socket *socket, unsigned int ifindex, unsigned int to,
			 const struct rte_ether_addr *mac)
{
	struct tapbatch_tc_ingress ingress;
	int ret;

	ret = tapbatch_tc_read(socket, ifindex, &ingress);
	if (ret != 0)
		return ret;
	delete_filter(socket, ifindex, TAPBATCH_TC_PREF_ADDRESS);
	return add_filter(socket, ifindex, TAPBATCH_TC_PREF_ADDRESS, mac, to, false,
			  ingress.own_qdisc ? CLASS_OWN_QDISC : CLASS_FOUND_QDISC);
}

int
tapbatch_tc_clear(struct mnl_socket *socket, unsigned int ifindex)
{
	struct tapbatch_tc_ingress ingress;
	int ret;

	ret = tapbatch_tc_read(socket, ifindex, &ingress);
	if (ret != 0 || !ingress.ours)
		return ret;
	delete_filter(socket, ifindex, TAPBATCH_TC_PREF_ADDRESS);
	ret = delete_filter(socket, ifindex, TAPBATCH_TC_PREF_ALL);
	if (ingress.own_qdisc && ingress.others == 0)
		ret = change_qdisc(socket, ifindex, false);
	return ret;
}

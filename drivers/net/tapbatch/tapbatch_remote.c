/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The interface that a port captures from and sends through (device argument remote):
 * an ingress qdisc on either side, and u32 filters whose mirred actions pass frames to
 * the other. u32 is the classifier that the fewest kernels lack.
 */

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "tapbatch_log.h"
#include "tapbatch_netlink.h"
#include "tapbatch_remote.h"

#define INGRESS_FILTERS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)

/* Preferences of our filters, behind those that people number by hand. */
#define PREF_OWN_ADDRESS 42160
#define PREF_ALL 42161

static int
read_attribute(const struct nlattr *attr, void *data)
{
	struct tapbatch_remote *remote = data;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_MTU:
		if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
			remote->mtu = mnl_attr_get_u32(attr);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attr) == sizeof(remote->mac))
			memcpy(&remote->mac, mnl_attr_get_payload(attr), sizeof(remote->mac));
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int
read_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	if (info->ifi_type != ARPHRD_ETHER) {
		errno = EMEDIUMTYPE;
		return MNL_CB_ERROR;
	}
	mnl_attr_parse(nlh, sizeof(*info), read_attribute, data);
	return MNL_CB_STOP;
}

static struct nlmsghdr *
begin_link(const struct tapbatch_remote *remote, void *buffer, uint16_t type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *info;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | (type == RTM_GETLINK ? 0 : NLM_F_ACK);
	info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	info->ifi_index = (int)remote->ifindex;
	return nlh;
}

int
tapbatch_remote_open(struct tapbatch_remote *remote, const char *device, const char *name)
{
	char buffer[256];
	int ret;

	*remote = TAPBATCH_REMOTE_NONE;
	remote->ifindex = if_nametoindex(name);
	if (remote->ifindex == 0) {
		ret = -errno;
		TAPBATCH_LOG(ERR,
			     "%s: remote=%s: %s (it has to be an interface of this network "
			     "namespace)",
			     device, name, strerror(errno));
		goto error;
	}
	remote->requests = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	/* With protocol 0 it receives nothing. */
	remote->members = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (remote->requests == NULL || remote->members < 0 ||
	    mnl_socket_bind(remote->requests, 0, MNL_SOCKET_AUTOPID) < 0) {
		ret = -errno;
		TAPBATCH_LOG(ERR, "%s: remote=%s: no socket to control it: %s%s", device, name,
			     strerror(errno), errno == EPERM ? " (CAP_NET_RAW is needed)" : "");
		goto error;
	}
	ret = tapbatch_netlink_talk(remote->requests, begin_link(remote, buffer, RTM_GETLINK),
				    read_link, remote);
	if (ret != 0) {
		TAPBATCH_LOG(ERR, "%s: remote=%s: %s", device, name,
			     ret == -EMEDIUMTYPE ? "is no Ethernet interface" : strerror(-ret));
		goto error;
	}
	return 0;
error:
	tapbatch_remote_close(remote);
	return ret;
}

void
tapbatch_remote_close(struct tapbatch_remote *remote)
{
	tapbatch_remote_release(remote);
	if (remote->requests != NULL)
		mnl_socket_close(remote->requests);
	if (remote->members >= 0)
		close(remote->members);
	*remote = TAPBATCH_REMOTE_NONE;
}

static struct nlmsghdr *
begin_tc(void *buffer, uint16_t type, uint16_t flags, const struct tcmsg *what)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(*what)), what, sizeof(*what));
	return nlh;
}

static int
change_qdisc(struct tapbatch_remote *remote, unsigned int ifindex, bool add)
{
	struct tcmsg what = {
		.tcm_ifindex = (int)ifindex,
		.tcm_parent = TC_H_INGRESS,
		.tcm_handle = TC_H_MAKE(TC_H_INGRESS, 0),
	};
	char buffer[256];
	struct nlmsghdr *nlh;

	nlh = begin_tc(buffer, add ? RTM_NEWQDISC : RTM_DELQDISC,
		       add ? NLM_F_CREATE | NLM_F_EXCL : 0, &what);
	mnl_attr_put_strz(nlh, TCA_KIND, "ingress");
	return tapbatch_netlink_talk(remote->requests, nlh, NULL, NULL);
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
delete_filter(struct tapbatch_remote *remote, unsigned int ifindex, uint32_t pref)
{
	struct tcmsg what = filter_of(ifindex, pref);
	char buffer[256];

	return tapbatch_netlink_talk(remote->requests, begin_tc(buffer, RTM_DELTFILTER, 0, &what),
				     NULL, NULL);
}

/* Frames to an address, or all (NULL), go to the interface "to": they themselves, or
 * copies.
 */
static int
add_filter(struct tapbatch_remote *remote, unsigned int ifindex, uint32_t pref,
	   const struct rte_ether_addr *mac, unsigned int to, bool copies)
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
	nlh = begin_tc(buffer, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, &what);
	mnl_attr_put_strz(nlh, TCA_KIND, "u32");
	options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	mnl_attr_put(nlh, TCA_U32_SEL, sizeof(match), &match);
	actions = mnl_attr_nest_start(nlh, TCA_U32_ACT);
	action = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, TCA_ACT_KIND, "mirred");
	action_options = mnl_attr_nest_start(nlh, TCA_ACT_OPTIONS);
	mnl_attr_put(nlh, TCA_MIRRED_PARMS, sizeof(mirred), &mirred);
	mnl_attr_nest_end(nlh, action_options);
	mnl_attr_nest_end(nlh, action);
	mnl_attr_nest_end(nlh, actions);
	mnl_attr_nest_end(nlh, options);
	return tapbatch_netlink_talk(remote->requests, nlh, NULL, NULL);
}

static int
redirect(struct tapbatch_remote *remote)
{
	bool stale; /* a process that was killed left its filters */
	int ret;

	stale = delete_filter(remote, remote->ifindex, PREF_ALL) == 0;
	stale |= delete_filter(remote, remote->ifindex, PREF_OWN_ADDRESS) == 0;
	delete_filter(remote, remote->tap_ifindex, PREF_ALL);
	ret = change_qdisc(remote, remote->tap_ifindex, true);
	if (ret != 0 && ret != -EEXIST)
		return ret;
	remote->own_tap_qdisc = ret == 0;
	ret = change_qdisc(remote, remote->ifindex, true);
	if (ret != 0 && ret != -EEXIST)
		return ret;
	remote->own_qdisc = ret == 0 || stale;
	ret = add_filter(remote, remote->tap_ifindex, PREF_ALL, NULL, remote->ifindex, false);
	if (ret == 0)
		ret = add_filter(remote, remote->ifindex, PREF_ALL, NULL, remote->tap_ifindex,
				 true);
	if (ret == 0)
		ret = add_filter(remote, remote->ifindex, PREF_OWN_ADDRESS, &remote->mac,
				 remote->tap_ifindex, false);
	return ret;
}

int
tapbatch_remote_redirect(struct tapbatch_remote *remote, unsigned int tap_ifindex)
{
	int ret;

	if (remote->ifindex == 0)
		return 0;
	remote->tap_ifindex = tap_ifindex;
	ret = redirect(remote);
	if (ret == 0)
		return 0;
	tapbatch_remote_release(remote);
	TAPBATCH_LOG(ERR, "the remote (interface %u) cannot be redirected to interface %u: %s%s",
		     remote->ifindex, tap_ifindex, strerror(-ret),
		     ret == -ENOENT || ret == -EOPNOTSUPP ?
			     " (the kernel needs sch_ingress, cls_u32 and act_mirred)" :
		     ret == -EPERM  ? " (CAP_NET_ADMIN is needed)" :
		     ret == -ENODEV ? " (both have to exist, in one network namespace)" :
				      "");
	return ret;
}

void
tapbatch_remote_release(struct tapbatch_remote *remote)
{
	if (remote->tap_ifindex == 0)
		return;
	delete_filter(remote, remote->ifindex, PREF_OWN_ADDRESS);
	delete_filter(remote, remote->ifindex, PREF_ALL);
	delete_filter(remote, remote->tap_ifindex, PREF_ALL);
	if (remote->own_qdisc)
		change_qdisc(remote, remote->ifindex, false);
	if (remote->own_tap_qdisc)
		change_qdisc(remote, remote->tap_ifindex, false);
	remote->own_qdisc = false;
	remote->own_tap_qdisc = false;
	remote->tap_ifindex = 0;
}

int
tapbatch_remote_set_mac(struct tapbatch_remote *remote, const struct rte_ether_addr *mac)
{
	char buffer[256];
	struct nlmsghdr *nlh;
	int ret;

	if (remote->ifindex == 0 || rte_is_same_ether_addr(mac, &remote->mac))
		return 0;
	nlh = begin_link(remote, buffer, RTM_NEWLINK);
	mnl_attr_put(nlh, IFLA_ADDRESS, sizeof(*mac), mac);
	ret = tapbatch_netlink_talk(remote->requests, nlh, NULL, NULL);
	if (ret != 0)
		return ret;
	rte_ether_addr_copy(mac, &remote->mac);
	if (remote->tap_ifindex == 0)
		return 0;
	delete_filter(remote, remote->ifindex, PREF_OWN_ADDRESS);
	return add_filter(remote, remote->ifindex, PREF_OWN_ADDRESS, &remote->mac,
			  remote->tap_ifindex, false);
}

int
tapbatch_remote_set_mtu(struct tapbatch_remote *remote, uint32_t mtu)
{
	char buffer[256];
	struct nlmsghdr *nlh;
	int ret;

	if (remote->ifindex == 0 || mtu == remote->mtu)
		return 0;
	nlh = begin_link(remote, buffer, RTM_NEWLINK);
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	ret = tapbatch_netlink_talk(remote->requests, nlh, NULL, NULL);
	if (ret == 0)
		remote->mtu = mtu;
	return ret;
}

static int
change_membership(struct tapbatch_remote *remote, unsigned short type,
		  const struct rte_ether_addr *mac, bool on)
{
	struct packet_mreq request = {
		.mr_ifindex = (int)remote->ifindex,
		.mr_type = type,
	};

	if (remote->ifindex == 0)
		return 0;
	if (mac != NULL) {
		request.mr_alen = sizeof(*mac);
		memcpy(request.mr_address, mac, sizeof(*mac));
	}
	if (setsockopt(remote->members, SOL_PACKET,
		       on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &request,
		       sizeof(request)) != 0)
		return -errno;
	return 0;
}

int
tapbatch_remote_set_modes(struct tapbatch_remote *remote, bool promiscuous, bool allmulticast)
{
	int ret = 0;

	if (promiscuous != remote->promiscuous)
		ret = change_membership(remote, PACKET_MR_PROMISC, NULL, promiscuous);
	if (ret != 0)
		return ret;
	remote->promiscuous = promiscuous;
	if (allmulticast != remote->allmulticast)
		ret = change_membership(remote, PACKET_MR_ALLMULTI, NULL, allmulticast);
	if (ret == 0)
		remote->allmulticast = allmulticast;
	return ret;
}

int
tapbatch_remote_set_address(struct tapbatch_remote *remote, const struct rte_ether_addr *mac,
			    bool on)
{
	return change_membership(remote,
				 rte_is_multicast_ether_addr(mac) ? PACKET_MR_MULTICAST :
								    PACKET_MR_UNICAST,
				 mac, on);
}

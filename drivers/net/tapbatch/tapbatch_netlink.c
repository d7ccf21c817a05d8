/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Questions and orders to the kernel over rtnetlink, and what it says of a network
 * interface. Source of the messages: Linux net/core/rtnetlink.c, drivers/net/tun.c.
 */

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include <rte_common.h>
#include <rte_string_fns.h>

#include "tapbatch_netlink.h"

/* In <linux/if.h>, which cannot stand beside <net/if.h>. */
#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP 0x10000
#endif

/* A link message with all of its nested attributes, VF lists left out. */
#define REPLY_BYTES 32768

int
tapbatch_netlink_talk(struct mnl_socket *socket, struct nlmsghdr *nlh, mnl_cb_t callback,
		      void *data)
{
	static _Atomic uint32_t last_seq;
	uint8_t reply[REPLY_BYTES];
	ssize_t len;
	int ret;

	/* An answer that a question before left unread must not be taken for ours. */
	nlh->nlmsg_seq = ++last_seq;
	if (mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		do {
			len = mnl_socket_recvfrom(socket, reply, sizeof(reply));
		} while (len < 0 && errno == EINTR);
		if (len < 0)
			return -errno;
		ret = mnl_cb_run(reply, (size_t)len, nlh->nlmsg_seq, mnl_socket_get_portid(socket),
				 callback, data);
		if (ret < 0 && errno == EPROTO)
			ret = MNL_CB_OK; /* such an answer: go on */
	} while (ret > MNL_CB_STOP);
	return ret < 0 ? -errno : 0;
}

struct nlmsghdr *
tapbatch_netlink_begin_link(void *buffer, uint16_t type, unsigned int ifindex)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *info;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | (type == RTM_GETLINK ? 0 : NLM_F_ACK);
	info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	info->ifi_index = (int)ifindex;
	return nlh;
}

static void
read_u32(const struct nlattr *attr, uint32_t *value)
{
	if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
		*value = mnl_attr_get_u32(attr);
}

static int
read_tun(const struct nlattr *attr, void *data)
{
	struct tapbatch_iface *iface = data;
	uint32_t queues = 0;

	if (mnl_attr_get_type(attr) == IFLA_TUN_NUM_QUEUES ||
	    mnl_attr_get_type(attr) == IFLA_TUN_NUM_DISABLED_QUEUES)
		read_u32(attr, &queues);
	iface->queues += queues;
	return MNL_CB_OK;
}

/* The kind of an interface comes before what is particular to it. */
static int
read_kind(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND &&
	    (mnl_attr_validate(attr, MNL_TYPE_STRING) != 0 ||
	     strncmp(mnl_attr_get_str(attr), "tun", mnl_attr_get_payload_len(attr)) != 0))
		return MNL_CB_STOP;
	if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
		mnl_attr_parse_nested(attr, read_tun, data);
	return MNL_CB_OK;
}

static int
read_attribute(const struct nlattr *attr, void *data)
{
	struct tapbatch_iface *iface = data;
	struct rtnl_link_stats64 stats = { 0 };

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
			strlcpy(iface->name, mnl_attr_get_str(attr), sizeof(iface->name));
		break;
	case IFLA_MTU:
		read_u32(attr, &iface->mtu);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attr) == sizeof(iface->mac))
			memcpy(&iface->mac, mnl_attr_get_payload(attr), sizeof(iface->mac));
		break;
	case IFLA_STATS64:
		memcpy(&stats, mnl_attr_get_payload(attr),
		       RTE_MIN(sizeof(stats), (size_t)mnl_attr_get_payload_len(attr)));
		iface->rx_dropped = stats.rx_dropped;
		iface->tx_dropped = stats.tx_dropped;
		break;
	case IFLA_LINKINFO:
		mnl_attr_parse_nested(attr, read_kind, data);
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
	struct tapbatch_iface *iface = data;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	iface->type = info->ifi_type;
	iface->up = (info->ifi_flags & IFF_UP) != 0;
	iface->running = iface->up && (info->ifi_flags & IFF_LOWER_UP) != 0;
	mnl_attr_parse(nlh, sizeof(*info), read_attribute, iface);
	return MNL_CB_STOP;
}

int
tapbatch_netlink_get_link(struct mnl_socket *socket, unsigned int ifindex,
			  struct tapbatch_iface *iface)
{
	char buffer[TAPBATCH_NETLINK_REQUEST];

	memset(iface, 0, sizeof(*iface));
	return tapbatch_netlink_talk(socket,
				     tapbatch_netlink_begin_link(buffer, RTM_GETLINK, ifindex),
				     read_link, iface);
}

int
tapbatch_netlink_set_up(struct mnl_socket *socket, unsigned int ifindex, bool up)
{
	char buffer[TAPBATCH_NETLINK_REQUEST];
	struct nlmsghdr *nlh = tapbatch_netlink_begin_link(buffer, RTM_NEWLINK, ifindex);
	struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);

	info->ifi_change = IFF_UP;
	info->ifi_flags = up ? IFF_UP : 0;
	return tapbatch_netlink_talk(socket, nlh, NULL, NULL);
}

int
tapbatch_netlink_set_u32(struct mnl_socket *socket, unsigned int ifindex, uint16_t attribute,
			 uint32_t value)
{
	char buffer[TAPBATCH_NETLINK_REQUEST];
	struct nlmsghdr *nlh = tapbatch_netlink_begin_link(buffer, RTM_NEWLINK, ifindex);

	mnl_attr_put_u32(nlh, attribute, value);
	return tapbatch_netlink_talk(socket, nlh, NULL, NULL);
}

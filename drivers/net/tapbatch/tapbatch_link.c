/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The network interface as rtnetlink shows it: MTU, flags, counters, and news of
 * its changes. Source of the messages: rtnetlink(7), Linux net/core/rtnetlink.c.
 */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_string_fns.h>

#include "tapbatch_link.h"
#include "tapbatch_log.h"
#include "tapbatch_netlink.h"
#include "tapbatch_netns.h"
#include "tapbatch_tun.h"

#define NEWS_BYTES 32768

/* Inode of the namespace the interface is in; 0 if this kernel or these privileges
 * do not tell; negative errno when the interface is gone.
 */
static int64_t
netns_inode(int tun_fd)
{
	struct stat st;
	int fd = ioctl(tun_fd, TUNGETDEVNETNS);
	int64_t inode = 0;

	if (fd < 0)
		return errno == EBADFD ? -EBADFD : 0;
	if (fstat(fd, &st) == 0)
		inode = (int64_t)st.st_ino;
	close(fd);
	return inode;
}

static int
open_sockets(struct tapbatch_link *link)
{
	char name[IF_NAMESIZE];
	struct epoll_event event = { .events = EPOLLIN };
	struct ifreq ifr = { 0 };
	int ret;

	ret = tapbatch_tun_name(link->tun_fd, name);
	if (ret != 0)
		return ret;
	link->ioctl_sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (link->ioctl_sock < 0)
		return -errno;
	strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	if (ioctl(link->ioctl_sock, SIOCGIFINDEX, &ifr) != 0)
		return -errno;
	link->ifindex = (unsigned int)ifr.ifr_ifindex;

	link->requests = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (link->requests == NULL || mnl_socket_bind(link->requests, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	link->news = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (link->news == NULL ||
	    mnl_socket_bind(link->news, RTMGRP_LINK, MNL_SOCKET_AUTOPID) < 0 ||
	    epoll_ctl(link->news_fd, EPOLL_CTL_ADD, mnl_socket_get_fd(link->news), &event) != 0)
		return -errno;
	return 0;
}

/* Opens the sockets where the interface is now. Their news go to news_fd. */
static int
open_there(struct tapbatch_link *link, int tun_fd, int news_fd)
{
	struct tapbatch_netns_visit visit;
	int64_t inode;
	int ret;

	*link = (struct tapbatch_link){ .tun_fd = tun_fd, .ioctl_sock = -1, .news_fd = news_fd };
	inode = netns_inode(tun_fd);
	if (inode < 0)
		return (int)inode;
	link->netns = (ino_t)inode;
	ret = tapbatch_netns_enter(tun_fd, &visit);
	if (ret == 0)
		ret = open_sockets(link);
	tapbatch_netns_leave(&visit);
	return ret;
}

static void
close_sockets(struct tapbatch_link *link)
{
	if (link->requests != NULL)
		mnl_socket_close(link->requests);
	if (link->news != NULL)
		mnl_socket_close(link->news);
	if (link->ioctl_sock >= 0)
		close(link->ioctl_sock);
	link->requests = NULL;
	link->news = NULL;
	link->ioctl_sock = -1;
}

int
tapbatch_link_open(struct tapbatch_link *link, int tun_fd)
{
	int news_fd = epoll_create1(EPOLL_CLOEXEC);
	int ret;

	ret = news_fd < 0 ? -errno : open_there(link, tun_fd, news_fd);
	if (ret != 0) {
		TAPBATCH_LOG(ERR, "no rtnetlink socket for the interface: %s", strerror(-ret));
		tapbatch_link_close(link);
	}
	return ret;
}

void
tapbatch_link_close(struct tapbatch_link *link)
{
	close_sockets(link);
	if (link->news_fd >= 0)
		close(link->news_fd);
	link->news_fd = -1;
}

int
tapbatch_link_follow(struct tapbatch_link *link)
{
	int64_t inode = netns_inode(link->tun_fd);
	char buffer[TAPBATCH_NETLINK_REQUEST];
	struct tapbatch_link moved;
	struct nlmsghdr *nlh;
	int ret;

	if (inode < 0)
		return (int)inode;
	if (link->requests != NULL && (inode == 0 || (ino_t)inode == link->netns))
		return 0;
	/* What failed once is not tried, and told, again for the same namespace. */
	if (inode != 0 && (ino_t)inode == link->unreachable)
		return link->unreachable_err;
	ret = open_there(&moved, link->tun_fd, link->news_fd);
	if (ret != 0) {
		close_sockets(&moved);
		if (ret != -EPERM) /* that was told */
			TAPBATCH_LOG(ERR,
				     "interface %u cannot be followed to where it has moved: %s",
				     link->ifindex, strerror(-ret));
		link->unreachable = (ino_t)inode;
		link->unreachable_err = ret;
		return ret;
	}
	close_sockets(link);
	*link = moved;
	/* There may have been news there before the socket listened: the answer to this
	 * question makes whoever waits for news look.
	 */
	nlh = tapbatch_netlink_begin_link(buffer, RTM_GETLINK, link->ifindex);
	if (mnl_socket_sendto(link->news, nlh, nlh->nlmsg_len) < 0)
		TAPBATCH_LOG(NOTICE, "interface %u: no news after its move: %s", link->ifindex,
			     strerror(errno));
	return 1;
}

/* ETHTOOL_GSET: the newer ETHTOOL_GLINKSETTINGS tells no more of a tun device. */
static uint32_t
read_speed(struct tapbatch_link *link)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	struct ifreq ifr = { 0 };
	uint32_t speed;

	if (tapbatch_tun_name(link->tun_fd, ifr.ifr_name) != 0)
		return 0;
	ifr.ifr_data = (void *)&cmd;
	if (ioctl(link->ioctl_sock, SIOCETHTOOL, &ifr) != 0)
		return 0;
	speed = ethtool_cmd_speed(&cmd);
	return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
}

int
tapbatch_link_get(struct tapbatch_link *link, struct tapbatch_link_state *state)
{
	struct tapbatch_iface iface;
	int ret;

	memset(state, 0, sizeof(*state));
	ret = tapbatch_link_follow(link);
	if (ret < 0)
		return ret;
	ret = tapbatch_netlink_get_link(link->requests, link->ifindex, &iface);
	if (ret != 0)
		return ret;
	state->up = iface.up;
	state->running = iface.running;
	state->mtu = iface.mtu;
	state->speed = read_speed(link);
	state->rx_dropped = iface.rx_dropped;
	state->tx_dropped = iface.tx_dropped;
	return 0;
}

int
tapbatch_link_set_up(struct tapbatch_link *link, bool up)
{
	int ret = tapbatch_link_follow(link);

	return ret < 0 ? ret : tapbatch_netlink_set_up(link->requests, link->ifindex, up);
}

static int
set_u32(struct tapbatch_link *link, uint16_t attribute, uint32_t value)
{
	int ret = tapbatch_link_follow(link);

	if (ret < 0)
		return ret;
	return tapbatch_netlink_set_u32(link->requests, link->ifindex, attribute, value);
}

int
tapbatch_link_set_mtu(struct tapbatch_link *link, uint32_t mtu)
{
	return set_u32(link, IFLA_MTU, mtu);
}

int
tapbatch_link_set_txqlen(struct tapbatch_link *link, uint32_t packets)
{
	return set_u32(link, IFLA_TXQLEN, packets);
}

int
tapbatch_link_set_rx_frames(struct tapbatch_link *link, uint32_t packets)
{
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };
	struct ifreq ifr = { 0 };
	int ret;

	ret = tapbatch_link_follow(link);
	if (ret < 0)
		return ret;
	ret = tapbatch_tun_name(link->tun_fd, ifr.ifr_name);
	if (ret != 0)
		return ret;
	ifr.ifr_data = (void *)&coalesce;
	if (ioctl(link->ioctl_sock, SIOCETHTOOL, &ifr) != 0)
		return -errno;
	coalesce.cmd = ETHTOOL_SCOALESCE;
	coalesce.rx_max_coalesced_frames = packets;
	return ioctl(link->ioctl_sock, SIOCETHTOOL, &ifr) == 0 ? 0 : -errno;
}

struct news {
	unsigned int ifindex;
	unsigned int other;
	bool ours;
	bool deleted; /* the other one */
};

static int
read_news_message(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	struct news *news = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*info))
		return MNL_CB_OK;
	if (info->ifi_index == (int)news->ifindex)
		news->ours = true;
	if (news->other == 0 || info->ifi_index != (int)news->other)
		return MNL_CB_OK;
	news->ours = true;
	/* One of another family tells that it has left a bridge. */
	if (nlh->nlmsg_type == RTM_DELLINK && info->ifi_family == AF_UNSPEC)
		news->deleted = true;
	return MNL_CB_OK;
}

bool
tapbatch_link_read_news(struct tapbatch_link *link, unsigned int other, bool *deleted)
{
	struct news news = { .ifindex = link->ifindex, .other = other };
	uint8_t buffer[NEWS_BYTES];
	ssize_t len;

	for (;;) {
		len = mnl_socket_recvfrom(link->news, buffer, sizeof(buffer));
		if (len > 0)
			mnl_cb_run(buffer, (size_t)len, 0, 0, read_news_message, &news);
		else if (len < 0 && errno == ENOBUFS)
			news.ours = true; /* some were lost: any may have been ours */
		else if (len >= 0 || errno != EINTR)
			break;
	}
	*deleted = news.deleted;
	return news.ours;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Packet sockets (packet(7)) and taps without offloads, see rawif.h. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rawif.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/* Of the packet socket's virtio header, which has no number of buffers. */
#define SOCKET_VNET_LEN 10
#define ROOM_BYTES (64 << 20)

static int
open_socket(struct rawif *raw, const char *name)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
	};
	int vnet = raw->kind == RAWIF_SOCKET_VNET;
	int room = ROOM_BYTES;
	int one = 1;

	addr.sll_ifindex = (int)if_nametoindex(name);
	if (addr.sll_ifindex == 0)
		return -errno;
	raw->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (raw->fd < 0)
		return -errno;
	if (setsockopt(raw->fd, SOL_PACKET, PACKET_VNET_HDR, &vnet, sizeof(vnet)) != 0 ||
	    setsockopt(raw->fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) != 0 ||
	    setsockopt(raw->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) != 0 ||
	    setsockopt(raw->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0 ||
	    setsockopt(raw->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0 ||
	    bind(raw->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		return -errno;
	return 0;
}

static int
open_tap(struct rawif *raw, const char *name)
{
	bool vnet = raw->kind == RAWIF_TAP_VNET;
	struct ifreq ifr = { .ifr_flags = (short)(IFF_TAP | IFF_NO_PI | (vnet ? IFF_VNET_HDR : 0)) };
	int len = TAPBATCH_VNET_HDR_LEN;

	strncpy(ifr.ifr_name, name, sizeof(ifr.ifr_name) - 1);
	raw->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (raw->fd < 0 || ioctl(raw->fd, TUNSETIFF, &ifr) != 0 ||
	    ioctl(raw->fd, TUNSETOFFLOAD, 0UL) != 0)
		return -errno;
	if (vnet && ioctl(raw->fd, TUNSETVNETHDRSZ, &len) != 0)
		return -errno;
	return 0;
}

int
rawif_open(struct rawif *raw, enum rawif_kind kind, const char *name)
{
	int ret;

	raw->kind = kind;
	raw->fd = -1;
	ret = kind == RAWIF_TAP || kind == RAWIF_TAP_VNET ? open_tap(raw, name) :
							    open_socket(raw, name);
	if (ret != 0)
		rawif_close(raw);
	return ret;
}

void
rawif_close(struct rawif *raw)
{
	if (raw->fd >= 0)
		close(raw->fd);
	raw->fd = -1;
}

static size_t
header_len(const struct rawif *raw)
{
	return raw->kind == RAWIF_SOCKET_VNET ? SOCKET_VNET_LEN :
	       raw->kind == RAWIF_TAP_VNET    ? TAPBATCH_VNET_HDR_LEN :
						0;
}

/* Puts the tag back that the kernel keeps beside the packet. */
static size_t
restore_tag(struct msghdr *msg, uint8_t *frame, size_t len)
{
	struct tpacket_auxdata aux;
	struct cmsghdr *cmsg;
	uint16_t words[2];

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_PACKET || cmsg->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(cmsg), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
			continue;
		words[0] = htons(aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid :
									     ETH_P_8021Q);
		words[1] = htons(aux.tp_vlan_tci);
		memmove(frame + 12 + sizeof(words), frame + 12, len - 12);
		memcpy(frame + 12, words, sizeof(words));
		return len + sizeof(words);
	}
	return len;
}

ssize_t
rawif_recv(struct rawif *raw, uint8_t *frame, struct tapbatch_vnet_hdr *vnet, int timeout_ms)
{
	struct tapbatch_vnet_hdr header = { 0 };
	size_t hdr_len = header_len(raw);
	struct iovec iov[] = {
		{ .iov_base = &header, .iov_len = hdr_len },
		{ .iov_base = frame, .iov_len = RAWIF_MAX_FRAME - 4 },
	};
	union {
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd poller = { .fd = raw->fd, .events = POLLIN };
	bool tap = raw->kind == RAWIF_TAP || raw->kind == RAWIF_TAP_VNET;
	ssize_t len;

	for (;;) {
		len = tap ? readv(raw->fd, iov, 2) : recvmsg(raw->fd, &msg, MSG_DONTWAIT);
		if (len >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		if (poll(&poller, 1, timeout_ms) == 0)
			return 0;
	}
	if (len < 0)
		return -errno;
	if (vnet != NULL)
		*vnet = header;
	len -= (ssize_t)hdr_len;
	return tap ? len : (ssize_t)restore_tag(&msg, frame, (size_t)len);
}

int
rawif_send(struct rawif *raw, const uint8_t *frame, size_t len,
	   const struct tapbatch_vnet_hdr *vnet)
{
	struct tapbatch_vnet_hdr header = { 0 };
	struct iovec iov[] = {
		{ .iov_base = &header, .iov_len = header_len(raw) },
		{ .iov_base = (void *)(uintptr_t)frame, .iov_len = len },
	};

	if (vnet != NULL)
		header = *vnet;
	if (writev(raw->fd, iov, 2) < 0)
		return -errno;
	return 0;
}

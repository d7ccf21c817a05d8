/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel's tun/tap device, through its queue files: create, attach, set up.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_string_fns.h>

#include "tapbatch_log.h"
#include "tapbatch_netlink.h"
#include "tapbatch_netns.h"
#include "tapbatch_tun.h"
#include "tapbatch_virtio.h"

#define TUN_PATH "/dev/net/tun"

/* How long to wait for an interface that is held, and between looks. */
#define RELEASE_MS 1000
#define RELEASE_STEP_MS 10

static int
open_tun_file(void)
{
	int fd = open(TUN_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int err = errno;

	if (fd >= 0)
		return fd;
	switch (err) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		TAPBATCH_LOG(ERR,
			     TUN_PATH ": %s: load the kernel's tun module (modprobe tun), and "
				      "in a container let it have the device",
			     strerror(err));
		break;
	case EACCES:
	case EPERM:
		TAPBATCH_LOG(ERR, TUN_PATH ": %s: this user needs read and write permission on it",
			     strerror(err));
		break;
	default:
		TAPBATCH_LOG(ERR, TUN_PATH ": %s", strerror(err));
	}
	return -err;
}

/* What drives an existing interface, as ethtool -i tells: "tun" and "tap"/"tun" for
 * our kind. Empty strings if that cannot be found out.
 */
static void
driver_of(const char *name, char *driver, char *bus, size_t size)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { 0 };
	int sock;

	driver[0] = '\0';
	bus[0] = '\0';
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return;
	strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	ifr.ifr_data = (void *)&info;
	if (ioctl(sock, SIOCETHTOOL, &ifr) == 0) {
		strlcpy(driver, info.driver, size);
		strlcpy(bus, info.bus_info, size);
	}
	close(sock);
}

static void
explain_setiff(const char *device, const struct tapbatch_args *args, bool existed, int err)
{
	const char *type = args->l3_only ? "tun" : "tap";
	char driver[32], bus[32];

	if (!existed) {
		TAPBATCH_LOG(ERR, "%s: iface=%s cannot be created: %s%s", device, args->iface,
			     strerror(err),
			     err == EPERM  ? " (CAP_NET_ADMIN is needed)" :
			     err == EINVAL ? " (the kernel refuses the name)" :
					     "");
		return;
	}
	driver_of(args->iface, driver, bus, sizeof(driver));
	if (strcmp(driver, "tun") != 0)
		TAPBATCH_LOG(ERR,
			     "%s: iface=%s exists and is no %s interface (its driver is \"%s\"): "
			     "choose another name, or remote=%s to use it as the far end",
			     device, args->iface, type, driver, args->iface);
	else if (strcmp(bus, type) != 0)
		TAPBATCH_LOG(ERR, "%s: iface=%s exists and is of type %s, asked for was type=%s",
			     device, args->iface, bus, type);
	else if (err == EPERM)
		TAPBATCH_LOG(ERR,
			     "%s: iface=%s exists and belongs to another user or group (see ip -d "
			     "tuntap): its owner or CAP_NET_ADMIN is needed",
			     device, args->iface);
	else if (err == EBUSY)
		TAPBATCH_LOG(ERR,
			     "%s: iface=%s exists with a single queue, which another process holds",
			     device, args->iface);
	else if (err == E2BIG)
		TAPBATCH_LOG(ERR, "%s: iface=%s exists and all of its %u queues are taken", device,
			     args->iface, TAPBATCH_MAX_QUEUES);
	else
		TAPBATCH_LOG(ERR, "%s: iface=%s exists and cannot be attached to: %s", device,
			     args->iface, strerror(err));
}

static int
set_iff(int fd, const char *name, bool l3_only, bool multi_queue)
{
	struct ifreq ifr = { 0 };

	strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	ifr.ifr_flags = (short)(IFF_NO_PI | IFF_VNET_HDR | (l3_only ? IFF_TUN : IFF_TAP) |
				(multi_queue ? IFF_MULTI_QUEUE : 0));
	return ioctl(fd, TUNSETIFF, &ifr) == 0 ? 0 : -errno;
}

/* Queues of an interface, ours among them; 0: it has one, or the kernel does not tell. */
static uint32_t
count_queues(const char *name)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct tapbatch_iface iface = { 0 };

	if (socket == NULL)
		return 0;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) == 0)
		tapbatch_netlink_get_link(socket, if_nametoindex(name), &iface);
	mnl_socket_close(socket);
	return iface.queues;
}

/* The kernel takes down the rings of a process that was killed a little after its end, and
 * until then they hold its queues: whoever starts it again would find the interface taken.
 */
static int
set_iff_when_free(int fd, const char *name, bool l3_only, bool multi_queue)
{
	bool last;
	int ret;

	for (unsigned int ms = 0;; ms += RELEASE_STEP_MS) {
		last = ms >= RELEASE_MS;
		if (last || count_queues(name) == 0) {
			ret = set_iff(fd, name, l3_only, multi_queue);
			if (last || ret != -EBUSY)
				return ret;
		}
		rte_delay_us_sleep(RELEASE_STEP_MS * 1000);
	}
}

/* Somebody else's queues would take a part of the packets, and whoever attached first
 * has decided whether there is a virtio header.
 */
static int
check_alone(const char *device, int fd)
{
	const unsigned int wanted = IFF_NO_PI | IFF_VNET_HDR;
	struct ifreq ifr = { 0 };

	if (ioctl(fd, TUNGETIFF, &ifr) != 0)
		return -errno;
	if (count_queues(ifr.ifr_name) > 1 || ((unsigned int)ifr.ifr_flags & wanted) != wanted) {
		TAPBATCH_LOG(
			ERR,
			"%s: iface=%s is in use: another process, or port, holds queues of it; "
			"it has to close them first",
			device, ifr.ifr_name);
		return -EBUSY;
	}
	return 0;
}

static int
set_vnet_hdr_len(int fd)
{
	int len = TAPBATCH_VNET_HDR_LEN;

	if (ioctl(fd, TUNSETVNETHDRSZ, &len) == 0)
		return 0;
	TAPBATCH_LOG(ERR, "the kernel refuses a virtio header of %d bytes: %s", len,
		     strerror(errno));
	return -errno;
}

static int
set_ids(const char *device, int fd, const struct tapbatch_args *args)
{
	if (args->owner >= 0 && ioctl(fd, TUNSETOWNER, (unsigned long)args->owner) != 0) {
		TAPBATCH_LOG(ERR, "%s: owner=%lld cannot be set: %s", device,
			     (long long)args->owner, strerror(errno));
		return -errno;
	}
	if (args->group >= 0 && ioctl(fd, TUNSETGROUP, (unsigned long)args->group) != 0) {
		TAPBATCH_LOG(ERR, "%s: group=%lld cannot be set: %s", device,
			     (long long)args->group, strerror(errno));
		return -errno;
	}
	return 0;
}

int
tapbatch_tun_set_persistent(const char *device, int fd)
{
	if (ioctl(fd, TUNSETPERSIST, 1UL) == 0)
		return 0;
	TAPBATCH_LOG(ERR, "%s: persist=1 cannot be set: %s", device, strerror(errno));
	return -errno;
}

int
tapbatch_tun_open(const char *device, const struct tapbatch_args *args, bool *multi_queue,
		  bool *created)
{
	unsigned int index = if_nametoindex(args->iface);
	bool existed = strchr(args->iface, '%') == NULL && index != 0;
	int sndbuf = INT_MAX;
	int fd, ret;

	fd = open_tun_file();
	if (fd < 0)
		return fd;
	*multi_queue = true;
	ret = existed ? set_iff_when_free(fd, args->iface, args->l3_only, true) :
			set_iff(fd, args->iface, args->l3_only, true);
	if (ret == -EINVAL && existed) {
		/* It may have been made for a single queue; the kernel insists on the
		 * same answer to that question each time.
		 */
		*multi_queue = false;
		ret = set_iff_when_free(fd, args->iface, args->l3_only, false);
	}
	if (ret != 0) {
		explain_setiff(device, args, existed, -ret);
		close(fd);
		return ret;
	}
	ret = check_alone(device, fd);
	if (ret == 0)
		ret = set_vnet_hdr_len(fd);
	if (ret == 0)
		ret = set_ids(device, fd, args);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	/* Unlimited is what a new interface has; an old one may have been left with
	 * less, which costs the kernel's cheap path for writes.
	 */
	if (ioctl(fd, TUNSETSNDBUF, &sndbuf) != 0)
		TAPBATCH_LOG(NOTICE, "%s: the send buffer cannot be made unlimited: %s", device,
			     strerror(errno));
	/* Another one, if it went while it was waited for. */
	*created = !existed || if_nametoindex(args->iface) != index;
	return fd;
}

int
tapbatch_tun_open_queue(int fd, bool l3_only)
{
	struct tapbatch_netns_visit visit;
	char name[IF_NAMESIZE];
	int queue, ret;

	/* A tun file belongs to the namespace that it was opened in. */
	ret = tapbatch_netns_enter(fd, &visit);
	if (ret != 0)
		return ret;
	ret = tapbatch_tun_name(fd, name);
	queue = ret == 0 ? open_tun_file() : ret;
	if (queue >= 0) {
		ret = set_iff(queue, name, l3_only, true);
		if (ret == 0)
			ret = set_vnet_hdr_len(queue);
		if (ret != 0) {
			close(queue);
			queue = ret;
		}
	}
	tapbatch_netns_leave(&visit);
	return queue;
}

int
tapbatch_tun_set_attached(int fd, bool attached)
{
	struct ifreq ifr = { 0 };

	ifr.ifr_flags = attached ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE;
	return ioctl(fd, TUNSETQUEUE, &ifr) == 0 ? 0 : -errno;
}

int
tapbatch_tun_set_offloads(int fd, unsigned int offloads)
{
	const unsigned int uso = TAPBATCH_TUN_F_USO4 | TAPBATCH_TUN_F_USO6;

	if (ioctl(fd, TUNSETOFFLOAD, (unsigned long)offloads) == 0)
		return (int)offloads;
	if (errno == EINVAL && (offloads & uso) != 0) {
		offloads &= ~uso;
		if (ioctl(fd, TUNSETOFFLOAD, (unsigned long)offloads) == 0)
			return (int)offloads;
	}
	return -errno;
}

int
tapbatch_tun_set_carrier(int fd, bool on)
{
	int carrier = on;

	return ioctl(fd, TUNSETCARRIER, &carrier) == 0 ? 0 : -errno;
}

int
tapbatch_tun_name(int fd, char name[IF_NAMESIZE])
{
	struct ifreq ifr = { 0 };

	if (ioctl(fd, TUNGETIFF, &ifr) != 0)
		return -errno;
	strlcpy(name, ifr.ifr_name, IF_NAMESIZE);
	return 0;
}

int
tapbatch_tun_get_mac(int fd, struct rte_ether_addr *mac)
{
	struct ifreq ifr = { 0 };

	if (ioctl(fd, SIOCGIFHWADDR, &ifr) != 0)
		return -errno;
	memcpy(mac, ifr.ifr_hwaddr.sa_data, sizeof(*mac));
	return 0;
}

int
tapbatch_tun_set_mac(int fd, const struct rte_ether_addr *mac)
{
	struct ifreq ifr = { 0 };

	ifr.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr.ifr_hwaddr.sa_data, mac, sizeof(*mac));
	return ioctl(fd, SIOCSIFHWADDR, &ifr) == 0 ? 0 : -errno;
}

bool
tapbatch_tun_sndbuf_limited(int fd)
{
	int sndbuf;

	return ioctl(fd, TUNGETSNDBUF, &sndbuf) == 0 && sndbuf < INT_MAX;
}

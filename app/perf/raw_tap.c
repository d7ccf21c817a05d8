/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Opens a tap without DPDK. */

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "raw.h"

#ifndef TUN_F_USO4 /* Linux 6.2 */
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

int
raw_open(struct worker *w, const char *iface, bool vnet, bool offloads)
{
	unsigned int flags = offloads ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN : 0;
	int header = sizeof(struct raw_vnet_hdr);
	struct ifreq request = { 0 };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		worker_fail(w, "/dev/net/tun: %s", strerror(errno));
		return -1;
	}
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", iface);
	request.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | (vnet ? IFF_VNET_HDR : 0));
	if (ioctl(fd, TUNSETIFF, &request) < 0) {
		worker_fail(w, "tap %s cannot be made: %s", iface, strerror(errno));
		goto close;
	}
	if (!vnet)
		return fd;
	if (ioctl(fd, TUNSETVNETHDRSZ, &header) < 0) {
		worker_fail(w, "tap %s takes no virtio header: %s", iface, strerror(errno));
		goto close;
	}
	if (offloads && ioctl(fd, TUNSETOFFLOAD, flags | TUN_F_USO4 | TUN_F_USO6) == 0)
		return fd;
	if (ioctl(fd, TUNSETOFFLOAD, flags) == 0)
		return fd;
	worker_fail(w, "offloads of tap %s: %s", iface, strerror(errno));
close:
	close(fd);
	return -1;
}

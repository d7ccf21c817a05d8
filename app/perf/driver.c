/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The drivers and raw loops that are compared, and how each is brought up. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

static const struct driver drivers[] = {
	{ "tapbatch", DRIVER_TAPBATCH, BACKEND_DPDK, "net_tapbatch%u,iface=%s",
	  "net_tapbatch, as it comes", true, false },
	{ "tapbatch-uring", DRIVER_TAPBATCH, BACKEND_DPDK, "net_tapbatch%u,iface=%s,engine=uring",
	  "net_tapbatch, io_uring", true, true },
	{ "tapbatch-rw", DRIVER_TAPBATCH, BACKEND_DPDK, "net_tapbatch%u,iface=%s,engine=rw",
	  "net_tapbatch, one system call per frame", true, true },
	{ "tapbatch-vhost", DRIVER_TAPBATCH, BACKEND_DPDK, "net_tapbatch%u,iface=%s,engine=vhost",
	  "net_tapbatch over /dev/vhost-net", true, false },
	{ "tapbatch-plain", DRIVER_TAPBATCH, BACKEND_DPDK, "net_tapbatch%u,iface=%s,coalesce=none",
	  "net_tapbatch, no coalescing", true, false },
	{ "net_tap", DRIVER_TAP, BACKEND_DPDK, "net_tap%u,iface=%s", "DPDK's tap driver", true,
	  false },
	{ "net_af_packet", DRIVER_VETH, BACKEND_DPDK, "net_af_packet%u,iface=%s",
	  "packet sockets, on a veth pair", false, true },
	{ "net_af_xdp", DRIVER_VETH, BACKEND_DPDK, "net_af_xdp%u,iface=%s",
	  "AF_XDP sockets, on a veth pair", false, false },
	{ "net_virtio_user", DRIVER_TAP, BACKEND_DPDK,
	  "net_virtio_user%u,path=/dev/vhost-net,iface=%s,queue_size=1024",
	  "virtio-user over vhost-net", false, false },
	{ "raw-rw", DRIVER_RAW, BACKEND_RW, NULL, "writev() and readv(), no DPDK", true, false },
	{ "raw-threaded", DRIVER_RAW, BACKEND_THREADED, NULL,
	  "raw-rw in a process of two threads, as DPDK's have", true, true },
	{ "raw-vnet", DRIVER_RAW, BACKEND_VNET, NULL,
	  "raw-threaded with virtio headers, as drivers with offloads need", true, true },
	{ "raw-uring", DRIVER_RAW, BACKEND_URING, NULL, "io_uring in batches, no DPDK", true,
	  true },
	{ "raw-superframe", DRIVER_RAW, BACKEND_SUPERFRAME, NULL,
	  "superframes written and read by hand, no DPDK", true, false },
	{ "vhost_bridge", DRIVER_VHOST, BACKEND_DPDK, NULL, "examples/vhost_bridge", true, false },
	{ "testpmd-tapbatch", DRIVER_VHOST, BACKEND_DPDK, "net_tapbatch%u,iface=%s",
	  "testpmd, io between net_tapbatch and net_vhost", false, false },
	{ "testpmd", DRIVER_VHOST, BACKEND_DPDK, "net_tap%u,iface=%s",
	  "testpmd, io between net_tap and net_vhost", false, false },
};

const struct driver *
driver_get(size_t i)
{
	return i < sizeof(drivers) / sizeof(drivers[0]) ? &drivers[i] : NULL;
}

const struct driver *
driver_find(const char *name)
{
	for (size_t i = 0; driver_get(i) != NULL; i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return NULL;
}

void
driver_vdev(const struct driver *d, char *vdev, size_t size, unsigned int i, const char *iface,
	    const char *more)
{
	char format[128];

	vdev[0] = '\0';
	if (d->vdev == NULL)
		return;
	snprintf(format, sizeof(format), "%s%%s", d->vdev);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(vdev, size, format, i, iface, more);
#pragma GCC diagnostic pop
}

const char *
driver_plugin(void)
{
	const char *path = getenv("TAPBATCH_PMD");

	return path != NULL ? path : "";
}

const char *
driver_program(const struct driver *d)
{
	static char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		slash = path;
	/* As installed, and in the build folder. */
	snprintf(slash, 64, "/dpdk-%s", d->name);
	if (access(path, X_OK) == 0)
		return path;
	snprintf(slash, 64, "/../../examples/dpdk-%s", d->name);
	if (access(path, X_OK) == 0)
		return path;
	snprintf(path, sizeof(path), "dpdk-%s", d->name);
	return path;
}

const char *
driver_missing(const struct driver *d)
{
	/* The guest of a stream has a port of ours. */
	bool ours = d->kind == DRIVER_TAPBATCH || d->kind == DRIVER_VHOST;

	if (ours && driver_plugin()[0] == '\0')
		return "TAPBATCH_PMD is not set: source build/env.sh";
	if (ours && access(driver_plugin(), R_OK) < 0)
		return "the file that TAPBATCH_PMD names cannot be read";
	if (d->vdev != NULL &&
	    (strstr(d->vdev, "vhost-net") != NULL || strstr(d->vdev, "engine=vhost") != NULL) &&
	    access("/dev/vhost-net", R_OK | W_OK) < 0)
		return "there is no /dev/vhost-net";
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel's tun/tap device, through its queue files: create, attach, set up.
 * Source of all of it: Linux, Documentation/networking/tuntap.rst and
 * drivers/net/tun.c.
 */

#ifndef TAPBATCH_TUN_H
#define TAPBATCH_TUN_H

#include <linux/if_tun.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "tapbatch_args.h"

/* Defined here for kernel headers older than the kernel we may run on. */
#ifndef TUNGETDEVNETNS
#define TUNGETDEVNETNS _IO('T', 227)
#endif
#ifndef TUNSETCARRIER
#define TUNSETCARRIER _IOW('T', 226, int)
#endif
#define TAPBATCH_TUN_F_USO4 0x20 /* Linux 6.2 */
#define TAPBATCH_TUN_F_USO6 0x40

/* The kernel's limit (MAX_TAP_QUEUES). */
#define TAPBATCH_MAX_QUEUES 256

/*
 * Creates the interface that args names, or attaches to an existing one.
 *
 * @param device       name of the DPDK device, for messages
 * @param multi_queue  set: whether more queues can be attached
 * @param created      set: the interface was not there before
 * @return descriptor of the first queue, non-blocking, with a virtio header of
 *         TAPBATCH_VNET_HDR_LEN bytes before each frame; or a negative errno after
 *         a message that says what is in the way
 */
int tapbatch_tun_open(const char *device, const struct tapbatch_args *args, bool *multi_queue,
		      bool *created);

/* Lets the interface outlive its descriptors. 0, or negative errno after a message. */
int tapbatch_tun_set_persistent(const char *device, int fd);

/*
 * Attaches one more queue to the interface behind fd, wherever it is now.
 *
 * @return descriptor like that of tapbatch_tun_open(), or a negative errno
 */
int tapbatch_tun_open_queue(int fd, bool l3_only);

/* Detaches a queue, which the kernel then neither fills nor reads, or attaches it
 * again. 0 or a negative errno.
 */
int tapbatch_tun_set_attached(int fd, bool attached);

/*
 * Says what the application's side takes: checksums left open, superframes. The
 * set belongs to the device and outlives this process on a persistent one.
 *
 * @param offloads  TUN_F_*; steps down when the kernel lacks UDP segmentation
 * @return the set that is in force, or a negative errno
 */
int tapbatch_tun_set_offloads(int fd, unsigned int offloads);

/* The carrier that the kernel's side sees: 0 or a negative errno. */
int tapbatch_tun_set_carrier(int fd, bool on);

/* Current name of the interface. 0, or -EBADFD: it is gone. */
int tapbatch_tun_name(int fd, char name[IF_NAMESIZE]);

/* The hardware address of a tap interface. 0 or a negative errno. */
int tapbatch_tun_get_mac(int fd, struct rte_ether_addr *mac);
int tapbatch_tun_set_mac(int fd, const struct rte_ether_addr *mac);

/* Whether writes to this queue may run out of a limited send buffer (TUNSETSNDBUF). */
bool tapbatch_tun_sndbuf_limited(int fd);

#endif /* TAPBATCH_TUN_H */

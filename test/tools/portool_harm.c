/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* portool's commands that make life hard for a port: what other programs, an
 * administrator or a slow thread may do to it.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_tun.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "portool.h"

/* sndbuf IFACE BYTES: limits what packets of the interface's queues may hold, as another
 * program that attaches to the interface can.
 */
static int
sndbuf(char **argv)
{
	struct ifreq ifr = {
		.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE),
	};
	int bytes = atoi(argv[2]);
	int fd, ret = 0;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", argv[1]);
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, TUNSETIFF, &ifr) != 0 || ioctl(fd, TUNSETSNDBUF, &bytes) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* forbid_uring: io_uring_enter() fails from now on, as for a program that goes into a
 * sandbox when all is set up.
 */
static int
forbid_uring(char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = RTE_DIM(filter), .filter = filter };

	RTE_SET_USED(argv);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return -errno;
	return 0;
}

static void
sleep_in_intr_thread(void *arg)
{
	usleep((useconds_t)(uintptr_t)arg * 1000);
}

/* intr_busy MS: EAL's interrupt thread is busy for so long. */
static int
intr_busy(char **argv)
{
	int ret = rte_eal_alarm_set(1, sleep_in_intr_thread,
				    (void *)(uintptr_t)strtoul(argv[1], NULL, 0));

	usleep(20000); /* it has begun */
	return ret;
}

static struct rte_pktmbuf_extmem pinned;

struct rte_mempool *
pinned_pool(const char *name, unsigned int n, uint16_t room)
{
	if (pinned.buf_ptr == NULL) {
		pinned.elt_size = room;
		pinned.buf_len = RTE_ALIGN_CEIL((size_t)n * room, 4096);
		pinned.buf_ptr = aligned_alloc(4096, pinned.buf_len);
		pinned.buf_iova = (rte_iova_t)(uintptr_t)pinned.buf_ptr;
	}
	if (pinned.buf_ptr == NULL || pinned.elt_size != room)
		return NULL;
	return rte_pktmbuf_pool_create_extbuf(name, n, 0, 0, room, SOCKET_ID_ANY, &pinned, 1);
}

/* pinned_own PORT: how many mbufs of its pool have the buffer that they were made with. */
static int
pinned_own(char **argv)
{
	struct rte_mempool *pool = port_pool((uint16_t)strtoul(argv[1], NULL, 0));
	struct rte_mbuf *list = NULL, *m;
	unsigned int n = 0;

	while ((m = rte_pktmbuf_alloc(pool)) != NULL) {
		n += RTE_PTR_DIFF(m->buf_addr, pinned.buf_ptr) < pinned.buf_len;
		m->dynfield1[0] = (uint32_t)(uintptr_t)list;
		m->dynfield1[1] = (uint32_t)((uintptr_t)list >> 32);
		list = m;
	}
	while ((m = list) != NULL) {
		list = (void *)((uintptr_t)m->dynfield1[0] | (uintptr_t)m->dynfield1[1] << 32);
		rte_pktmbuf_free(m);
	}
	printf("own %u\n", n);
	return 0;
}

const struct command harm_commands[] = {
	{ "sndbuf", sndbuf, "IFACE BYTES" },
	{ "forbid_uring", forbid_uring, "" },
	{ "pinned_own", pinned_own, "PORT" },
	{ "intr_busy", intr_busy, "MS" },
	{ NULL, NULL, NULL },
};

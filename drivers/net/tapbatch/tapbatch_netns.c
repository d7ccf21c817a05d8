/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The network namespace that a tun interface is in now, and a short visit of the
 * calling thread there: setns() changes the thread that calls it only.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tapbatch_log.h"
#include "tapbatch_netns.h"
#include "tapbatch_tun.h"

int
tapbatch_netns_enter(int tun_fd, struct tapbatch_netns_visit *visit)
{
	struct stat there, here;
	int target, home, ret;

	visit->home = -1;
	target = ioctl(tun_fd, TUNGETDEVNETNS);
	if (target < 0)
		return errno == EBADFD ? -EBADFD : 0;
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0 || fstat(home, &here) != 0 || fstat(target, &there) != 0) {
		ret = -errno;
		goto out;
	}
	if (here.st_dev == there.st_dev && here.st_ino == there.st_ino) {
		ret = 0;
		goto out;
	}
	if (setns(target, CLONE_NEWNET) != 0) {
		ret = -errno;
		TAPBATCH_LOG(ERR,
			     "the interface is in another network namespace, which cannot be "
			     "entered: %s (CAP_SYS_ADMIN is needed)",
			     strerror(errno));
		goto out;
	}
	visit->home = home;
	home = -1;
	ret = 0;
out:
	if (home >= 0)
		close(home);
	close(target);
	return ret;
}

void
tapbatch_netns_leave(struct tapbatch_netns_visit *visit)
{
	if (visit->home < 0)
		return;
	if (setns(visit->home, CLONE_NEWNET) != 0)
		TAPBATCH_LOG(ERR, "cannot return to the network namespace of this process: %s",
			     strerror(errno));
	close(visit->home);
	visit->home = -1;
}

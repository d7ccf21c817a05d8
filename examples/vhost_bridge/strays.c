/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Memory files of guests that DPDK's vhost library forgets to close: it does when it
 * cannot map what a guest sent, so that a guest could take all descriptors from the
 * others by trying again and again. When a guest's socket is gone the library is done
 * with all that came over it; what is still open then is closed here.
 *
 * Known by number and inode, since a number may have been used again. Only regular
 * files, as memory is: eventfds have no inodes of their own.
 */

#include "strays.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FDS 4096 /* descriptors of higher numbers are left alone */

struct identity {
	dev_t dev;
	ino_t ino;
};

static struct stray {
	struct identity file;
	struct identity socket;
	int sock; /* 0: nothing is known of this descriptor */
} strays[MAX_FDS];
static int nb_strays; /* all known ones have lower numbers */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool
identify(int fd, struct identity *id, bool regular)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || (regular && !S_ISREG(st.st_mode)))
		return false;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	return true;
}

static bool
is_still(int fd, const struct identity *id)
{
	struct identity now;

	return identify(fd, &now, false) && now.dev == id->dev && now.ino == id->ino;
}

static void
note(int sock, int fd)
{
	struct stray stray = { .sock = sock };

	if (fd < 0 || fd >= MAX_FDS)
		return;
	if (!identify(fd, &stray.file, true) || !identify(sock, &stray.socket, false))
		stray.sock = 0;
	strays[fd] = stray;
	if (fd >= nb_strays)
		nb_strays = fd + 1;
}

void
vb_strays_note(int sock, struct msghdr *message)
{
	struct cmsghdr *cmsg;

	pthread_mutex_lock(&lock);
	for (cmsg = CMSG_FIRSTHDR(message); cmsg != NULL; cmsg = CMSG_NXTHDR(message, cmsg)) {
		size_t n, i;
		int fd;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
			note(sock, fd);
		}
	}
	pthread_mutex_unlock(&lock);
}

void
vb_strays_close(void)
{
	int fd;

	pthread_mutex_lock(&lock);
	for (fd = 0; fd < nb_strays; fd++) {
		struct stray *stray = &strays[fd];

		if (stray->sock == 0 || is_still(stray->sock, &stray->socket))
			continue;
		if (is_still(fd, &stray->file))
			close(fd);
		stray->sock = 0;
	}
	while (nb_strays > 0 && strays[nb_strays - 1].sock == 0)
		nb_strays--;
	pthread_mutex_unlock(&lock);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Socket files. Whether one is stale is asked of the kernel, by connecting: a file
 * without a listener refuses. One that was given to another user may not let us
 * connect; then it is looked up in the kernel's list.
 */

#include "sockfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bridge.h"

#define MAX_CONNECTIONS 32 /* per socket; one is enough, but not all are noticed at once */
#define LISTENS 0x10000    /* __SO_ACCEPTCON, in /proc/net/unix */

/* Also if that cannot be found out. */
static bool
is_listened_on(const char *path)
{
	FILE *list = fopen("/proc/net/unix", "re");
	char line[256];
	bool found = false;

	if (list == NULL)
		return true;
	while (!found && fgets(line, sizeof(line), list) != NULL) {
		unsigned int flags;
		int at = 0;

		/* slot: references protocol flags type state inode path */
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %*u %n", &flags, &at) != 1 || at == 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		found = (flags & LISTENS) != 0 && strcmp(line + at, path) == 0;
	}
	fclose(list);
	return found;
}

int
vb_sockfile_prepare(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	int ret;
	int err;
	int fd;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		VB_LOG(ERR, "socket %s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISSOCK(st.st_mode)) {
		VB_LOG(ERR, "%s is there and is no socket: remove it, or name another", path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		VB_LOG(ERR, "socket %s: %s", path, strerror(errno));
		return -1;
	}
	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	ret = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
	err = errno;
	close(fd);
	if (ret == 0 || (err != ECONNREFUSED && (err != EACCES || is_listened_on(path)))) {
		VB_LOG(ERR, "socket %s is in use by another process (%s)", path,
		       ret == 0 ? "it accepts connections" : strerror(err));
		return -1;
	}
	if (unlink(path) < 0) {
		VB_LOG(ERR, "stale socket %s could not be removed: %s", path, strerror(errno));
		return -1;
	}
	VB_LOG(INFO, "removed stale socket %s", path);
	return 0;
}

int
vb_sockfile_finish(const char *path, uid_t owner, gid_t group, mode_t mode)
{
	/* The mode first: once it is another's, changing it takes one more capability. */
	if (chmod(path, mode) < 0) {
		VB_LOG(ERR, "socket %s: mode %o: %s", path, (unsigned int)mode, strerror(errno));
		return -1;
	}
	if ((owner != (uid_t)-1 || group != (gid_t)-1) && lchown(path, owner, group) < 0) {
		VB_LOG(ERR, "socket %s: owner %d, group %d: %s", path, (int)owner, (int)group,
		       strerror(errno));
		return -1;
	}
	return 0;
}

/* Connections that were made to a socket of this process. */
static unsigned int
walk_connections(const char *path, bool hang_up)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned int n = 0;

	if (dir == NULL)
		return 0;
	/* The descriptors are DPDK's; that they are ours to find is all we know of them. */
	while ((entry = readdir(dir)) != NULL) {
		struct sockaddr_un addr = { 0 };
		socklen_t len = sizeof(addr);
		int fd = atoi(entry->d_name);
		int listens = 1;
		socklen_t size = sizeof(listens);

		if (getsockname(fd, (struct sockaddr *)&addr, &len) < 0 ||
		    addr.sun_family != AF_UNIX ||
		    strncmp(addr.sun_path, path, sizeof(addr.sun_path)) != 0 ||
		    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || listens)
			continue;
		n++;
		if (hang_up)
			shutdown(fd, SHUT_RDWR);
	}
	closedir(dir);
	return n;
}

void
vb_sockfile_hang_up(const char *path)
{
	walk_connections(path, true);
}

/*
 * The one thread of the vhost library waits for about a thousand descriptors in all: one that
 * connects without end would take them from other sockets. There is no way to ask the
 * library for a limit, so this takes the place of the C library's function in the
 * whole process.
 */
int
accept(int listener, struct sockaddr *addr, socklen_t *len)
{
	int fd = accept4(listener, addr, len, 0);
	struct sockaddr_un own = { 0 };
	socklen_t own_len = sizeof(own);
	int type = 0;
	socklen_t size = sizeof(type);

	if (fd < 0 || getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 ||
	    own.sun_family != AF_UNIX || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    type != SOCK_STREAM || walk_connections(own.sun_path, false) <= MAX_CONNECTIONS)
		return fd;
	close(fd);
	errno = ECONNABORTED;
	return -1;
}

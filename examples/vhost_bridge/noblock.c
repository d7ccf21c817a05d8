/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Descriptors that a guest shares with us never block us. DPDK's vhost library reads
 * and writes them as they come, on the one thread that serves all sockets and on
 * workers; a guest that sends half a message, reads no replies or lets its eventfd
 * overflow would stop all others. There is no way to ask the library otherwise, so the
 * two functions it begins with are defined here, which take the place of the C
 * library's in the whole process.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge.h"
#include "strays.h"

/* Each time: the flag is the open file's, so the guest can take it away. */
static void
set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK) == 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* "Interrupt the guest". A counter that is full has an interrupt pending already. */
int
eventfd_write(int fd, eventfd_t value)
{
	set_nonblocking(fd);
	return write(fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

static bool
is_stream(int fd)
{
	socklen_t len = sizeof(int);
	int domain = 0;
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/*
 * Each message of the vhost-user protocol begins with this call, once there is
 * something to read, on accepted connections and on those made as a client alike.
 * Front ends send a message in one piece, so its payload is there with its header; if
 * not, the read that follows fails, and the library hangs up. A reply that finds no
 * room fails, too.
 */
ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
	struct mmsghdr one = { .msg_hdr = *message };
	bool guest = is_stream(fd);
	int n;

	if (guest) {
		set_nonblocking(fd);
		/* Guests before this one may have left something. */
		vb_strays_close();
	}
	/* Not a bare system call: EAL ends a thread that waits here by cancelling it. */
	n = recvmmsg(fd, &one, 1, flags, NULL);
	*message = one.msg_hdr;
	if (guest && n > 0 && one.msg_hdr.msg_controllen > 0)
		vb_strays_note(fd, message);
	return n < 0 ? -1 : (ssize_t)one.msg_len;
}

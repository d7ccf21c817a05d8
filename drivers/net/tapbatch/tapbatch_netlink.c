/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* One question to the kernel over rtnetlink, and its answer. */

#include <errno.h>
#include <stdint.h>

#include "tapbatch_netlink.h"

/* A link message with all of its nested attributes, VF lists left out. */
#define REPLY_BYTES 32768

int
tapbatch_netlink_talk(struct mnl_socket *socket, struct nlmsghdr *nlh, mnl_cb_t callback,
		      void *data)
{
	static _Atomic uint32_t last_seq;
	uint8_t reply[REPLY_BYTES];
	ssize_t len;
	int ret;

	/* An answer that a question before left unread must not be taken for ours. */
	nlh->nlmsg_seq = ++last_seq;
	if (mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		do {
			len = mnl_socket_recvfrom(socket, reply, sizeof(reply));
		} while (len < 0 && errno == EINTR);
		if (len < 0)
			return -errno;
		ret = mnl_cb_run(reply, (size_t)len, nlh->nlmsg_seq, mnl_socket_get_portid(socket),
				 callback, data);
		if (ret < 0 && errno == EPROTO)
			ret = MNL_CB_OK; /* such an answer: go on */
	} while (ret > MNL_CB_STOP);
	return ret < 0 ? -errno : 0;
}

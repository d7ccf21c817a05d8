/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * One question to the kernel over rtnetlink, and its answer.
 */

#ifndef TAPBATCH_NETLINK_H
#define TAPBATCH_NETLINK_H

#include <libmnl/libmnl.h>

/*
 * Sends a request and reads what comes back, up to the kernel's acknowledgement or the
 * end of its answer.
 *
 * @param socket    bound; nobody else may use it at the same time
 * @param nlh       the request
 * @param callback  gets each message of the answer, returns MNL_CB_STOP for the last one
 *                  if no acknowledgement follows; NULL: only errors matter
 * @return 0, or the negative errno of the kernel or the callback (MNL_CB_ERROR)
 */
int tapbatch_netlink_talk(struct mnl_socket *socket, struct nlmsghdr *nlh, mnl_cb_t callback,
			  void *data);

#endif /* TAPBATCH_NETLINK_H */

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Giving up what the bridge does not need.
 */

#ifndef VHOST_BRIDGE_PRIVILEGE_H
#define VHOST_BRIDGE_PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Becomes user (unless NULL) and keeps, of the capabilities there are, only those
 * that the bridge needs at any time. To be called before any thread is started:
 * capabilities are a thread's own, and threads inherit them.
 *
 * @param give_away  socket files shall get another owner or group
 * @return 0, or -1: said why not
 */
int vb_privilege_limit(const char *user, bool give_away);

/* May this process give its files to owner and group (-1: to none)? */
bool vb_privilege_may_give(uid_t owner, gid_t group);

#endif /* VHOST_BRIDGE_PRIVILEGE_H */

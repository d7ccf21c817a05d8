/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The socket file of a pair: what a run before left there, whose it is, who may
 * connect.
 */

#ifndef VHOST_BRIDGE_SOCKFILE_H
#define VHOST_BRIDGE_SOCKFILE_H

#include <sys/types.h>

/*
 * Makes way for a new socket: removes one that nobody listens on.
 *
 * @return 0, or -1: said why there is no way (somebody listens, or it is no socket)
 */
int vb_sockfile_prepare(const char *path);

/* Sets owner and group (-1: as they are) and mode. @return 0, or -1: said why not */
int vb_sockfile_finish(const char *path, uid_t owner, gid_t group, mode_t mode);

/*
 * Ends all connections that were made to a socket of this process, as if the other
 * sides had closed them.
 */
void vb_sockfile_hang_up(const char *path);

#endif /* VHOST_BRIDGE_SOCKFILE_H */

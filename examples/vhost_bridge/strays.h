/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Memory files of guests that DPDK's vhost library forgets to close.
 */

#ifndef VB_STRAYS_H
#define VB_STRAYS_H

#include <sys/socket.h>

/* A message with descriptors has come from a guest's socket. */
void vb_strays_note(int sock, struct msghdr *message);

/* Closes what was received over sockets that are closed by now. */
void vb_strays_close(void);

#endif /* VB_STRAYS_H */

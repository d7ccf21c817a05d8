/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Guests' memory that goes away. A process behind a vhost-user socket can truncate
 * the file whose pages it shared; whoever reads them then gets SIGBUS.
 */

#ifndef VHOST_BRIDGE_SIGBUS_H
#define VHOST_BRIDGE_SIGBUS_H

#include <stdint.h>

/* Pages that were replaced so far. */
extern uint64_t vb_sigbus_pages;

/* @return 0, or -1: said why not */
int vb_sigbus_catch(void);

#endif /* VHOST_BRIDGE_SIGBUS_H */

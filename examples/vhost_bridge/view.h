/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What an operator sees: a table on the terminal, and telemetry.
 */

#ifndef VHOST_BRIDGE_VIEW_H
#define VHOST_BRIDGE_VIEW_H

#include "pairs.h"

/* Prints the table of rates since the last call. Main lcore only. */
void vb_view_table(struct vb_pairs *pairs);

/* Registers the telemetry commands below /vhost_bridge. */
void vb_view_telemetry(struct vb_pairs *pairs);

#endif /* VHOST_BRIDGE_VIEW_H */

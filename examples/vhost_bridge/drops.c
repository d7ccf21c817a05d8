/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The names under which drops are counted.
 */

#include "drops.h"

const char *const vb_drop_names[VB_NB_DROPS] = {
	[VB_DROP_RUNT] = "runt",
	[VB_DROP_TOO_LONG] = "too_long",
	[VB_DROP_BAD_OFFLOAD] = "bad_offload",
	[VB_DROP_UFO] = "ufo",
	[VB_DROP_NO_BUFFER] = "no_buffer",
	[VB_DROP_NO_MBUF] = "no_mbuf",
	[VB_DROP_GUEST_GONE] = "guest_gone",
	[VB_DROP_GUEST_FULL] = "guest_full",
	[VB_DROP_NO_GUEST] = "no_guest",
	[VB_DROP_SAME_PORT] = "same_port",
	[VB_DROP_REMOVED] = "removed",
};

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The driver's testpmd commands as a shared object that EAL loads with -d: they are added
 * to a testpmd that exports its symbols, and to nothing else.
 */

#include <rte_log.h>

#include "testpmd.h"

bool
testpmd_is_here(void)
{
	const struct {
		const char *name;
		const volatile void *address;
	} needed[] = {
		{ "testpmd_add_driver_commands",
		  (const void *)(uintptr_t)testpmd_add_driver_commands },
		{ "start_packet_forwarding", (const void *)(uintptr_t)start_packet_forwarding },
		{ "stop_packet_forwarding", (const void *)(uintptr_t)stop_packet_forwarding },
		{ "test_done", &test_done },
		{ "f_quit", &f_quit },
		{ "nb_pkt_per_burst", &nb_pkt_per_burst },
		{ "cur_fwd_eng", &cur_fwd_eng },
	};
	unsigned int i;
	int logtype;

	/* EAL has read --log-level when it loads plug-ins. */
	logtype = rte_log_register_type_and_pick_level("pmd.net.tapbatch.testpmd", RTE_LOG_NOTICE);
	for (i = 0; i < RTE_DIM(needed); i++) {
		if (needed[i].address != NULL)
			continue;
		if (logtype >= 0)
			rte_log(RTE_LOG_INFO, (uint32_t)logtype,
				"tapbatch: no commands are added: this program does not export "
				"%s; a testpmd built with -Dc_link_args=-Wl,--export-dynamic "
				"does\n",
				needed[i].name);
		return false;
	}
	return true;
}

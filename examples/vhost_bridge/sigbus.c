/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A page that is not there any more is replaced by one of zeroes, for this process
 * alone: the guest that took it away finds its rings standing still, and the others
 * go on.
 */

#include "sigbus.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bridge.h"

uint64_t vb_sigbus_pages;

static uintptr_t page_size;

static void
on_sigbus(int sig, siginfo_t *info, void *context __rte_unused)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));

	/* Anything but an access beyond a file's end, broken memory for one, ends us. */
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED) {
		signal(sig, SIG_DFL);
		return;
	}
	__atomic_add_fetch(&vb_sigbus_pages, 1, __ATOMIC_RELAXED);
}

int
vb_sigbus_catch(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, &action, NULL) < 0) {
		VB_LOG(ERR, "SIGBUS cannot be caught: %s", strerror(errno));
		return -1;
	}
	return 0;
}

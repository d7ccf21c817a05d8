/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A page that is not there any more is replaced by one of zeroes, for this process
 * alone: the guest that took it away finds its rings standing still, and the others
 * go on. Of huge pages, only a whole one can be replaced.
 */

#include "sigbus.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bridge.h"

uint64_t vb_sigbus_pages;

/* The system's own first; a mapping of larger ones refuses pieces of them. */
static uintptr_t page_sizes[] = { 0, 2 << 20, 1 << 30 };

static bool
replace_page(uintptr_t addr)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(page_sizes); i++) {
		void *page = (void *)(addr & ~(page_sizes[i] - 1));

		if (mmap(page, page_sizes[i], PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return true;
		if (errno != EINVAL)
			return false;
	}
	return false;
}

static void
on_sigbus(int sig, siginfo_t *info, void *context __rte_unused)
{
	int before = errno;

	/* Anything but an access beyond a file's end, broken memory for one, ends us. */
	if (info->si_code != BUS_ADRERR || !replace_page((uintptr_t)info->si_addr))
		signal(sig, SIG_DFL);
	else
		__atomic_add_fetch(&vb_sigbus_pages, 1, __ATOMIC_RELAXED);
	errno = before;
}

int
vb_sigbus_catch(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	page_sizes[0] = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, &action, NULL) < 0) {
		VB_LOG(ERR, "SIGBUS cannot be caught: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* CPU time of the kernel's softirq threads, which no process is charged for. */

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softirq.h"

#define MAX_THREADS 256

static int threads[MAX_THREADS];
static int nb_threads = -1;

/* Opens a file of a process. */
static FILE *
open_proc(int pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return fopen(path, "re");
}

static void
find_threads(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	nb_threads = 0;
	while (dir != NULL && nb_threads < MAX_THREADS && (entry = readdir(dir)) != NULL) {
		int pid = atoi(entry->d_name);
		char name[32] = "";
		FILE *f = pid > 0 ? open_proc(pid, "comm") : NULL;

		if (f == NULL)
			continue;
		if (fgets(name, sizeof(name), f) != NULL && strncmp(name, "ksoftirqd/", 10) == 0)
			threads[nb_threads++] = pid;
		fclose(f);
	}
	if (dir != NULL)
		closedir(dir);
}

uint64_t
softirq_ns(void)
{
	uint64_t sum = 0, ns;

	if (nb_threads < 0)
		find_threads();
	for (int i = 0; i < nb_threads; i++) {
		FILE *f = open_proc(threads[i], "schedstat");

		if (f == NULL)
			continue;
		if (fscanf(f, "%" SCNu64, &ns) == 1)
			sum += ns;
		fclose(f);
	}
	return sum;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel's vhost workers, found in /proc by their names.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "tapbatch_worker.h"

static bool
is_named(const char *folder, const char *pid, const char *name)
{
	char path[64];
	char comm[32];
	FILE *file;
	bool same;

	snprintf(path, sizeof(path), "%s/%.16s/comm", folder, pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	same = fgets(comm, sizeof(comm), file) != NULL && strcmp(comm, name) == 0;
	fclose(file);
	return same;
}

static void
list_folder(const char *folder, const char *name, struct tapbatch_workers *workers)
{
	struct dirent *entry;
	DIR *dir;

	dir = opendir(folder);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL && workers->n < TAPBATCH_MAX_WORKERS)
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    is_named(folder, entry->d_name, name))
			workers->pids[workers->n++] = (pid_t)atoi(entry->d_name);
	closedir(dir);
}

void
tapbatch_workers_list(struct tapbatch_workers *workers)
{
	char name[32];

	snprintf(name, sizeof(name), "vhost-%d\n", rte_sys_gettid());
	workers->n = 0;
	list_folder("/proc/self/task", name, workers);
	list_folder("/proc", name, workers);
}

static bool
contains(const struct tapbatch_workers *workers, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		if (workers->pids[i] == pid)
			return true;
	return false;
}

pid_t
tapbatch_workers_new(const struct tapbatch_workers *before)
{
	struct tapbatch_workers now;
	unsigned int i;

	tapbatch_workers_list(&now);
	for (i = 0; i < now.n; i++)
		if (!contains(before, now.pids[i]))
			return now.pids[i];
	return 0;
}

int
tapbatch_worker_pin(pid_t worker, unsigned int cpu)
{
	cpu_set_t set;

	if (worker == 0)
		return -ESRCH;
	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(worker, sizeof(set), &set) == 0 ? 0 : -errno;
}

bool
tapbatch_worker_exists(pid_t worker)
{
	return kill(worker, 0) == 0 || errno == EPERM;
}

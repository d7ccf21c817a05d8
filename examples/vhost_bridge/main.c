/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The bridge's start, its waiting for signals, and its end.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "pairs.h"
#include "privilege.h"
#include "sigbus.h"
#include "view.h"
#include "worker.h"

RTE_LOG_REGISTER(vb_logtype, vhost_bridge, INFO);

static struct vb_options options;
static struct vb_conf conf;
static struct vb_worker workers[RTE_MAX_LCORE];

/* Those that end or reload the bridge come through a descriptor. In all threads. */
static int
catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void
quiet_libraries(void)
{
	/* What a guest can provoke at will shall fill no log; and what it does when it
	 * connects is said in one line of ours. --log-level goes before.
	 */
	rte_log_set_level_pattern("lib.vhost.data", RTE_LOG_CRIT);
	rte_log_set_level_pattern("lib.vhost.config", RTE_LOG_CRIT);
	rte_log_set_level_pattern("pmd.net.vhost", RTE_LOG_CRIT);
}

static int
start_workers(struct vb_pairs *pairs)
{
	unsigned int lcore;

	RTE_LCORE_FOREACH_WORKER(lcore) {
		struct vb_worker *worker = &workers[pairs->nb_workers];

		if (vb_worker_init(worker, lcore, options.idle_us, options.busy) < 0) {
			VB_LOG(ERR, "no descriptors left for lcore %u", lcore);
			return -1;
		}
		worker->jobs = calloc(1, sizeof(*worker->jobs));
		if (worker->jobs == NULL)
			return -1;
		worker->running = true;
		pairs->nb_workers++;
		if (rte_eal_remote_launch(vb_worker_main, worker, lcore) < 0) {
			worker->running = false;
			return -1;
		}
	}
	if (pairs->nb_workers == 0) {
		VB_LOG(ERR, "a worker lcore is needed beside the main one: give EAL -l 0,1, or "
			    "--lcores '0@0,1@0' on a single CPU");
		return -1;
	}
	return 0;
}

static void
stop_workers(struct vb_pairs *pairs)
{
	unsigned int i;

	for (i = 0; i < pairs->nb_workers; i++) {
		__atomic_store_n(&workers[i].stop, true, __ATOMIC_RELEASE);
		vb_worker_wake(&workers[i]);
	}
	rte_eal_mp_wait_lcore();
	for (i = 0; i < pairs->nb_workers; i++)
		vb_worker_fini(&workers[i]);
}

static void
reload(struct vb_pairs *pairs)
{
	static struct vb_conf new_conf;
	unsigned int failed;

	if (vb_conf_load(&new_conf, &options) < 0 || vb_pairs_check(pairs, &new_conf) < 0) {
		VB_LOG(ERR, "nothing was changed");
		return;
	}
	failed = vb_pairs_apply(pairs, &new_conf);
	if (failed > 0)
		VB_LOG(ERR, "reloaded, %u pairs could not be added or changed", failed);
	else
		VB_LOG(NOTICE, "reloaded, %u pairs", new_conf.nb_pairs);
}

static void
run(struct vb_pairs *pairs, int signals)
{
	struct pollfd pollfd = { .fd = signals, .events = POLLIN };
	struct signalfd_siginfo info;

	for (;;) {
		int n = poll(&pollfd, 1, options.table > 0 ? (int)options.table * 1000 : -1);

		if (n == 0)
			vb_view_table(pairs);
		if (n <= 0 || read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo != SIGHUP)
			return;
		reload(pairs);
	}
}

static bool
gives_away(const struct vb_conf *c)
{
	unsigned int i;

	for (i = 0; i < c->nb_pairs; i++)
		if (c->pairs[i].owner != (uid_t)-1 || c->pairs[i].group != (gid_t)-1)
			return true;
	return false;
}

/* Without "--" all options are EAL's, but for one that somebody new to it tries. */
static bool
asks_for_help(int argc, char *const *argv)
{
	return argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

int
main(int argc, char **argv)
{
	struct vb_pairs pairs = { .options = &options, .workers = workers };
	static const struct vb_conf none;
	int eal_argc = argc;
	int status = EXIT_FAILURE;
	int signals;
	int ret;

	/* Ours first: they say as whom to start EAL. */
	for (ret = 1; ret < argc && strcmp(argv[ret], "--") != 0; ret++)
		;
	if (ret < argc) {
		eal_argc = ret;
		argv[ret] = argv[0];
	}
	if (eal_argc == argc && asks_for_help(argc, argv))
		ret = vb_options_parse(&options, argc, argv);
	else
		ret = vb_options_parse(&options, argc - eal_argc, argv + eal_argc);
	if (ret != 0)
		return ret > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	argv[eal_argc] = NULL;

	if (vb_conf_load(&conf, &options) < 0 ||
	    vb_privilege_limit(options.user, gives_away(&conf)) < 0)
		return EXIT_FAILURE;
	if (options.config != NULL && access(options.config, R_OK) < 0)
		VB_LOG(WARNING,
		       "%s cannot be read again without the rights given up (%s): SIGHUP will "
		       "change nothing",
		       options.config, strerror(errno));
	signals = catch_signals();
	if (signals < 0) {
		VB_LOG(ERR, "signals cannot be caught: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	quiet_libraries();
	if (rte_eal_init(eal_argc, argv) < 0) {
		VB_LOG(ERR, "EAL did not start (see above)");
		return EXIT_FAILURE;
	}
	/* After EAL, which catches it for a while itself. */
	if (vb_sigbus_catch() == 0 && start_workers(&pairs) == 0) {
		vb_view_telemetry(&pairs);
		if (vb_pairs_apply(&pairs, &conf) == 0) {
			VB_LOG(NOTICE, "ready, %u pairs", conf.nb_pairs);
			if (options.table > 0)
				vb_view_table(&pairs);
			run(&pairs, signals);
			status = EXIT_SUCCESS;
		}
		vb_pairs_apply(&pairs, &none);
	}
	stop_workers(&pairs);
	rte_eal_cleanup();
	close(signals);
	return status;
}

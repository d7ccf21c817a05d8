/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The command line. */

#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "experiment.h"
#include "options.h"

#define DEFAULT_BUDGET_S (18 * 60)

enum {
	OPT_WARM_UP = 256,
	OPT_CORES,
	OPT_QUICK,
	OPT_DEVARGS,
	OPT_JSON,
	OPT_CSV,
	OPT_REPORT,
	OPT_STRICT,
	OPT_BUDGET,
	OPT_THREADS,
	OPT_DRY_RUN,
};

static const struct option long_options[] = {
	{ "experiment", required_argument, NULL, 'e' },
	{ "drivers", required_argument, NULL, 'd' },
	{ "reps", required_argument, NULL, 'r' },
	{ "secs", required_argument, NULL, 's' },
	{ "warm-up", required_argument, NULL, OPT_WARM_UP },
	{ "cores", required_argument, NULL, OPT_CORES },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "devargs", required_argument, NULL, OPT_DEVARGS },
	{ "budget", required_argument, NULL, OPT_BUDGET },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "csv", required_argument, NULL, OPT_CSV },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void
usage(const char *program)
{
	printf("usage: %s [--] [options]\n\n"
	       "Measures net_tapbatch beside its peers, in network namespaces of its own.\n"
	       "To be run as root, with TAPBATCH_PMD naming the driver (build/env.sh sets it).\n\n"
	       "  -e, --experiment LIST  which ones, with commas (default: all)\n"
	       "  -d, --drivers LIST     compare these (default: the experiment's own)\n"
	       "  -r, --reps N           repetitions of each case\n"
	       "  -s, --secs S           seconds that each is measured, such as 0.5\n"
	       "      --warm-up S        seconds before that (default 0.3)\n"
	       "      --cores TX,RX      cores of sender and receiver (default 0,1)\n"
	       "      --threads N        scale: most threads each side (default: half the cores)\n"
	       "      --budget MIN       minutes for all, at the cost of repetitions (default 18)\n"
	       "      --dry-run          only say how many cases and about how long\n"
	       "      --quick            one short repetition, of ranges only a few steps\n"
	       "      --devargs ARGS     more device arguments for net_tapbatch\n"
	       "      --strict           fail if a run was invalid or could not be made\n"
	       "      --json FILE        all samples, with machine and command\n"
	       "      --csv FILE         one line per case and metric\n"
	       "      --report DIR       report with plots (needs python3-matplotlib)\n"
	       "  -l, --list             experiments and drivers\n"
	       "  -h, --help\n",
	       program);
}

static void
list_all(void)
{
	printf("experiments:\n");
	for (size_t i = 0; experiment_get(i) != NULL; i++)
		printf("  %-12s %s\n", experiment_get(i)->name, experiment_get(i)->title);
	printf("\ndrivers:\n");
	for (size_t i = 0; driver_get(i) != NULL; i++) {
		const struct driver *d = driver_get(i);
		const char *missing = driver_missing(d);

		printf("  %-16s %s%s%s%s\n", d->name, d->what, missing != NULL ? " (" : "",
		       missing != NULL ? missing : "", missing != NULL ? ")" : "");
	}
}

static bool
known_experiment(const char *name)
{
	return experiment_find(name) != NULL;
}

static bool
known_driver(const char *name)
{
	return driver_find(name) != NULL;
}

/* Cuts a list at its commas, in place. */
static bool
parse_list(char *text, const char **list, bool (*known)(const char *), const char *what)
{
	size_t n = 0;

	for (char *save, *word = strtok_r(text, ",", &save); word != NULL;
	     word = strtok_r(NULL, ",", &save)) {
		if (!known(word)) {
			fprintf(stderr, "there is no %s '%s'; --list shows all\n", what, word);
			return false;
		}
		if (n + 1 == OPTIONS_MAX_LIST) {
			fprintf(stderr, "more than %d %ss\n", OPTIONS_MAX_LIST - 1, what);
			return false;
		}
		list[n++] = word;
	}
	list[n] = NULL;
	return n > 0;
}

static bool
parse_number(const char *text, const char *what, double least, double most, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end != text && *end == '\0' && *value >= least && *value <= most)
		return true;
	fprintf(stderr, "--%s %s: a number from %g to %g is needed\n", what, text, least, most);
	return false;
}

static bool
parse_cores(struct options *o, const char *text)
{
	char rest;

	if (sscanf(text, "%d,%d%c", &o->tx_core, &o->rx_core, &rest) == 2 && o->tx_core >= 0 &&
	    o->rx_core >= 0 && o->tx_core < CPU_SETSIZE && o->rx_core < CPU_SETSIZE)
		return true;
	fprintf(stderr, "--cores %s: two cores with a comma are needed, such as 0,1\n", text);
	return false;
}

static bool
parse_one(struct options *o, int option)
{
	double number;

	switch (option) {
	case 'e':
		return strcmp(optarg, "all") == 0 ||
		       parse_list(optarg, o->experiments, known_experiment, "experiment");
	case 'd':
		return parse_list(optarg, o->drivers, known_driver, "driver");
	case 'r':
		if (!parse_number(optarg, "reps", 1, 1000, &number))
			return false;
		o->reps = (unsigned int)number;
		return true;
	case 's':
		if (!parse_number(optarg, "secs", 0.05, 600, &number))
			return false;
		o->measure_ms = (unsigned int)(number * 1000);
		return true;
	case OPT_WARM_UP:
		if (!parse_number(optarg, "warm-up", 0, 60, &number))
			return false;
		o->warm_up_ms = (unsigned int)(number * 1000);
		return true;
	case OPT_CORES:
		return parse_cores(o, optarg);
	case OPT_QUICK:
		o->quick = true;
		return true;
	case OPT_THREADS:
		if (!parse_number(optarg, "threads", 1, 8, &number))
			return false;
		o->threads = (unsigned int)number;
		return true;
	case OPT_BUDGET:
		if (!parse_number(optarg, "budget", 0.01, 10000, &number))
			return false;
		o->budget_s = number * 60;
		return true;
	case OPT_DRY_RUN:
		o->dry_run = true;
		return true;
	case OPT_STRICT:
		o->strict = true;
		return true;
	case OPT_DEVARGS:
		o->devargs = optarg;
		return true;
	case OPT_JSON:
		o->json = optarg;
		return true;
	case OPT_CSV:
		o->csv = optarg;
		return true;
	case OPT_REPORT:
		o->report = optarg;
		return true;
	default:
		o->list = true;
		return true;
	}
}

static void
keep_command(struct options *o, int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	size_t at = 0;

	for (int i = 0; i < argc && at < sizeof(o->command); i++)
		at += (size_t)snprintf(o->command + at, sizeof(o->command) - at, "%s%s",
				       i ? " " : "", i == 0 && slash ? slash + 1 : argv[i]);
}

int
options_parse(struct options *o, int argc, char **argv)
{
	int option;

	*o = (struct options){
		.warm_up_ms = 300, .tx_core = 0, .rx_core = 1, .devargs = "", .budget_s = 0
	};
	keep_command(o, argc, argv);
	/* Programs of this kind take their own options after "--". */
	if (argc > 1 && strcmp(argv[1], "--") == 0) {
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	while ((option = getopt_long(argc, argv, "e:d:r:s:lh", long_options, NULL)) != -1) {
		if (option == 'h') {
			usage("dpdk-tapbatch-perf");
			return 0;
		}
		if (option == '?' || !parse_one(o, option))
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr, "'%s' is not understood; see --help\n", argv[optind]);
		return 2;
	}
	/* Who asks for so many repetitions means it. */
	if (o->budget_s == 0)
		o->budget_s = o->reps ? 1e9 : DEFAULT_BUDGET_S;
	if (o->list) {
		list_all();
		return 0;
	}
	return -1;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Command line and configuration file. Both give pairs as keys and values and go
 * through one table of keys; the file is read by DPDK's own rte_cfgfile.
 */

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cfgfile.h>
#include <rte_lcore.h>

#include "bridge.h"

#define MAX_KEYS 16 /* that a pair has */

static void
usage(void)
{
	printf("vhost_bridge: forwards between kernel interfaces and VMs' vhost-user NICs\n"
	       "\n"
	       "usage: dpdk-vhost_bridge [EAL options] -- [options]\n"
	       "  --pair KEY=VALUE,...   a pair; may be given many times. Keys:\n"
	       "      tap=NAME           interface, made if it is not there\n"
	       "      socket=PATH        vhost-user socket\n"
	       "      name=NAME          of the pair (default: the tap's)\n"
	       "      mode=server|client listen on the socket, or connect and reconnect\n"
	       "      queues=N           queue pairs, 1 to %u (1)\n"
	       "      mtu=BYTES          of the interface (as it is)\n"
	       "      core=LCORE         worker lcore that serves it (the least loaded)\n"
	       "      owner=USER group=GROUP perm=MODE\n"
	       "                         of the socket file (as they come, 0600)\n"
	       "      switch=on          several guests may share the tap\n"
	       "      age=SECONDS        switch: a silent address is forgotten (300)\n"
	       "      addresses=N        switch: most addresses behind the guest (256)\n"
	       "      tap-args=A=B+C=D   more device arguments of the tap, joined with +\n"
	       "  --config FILE          pairs as sections, [pair NAME], of key = value;\n"
	       "                         SIGHUP reads it again\n"
	       "  --idle-us N            sleep after N us without work (200)\n"
	       "  --busy                 never sleep\n"
	       "  --table[=SECONDS]      a table of rates on the terminal (1)\n"
	       "  --user NAME            run as this user, with CAP_NET_ADMIN alone\n"
	       "  --tap-driver NAME      net_tapbatch; another only for comparisons\n",
	       VB_MAX_QUEUES);
}

static int
set_string(char *to, size_t size, const char *key, const char *value)
{
	if (value[0] == '\0' || strlen(value) >= size) {
		VB_LOG(ERR, "%s='%s': 1 to %zu characters are allowed", key, value, size - 1);
		return -1;
	}
	memset(to, 0, size);
	strcpy(to, value);
	return 0;
}

static int
set_number(uint32_t *to, uint32_t min, uint32_t max, const char *key, const char *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || n < min || n > max) {
		VB_LOG(ERR, "%s=%s: a number from %u to %u is needed", key, value, min, max);
		return -1;
	}
	*to = (uint32_t)n;
	return 0;
}

static int
set_switch(bool *to, const char *key, const char *value, const char *no, const char *yes)
{
	if (strcmp(value, yes) == 0)
		*to = true;
	else if (strcmp(value, no) == 0)
		*to = false;
	else {
		VB_LOG(ERR, "%s=%s: '%s' or '%s' is needed", key, value, no, yes);
		return -1;
	}
	return 0;
}

static int
set_owner(uid_t *to, const char *value)
{
	const struct passwd *pw = getpwnam(value);
	uint32_t id;

	if (pw != NULL)
		id = pw->pw_uid;
	else if (set_number(&id, 0, INT32_MAX, "owner (no user of that name)", value) < 0)
		return -1;
	*to = id;
	return 0;
}

static int
set_group(gid_t *to, const char *value)
{
	const struct group *gr = getgrnam(value);
	uint32_t id;

	if (gr != NULL)
		id = gr->gr_gid;
	else if (set_number(&id, 0, INT32_MAX, "group (no group of that name)", value) < 0)
		return -1;
	*to = id;
	return 0;
}

static int
set_mode(mode_t *to, const char *key, const char *value)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (value[0] < '0' || value[0] > '7' || *end != '\0' || mode > 0777) {
		VB_LOG(ERR, "%s=%s: an octal file mode up to 0777 is needed", key, value);
		return -1;
	}
	*to = (mode_t)mode;
	return 0;
}

static int
set_key(struct vb_pair_conf *pair, const char *key, const char *value)
{
	uint32_t n = 0;
	int ret;

	if (strcmp(key, "name") == 0)
		return set_string(pair->name, sizeof(pair->name), key, value);
	if (strcmp(key, "tap") == 0)
		return set_string(pair->tap, sizeof(pair->tap), key, value);
	if (strcmp(key, "socket") == 0)
		return set_string(pair->socket, sizeof(pair->socket), key, value);
	if (strcmp(key, "mode") == 0)
		return set_switch(&pair->client, key, value, "server", "client");
	if (strcmp(key, "switch") == 0)
		return set_switch(&pair->switched, key, value, "off", "on");
	if (strcmp(key, "owner") == 0)
		return set_owner(&pair->owner, value);
	if (strcmp(key, "group") == 0)
		return set_group(&pair->group, value);
	if (strcmp(key, "perm") == 0)
		return set_mode(&pair->mode, key, value);
	if (strcmp(key, "age") == 0)
		return set_number(&pair->age, 1, 1000000, key, value);
	if (strcmp(key, "addresses") == 0)
		return set_number(&pair->addresses, 1, 4096, key, value);
	if (strcmp(key, "queues") == 0) {
		ret = set_number(&n, 1, VB_MAX_QUEUES, key, value);
		pair->queues = (uint16_t)n;
		return ret;
	}
	if (strcmp(key, "mtu") == 0) {
		ret = set_number(&n, 68, 65521, key, value);
		pair->mtu = (uint16_t)n;
		return ret;
	}
	if (strcmp(key, "core") == 0) {
		ret = set_number(&n, 0, RTE_MAX_LCORE - 1, key, value);
		pair->core = (int)n;
		return ret;
	}
	if (strcmp(key, "tap-args") == 0) {
		char *plus;

		ret = set_string(pair->tap_args, sizeof(pair->tap_args), key, value);
		/* Commas separate the pair's own keys. */
		for (plus = pair->tap_args; ret == 0 && *plus != '\0'; plus++)
			if (*plus == '+')
				*plus = ',';
		return ret;
	}
	VB_LOG(ERR, "'%s' is no key of a pair (see --help)", key);
	return -1;
}

/* Of two values one would be forgotten. keys: those before, n of them. */
static int
check_key_once(const char *const *keys, unsigned int n, const char *key)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (strcmp(keys[i], key) == 0) {
			VB_LOG(ERR, "'%s' is given twice", key);
			return -1;
		}
	return 0;
}

static void
set_defaults(struct vb_pair_conf *pair)
{
	memset(pair, 0, sizeof(*pair));
	pair->queues = 1;
	pair->core = -1;
	pair->owner = (uid_t)-1;
	pair->group = (gid_t)-1;
	pair->mode = 0600;
	pair->age = 300;
	pair->addresses = 256;
}

static struct vb_pair_conf *
new_pair(struct vb_conf *conf)
{
	if (conf->nb_pairs == VB_MAX_PAIRS) {
		VB_LOG(ERR, "more than %u pairs", VB_MAX_PAIRS);
		return NULL;
	}
	set_defaults(&conf->pairs[conf->nb_pairs]);
	return &conf->pairs[conf->nb_pairs++];
}

static int
parse_pair(struct vb_conf *conf, const char *text)
{
	struct vb_pair_conf *pair = new_pair(conf);
	/* Cut up in a copy: the command line is what ps shows. */
	char *copy = strdup(text);
	const char *keys[MAX_KEYS];
	unsigned int n = 0;
	char *rest = copy;
	char *item;
	int ret = -1;

	if (pair == NULL || copy == NULL)
		goto out;
	while ((item = strsep(&rest, ",")) != NULL) {
		char *value = strchr(item, '=');

		if (value == NULL) {
			VB_LOG(ERR, "--pair: '%s' is no KEY=VALUE", item);
			goto out;
		}
		*value++ = '\0';
		if (check_key_once(keys, n, item) < 0 || set_key(pair, item, value) < 0)
			goto out;
		keys[n++] = item; /* known, and once each: they have room */
	}
	ret = 0;
out:
	free(copy);
	return ret;
}

int
vb_options_parse(struct vb_options *options, int argc, char **argv)
{
	enum {
		PAIR = 256,
		CONFIG,
		IDLE,
		BUSY,
		TABLE,
		USER,
		DRIVER,
		HELP
	};
	static const struct option longs[] = {
		{ "pair", required_argument, NULL, PAIR },
		{ "config", required_argument, NULL, CONFIG },
		{ "idle-us", required_argument, NULL, IDLE },
		{ "busy", no_argument, NULL, BUSY },
		{ "table", optional_argument, NULL, TABLE },
		{ "user", required_argument, NULL, USER },
		{ "tap-driver", required_argument, NULL, DRIVER },
		{ "help", no_argument, NULL, HELP },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	memset(options, 0, sizeof(*options));
	options->idle_us = 200;
	options->tap_driver = "net_tapbatch";
	optind = 1;
	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (opt) {
		case PAIR:
			if (parse_pair(&options->pairs, optarg) < 0)
				return -1;
			break;
		case CONFIG:
			options->config = optarg;
			break;
		case IDLE:
			if (set_number(&options->idle_us, 0, 10000000, "--idle-us", optarg) < 0)
				return -1;
			break;
		case BUSY:
			options->busy = true;
			break;
		case TABLE:
			options->table = 1;
			if (optarg != NULL &&
			    set_number(&options->table, 1, 3600, "--table", optarg) < 0)
				return -1;
			break;
		case USER:
			options->user = optarg;
			break;
		case DRIVER:
			options->tap_driver = optarg;
			break;
		case HELP:
		case 'h':
			usage();
			return 1;
		default:
			VB_LOG(ERR, "see --help for the options there are");
			return -1;
		}
	}
	if (optind < argc) {
		VB_LOG(ERR, "'%s' is no option (see --help)", argv[optind]);
		return -1;
	}
	if (options->config == NULL && options->pairs.nb_pairs == 0) {
		VB_LOG(ERR, "nothing to do: give --pair or --config (see --help)");
		return -1;
	}
	return 0;
}

static int
load_section(struct vb_conf *conf, struct rte_cfgfile *file, const char *section, int index)
{
	static const char pair_word[] = "pair ";
	const char *keys[MAX_KEYS] = { "name" };
	struct rte_cfgfile_entry *entries;
	struct vb_pair_conf *pair;
	char name[CFG_NAME_LEN];
	int ret = -1;
	int n;
	int i;

	if (strncmp(section, pair_word, strlen(pair_word)) != 0) {
		VB_LOG(ERR, "section [%s]: only [pair NAME] is known", section);
		return -1;
	}
	pair = new_pair(conf);
	if (pair == NULL ||
	    set_string(pair->name, sizeof(pair->name), "name", section + strlen(pair_word)) < 0)
		return -1;
	n = rte_cfgfile_section_num_entries_by_index(file, name, index);
	entries = calloc(RTE_MAX(n, 1), sizeof(*entries));
	if (entries == NULL)
		return -1;
	n = rte_cfgfile_section_entries_by_index(file, index, name, entries, n);
	for (i = 0; i < n; i++) {
		if (check_key_once(keys, i + 1, entries[i].name) < 0 ||
		    set_key(pair, entries[i].name, entries[i].value) < 0) {
			VB_LOG(ERR, "in section [%s]", section);
			goto out;
		}
		if (i + 1 < MAX_KEYS)
			keys[i + 1] = entries[i].name;
	}
	ret = 0;
out:
	free(entries);
	return ret;
}

/* What rte_cfgfile would pass over in silence. */
static int
check_text(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned int line = 1;
	int before = '\n';
	int ret = 0;
	int c;

	if (file == NULL) {
		VB_LOG(ERR, "%s: %s", path, strerror(errno));
		return -1;
	}
	while ((c = getc(file)) != EOF) {
		if (c == '#' && strchr(" \t\n", before) == NULL) {
			VB_LOG(ERR,
			       "%s, line %u: '#' begins a comment, and no value can have it; put a "
			       "space before it if that is meant",
			       path, line);
			ret = -1;
			break;
		}
		if (c == '#') /* all that follows may be anything */
			while ((c = getc(file)) != EOF && c != '\n')
				;
		line += c == '\n';
		before = c;
	}
	if (ftell(file) == 0) {
		VB_LOG(ERR,
		       "%s: empty, as if it were still being written; for no pairs a comment line "
		       "is enough",
		       path);
		ret = -1;
	}
	fclose(file);
	return ret;
}

static int
load_file(struct vb_conf *conf, const char *path)
{
	struct rte_cfgfile_parameters params = { .comment_character = '#' };
	struct rte_cfgfile *file;
	char **names = NULL;
	char *memory = NULL;
	int ret = -1;
	int n;
	int i;

	if (check_text(path) < 0)
		return -1;
	/* Says itself which line is wrong. */
	file = rte_cfgfile_load_with_params(path, 0, &params);
	if (file == NULL) {
		VB_LOG(ERR, "%s: not there, not readable, or not of [section] and key = value",
		       path);
		return -1;
	}
	n = rte_cfgfile_num_sections(file, NULL, 0);
	names = calloc(RTE_MAX(n, 1), sizeof(*names));
	memory = calloc(RTE_MAX(n, 1), CFG_NAME_LEN);
	if (names == NULL || memory == NULL)
		goto out;
	for (i = 0; i < n; i++)
		names[i] = memory + i * CFG_NAME_LEN;
	n = rte_cfgfile_sections(file, names, n);
	for (i = 0; i < n; i++)
		if (load_section(conf, file, names[i], i) < 0) {
			VB_LOG(ERR, "in %s", path);
			goto out;
		}
	ret = 0;
out:
	free(memory);
	free(names);
	rte_cfgfile_close(file);
	return ret;
}

int
vb_pair_conf_fit(const struct vb_pair_conf *a, const struct vb_pair_conf *b)
{
	if (strcmp(a->name, b->name) == 0) {
		VB_LOG(ERR, "two pairs are called '%s'", a->name);
		return -1;
	}
	if (strcmp(a->socket, b->socket) == 0) {
		VB_LOG(ERR, "pairs '%s' and '%s' have the same socket, %s", a->name, b->name,
		       a->socket);
		return -1;
	}
	if (strcmp(a->tap, b->tap) != 0)
		return 0;
	if (!a->switched || !b->switched) {
		VB_LOG(ERR,
		       "pairs '%s' and '%s' have the same tap, %s: that needs switch=on in both",
		       a->name, b->name, a->tap);
		return -1;
	}
	if (a->queues != b->queues || a->mtu != b->mtu || a->core != b->core || a->age != b->age ||
	    strcmp(a->tap_args, b->tap_args) != 0) {
		VB_LOG(ERR,
		       "pairs '%s' and '%s' share tap %s and must agree on queues, mtu, core, "
		       "age and tap-args",
		       a->name, b->name, a->tap);
		return -1;
	}
	return 0;
}

/* One port for each socket, and one for each tap. */
static int
check_ports(const struct vb_conf *conf)
{
	unsigned int taps = 0;
	unsigned int i;
	unsigned int j;

	for (i = 0; i < conf->nb_pairs; i++) {
		for (j = 0; j < i && strcmp(conf->pairs[i].tap, conf->pairs[j].tap) != 0; j++)
			;
		taps += j == i;
	}
	if (conf->nb_pairs + taps <= RTE_MAX_ETHPORTS)
		return 0;
	VB_LOG(ERR,
	       "%u pairs on %u taps need %u ports, and this DPDK has %u: build DPDK with "
	       "-Dmax_ethports=%u or more, and the bridge against it",
	       conf->nb_pairs, taps, conf->nb_pairs + taps, RTE_MAX_ETHPORTS,
	       conf->nb_pairs + taps);
	return -1;
}

int
vb_conf_load(struct vb_conf *conf, const struct vb_options *options)
{
	unsigned int i;
	unsigned int j;

	*conf = options->pairs;
	if (options->config != NULL && load_file(conf, options->config) < 0)
		return -1;
	for (i = 0; i < conf->nb_pairs; i++) {
		struct vb_pair_conf *pair = &conf->pairs[i];

		if (pair->tap[0] == '\0' || pair->socket[0] == '\0') {
			VB_LOG(ERR, "pair %u ('%s') needs both tap and socket", i, pair->name);
			return -1;
		}
		/* The others mean something in DPDK's device arguments. */
		if (pair->socket[0] != '/' || strpbrk(pair->socket, ", \t=[]\"\\") != NULL) {
			VB_LOG(ERR,
			       "socket %s: an absolute path is needed, without space , = [ ] \" "
			       "and "
			       "\\",
			       pair->socket);
			return -1;
		}
		if (strpbrk(pair->tap, "/,: \t%") != NULL) {
			VB_LOG(ERR, "tap '%s': no name for an interface", pair->tap);
			return -1;
		}
		if (pair->name[0] == '\0')
			strcpy(pair->name, pair->tap);
		if (strspn(pair->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_.-") != strlen(pair->name)) {
			VB_LOG(ERR, "pair name '%s': letters, digits, '_', '.' and '-' are allowed",
			       pair->name);
			return -1;
		}
		for (j = 0; j < i; j++)
			if (vb_pair_conf_fit(&conf->pairs[j], pair) < 0)
				return -1;
	}
	return check_ports(conf);
}

bool
vb_pair_conf_equal(const struct vb_pair_conf *a, const struct vb_pair_conf *b)
{
	/* Both began as zeroes, so the strings' tails are equal, too. */
	return memcmp(a, b, sizeof(*a)) == 0;
}

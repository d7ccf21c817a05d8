/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What stays, and for what: CAP_NET_ADMIN to make taps, also on reload, and
 * CAP_CHOWN to give socket files away, if any shall be. Persistent taps that belong
 * to the user need neither.
 */

#include "privilege.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bridge.h"

#define BIT(cap) (1u << (cap))

static int
keep_only(uint32_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	/* glibc has no wrappers for these. */
	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	data[0].permitted &= keep;
	data[0].effective = data[0].permitted;
	data[0].inheritable = 0;
	data[1].permitted = data[1].effective = data[1].inheritable = 0;
	return (int)syscall(SYS_capset, &header, data);
}

static int
become(const char *user)
{
	const struct passwd *pw = getpwnam(user);

	if (pw == NULL) {
		VB_LOG(ERR, "--user %s: there is no such user", user);
		return -1;
	}
	if (initgroups(user, pw->pw_gid) < 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0) {
		VB_LOG(ERR, "could not become user %s: %s", user, strerror(errno));
		return -1;
	}
	return 0;
}

int
vb_privilege_limit(const char *user, bool give_away)
{
	uint32_t keep = BIT(CAP_NET_ADMIN) | (give_away ? BIT(CAP_CHOWN) : 0);
	unsigned int cap;

	/* These fail without the right to do it; then there is nothing to give up. */
	for (cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap > 31 || (BIT(cap) & keep) == 0)
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	/* uid 0 shall mean nothing; a change of uid shall not take what is to stay. */
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
	if (user != NULL && become(user) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || keep_only(keep) < 0) {
		VB_LOG(ERR, "could not give up capabilities: %s", strerror(errno));
		return -1;
	}
	return 0;
}

bool
vb_privilege_may_give(uid_t owner, gid_t group)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	gid_t groups[NGROUPS_MAX];
	int n;

	if (syscall(SYS_capget, &header, data) == 0 && (data[0].effective & BIT(CAP_CHOWN)) != 0)
		return true;
	if (owner != (uid_t)-1 && owner != geteuid())
		return false;
	if (group == (gid_t)-1 || group == getegid())
		return true;
	for (n = getgroups(RTE_DIM(groups), groups); n > 0; n--)
		if (groups[n - 1] == group)
			return true;
	return false;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Runs a command under a seccomp filter that refuses one ioctl request, as an older
 * kernel, or a security policy, would.
 *	refuse_ioctl REQUEST ERRNO COMMAND [ARGUMENT...]
 * Both are numbers.
 */

#include <err.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The lower half of the second argument, on a little-endian machine. */
#define REQUEST_OFFSET (offsetof(struct seccomp_data, args) + sizeof(uint64_t))

int
main(int argc, char **argv)
{
	uint32_t request = argc > 3 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	uint32_t error = argc > 3 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, REQUEST_OFFSET),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (request == 0 || error == 0)
		errx(2, "usage: refuse_ioctl REQUEST ERRNO COMMAND [ARGUMENT...]");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		err(1, "seccomp");
	execvp(argv[3], argv + 3);
	err(127, "%s", argv[3]);
}

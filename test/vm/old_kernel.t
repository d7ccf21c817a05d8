#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The engines rw and uring on a kernel whose tun files do not claim non-blocking I/O:
# Debian's 6.1, in a VM.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/guest.sh"

guest_start || { fail "the VM starts"; done_testing; exit; }
like "the kernel is that old" "$(guest_run 'uname -r')" '^6\.1\.'
guest_test "$TOP/test/func/frames.t" 300
done_testing

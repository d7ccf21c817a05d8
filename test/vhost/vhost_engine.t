#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engine vhost at work, on a kernel that has vhost-net: in a VM.
# timeout: 900
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/guest.sh"

guest_start || { fail "the VM starts"; done_testing; exit; }
guest_test "$TOP/test/vm/guest/vhost_traffic.t" 400
guest_test "$TOP/test/vm/guest/vhost_control.t" 400
done_testing

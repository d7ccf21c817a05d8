#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The guides become HTML without a warning.
# timeout: 300
. "$(dirname "$0")/../tap.sh"

ok "the guides are made" make -C "$TOP" doc
done_testing

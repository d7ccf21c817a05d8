#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sources have the project's layout, and static analysis finds nothing.
. "$(dirname "$0")/../tap.sh"

ok "clang-format would change nothing" bash "$TOP/devtools/lint.sh" check
ok "cppcheck finds nothing" bash "$TOP/devtools/lint.sh" analyse
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Takes the report of the last "make bench" over into the tree: doc/report, and README's
# tables. What is committed of it is for a person to decide.
#	bench-doc.sh [FOLDER]     of the report (build/bench)
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$TOP"

from=${1:-${TAPBATCH_BUILD:-build}/bench}
[ -f "$from/results.json" ] || die "there is no $from/results.json, run make bench first"
rm -rf doc/report
mkdir -p doc/report
cp "$from"/report.md "$from"/*.svg doc/report/
/usr/bin/python3 devtools/bench-readme.py "$from/results.json" README.md
say "doc/report and README.md are of $from now"

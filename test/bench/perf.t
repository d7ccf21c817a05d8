#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The measurement program's books: each experiment runs briefly, every packet sent
# is received or in a counter, and the files say what the table says. How fast
# anything is does not matter here.
# timeout: 900
. "$(dirname "$0")/../tap.sh"

PERF=$TAPBATCH_BUILD/app/perf/dpdk-tapbatch-perf
[ -x "$PERF" ] || skip_all "dpdk-tapbatch-perf is not built here"

# complaints FILE: what is wrong with the results, a line each.
complaints() {
	/usr/bin/python3 - "$1" <<'END'
import json, math, sys

cases = 0
for e in json.load(open(sys.argv[1]))["experiments"]:
    for c in e["cases"]:
        name = f"{e['name']} {c['driver']} {c['parameter']}".strip()
        value = {k: v["median"] for k, v in c["metrics"].items()}
        if c["status"] == "unsupported" and c["why"]:
            continue
        cases += 1
        if c["status"] != "ok":
            print(f"{name}: expected status ok, got {c['status']}: {c['why']}")
            continue
        main = [k for k in (e["main"], "rtt_p50_us") if k in value]
        if not main or not all(math.isfinite(value[k]) and value[k] > 0 for k in main):
            print(f"{name}: expected a positive {e['main']}, got {value.get(e['main'])}")
        sent, received = value.get("packets_sent"), value.get("packets_received")
        if sent is None:
            continue
        if not 0 < received <= sent:
            print(f"{name}: expected 0 < received <= sent, got {received} of {sent}")
        if "frames_dropped" in value:
            lost = sent - received
            dropped, uncounted = value["frames_dropped"], value["packets_uncounted"]
            veth = c["driver"] in ("net_af_packet", "net_af_xdp")
            if not veth and uncounted != 0:
                print(f"{name}: expected no packet lost uncounted, got {uncounted}")
            if not veth and lost > 64 * dropped:
                print(f"{name}: expected at least {lost / 64} drops for {lost} packets lost, "
                      f"got {dropped}")
            if abs(value["lost_percent"] - lost / sent * 100) > 0.01:
                print(f"{name}: expected {lost / sent * 100} % lost, got {value['lost_percent']}")
if cases == 0:
    print("expected some cases that ran, got none")
END
}

# books EXPERIMENT
books() {
	local out=$TEST_TMP/$1
	if ! "$PERF" -e "$1" --quick --json "$out.json" >"$out.txt" 2>&1; then
		fail "$1: runs" "$(tail -n 20 "$out.txt")"
		return
	fi
	is "$1: every packet is accounted for" "$(complaints "$out.json")" ""
	is "$1: its table fits 100 columns" \
		"$(awk 'length($0) > 100 && !/not possible/' "$out.txt")" ""
}

for experiment in $("$PERF" --list | sed -n '/^experiments:/,/^$/s/^  \([^ ]*\) .*/\1/p'); do
	books "$experiment"
done

ok "the options' files are written" \
	"$PERF" -e generator -r 2 -s 0.1 --json "$TEST_TMP/f.json" --csv "$TEST_TMP/f.csv" \
	--report "$TEST_TMP/report"
like "CSV: a line per case and metric" "$(cat "$TEST_TMP/f.csv")" \
	$'\n''generator,net_null,"64 B",ok,tx_mpps,Mpps,2,[0-9.]+,'
ok "report: has its plot" test -s "$TEST_TMP/report/generator.svg"
like "report: names the machine" "$(cat "$TEST_TMP/report/report.md")" "kernel: Linux $(uname -r)"

# refused NAME REGEX OPTIONS...
refused() {
	local name=$1 regex=$2 status=0 text
	shift 2
	text=$("$PERF" "$@" 2>&1) || status=$?
	is "$name: exit status" "$status" 2
	like "$name: message" "$text" "$regex"
}
refused "an unknown experiment" "there is no experiment 'nonsense'" -e nonsense
refused "an unknown driver" "there is no driver 'net_nothing'" -d net_nothing
refused "no repetitions" "--reps 0: a number from 1" -r 0
refused "one core" "--cores 1: two cores" --cores 1

# A driver that is not there is said to be missing, and nothing else fails.
text=$(TAPBATCH_PMD=/nowhere/driver.so "$PERF" -e start-up --quick -d tapbatch-rw)
like "a driver that is not there" "$text" "not possible: the file that TAPBATCH_PMD names"

done_testing

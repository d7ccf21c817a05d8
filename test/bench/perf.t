#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The measurement program's books: each experiment runs briefly, every packet sent
# is received or in a counter, and the files say what the table says. How fast
# anything is does not matter here.
# timeout: 900
. "$(dirname "$0")/../tap.sh"

PERF=$TAPBATCH_BUILD/app/perf/dpdk-tapbatch-perf
[ -x "$PERF" ] || skip_all "dpdk-tapbatch-perf is not built here"

# complaints FILE [EXPERIMENT]: what is wrong with the results, a line each.
complaints() {
	/usr/bin/python3 - "$@" <<'END'
import json, math, sys

cases = 0
for e in json.load(open(sys.argv[1]))["experiments"]:
    if e["name"] not in (sys.argv[2:] or [e["name"]]):
        continue
    for c in e["cases"]:
        name = f"{e['name']} {c['driver']} {c['parameter']}".strip()
        value = {k: v["median"] for k, v in c["metrics"].items()}
        if c["status"] == "unsupported" and c["why"]:
            continue
        cases += 1
        if c["status"] != "ok":
            print(f"{name}: expected status ok, got {c['status']}: {c['why']}")
            continue
        main = value.get(c.get("main", e["main"]))
        if main is None or not (math.isfinite(main) and main >= 0):
            print(f"{name}: expected a number as {e['main']}, got {main}")
        sent, received = value.get("packets_sent"), value.get("packets_received")
        if sent is None:
            continue
        if not 0 < received <= sent:
            print(f"{name}: expected 0 < received <= sent, got {received} of {sent}")
        if "frames_dropped" in value:
            lost = sent - received
            dropped, uncounted = value["frames_dropped"], value["packets_uncounted"]
            counts = c["driver"] not in ("net_af_packet", "net_af_xdp", "testpmd")
            if counts and uncounted != 0:
                print(f"{name}: expected no packet lost uncounted, got {uncounted}")
            if counts and lost > 64 * dropped:
                print(f"{name}: expected at least {lost / 64} drops for {lost} packets lost, "
                      f"got {dropped}")
            if abs(value["lost_percent"] - lost / sent * 100) > 0.01:
                print(f"{name}: expected {lost / sent * 100} % lost, got {value['lost_percent']}")
if cases == 0:
    print("expected some cases that ran, got none")
END
}

# differences DIR CSV: where CSV, plots and report are not what the JSON in DIR says.
differences() {
	/usr/bin/python3 - "$@" <<'END'
import csv, json, os, sys

folder = sys.argv[1]
results = json.load(open(os.path.join(folder, "results.json")))
rows = {(r["experiment"], r["driver"], r["parameter"], r["metric"]): r
        for r in csv.DictReader(open(sys.argv[2]))}
text = {f: open(os.path.join(folder, f)).read() for f in ("report.md", "report.html")}
expected = 0
for e in results["experiments"]:
    plotted = False
    for c in e["cases"]:
        plotted = plotted or c.get("main", e["main"]) in c["metrics"]
        for name, m in c["metrics"].items():
            expected += 1
            row = rows.get((e["name"], c["driver"], c["parameter"], name))
            if row is None:
                print(f"CSV: expected a line for {e['name']} {c['driver']} {name}, got none")
            elif abs(float(row["median"]) - m["median"]) > 1e-4 * abs(m["median"]) + 1e-9:
                print(f"CSV: expected {m['median']} for {e['name']} {c['driver']} "
                      f"{c['parameter']} {name}, got {row['median']}")
    for f, t in text.items():
        if e["title"] not in t.replace("&#x27;", "'").replace("&gt;", ">"):
            print(f"{f}: expected the title of {e['name']}, got none")
    for ending, head in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        path = os.path.join(folder, f"{e['name']}.{ending}")
        got = open(path, "rb").read(8) if os.path.exists(path) else b"no file"
        if plotted and not got.startswith(head):
            print(f"{path}: expected a plot, got {got}")
if expected == 0 or expected != len(rows):
    print(f"CSV: expected {expected} lines, got {len(rows)}")
END
}

out=$TEST_TMP/all
if "$PERF" --quick -s 0.1 --csv "$out.csv" --report "$out" >"$out.txt" 2>&1; then
	ok "all experiments run" true
else
	fail "all experiments run" "$(tail -n 20 "$out.txt")"
fi
for experiment in $("$PERF" --list | sed -n '/^experiments:/,/^$/s/^  \([^ ]*\) .*/\1/p'); do
	is "$experiment: every packet is accounted for" \
		"$(complaints "$out/results.json" "$experiment")" ""
	like "$experiment: has its table" "$(cat "$out.txt")" $'\n'"$experiment: "
done
is "no table is wider than 100 columns" \
	"$(awk 'length($0) > 100 && !/not possible|tried again|runs count/' "$out.txt")" ""
is "files, plots and report say what the results say" "$(differences "$out" "$out.csv")" ""
like "report: names the machine" "$(cat "$out/report.md")" "kernel: Linux $(uname -r)"
for figure in 731 1\.37 1\.09 9121 2\.25; do
	like "report: has the kernel's figure $figure" "$(cat "$out/report.md")" "$figure"
done

# What a quick run leaves out.
ok "slower ways run, too" "$PERF" --quick -s 0.1 -e pps,reader --json "$out.json" \
	-d tapbatch-uring,tapbatch-rw,net_af_packet,raw-uring,raw-threaded,raw-vnet
is "slower ways: every packet is accounted for" "$(complaints "$out.json")" ""

ok "several threads" "$PERF" --quick -s 0.1 -e scale --threads 2 --json "$out.json"
is "several threads: every packet is accounted for" "$(complaints "$out.json")" ""

# How far apart the cores were, if there are two.
for cores in 0,1 0,0; do
	ok "cores $cores: a run" "$PERF" --quick -s 0.1 -e pps -d tapbatch --cores $cores --json "$out.json"
	is "cores $cores: the time of a cache line between them" "$(/usr/bin/python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))["experiments"][0]["cases"][0]["metrics"].get("cache_line_ns")
print("none" if m is None else "some" if 5 < m["median"] < 5000 else m)
' "$out.json")" "$([ $cores = 0,0 ] && echo none || echo some)"
done
like "the table says it, too" "$(cat "$out.txt")" 'a cache line takes [0-9]+ to [0-9]+ ns'

# Repetitions are left out where there is no time for them, the first never.
ok "a budget of seconds" "$PERF" -e generator --budget 0.01 --json "$out.json"
is "a budget of seconds: one repetition" "$(/usr/bin/python3 -c '
import json, sys
print([c["metrics"]["tx_mpps"]["n"] for c in json.load(open(sys.argv[1]))["experiments"][0]["cases"]])
' "$out.json")" "[1, 1]"

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

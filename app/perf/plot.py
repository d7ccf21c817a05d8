#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 The tapbatch authors
"""Makes a report of what dpdk-tapbatch-perf measured: tables and plots.

usage: plot.py RESULTS.json FOLDER

Writes report.html, report.md, and for each experiment a plot as SVG and PNG.
"""

import html
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

# Okabe and Ito's colours, told apart by everybody; one per driver in all plots.
COLOURS = {
    "tapbatch": "#0072B2",
    "tapbatch-uring": "#117733",
    "tapbatch-rw": "#56B4E9",
    "tapbatch-vhost": "#004466",
    "tapbatch-plain": "#8FB8DE",
    "net_tap": "#D55E00",
    "net_af_packet": "#E69F00",
    "net_af_xdp": "#CC79A7",
    "net_virtio_user": "#F0E442",
    "raw-rw": "#888888",
    "raw-threaded": "#aaaaaa",
    "raw-uring": "#555555",
    "raw-superframe": "#222222",
    "net_null": "#009E73",
    "vhost_bridge": "#0072B2",
    "testpmd": "#D55E00",
    "testpmd-tapbatch": "#56B4E9",
}
OURS = ("tapbatch", "vhost_bridge")
LABELS = {  # where a table's heading is too short to stand alone
    "rtt_p50_us": "round trip, median",
    "up_ms": "probe and start",
    "stream_gbps": "received by iperf3",
}
STATUS = {"invalid": "INVALID", "failed": "FAILED", "unsupported": "not possible"}
MARKERS = "osD^vP*"
LOG_RANGE = 40  # axes are logarithmic where values differ more than this

plt.rcParams.update({
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "tapbatch",  # the same numbers give the same file
})


def value(case, metric):
    """(median, least, most) of a metric, or None if it was not measured."""
    m = case["metrics"].get(metric)
    return (m["median"], m["min"], m["max"]) if m else None


def number_of(parameter):
    """A parameter's leading number and the rest, or (None, parameter)."""
    head, _, rest = parameter.partition(" ")
    return (int(head), rest) if head.isdigit() else (None, parameter)


def format_value(v, decimals):
    return f"{v:.{decimals}f}"


def format_ratio(v):
    return f"{v:.3g}" if v < 100 else f"{v:.0f}"


def main_of(experiment, case):
    return case.get("main", experiment["main"])


def main_value(experiment, case):
    return value(case, main_of(experiment, case))


def column_of(experiment, metric):
    """The table's column of a metric, with its heading, unit and decimals."""
    for column in experiment["columns"]:
        if column["metric"] == metric:
            return column
    return {"metric": metric, "heading": metric, "unit": "", "decimals": 2}


def axis_label(experiment, metric=None):
    column = column_of(experiment, metric or experiment["main"])
    heading = LABELS.get(column["metric"], column["heading"])
    return f"{heading} ({column['unit']})"


def unique(items):
    return list(dict.fromkeys(items))


def plain_numbers(axis):
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))


def choose_scale(set_scale, values):
    if values and min(values) > 0 and max(values) / min(values) > LOG_RANGE:
        set_scale("log")


def error_bars(points):
    """Least and most as matplotlib wants them, distances from the median."""
    return [[p[0] - p[1] for p in points], [p[2] - p[0] for p in points]]


def plot_lines(experiment, cases):
    """The main metric over a number; a panel for each rest of the parameter."""
    main = experiment["main"]
    rests = unique(number_of(c["parameter"])[1] for c in cases)
    columns = 2 if len(rests) == 4 else min(len(rests), 3)
    rows = (len(rests) + columns - 1) // columns
    figure, axes = plt.subplots(rows, columns, figsize=(3.6 * columns + 1.2, 2.9 * rows + 0.6),
                                squeeze=False)
    for panel, rest in enumerate(rests):
        axis = axes[panel // columns][panel % columns]
        inside = [c for c in cases if number_of(c["parameter"])[1] == rest]
        values = []
        for i, driver in enumerate(unique(c["driver"] for c in inside)):
            found = [(number_of(c["parameter"])[0], value(c, main))
                     for c in inside if c["driver"] == driver]
            found = sorted((x, y) for x, y in found if y)
            if not found:
                continue
            x = [f[0] for f in found]
            y = [f[1] for f in found]
            values += [p[0] for p in y]
            axis.errorbar(x, [p[0] for p in y], yerr=error_bars(y), label=driver,
                          color=COLOURS.get(driver), marker=MARKERS[i % len(MARKERS)],
                          markersize=5, linewidth=1.6, capsize=2.5)
        numbers = unique(number_of(c["parameter"])[0] for c in inside)
        if max(numbers) > 8 * max(1, min(n for n in numbers if n > 0)) and 0 not in numbers:
            axis.set_xscale("log", base=2)
        axis.set_xticks(numbers)
        axis.minorticks_off()
        plain_numbers(axis.xaxis)
        axis.set_xlabel(experiment["parameter"])
        axis.set_ylabel(axis_label(experiment))
        if values and min(values) > 0 and max(values) / min(values) > LOG_RANGE:
            axis.set_yscale("log")
            plain_numbers(axis.yaxis)
        else:
            axis.set_ylim(bottom=0)
        if rest:
            axis.set_title(rest, fontsize=10)
    for panel in range(len(rests), rows * columns):
        axes[panel // columns][panel % columns].set_visible(False)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=min(5, max(1, len(labels))),
                  frameon=False, bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / figure.get_figheight()))
    return figure


def plot_bars(experiment, cases):
    """A bar for each driver, a panel for each parameter."""
    panels = unique(c["parameter"] for c in cases)
    heights = [sum(c["parameter"] == p for c in cases) for p in panels]
    figure, axes = plt.subplots(len(panels), 1, squeeze=False,
                                figsize=(8, 0.34 * sum(heights) + 0.85 * len(panels) + 0.2),
                                gridspec_kw={"height_ratios": [h + 0.6 for h in heights]})
    # One scale for all panels where that leaves none of them empty.
    largest = {p: max(main_value(experiment, c)[2] for c in cases if c["parameter"] == p)
               for p in panels}
    metrics = {p: next(main_of(experiment, c) for c in cases if c["parameter"] == p)
               for p in panels}
    one_metric = len(set(metrics.values())) == 1
    common = one_metric and max(largest.values()) < 5 * min(largest.values())
    for axis, panel in zip(axes[:, 0], panels):
        inside = [c for c in cases if c["parameter"] == panel][::-1]
        points = [main_value(experiment, c) for c in inside]
        decimals = column_of(experiment, metrics[panel])["decimals"]
        medians = [p[0] for p in points]
        axis.barh(range(len(inside)), medians, height=0.72, xerr=error_bars(points),
                  color=[COLOURS.get(c["driver"], "#999999") for c in inside],
                  error_kw={"elinewidth": 1, "capsize": 2.5, "ecolor": "#333333"})
        axis.set_yticks(range(len(inside)))
        axis.set_yticklabels([c["driver"] for c in inside])
        axis.grid(axis="y", visible=False)
        choose_scale(axis.set_xscale, medians)
        plain_numbers(axis.xaxis)
        right = max(largest.values()) if common else largest[panel]
        if axis.get_xscale() == "log":
            axis.set_xlim(min(medians) / 2, right * (max(medians) / min(medians)) ** 0.3)
        else:
            axis.set_xlim(0, right * 1.22 or 1)
        for i, (case, point) in enumerate(zip(inside, points)):
            text = format_value(point[0], decimals)
            if "ratio" in case and case["driver"] != experiment["reference"]:
                text += f"  ({format_ratio(case['ratio']['median'])}x)"
            axis.annotate(text, (point[2], i), xytext=(5, 0), textcoords="offset points",
                          va="center", fontsize=9)
        if panel:
            axis.set_title(panel, fontsize=10, loc="left")
        if axis is axes[-1, 0] or not one_metric:
            axis.set_xlabel(axis_label(experiment, metrics[panel]))
    figure.tight_layout()
    return figure


def plot(experiment, folder):
    """Writes the plot; its name without ending, or None if there is nothing to show."""
    cases = [c for c in experiment["cases"] if main_value(experiment, c)]
    if not cases:
        return None
    numbered = [number_of(c["parameter"])[0] for c in cases]
    if None not in numbered and len(set(numbered)) > 2:
        figure = plot_lines(experiment, cases)
    else:
        figure = plot_bars(experiment, cases)
    name = f"{experiment['name']}"
    figure.suptitle(f"{experiment['name']}: {experiment['title']}", fontsize=10, x=0.01, y=1.0,
                    ha="left", va="bottom")
    figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None}, bbox_inches="tight")
    figure.savefig(os.path.join(folder, name + ".png"), dpi=130, bbox_inches="tight")
    plt.close(figure)
    return name


def table(experiment):
    """Headings with units, and rows of strings."""
    head = ["driver"] + ([experiment["parameter"]] if experiment["parameter"] else [])
    head += [f"{c['heading']} ({c['unit']})" for c in experiment["columns"]]
    head += ["least - most"]
    ratio = any("ratio" in c for c in experiment["cases"])
    if ratio:
        head += [f"x {experiment['reference']}" if experiment["reference"] else "gain"]
    rows = []
    for case in experiment["cases"]:
        row = [case["driver"]] + ([case["parameter"]] if experiment["parameter"] else [])
        if not case["metrics"]:
            rows.append(row + [f"{STATUS[case['status']]}: {case['why']}"])
            continue
        for column in experiment["columns"]:
            v = value(case, column["metric"])
            row.append(format_value(v[0], column["decimals"]) if v else "-")
        v = main_value(experiment, case)
        decimals = column_of(experiment, main_of(experiment, case))["decimals"]
        row.append(f"{v[1]:.{decimals}f} - {v[2]:.{decimals}f}" if v else "-")
        if ratio:
            row.append(format_ratio(case["ratio"]["median"]) if "ratio" in case else "-")
        rows.append(row)
    return head, rows


CPU = [
    ("tx_user_ns", "sender, user (ns/pkt)", 0),
    ("tx_system_ns", "sender, system (ns/pkt)", 0),
    ("rx_user_ns", "receiver, user (ns/pkt)", 0),
    ("rx_system_ns", "receiver, system (ns/pkt)", 0),
    ("other_cpu_ns", "other threads, softirqs (ns/pkt)", 0),
    ("forwarder_user_percent", "forwarder, user (% of a core)", 0),
    ("forwarder_system_percent", "forwarder, system (% of a core)", 0),
    ("tx_cycles", "sender (cycles/pkt)", 0),
    ("tx_instructions", "sender (instructions/pkt)", 0),
    ("tx_cache_misses", "sender (cache misses/pkt)", 2),
    ("rx_cycles", "receiver (cycles/pkt)", 0),
    ("rx_instructions", "receiver (instructions/pkt)", 0),
    ("rx_cache_misses", "receiver (cache misses/pkt)", 2),
]


def cpu_table(experiment):
    """CPU time of each thread for each row, and the processor's counters if there are any."""
    columns = [c for c in CPU if any(c[0] in case["metrics"] for case in experiment["cases"])]
    if not columns:
        return None
    head = ["driver"] + ([experiment["parameter"]] if experiment["parameter"] else [])
    head += [c[1] for c in columns]
    rows = []
    for case in experiment["cases"]:
        if not case["metrics"]:
            continue
        row = [case["driver"]] + ([case["parameter"]] if experiment["parameter"] else [])
        for metric, _, decimals in columns:
            v = value(case, metric)
            row.append(format_value(v[0], decimals) if v else "-")
        rows.append(row)
    return head, rows


def original_table(experiment):
    """The kernel's own figures, and the cases of ours that come nearest."""
    if not experiment.get("original"):
        return None
    head = ["measured", "kernel's: before", "after", "gain", "ours: before", "after", "gain",
            "ours: cases"]
    rows = []
    for o in experiment["original"]:
        row = [f"{o['what']} ({o['unit']})", f"{o['before']:.4g}", f"{o['after']:.4g}",
               f"{o['after'] / o['before']:.2f}"]
        ours = o.get("ours")
        if ours:
            gain = f"{ours['after'] / ours['before']:.2f}" if ours["before"] else "-"
            row += [f"{ours['before']:.4g}", f"{ours['after']:.4g}", gain,
                    f"{ours['driver_before']}, {ours['case_before']} -> "
                    f"{ours['driver_after']}, {ours['case_after']}"]
        else:
            row += ["-", "-", "-", "not measured"]
        rows.append(row)
    return head, rows


def remarks(experiment):
    """What a reader must know before trusting the numbers."""
    found = []
    for case in experiment["cases"]:
        name = f"{case['driver']} {case['parameter']}".strip()
        if case["status"] in ("invalid", "failed") and case["metrics"]:
            found.append(f"{name}: INVALID in some runs, which do not count: {case['why']}")
        if "repeated" in case:
            found.append(f"{name}: {case['repeated']['runs']} runs did not count and were tried "
                         f"again, the first: {case['repeated']['why']}")
        share = case["metrics"].get("core_share_percent")
        if share and share["min"] < 94:
            found.append(f"{name}: disturbed, others took up to {100 - share['min']:.0f} % of a core")
    return found


def machine(results):
    return [
        ("command", results["command"]),
        ("date", results["date"]),
        ("CPU", f"{results['cpu']}, {results['cores']} cores"),
        ("kernel", f"Linux {results['kernel']}"),
        ("DPDK", results["dpdk"]),
        ("processor's counters", results["processor counters"]),
        ("wake-ups", results["wake-ups"]),
    ]


HOW = ("Each figure is the median of repetitions that were run interleaved, driver by driver; "
       "least and most beside it are of the same repetitions, and ratios are taken within one "
       "repetition. Frames are counted without their FCS. Every packet carries a number: a run "
       "in which packets went missing that no counter knows of is not counted.")

STYLE = """body{font:15px/1.5 sans-serif;max-width:68em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0;font-size:13px}
td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}
.ours td:first-child{font-weight:bold}img{max-width:100%}h2{margin-top:2.5em}
.note{color:#666;font-size:13px}"""


def html_table(head, rows):
    e = html.escape
    out = ["<table><tr>" + "".join(f"<th>{e(h)}</th>" for h in head) + "</tr>"]
    for row in rows:
        ours = " class='ours'" if row[0].startswith(OURS) else ""
        span = f" colspan='{len(head) - len(row) + 1}' style='text-align:left'"
        cells = [f"<td>{e(cell)}</td>" for cell in row]
        if len(row) < len(head):
            cells[-1] = f"<td{span}>{e(row[-1])}</td>"
        out.append(f"<tr{ours}>" + "".join(cells) + "</tr>")
    return out + ["</table>"]


def markdown_table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        out.append("| " + " | ".join(row + [""] * (len(head) - len(row))) + " |")
    return out + [""]


def write_html(results, plots, folder):
    e = html.escape
    out = ["<!DOCTYPE html><html lang='en'><meta charset='utf-8'>",
           f"<title>tapbatch measured</title><style>{STYLE}</style><h1>tapbatch measured</h1>",
           "<table>"]
    out += [f"<tr><th>{e(k)}</th><td style='text-align:left'>{e(str(v))}</td></tr>"
            for k, v in machine(results)]
    out.append(f"</table><p>{e(HOW)}</p>")
    for experiment in results["experiments"]:
        head, rows = table(experiment)
        out.append(f"<h2 id='{e(experiment['name'])}'>{e(experiment['name'])}</h2>")
        out.append(f"<p>{e(experiment['title'])}</p>")
        if experiment["origin"]:
            out.append(f"<p>After <em>{e(experiment['origin'])}</em>.</p>")
            out += html_table(*original_table(experiment))
        if plots.get(experiment["name"]):
            name = plots[experiment["name"]]
            out.append(f"<p><img src='{e(name)}.svg' alt='plot of {e(experiment['name'])}'></p>")
        out += html_table(head, rows)
        if cpu_table(experiment):
            out.append("<details><summary>CPU of each row</summary>")
            out += html_table(*cpu_table(experiment)) + ["</details>"]
        out += [f"<p class='note'>{e(r)}</p>" for r in remarks(experiment)]
    with open(os.path.join(folder, "report.html"), "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def write_markdown(results, plots, folder):
    out = ["# tapbatch measured", ""]
    out += [f"- {k}: {v}" for k, v in machine(results)]
    out += ["", HOW, ""]
    for experiment in results["experiments"]:
        head, rows = table(experiment)
        out += [f"## {experiment['name']}", "", experiment["title"], ""]
        if experiment["origin"]:
            out += [f"After *{experiment['origin']}*.", ""]
            out += markdown_table(*original_table(experiment))
        if plots.get(experiment["name"]):
            out += [f"![plot]({plots[experiment['name']]}.svg)", ""]
        out += markdown_table(head, rows)
        if cpu_table(experiment):
            out += ["<details><summary>CPU of each row</summary>", ""]
            out += markdown_table(*cpu_table(experiment)) + ["</details>", ""]
        out += [f"- {r}" for r in remarks(experiment)] + [""]
    with open(os.path.join(folder, "report.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(out))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as f:
        results = json.load(f)
    os.makedirs(sys.argv[2], exist_ok=True)
    plots = {e["name"]: plot(e, sys.argv[2]) for e in results["experiments"]}
    write_html(results, plots, sys.argv[2])
    write_markdown(results, plots, sys.argv[2])


if __name__ == "__main__":
    main()

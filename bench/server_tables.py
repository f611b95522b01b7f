# SPDX-License-Identifier: Apache-2.0
"""The tables that bench/server.py prints, of the runs it kept."""

from rounds import busy_side, median, rate, spread, verdict

GRANTS, REFUSALS, READS = "grants", "refusals", "reads"
# What a cache does instead, to compare with; it knows no refusals.
BESIDE = {GRANTS: ("SEATS.RESERVE", "SET of 128 bytes", GRANTS),
          REFUSALS: ("SEATS.RESERVE refused", "GET", READS),
          READS: ("SEATS.ZONE", "GET", READS)}
# By processor time, ours at most so many times the peer's: {(load, durable, pipeline): peer}.
AIMS = {(load, False, pipeline): "pogocache" if load == GRANTS else "Redis"
        for load in BESIDE for pipeline in (16, 64)}


def run_name(who, load, durable, pipeline):
    return f"{who}: {load}, {'always' if durable else 'in memory'}, pipeline {pipeline}"


def rows(runs, names, pipelines):
    """(load, durable, pipeline, [runs of each name, or None]) of all that ours was measured in."""
    for durable in (False, True):
        for load, (_, _, peers_load) in BESIDE.items():
            for pipeline in pipelines:
                found = [runs.get(run_name(who, load if i == 0 else peers_load, durable, pipeline))
                         for i, who in enumerate(names)]
                if found[0]:
                    yield load, durable, pipeline, found


def label(load, durable, pipeline):
    ours, theirs, _ = BESIDE[load]
    return f"| {ours}, beside {theirs}{', `always`' if durable else ''} | {pipeline} "


def print_rates(runs, names, pipelines):
    print("| thousand a second | pipeline | " + " | ".join(names) + " |")
    print("| --- | ---: |" + " ---: |" * len(names))
    for load, durable, pipeline, found in rows(runs, names, pipelines):
        cells = " | ".join(spread([run.rate / 1000 for run in each], 0) if each else "–"
                           for each in found)
        print(f"{label(load, durable, pipeline)}| {cells} |")
    print()


def print_times(runs, names, pipelines):
    peers = names[1:]
    print("| processor time of the server, us a command | pipeline | " + " | ".join(names) + " | "
          + " | ".join(f"x {name}" for name in peers) + " | aim |")
    print("| --- | ---: |" + " ---: |" * (len(names) + len(peers)) + " --- |")
    for load, durable, pipeline, found in rows(runs, names, pipelines):
        cells = " | ".join(spread([run.server_us for run in each], 2) if each else "–"
                           for each in found)
        times = {who: median(found[0], "server_us") / median(each, "server_us")
                 for who, each in zip(peers, found[1:]) if each and median(each, "server_us") > 0}
        ratios = " | ".join(f"{times[who]:.2f}" if who in times else "–" for who in peers)
        peer = AIMS.get((load, durable, pipeline))
        aim = f"{peer} {verdict(times[peer], 1, at_most=True)}" if peer in times else ""
        print(f"{label(load, durable, pipeline)}| {cells} | {ratios} | {aim} |")
    print()


def usual_comparisons():
    for load, durable, pipeline, aim in (
            (GRANTS, False, 16, 10), (GRANTS, False, 64, 10), (REFUSALS, False, 16, None),
            (REFUSALS, False, 64, None), (GRANTS, True, 16, 8)):
        yield (run_name("Holdfast", load, durable, pipeline),
               run_name("usual script", load, durable, pipeline), aim)
    yield "Holdfast: HTTP reserve", "nginx: a fixed answer", 1


def print_comparisons(runs):
    """Beside the script that teams write by hand, and beside nginx."""
    print("| ours | | peer | | x peer | processor time, peer / ours | aim |")
    print("| --- | ---: | --- | ---: | ---: | ---: | --- |")
    for name, peer, aim in usual_comparisons():
        if name in runs and peer in runs:
            ours, theirs = runs[name], runs[peer]
            ratio = median(ours) / median(theirs)
            spent = median(ours, "server_us")
            times = median(theirs, "server_us") / spent if spent > 0 else 0
            print(f"| {name} | {rate(ours)} | {peer} | {rate(theirs)} | {ratio:.2f} | {times:.2f} "
                  f"| {verdict(ratio, aim)} |")
    print()


def print_limits(runs):
    print("| run | server busy | load generator busy | at its limit |")
    print("| --- | ---: | ---: | --- |")
    for name, each in runs.items():
        print(f"| {name} | {median(each, 'server_share'):.0%} "
              f"| {median(each, 'client_share'):.0%} | {busy_side(each)} |")
    print()


def print_tables(runs, names, pipelines):
    print_rates(runs, names, pipelines)
    print_times(runs, names, pipelines)
    print_comparisons(runs)
    print_limits(runs)


def print_memory(figures, bookings):
    ours, redis = figures
    print(f"| memory for a booking, {bookings:,} with UUID ids | ours | the usual script in "
          "Redis | ours / Redis | aim |")
    print("| --- | ---: | ---: | ---: | --- |")
    for i, name in enumerate(("bytes, resident", "bytes, as the server itself counts")):
        ratio = ours[i] / redis[i]
        print(f"| {name} | {ours[i]:.0f} | {redis[i]:.0f} | {ratio:.3f} "
              f"| {verdict(ratio, 1 / 3, at_most=True)} |")
    print()

"""Measures `packhorse pack` beside the tools people use now.

    python3 tests/bench/pack list                          what there is to measure, and against which bars
    python3 tests/bench/pack run photos --json build/bench/pack.json
    python3 tests/bench/pack report build/bench/pack.json --write docs/benchmarks.md

docs/benchmarks.md says what each suite does. Needs Python 3.11 and, for the peers, tests/bench/setup.
"""

import argparse
import os
import sys
from pathlib import Path

import report
from contenders import Tools
from data import Places
from machine import machine, versions
from session import Settings, run_suite
from suites import SUITES

ROOT = Path(__file__).resolve().parents[3]
OURS = "packhorse-bench"  # the folder made in --data and --tmpfs; nothing outside it is ever removed


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text)


def share(text):
    if not 0 < float(text) <= 1:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1")
    return float(text)


def add_run(commands):
    run = commands.add_parser("run", help="measure suites, print their tables")
    run.add_argument("suites", nargs="+", choices=[*SUITES, "all"], metavar="SUITE", help=f"{', '.join(SUITES)}, all")
    run.add_argument("--json", type=Path, metavar="FILE", help="add the results to FILE, suite by suite")
    run.add_argument("--repeats", type=positive, default=3, help="rounds (default 3)")
    run.add_argument("--jobs", type=positive, default=len(os.sched_getaffinity(0)), help="default: the CPUs there are")
    run.add_argument("--only", default="", metavar="NAMES", help="these contenders only, separated by ';'")
    run.add_argument("--packhorse", type=Path, default=ROOT / "build/release/bin/packhorse", metavar="FILE")
    run.add_argument("--data", type=Path, default=ROOT / "build", metavar="DIR", help="a folder on the disk to measure")
    run.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), metavar="DIR", help="a folder on a tmpfs")
    run.add_argument("--photos", type=Path, metavar="DIR", help="JPEG files to use instead of imagenet200")
    run.add_argument("--scale", type=share, default=1.0, help="use this share of the files, to try things out")
    run.add_argument("--timeout", type=float, default=900, metavar="SECONDS", help="for one run (default 900)")


def parse(arguments):
    parser = argparse.ArgumentParser("python3 tests/bench/pack", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add_run(commands)
    commands.add_parser("list", help="suites, contenders and bars")
    table = commands.add_parser("report", help="print results as Markdown, or write them into a page")
    table.add_argument("results", nargs="+", type=Path, help="files of --json; of two with a suite the later counts")
    table.add_argument("--write", type=Path, metavar="PAGE", help="replace what stands between the page's markers")
    return parser.parse_args(arguments)


def settings_of(options):
    archives = Path(os.environ.get("PACKHORSE_DATA", ROOT / "../shared/data"))
    photos = options.photos and options.photos.resolve()
    data = options.data.resolve() / OURS
    return Settings(
        Places(data, options.tmpfs.resolve() / OURS, archives.resolve(), photos, options.packhorse.resolve()),
        Tools(options.packhorse.resolve(), options.jobs, data / "scratch"),
        options.repeats,
        options.timeout,
        options.scale,
        tuple(filter(None, options.only.split(";"))),
    )


def run(options):
    settings = settings_of(options)
    if not settings.tools.packhorse.exists():
        sys.exit(f"{settings.tools.packhorse} is not there: build the preset release, or give --packhorse")
    for name in SUITES if "all" in options.suites else options.suites:
        suite = SUITES[name]
        unknown = set(settings.only) - {e.name for e in suite.entries}
        if unknown:
            sys.exit(f"{name} has no contender {', '.join(sorted(unknown))}; see: python3 tests/bench/pack list")
        result = run_suite(suite, settings)
        result |= {"machine": machine(settings), "versions": versions(settings, ran(result))}
        print(report.markdown([result]), end="\n\n", flush=True)
        if options.json:
            report.add_to(options.json, [result])


def ran(result):
    return [entry["name"] for entry in result["entries"] if entry["runs"]]


def list_suites():
    for suite in SUITES.values():
        print(f"{suite.name}: {suite.title}")
        for row in suite.rows:
            bar = report.bar_text({"bar": row.bar(), "unit": row.unit})
            print(f"  {row.subject}{f' against {row.against}' if row.against else ''}: {bar}")
        for entry in suite.entries:
            print(f"    {entry.name}: {entry.contender.shown}")


def main():
    options = parse(sys.argv[1:])
    try:
        if options.command == "run":
            run(options)
        elif options.command == "list":
            list_suites()
        else:
            suites = []
            for path in options.results:
                suites = report.merged(suites, report.load(path))
            if options.write:
                report.put_into(options.write, suites)
            else:
                print(report.markdown(suites))
    except report.CannotWrite as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()

"""The program that each bench is: `list`, `run` and `report`.

A bench says what it has: its suites, what a run is (session), and options of its own.
"""

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path

from common.data import CannotMake, Places, reserved
from common.environment import ARCHIVES, ROOT, built, machine, require
from common.page import Book, merged
from common.session import Settings, run_suite
from common.suite import Tools, versions
from common.tables import bar_text

OURS = "packhorse-bench"  # the folder made in --data; nothing outside it is ever removed


@dataclasses.dataclass(frozen=True)
class Bench:
    name: str  # of its folder, in its results, and in the page's markers
    summary: str
    suites: dict  # name -> suite
    session: Callable  # suite, settings -> Session
    rounds: int  # by default
    least: int = 3  # of a table in a page
    jobs: int = len(os.sched_getaffinity(0))
    seconds: float | None = None  # that a warm pass lasts; None: no pass is repeated
    add_options: Callable = lambda run: None  # to the parser of `run`
    versions: Callable = versions  # settings, contenders that ran -> {name: version}

    @property
    def book(self):
        return Book(self.name, self.suites, self.least)


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text)


def share(text):
    if not 0 < float(text) <= 1:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1")
    return float(text)


def add_run(bench, commands):
    run = commands.add_parser("run", help="measure suites, print their tables")
    names = [*bench.suites, "all"]
    run.add_argument("suites", nargs="+", choices=names, metavar="SUITE", help=", ".join(names))
    run.add_argument("--json", type=Path, metavar="FILE", help="add the results to FILE, suite by suite")
    run.add_argument("--repeats", type=positive, default=bench.rounds, help=f"rounds (default {bench.rounds})")
    run.add_argument("--jobs", type=positive, default=bench.jobs, help=f"of each contender (default {bench.jobs})")
    run.add_argument("--only", default="", metavar="NAMES", help="these contenders only, separated by ';'")
    run.add_argument("--packhorse", type=Path, default=built("packhorse"), metavar="FILE")
    run.add_argument("--data", type=Path, default=ROOT / "build", metavar="DIR", help="a folder on the disk to measure")
    run.add_argument("--photos", type=Path, metavar="DIR", help="JPEG files to use instead of imagenet200")
    run.add_argument("--scale", type=share, default=1.0, help="use this share of the files, to try things out")
    run.add_argument("--timeout", type=float, default=900, metavar="SECONDS", help="for one run (default 900)")
    if bench.seconds is not None:
        help_text = f"a warm pass lasts at least, in whole epochs (default {bench.seconds})"
        run.add_argument("--seconds", type=float, default=bench.seconds, help=help_text)
    bench.add_options(run)


def parse(bench, arguments):
    parser = argparse.ArgumentParser(f"python3 bench/{bench.name}", description=bench.summary)
    commands = parser.add_subparsers(dest="command", required=True)
    add_run(bench, commands)
    commands.add_parser("list", help="suites, contenders and bars")
    table = commands.add_parser("report", help="print results as Markdown, or write them into a page")
    table.add_argument("results", nargs="+", type=Path, help="files of --json; of two with a suite the later counts")
    table.add_argument("--write", type=Path, metavar="PAGE", help="replace what stands between the page's markers")
    return parser.parse_args(arguments)


def settings_of(bench, options):
    photos = options.photos and options.photos.resolve()
    data, program = options.data.resolve() / OURS, require(options.packhorse.resolve())
    places = Places(data, ARCHIVES.resolve(), photos, program)
    only = tuple(filter(None, options.only.split(";")))
    tools = Tools(program, options.jobs, data / "scratch", getattr(options, "seconds", 0), built("reader_loops"))
    return Settings(places, tools, options.repeats, options.timeout, options.scale, only, options)


def run(bench, options):
    settings = settings_of(bench, options)
    with reserved(settings.places.data):
        wrong = run_suites(bench, settings, options)
    if wrong:
        sys.exit("\n".join(wrong))


def run_suites(bench, settings, options):
    """What was found wrong, in words."""
    wrong = []
    for name in bench.suites if "all" in options.suites else options.suites:
        suite = bench.suites[name]
        unknown = set(settings.only) - {entry.name for entry in suite.entries}
        if unknown:
            called = f"python3 bench/{bench.name} list"
            sys.exit(f"{name} has no contender {', '.join(sorted(unknown))}; see: {called}")
        result = run_suite((suite.session or bench.session)(suite, settings))
        ran = {entry["name"] for entry in result["entries"] if entry["runs"]}
        contenders = [entry.contender for entry in suite.entries if entry.name in ran]
        result |= {"machine": machine(settings.places), "versions": bench.versions(settings, contenders)}
        print(bench.book.markdown([result]), end="\n\n", flush=True)
        if options.json:
            bench.book.add_to(options.json, [result])
        wrong += [f"{name}: {words}" for words in result.get("wrong", [])]
    return wrong


def list_suites(bench):
    for suite in bench.suites.values():
        print(f"{suite.name}: {suite.title}")
        for row in suite.rows:
            print(f"  {' against '.join(row.names())}: {bar_text({'bar': row.bar, 'unit': row.unit})}")
        for entry in suite.entries:
            print(f"    {entry.name}: {entry.contender.shown}")


def report(bench, options):
    suites = []
    for path in options.results:
        suites = merged(suites, bench.book.load(path))
    if options.write:
        bench.book.put_into(options.write, suites)
    else:
        print(bench.book.markdown(suites))


def main(bench):
    options = parse(bench, sys.argv[1:])
    try:
        if options.command == "run":
            run(bench, options)
        elif options.command == "list":
            list_suites(bench)
        else:
            report(bench, options)
    except CannotMake as reason:
        sys.exit(str(reason))

"""The steps of scripts/test, which sets up before: checks the code, builds it, runs the tests, and sums up.

What a step finds does not stop the next ones, unless they need what it makes. Exit code 0: every step and every test passed.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import skips
import touched

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SKIPPED, TIMES = BUILD / "skipped.jsonl", BUILD / "test-times.jsonl"
ARCHIVES = {"imagenet200.tar": "imagenet", "cifar10-jpeg.tar.zst": "cifar10", "bccd.tar.zst": "bccd"}
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes that must be free there for test programs to keep their files in it
JOBS = str(os.cpu_count())
WORKERS = str(os.cpu_count() + 1)  # of pytest: some tests wait for servers
SLOWEST = 20
NO_TESTS = 5  # pytest's exit code


def say(text):
    print(f"test: {text}", flush=True)


class Failed(Exception):
    """A step has failed, and said why."""


def call(*command, **options):
    if subprocess.run([str(word) for word in command], cwd=ROOT, check=False, **options).returncode != 0:
        raise Failed


class Run:
    """The steps that were done, with their seconds, and the tests that they ran."""

    def __init__(self, setup_seconds):
        self.seconds = {"setup": setup_seconds}
        self.failed = []  # names of steps
        self.times = Counter()  # test -> seconds
        self.counts = Counter()

    @contextlib.contextmanager
    def step(self, name):
        say(name)
        began = time.monotonic()
        try:
            yield
        except Failed:
            self.failed.append(name)
            say(f"{name}: FAILED")
        finally:
            self.seconds[name] = time.monotonic() - began

    def has_failed(self, name):
        return name in self.failed

    def note(self, test, outcome, seconds=0.0):
        self.counts[outcome] += 1
        self.times[test] += seconds

    def sum_up(self, may_be_none=False):
        if not self.times and not self.failed and not may_be_none:
            self.failed.append("no test was run: there is none of that name")
        say(f"the {SLOWEST} slowest:")
        for test, seconds in self.times.most_common(SLOWEST):
            say(f"  {seconds:6.1f} s  {test}")
        skips_are_fine = skips.main(SKIPPED) == 0
        say("minutes: " + ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in self.seconds.items()))
        say(f"{sum(self.seconds.values()) / 60:.1f} minutes in all")
        for name in self.failed:
            say(f"FAILED: {name}")
        counts = self.counts
        say(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        return skips_are_fine and not self.failed


def unpack_photos(target):
    """Unpacks the archives of real photos that are there, each once, and links the archive beside its folder."""
    source = Path(os.environ.get("PACKHORSE_DATA", ROOT / "../shared/data"))
    for archive, name in ARCHIVES.items():
        if not (source / archive).exists():
            continue
        target.mkdir(parents=True, exist_ok=True)
        link = target / archive
        link.unlink(missing_ok=True)
        link.symlink_to((source / archive).resolve())
        unfinished = target / f"{name}.partial"
        if not (target / name).exists():
            call("rm", "-rf", unfinished)
            unfinished.mkdir()
            call("tar", "-xf", link, "-C", unfinished)
            unfinished.rename(target / name)


@contextlib.contextmanager
def temporary_files():
    """The environment of test programs. Their files are in memory where it has room: on a disk they wait for fsync most of the
    time. Python's tests, which begin other programs, keep theirs on the disk."""
    if os.environ.get("TMPDIR") or not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        say(f"temporary files of test programs are in {tempfile.gettempdir()}, which is slower than memory where that is a disk")
        yield os.environ
        return
    with tempfile.TemporaryDirectory(prefix="packhorse-tests-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield os.environ | {"TMPDIR": folder}


def name_strangers():
    """Says which packages of .venv scripts/setup did not install: with them tests may pass that fail elsewhere."""
    stamp = Path(sys.prefix) / "packhorse-stamp"
    if stamp.exists():
        found = [each.name.split("-")[0] for each in Path(sysconfig.get_path("purelib")).glob("*.dist-info")
                 if each.stat().st_mtime > stamp.stat().st_mtime]
        if found:
            say(f"not from scripts/setup: {', '.join(sorted(found))} (tests may pass with them that fail elsewhere)")


def build(preset):
    call("cmake", "--preset", preset, "--log-level=WARNING", "-DPACKHORSE_REQUIRE_PYTEST=ON", stdout=subprocess.DEVNULL)
    call("cmake", "--build", "--preset", preset, "--parallel", JOBS)


def run_ctest(run, preset, *options):
    """Runs the tests of a preset that are not Python, and notes their results."""
    results = BUILD / f"ctest-{preset}.xml"
    results.unlink(missing_ok=True)
    try:
        with temporary_files() as environment:
            call("ctest", "--preset", preset, "--parallel", JOBS, "--output-junit", results, *options, env=environment)
    finally:
        if results.exists():
            for case in ElementTree.parse(results).iter("testcase"):
                outcome = {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
                run.note(f"{preset}: {case.get('name')}", outcome, float(case.get("time")))


def run_pytest(run, tests, *options, may_be_none=False):
    TIMES.unlink(missing_ok=True)
    environment = os.environ | {"PACKHORSE_TIMES": str(TIMES), "OMP_WAIT_POLICY": "passive", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-n", WORKERS, "--dist", "loadfile", "--no-loadscope-reorder", *options, *tests]
    try:
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode not in (0, NO_TESTS if may_be_none else 0):
            raise Failed
    finally:
        outcomes, seconds = {}, Counter()
        for line in TIMES.read_text(encoding="utf-8").splitlines() if TIMES.exists() else ():
            row = json.loads(line)
            seconds[row["test"]] += row["seconds"]
            if outcomes.get(row["test"], "passed") == "passed":
                outcomes[row["test"]] = row["outcome"]
        for test, outcome in outcomes.items():
            run.note(test, outcome, seconds[test])


def has_earlier_commit():
    command = ["git", "-C", ROOT, "rev-parse", "--quiet", "--verify", "HEAD^"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--setup-seconds", type=float, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    options = parser.parse_args()
    if options.since and options.tests:
        parser.error("--since chooses the tests itself: give it or names of tests")

    run = Run(options.setup_seconds)
    BUILD.mkdir(exist_ok=True)
    SKIPPED.unlink(missing_ok=True)
    os.environ |= {"PACKHORSE_SKIPS": str(SKIPPED), "PACKHORSE_BIN": str(BUILD / "release/bin"), "PACKHORSE_ROOT": str(ROOT)}
    os.environ["PACKHORSE_TEST_DATA"] = str(BUILD / "test-data")
    name_strangers()
    with run.step("photos"):
        unpack_photos(BUILD / "test-data")
    if not options.tests:
        with run.step("check"):
            call("scripts/check")
    with run.step("build"):
        build("release")
    if run.has_failed("build"):
        return run.sum_up()
    if options.all:
        with run.step("site"):  # before the tests of it
            call("scripts/site")

    chosen = touched.chosen(options.tests, options.since)
    labels = () if options.tests else ("--label-exclude", "pytest" if options.all else "pytest|thorough")
    if chosen.programs is None or chosen.programs:
        with run.step("test programs"):
            run_ctest(run, "release", *labels, *chosen.as_ctest())
    if chosen.files:
        with run.step("Python tests"):
            tier = () if options.all or options.tests else ("-m", "not thorough")
            run_pytest(run, chosen.files, *tier, may_be_none=options.since is not None)
    if options.all:
        for preset in ("sanitize", "tsan"):
            with run.step(preset):
                build(preset)
                run_ctest(run, preset, *chosen.as_ctest())
        with run.step("clang-tidy"):
            since = options.since or ("HEAD^" if has_earlier_commit() else None)
            call("scripts/check", *(("--since", since) if since else ()), "tidy")
    return run.sum_up(may_be_none=options.since is not None)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)

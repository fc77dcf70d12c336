#!/usr/bin/env python3
"""Puts twenty deliberate defects into a copy of the checkout, one at a time, and shows which tests find each.

    tests/breaks.py                      each defect, with the tests of scripts/test
    tests/breaks.py --all                with the thorough tests as well, and ThreadSanitizer for the race
    tests/breaks.py --write FILE NAME    only this defect; the results go into FILE as JSON, too
    tests/breaks.py --list               shows the defects, and checks that each still fits its file

The copy is build/breaks, and the output of all commands goes to build/breaks.log. The test that should find a defect runs
first. The other tests that can see the file run only if that one passes. Exit code 0: 17 defects were caught, with --all 20.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build/breaks"
LOG = ROOT / "build/breaks.log"
BUILD = COPY / "build"
TIMES = BUILD / "test-times.jsonl"  # of pytest
JOBS = str(os.cpu_count())
WORKERS = str(os.cpu_count() + 1)  # of pytest, as in tests/run.py
ENOUGH = 17  # with the tests of scripts/test alone
LONGEST = 5400  # seconds of one command: a defect can make a test wait for ever
QUICK = ("-m", "not thorough")
TSAN = "tsan: "
ASIDE = ("bench", "cluster", "docs", "scripts")  # they test pages, packages and other programs; some need git's history


@dataclass(frozen=True)
class Break:
    name: str
    file: str
    old: str
    new: str
    caught_by: str  # a test program of ctest, "tsan: PROGRAM", or a file of pytest


BREAKS = [
    # The offset of a small value is counted from the end of its node, which may have a byte of padding.
    Break("lmdb-value-offset", "libpack/formats/lmdb/tree.cc", "pending_.push_back({tag, upper_ + kNodeHead + key.size()});",
          "pending_.push_back({tag, upper_ + node_bytes - size});", "libpack"),
    # DALI's index moves a raw member to its NumPy header, and forgets that it is longer by that.
    Break("wds-npy-length", "libpack/formats/wds/members.cc",
          "      image.offset -= kNpyHeaderBytes;\n      image.length += kNpyHeaderBytes;\n",
          "      image.offset -= kNpyHeaderBytes;\n", "tests/cli/test_export_index.py"),
    # An empty field counts as one that the sample does not have.
    Break("hdf5-empty-field", "libpack/formats/hdf5/writer.cc", "column.present.push_back(field != nullptr ? 1 : 0);",
          "column.present.push_back(bytes.empty() ? 0 : 1);", "format_conformance"),
    # A file is renamed before its bytes are on the disk.
    Break("publish-unsynced", "libpack/base/file.cc",
          "void publish_file(const fs::path& from, const fs::path& to) {\n  sync_path(from);\n",
          "void publish_file(const fs::path& from, const fs::path& to) {\n", "tests/fault/test_fault_loop.py"),
    # A run that goes on takes a staged shard by its size.
    Break("resume-unchecked", "libpack/packing/receipt.cc",
          "&& !code && sha256_file(file) == record.sha256;", "&& !code;", "libpack"),
    # The last column of a table is the label, whatever the header says.
    Break("label-last-column", "libpack/labels/label_rows.cc", "  path_at_ = path;\n  label_at_ = label;\n",
          "  path_at_ = path;\n  label_at_ = width_ - 1;\n", "tests/cli/test_labels.py"),
    # A folder "train_val" is the split "train".
    Break("split-of-two", "libpack/sources/layout/folder_roles.cc",
          "if (parsed.unclear || parsed.splits.size() > 1)", "if (parsed.unclear)", "libpack"),
    # The top of a YOLO box is half of its width above the centre.
    Break("yolo-box-top", "libpack/annotations/yolo_labels.cc", "object.top = y(line[2] - line[4] / 2);",
          "object.top = y(line[2] - line[3] / 2);", "tests/interop/test_annotations.py"),
    # Key points that are labelled but hidden stay where they were when the picture is resized.
    Break("keypoints-hidden", "libpack/targets/pixel_map.cc", "if (point.visibility == 0) continue;",
          "if (point.visibility != 2) continue;", "libpack"),
    # The table of rows points to the restart marker in front of each row, not behind it.
    Break("roi-table-marker", "libpack/jpeg/encode/scan_coder.cc",
          "row_offsets_.push_back(static_cast<std::uint32_t>(out.at - memory_.data()));",
          "row_offsets_.push_back(static_cast<std::uint32_t>(out.at - memory_.data()) - (s > 0 ? 2u : 0u));", "libpack"),
    # A window that ends with a block lacks the chroma sample behind it.
    Break("jpeg-window-end", "libpack/jpeg/decode/strip.cc", "last = (from + length - 1) / step + margin;",
          "last = (from + length - 1) / step;", "jpeg"),
    # EXIF orientations 6 and 8 are swapped.
    Break("exif-6-and-8", "libpack/image/picture.cc",
          "orientation == 8),\n      flip_y(orientation == 3 || orientation == 4 || orientation == 6 ||",
          "orientation == 6),\n      flip_y(orientation == 3 || orientation == 4 || orientation == 8 ||", "libpack"),
    # The hash of the first field is not compared.
    Break("verify-first-field", "libpack/verify/payload_check.cc",
          "for (std::size_t field = 0; field < index.fields().size(); ++field) {",
          "for (std::size_t field = 1; field < index.fields().size(); ++field) {", "libpack"),
    # A body that was cut is not asked for again.
    Break("http-cut", "libpack/storage/http/transfer.cc", "    case CURLE_PARTIAL_FILE:\n    case CURLE_OPERATION_TIMEDOUT:\n",
          "    case CURLE_OPERATION_TIMEDOUT:\n", "storage"),
    # A run of the cache is marked as there before its bytes are written.
    Break("cache-marks-first", "libpack/storage/cache/cached_file.cc",
          "    const bool written =\n        fd && write_where_room_is(fd.get(), range.offset, bytes, state_->files.data.path);\n"
          "    // Both are system calls, whose locks in the kernel keep them in this order for others.\n"
          "    if (written && state_->mark(run, std::byte{1})) {\n",
          "    const bool written = fd && state_->mark(run, std::byte{1});\n"
          "    // Both are system calls, whose locks in the kernel keep them in this order for others.\n"
          "    if (written && write_where_room_is(fd.get(), range.offset, bytes, state_->files.data.path)) {\n", "cache"),
    # With several ranks, the state after some steps counts the samples of one rank.
    Break("resume-one-rank", "reader/order/order.cc",
          "return std::min(samples_, options_.done + steps * global_batch(options_));",
          "return std::min(samples_, options_.done + steps * static_cast<std::uint64_t>(options_.batch_size));", "reader"),
    # libjpeg begins a crop at a whole block, and the pixels are taken from where it was asked to begin.
    Break("crop-begins-left", "libpack/codecs/jpeg/jpeg_rows.cc", "    return x;\n", "    return static_cast<std::size_t>(left);\n", "reader"),
    # The producer of a batch's last sample says that it is ready without the lock.
    Break("ring-unlocked", "reader/loader/ring.cc", "  const std::lock_guard lock(mutex_);\n  slot(step).ready = true;\n",
          "  slot(step).ready = true;\n", "tsan: reader"),
    # The boxes of a mirrored crop lie a pixel too far to the left.
    Break("mirrored-boxes", "reader/augment/augment.cc", "plan.flip ? size : 0,", "plan.flip ? size - 1 : 0,", "reader"),
    # A checkpoint lacks the number of steps that AdamW corrects its averages by.
    Break("adamw-steps", "trainer/optim/optimizer.cc", "state_of({kMean, kSquare, kSteps})", "state_of({kMean, kSquare})", "trainer_unit"),
]  # fmt: skip


class Failed(Exception):
    """A build has failed. Its output is in the log."""


def call(*command):
    """Runs a command in the copy, and returns its exit code. Ends it and all that it has started when it takes too long."""
    words = list(map(str, command))
    with open(LOG, "ab") as log:
        log.write(f"\n$ {' '.join(words)}\n".encode())
        log.flush()
        process = subprocess.Popen(words, cwd=COPY, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            return process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def copy_checkout():
    """Brings the copy up to date. Files that are the same stay as they are, so that little is built again."""
    command = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    for name in names:
        source, target = ROOT / name, COPY / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for folder, folders, files in os.walk(COPY):
        if Path(folder) == COPY:
            folders[:] = [name for name in folders if name != "build"]
        for path in (Path(folder, name) for name in files):
            if str(path.relative_to(COPY)) not in names:
                path.unlink()
    BUILD.mkdir(exist_ok=True)
    LOG.write_bytes(b"")
    for name in (".venv", "build/test-data"):
        if not (COPY / name).is_symlink():
            (COPY / name).symlink_to(ROOT / name)


def set_environment():
    """Sets what tests/run.py sets, for the copy."""
    os.environ |= {"PACKHORSE_DATA": os.environ.get("PACKHORSE_DATA", str(ROOT / "../shared/data")),
                   "PACKHORSE_ROOT": str(COPY), "PACKHORSE_BIN": str(BUILD / "release/bin"),
                   "PACKHORSE_TEST_DATA": str(BUILD / "test-data"), "PACKHORSE_SKIPS": str(BUILD / "skipped.jsonl"),
                   "PACKHORSE_TIMES": str(TIMES), "OMP_WAIT_POLICY": "passive", "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    sys.path.insert(0, str(COPY / "tests"))  # `import touched` then looks at what is built of the copy


@contextlib.contextmanager
def put_in(one):
    """Has the defect in the copy for as long as the scope lasts."""
    path = COPY / one.file
    text = path.read_text(encoding="utf-8")
    before, after = text.split(one.old)  # it is there once
    try:
        path.write_text(before + one.new + after, encoding="utf-8")
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def build(preset, *targets):
    """Builds these targets, or all."""
    commands = [("cmake", "--build", "--preset", preset, "--parallel", JOBS, *(("--target", *targets) if targets else ()))]
    if not (BUILD / preset / "build.ninja").exists():
        commands.insert(0, ("cmake", "--preset", preset, "--log-level=WARNING", "-DPACKHORSE_REQUIRE_PYTEST=ON"))
    if any(call(*command) != 0 for command in commands):
        raise Failed


def build_for(test):
    """Builds what a test needs."""
    import touched

    if test.endswith(".py"):
        return build("release", "bin/packhorse", *touched.PROGRAMS[Path(test).parent.name])
    return build("tsan" if test.startswith(TSAN) else "release", test.removeprefix(TSAN) + "_tests")


def run_ctest(preset, *options):
    """Runs test programs. Returns {program that fails: the names of its cases that fail}."""
    results = BUILD / f"ctest-{preset}.xml"
    results.unlink(missing_ok=True)
    if call("ctest", "--preset", preset, "--parallel", JOBS, "--output-junit", results, *options) == 0:
        return {}
    found = {}
    for case in ElementTree.parse(results).iter("testcase") if results.exists() else ():
        if case.get("status") == "fail":
            name = (TSAN if preset == "tsan" else "") + case.get("name")
            # doctest names a case above its messages, too, but only one that failed has an error.
            shown = re.split(r"^=+$", case.findtext("system-out") or "", flags=re.M)
            failed = "".join(one for one in shown if " ERROR: " in one)
            cases = dict.fromkeys(re.findall(r"^TEST CASE:\s+(.+?)\s*$", failed, re.M))
            found[name] = [f"{name}: {one}" for one in cases] or [name]
    if not found:
        raise SystemExit(f"breaks: ctest has failed, but no test: see the end of {LOG}")
    return found


def run_pytest(tests, *options):
    """Returns {test that fails: its name}."""
    TIMES.unlink(missing_ok=True)
    command = [ROOT / ".venv/bin/python", "-m", "pytest", "-n", WORKERS, "--dist", "loadfile", "--no-loadscope-reorder"]
    if call(*command, *options, *tests) in (0, 5):  # 5: there was nothing to run
        return {}
    rows = [json.loads(line) for line in TIMES.read_text(encoding="utf-8").splitlines()] if TIMES.exists() else []
    return {row["test"]: [row["test"]] for row in rows if row["outcome"] == "failed"} or {"pytest": ["pytest as a whole"]}


def run_named(tests, *options):
    """Runs tests by name. `options` are for pytest."""
    found, files = {}, [test for test in tests if ".py" in test]
    racing = {test for test in tests if test.startswith(TSAN)}
    for preset, programs in (("release", {*tests} - {*files} - racing), ("tsan", racing)):
        if programs:
            found |= run_ctest(preset, "--tests-regex", f"^({'|'.join(programs).replace(TSAN, '')})$")
    return found | (run_pytest(files, *options) if files else {})


def run_others(one, everything):
    """Runs the tests that can see the file, step by step, until a step fails."""
    import touched

    touched.changed_since = lambda _: {one.file}
    chosen = touched.chosen((), one.name)
    files = [file for file in chosen.files if Path(file).parent.name not in ASIDE]
    found = run_ctest("release", "--label-exclude", "pytest" if everything else "pytest|thorough", *chosen.as_ctest())
    for options in (QUICK, ("-m", "thorough")) if everything else (QUICK,):
        if files and not found:
            found = run_pytest(files, "--maxfail=3", *options)
    return found


def catch(one, everything):
    """The tests that pass without the defect and fail with it: {test: what it shows}."""
    with put_in(one):
        if everything or not one.caught_by.startswith(TSAN):
            build_for(one.caught_by)
            if found := run_named([one.caught_by], *QUICK):
                return found
        build("release")
        found = run_others(one, everything)
    if not found:
        return {}
    build("release")
    still = run_named(found)
    return {test: shown for test, shown in found.items() if test not in still}


def check_first(chosen, everything):
    """The tests that should find the defects must pass without them."""
    tests = {one.caught_by for one in chosen if everything or not one.caught_by.startswith(TSAN)}
    for test in tests:
        build_for(test)
    if found := run_named(tests, *QUICK):
        raise SystemExit(f"breaks: without any defect, these fail: {', '.join(found)}")


def row_of(one, everything):
    """Tries one defect, and prints what has caught it."""
    began, found, words = time.monotonic(), [], "NOT CAUGHT"
    try:
        found = [name for shown in catch(one, everything).values() for name in shown]
    except Failed:
        words = f"DOES NOT BUILD: see the end of {LOG}"
    print(f"{one.name:20}{one.file:46}" + (f"caught by {'; '.join(found[:3])}" if found else words), flush=True)
    return {"name": one.name, "file": one.file, "caught_by": found, "seconds": round(time.monotonic() - began)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also the thorough tests, and ThreadSanitizer for the race")
    parser.add_argument("--list", action="store_true", help="only show the defects, and check that they fit")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these defects")
    options = parser.parse_args()
    if unknown := set(options.names) - {one.name for one in BREAKS}:
        parser.error(f"there is no defect {', '.join(sorted(unknown))}")
    chosen = [one for one in BREAKS if not options.names or one.name in options.names]
    if lost := [one.name for one in chosen if (ROOT / one.file).read_text(encoding="utf-8").count(one.old) != 1]:
        raise SystemExit(f"breaks: not exactly once in their files: {', '.join(lost)}")
    if options.list:
        for one in chosen:
            print(f"{one.name:20}{one.file:46}{one.caught_by}")
        return 0
    print(f"breaks: building {COPY.relative_to(ROOT)}", flush=True)
    copy_checkout()
    set_environment()
    try:
        build("release")
        check_first(chosen, options.all)
    except Failed:
        raise SystemExit(f"breaks: the copy does not build: see the end of {LOG}") from None
    rows = []
    for one in chosen:
        rows.append(row_of(one, options.all))
        if options.write:
            options.write.write_text(json.dumps({"all": options.all, "breaks": rows}, indent=1) + "\n", encoding="utf-8")
    caught = sum(bool(row["caught_by"]) for row in rows)
    print(f"breaks: {caught} of {len(chosen)} caught")
    return 0 if caught >= min(len(chosen), len(BREAKS) if options.all else ENOUGH) else 1


if __name__ == "__main__":
    sys.exit(main())

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
import io
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
JOBS = str(os.cpu_count())
ENOUGH = 17  # with the tests of scripts/test alone
LONGEST = 5400  # seconds of one command: a defect can make a test wait for ever
QUICK = ("-m", "not thorough")
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
    Break("lmdb-value-offset", "libpack/formats/lmdb/tree.cc",
          "pending_.push_back({tag, upper_ + kNodeHead + key.size()});",
          "pending_.push_back({tag, upper_ + node_bytes - size});", "libpack"),
    # DALI's index moves a raw member to its NumPy header, and forgets that it is longer by that.
    Break("wds-npy-length", "libpack/formats/wds/members.cc",
          "      image.offset -= kNpyHeaderBytes;\n      image.length += kNpyHeaderBytes;\n",
          "      image.offset -= kNpyHeaderBytes;\n", "tests/cli/test_export_index.py"),
    # An empty field counts as one that the sample does not have.
    Break("hdf5-empty-field", "libpack/formats/hdf5/writer.cc",
          "column.present.push_back(field != nullptr ? 1 : 0);",
          "column.present.push_back(bytes.empty() ? 0 : 1);", "format_conformance"),
    # A file is renamed before its bytes are on the disk.
    Break("publish-unsynced", "libpack/base/file.cc",
          "void publish_file(const fs::path& from, const fs::path& to) {\n  sync_path(from);\n",
          "void publish_file(const fs::path& from, const fs::path& to) {\n", "tests/fault/test_fault_loop.py"),
    # A run that goes on takes a staged shard by its size.
    Break("resume-unchecked", "libpack/packing/receipt.cc",
          "return fs::file_size(file, code) == record.bytes && !code && sha256_file(file) == record.sha256;",
          "return fs::file_size(file, code) == record.bytes && !code;", "libpack"),
    # The last column of a table is the label, whatever the header says.
    Break("label-last-column", "libpack/labels/label_rows.cc",
          "  path_at_ = path;\n  label_at_ = label;\n",
          "  path_at_ = path;\n  label_at_ = width_ - 1;\n", "tests/cli/test_labels.py"),
    # A folder "train_val" is the split "train".
    Break("split-of-two", "libpack/sources/layout/folder_roles.cc",
          "if (parsed.unclear || parsed.splits.size() > 1) return {Kind::kUnclearSplit, {}};",
          "if (parsed.unclear) return {Kind::kUnclearSplit, {}};", "libpack"),
    # The top of a YOLO box is half of its width above the centre.
    Break("yolo-box-top", "libpack/annotations/yolo_labels.cc",
          "object.top = y(line[2] - line[4] / 2);",
          "object.top = y(line[2] - line[3] / 2);", "tests/interop/test_annotations.py"),
    # Key points that are labelled but hidden stay where they were when the picture is resized.
    Break("keypoints-hidden", "libpack/targets/pixel_map.cc",
          "if (point.visibility == 0) continue;",
          "if (point.visibility != 2) continue;", "libpack"),
    # The table of rows points to the restart marker in front of each row, not behind it.
    Break("roi-table-marker", "libpack/jpeg/encode/scan_coder.cc",
          """    if (s > 0) {
      *out.at++ = 0xff;
      *out.at++ = static_cast<std::uint8_t>(0xd0 + (s - 1) % 8);
    }
    if (s % per_row == 0) {
      row_offsets_.push_back(static_cast<std::uint32_t>(out.at - memory_.data()));
    }
""",
          """    if (s % per_row == 0) {
      row_offsets_.push_back(static_cast<std::uint32_t>(out.at - memory_.data()));
    }
    if (s > 0) {
      *out.at++ = 0xff;
      *out.at++ = static_cast<std::uint8_t>(0xd0 + (s - 1) % 8);
    }
""", "libpack"),
    # A window that ends with a block lacks the chroma sample behind it.
    Break("jpeg-window-end", "libpack/jpeg/decode/strip.cc",
          "last = (from + length - 1) / step + margin;",
          "last = (from + length - 1) / step;", "jpeg"),
    # EXIF orientations 6 and 8 are swapped.
    Break("exif-6-and-8", "libpack/image/picture.cc",
          "    : flip_x(orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8),\n"
          "      flip_y(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7),\n",
          "    : flip_x(orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7),\n"
          "      flip_y(orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8),\n", "libpack"),
    # The hash of the first field is not compared.
    Break("verify-first-field", "libpack/verify/payload_check.cc",
          "for (std::size_t field = 0; field < index.fields().size(); ++field) {",
          "for (std::size_t field = 1; field < index.fields().size(); ++field) {", "libpack"),
    # A body that was cut is not asked for again.
    Break("http-cut-body", "libpack/storage/http/transfer.cc",
          "    case CURLE_PARTIAL_FILE:\n    case CURLE_OPERATION_TIMEDOUT:\n",
          "    case CURLE_OPERATION_TIMEDOUT:\n", "storage"),
    # A run of the cache is marked as there before its bytes are written.
    Break("cache-marks-first", "libpack/storage/cache/cached_file.cc",
          """    const bool written =
        fd && write_where_room_is(fd.get(), range.offset, bytes, state_->files.data.path);
    // Both are system calls, whose locks in the kernel keep them in this order for others.
    if (written && state_->mark(run, std::byte{1})) {
""",
          """    const bool written = fd && state_->mark(run, std::byte{1});
    // Both are system calls, whose locks in the kernel keep them in this order for others.
    if (written && write_where_room_is(fd.get(), range.offset, bytes, state_->files.data.path)) {
""", "cache"),
    # With several ranks, the state after some steps counts the samples of one rank.
    Break("resume-one-rank", "reader/order/order.cc",
          "return std::min(samples_, options_.done + steps * global_batch(options_));",
          "return std::min(samples_, options_.done + steps * static_cast<std::uint64_t>(options_.batch_size));", "reader"),
    # libjpeg begins a crop at a whole block, and the pixels are taken from where it was asked to begin.
    Break("crop-begins-left", "reader/decode/jpeg_libjpeg.cc",
          "  return static_cast<int>(x);\n", "  return left;\n", "reader"),
    # The producer of a batch's last sample says that it is ready without the lock.
    Break("ring-unlocked", "reader/loader/ring.cc",
          "  const std::lock_guard lock(mutex_);\n  filled.ready = true;\n",
          "  filled.ready = true;\n", "tsan: reader"),
    # The boxes of a mirrored crop lie a pixel too far to the left.
    Break("mirrored-boxes", "reader/augment/augment.cc",
          "plan.flip ? size : 0,", "plan.flip ? size - 1 : 0,", "reader"),
    # A checkpoint lacks the number of steps that AdamW corrects its averages by.
    Break("adamw-steps", "trainer/optim/adamw.cc",
          "return state_of({kMean, kSquare, kSteps});", "return state_of({kMean, kSquare});", "trainer_unit"),
]  # fmt: skip


class Failed(Exception):
    """A command has failed. Its output is in the log."""


def say(text):
    print(f"breaks: {text}", flush=True)


def call(*command):
    """Runs a command in the copy. Ends it and all that it has started when it takes too long."""
    with open(LOG, "ab") as log:
        log.write(f"\n$ {' '.join(map(str, command))}\n".encode())
        log.flush()
        process = subprocess.Popen(list(map(str, command)), cwd=COPY, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True)  # fmt: skip
        try:
            if process.wait(LONGEST) != 0:
                raise Failed
        except subprocess.TimeoutExpired:
            raise Failed from None
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
            folders[:] = [name for name in folders if name not in ("build", ".venv")]
        for path in (Path(folder, name) for name in files):
            if str(path.relative_to(COPY)) not in names:
                path.unlink()
    BUILD.mkdir(exist_ok=True)
    for name in (".venv", "build/test-data"):
        if not (COPY / name).is_symlink():
            (COPY / name).symlink_to(ROOT / name)
    os.environ.setdefault("PACKHORSE_DATA", str(ROOT / "../shared/data"))
    os.environ |= {"PACKHORSE_ROOT": str(COPY), "PACKHORSE_BIN": str(BUILD / "release/bin"),
                   "PACKHORSE_TEST_DATA": str(BUILD / "test-data"), "PACKHORSE_SKIPS": str(BUILD / "skipped.jsonl"),
                   "PACKHORSE_TIMES": str(BUILD / "test-times.jsonl"), "OMP_WAIT_POLICY": "passive",
                   "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    sys.path.insert(0, str(COPY / "tests"))  # so that `import touched` looks at what the copy has built


def fits(one, root):
    return (root / one.file).read_text(encoding="utf-8").count(one.old) == 1


@contextlib.contextmanager
def put_in(one):
    if not fits(one, COPY):
        raise SystemExit(f"breaks: {one.name} does not fit: its text is not in {one.file} exactly once")
    path = COPY / one.file
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace(one.old, one.new), encoding="utf-8")
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def build(preset, *targets):
    if not (BUILD / preset / "build.ninja").exists():
        call("cmake", "--preset", preset, "--log-level=WARNING", "-DPACKHORSE_REQUIRE_PYTEST=ON")
    call("cmake", "--build", "--preset", preset, "--parallel", JOBS, *(("--target", *targets) if targets else ()))


def build_for(test):
    """Builds what one test needs."""
    import touched

    if test.endswith(".py"):
        return build("release", "bin/packhorse", *touched.PROGRAMS[Path(test).parent.name])
    preset, program = preset_and_program(test)
    return build(preset, f"{program}_tests")


def preset_and_program(test):
    return ("tsan", test.removeprefix("tsan: ")) if test.startswith("tsan: ") else ("release", test)


def run_ctest(preset, *options):
    """Runs test programs. Returns {program that fails: the names of its failing cases}."""
    results = BUILD / f"ctest-{preset}.xml"
    results.unlink(missing_ok=True)
    prefix = "tsan: " if preset == "tsan" else ""
    try:
        call("ctest", "--preset", preset, "--parallel", JOBS, "--no-tests=ignore", "--output-junit", results, *options)
        return {}
    except Failed:
        found = {}
        for case in ElementTree.parse(results).iter("testcase") if results.exists() else ():
            if case.get("status") == "fail":
                name, output = prefix + case.get("name"), case.findtext("system-out") or ""
                cases = dict.fromkeys(re.findall(r"^TEST CASE:\s+(.+?)\s*$", output, re.M))
                found[name] = [f"{name}: {one}" for one in cases] or [name]
        if not found:
            raise
        return found


def run_pytest(tests, *options):
    """Returns {test that fails: its name}."""
    times = Path(os.environ["PACKHORSE_TIMES"])
    times.unlink(missing_ok=True)
    try:
        call(ROOT / ".venv/bin/python", "-m", "pytest", "-n", JOBS, "--dist", "loadfile", "--no-loadscope-reorder",
             *options, *tests)  # fmt: skip
        return {}
    except Failed:
        rows = [json.loads(line) for line in times.read_text(encoding="utf-8").splitlines()] if times.exists() else []
        if rows and all(row["outcome"] != "failed" for row in rows) and "thorough" in options and len(options) == 2:
            return {}  # pytest calls it a failure when none of the files has a thorough test
        found = {row["test"]: [row["test"]] for row in rows if row["outcome"] == "failed"}
        return found or {"pytest": ["pytest did not come to its end"]}


def run_named(tests, *options):
    """Runs tests by name. `options` are for pytest."""
    found, files = {}, [test for test in tests if ".py" in test]
    for preset in ("release", "tsan"):
        own = [preset_and_program(test)[1] for test in tests if test not in files and preset_and_program(test)[0] == preset]
        if own:
            found |= run_ctest(preset, "--tests-regex", f"^({'|'.join(map(re.escape, own))})$")
    return found | (run_pytest(files, *options) if files else {})


def run_others(one, everything):
    """Runs the tests that can see the file, step by step, until a step fails."""
    import touched

    touched.changed_since = lambda _: {one.file}
    with contextlib.redirect_stdout(io.StringIO()):
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
        if everything or not one.caught_by.startswith("tsan: "):
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
    tests = sorted({one.caught_by for one in chosen if everything or not one.caught_by.startswith("tsan: ")})
    for test in tests:
        build_for(test)
    if found := run_named(tests, *QUICK):
        raise SystemExit(f"breaks: without any defect, these fail: {', '.join(found)}")


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
    if lost := [one for one in chosen if not fits(one, ROOT)]:
        raise SystemExit("breaks: not exactly once in their files: " + ", ".join(one.name for one in lost))
    if options.list:
        for one in chosen:
            say(f"{one.name:20}{one.file:46}{one.caught_by}")
        return 0
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_bytes(b"")
    rows = []
    try:
        say(f"building {COPY.relative_to(ROOT)}")
        copy_checkout()
        build("release")
        check_first(chosen, options.all)
        for one in chosen:
            began = time.monotonic()
            found = [shown for test in catch(one, options.all).values() for shown in test]
            say(f"{one.name:20}{one.file:46}" + (f"caught by {'; '.join(found[:3])}" if found else "NOT CAUGHT"))
            rows.append({"name": one.name, "file": one.file, "caught_by": found, "seconds": round(time.monotonic() - began)})
            if options.write:
                options.write.write_text(json.dumps({"all": options.all, "breaks": rows}, indent=1) + "\n", encoding="utf-8")
    except Failed:
        raise SystemExit(f"breaks: a command failed that must not: see the end of {LOG}") from None
    caught = sum(bool(row["caught_by"]) for row in rows)
    say(f"{caught} of {len(chosen)} caught")
    return 0 if caught >= min(len(chosen), len(BREAKS) if options.all else ENOUGH) else 1


if __name__ == "__main__":
    sys.exit(main())

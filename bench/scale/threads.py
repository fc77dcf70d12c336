"""Many reader threads on few CPUs: what a picture costs as their number grows far beyond the CPUs.

    .venv/bin/python bench/scale/threads.py                                # prints Markdown; some minutes
    .venv/bin/python bench/scale/threads.py --write docs/measured/scale.md
    .venv/bin/python bench/scale/threads.py --rounds 1 --seconds 0.2       # a quick try

CIFAR-10's training images, as JPEG files and as pixels (`--image raw --size 32`), from the page cache. A thread that is preempted
while it holds what others wait for, or lines of memory that all write to, would make a picture dearer the more threads
there are; with pixels a picture takes so little that this would show first. Needs the preset release.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ARCHIVES, ROOT, built, require  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402

THREADS = [1, 2, 4, 8, 16, 32, 64]
MODES = {"JPEG": [], "pixels": ["--image", "raw", "--size", 32]}


def packhorse(*words):
    done = subprocess.run([str(word) for word in (built("packhorse"), *words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"threads: packhorse {words[0]} failed:\n{done.stderr}")
    return done.stdout


def one_round(options, packed):
    """threads -> the run, in turns."""
    counts = ",".join(map(str, THREADS))
    said = packhorse("bench", packed, "--workers", counts, "--size", 32, "--batch-size", 256, "--repeats", 1,
                     "--min-seconds", options.seconds, "--json", "--quiet")  # fmt: skip
    return {run["workers"]: run for run in json.loads(said)["runs"]}


def measured(options, work):
    subprocess.run(["tar", "-xf", ARCHIVES / "cifar10-jpeg.tar.zst", "-C", work], check=True)
    source = next(work.rglob("train"))
    for name, more in MODES.items():
        packhorse("pack", source, work / name, "--format", "wds", *more)
    rounds = {name: [] for name in MODES}
    for _ in range(options.rounds):
        for name, found in rounds.items():
            found.append(one_round(options, work / name))
    rows = []
    cost = lambda run: 1e6 * run["cpu_s"] / run["images"]
    for name, found in rounds.items():
        for threads in THREADS:
            runs = [one[threads] for one in found]
            rows.append([
                name, str(threads),
                spread_text([run["images"] / run["seconds"] for run in runs], lambda x: f"{x:,.0f}"),
                spread_text([cost(run) for run in runs], lambda x: f"{x:.2f}"),
                spread_text([cost(run) / cost(one[1]) for run, one in zip(runs, found)], lambda x: f"{x:.2f}"),
            ])  # fmt: skip
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    conditions = (
        f"{options.rounds} rounds, passes of {options.seconds:g} s or more, 50,000 images of 32 x 32 pixels in batches of 256, on "
        f"{len(os.sched_getaffinity(0))} CPUs. {cpu}. {machine.packhorse_versions(built('packhorse')).split(' (')[0]}"
    )
    head = ["images", "reader threads", "images/s", "CPU microseconds an image", "times those of one thread"]
    return f"{conditions}.\n\n{table(head, rows)}"


def main():
    arguments = parser("scale/threads.py", __doc__)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", type=float, default=1, help="shortest pass")
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and options.rounds < 3:
        sys.exit("threads: measured with fewer than 3 rounds")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "scale threads", text)


if __name__ == "__main__":
    main()

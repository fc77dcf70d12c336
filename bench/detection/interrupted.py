"""BCCD learnt three times by YOLOX-nano: in one go, killed again and again and resumed, and by two processes.

    .venv/bin/python bench/detection/interrupted.py                                   # prints Markdown; half an hour
    .venv/bin/python bench/detection/interrupted.py --write docs/measured/detection.md
    .venv/bin/python bench/detection/interrupted.py --epochs 6 --kills 2 --seconds 20  # a quick try

The first two train at the same time, each on a CPU of its own; the kills are SIGKILL, at random moments. Ends with an error
if the resumed run's log differs from the other's in anything but times, or its parameters do. Needs the preset release
and two CPUs.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ARCHIVES, ROOT, built, require  # noqa: E402
from common.markdown import parser, show, table  # noqa: E402
from data import unpacked  # noqa: E402

TIMES = {"seconds", "images_per_s", "data_wait_share"}
SETTINGS = {
    "--task": "detect", "--arch": "yolox-nano", "--image-size": 320, "--batch-size": 8, "--multi-scale": 0,
    "--lr": 0.01, "--ema-decay": 0.998, "--seed": 0, "--workers": 1, "--device": "cpu",
}  # fmt: skip
# What starts processes that train together sets these.
LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Run:
    """One training: its command, and what it left."""

    def __init__(self, options, data, out, *more, cpus="0,1"):
        settings = SETTINGS | {"--epochs": options.epochs, "--close-mosaic": options.epochs // 7, "--data": data, "--out": out}
        words = [word for pair in settings.items() for word in pair]
        self.out, self.command = out, [str(word) for word in ("taskset", "-c", cpus, built("packhorse-train"), "fit", *words, *more)]

    def start(self, *more, **place):
        environment = {name: value for name, value in os.environ.items() if name not in LAUNCHER}
        environment |= {name: str(value) for name, value in place.items()}
        with open(f"{self.out}.txt", "ab") as said:
            return subprocess.Popen([*self.command, *more], env=environment, stdout=subprocess.DEVNULL, stderr=said)

    def check(self, code):
        if code != 0:
            sys.exit(f"interrupted: training ended with {code}:\n{Path(f'{self.out}.txt').read_text()[-2000:]}")

    def log(self):
        return [json.loads(line) for line in (self.out / "log.jsonl").read_text().splitlines()]


def finish(run, process, kills, seconds):
    """Kills and resumes; returns after how many epochs each kill was."""
    after, moments = [], random.Random(1)
    for _ in range(kills):
        try:
            run.check(process.wait(timeout=moments.uniform(0.5, 1.5) * seconds))
            return after
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            after.append(len(run.log()) if (run.out / "log.jsonl").exists() else 0)
            print(f"interrupted: killed after {after[-1]} epochs", file=sys.stderr)
        process = run.start("--resume-if-there")
    run.check(process.wait())
    return after


def together(run, world):
    """Trains with processes that share each batch."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [run.start(RANK=rank, LOCAL_RANK=rank, **shared) for rank in range(world)]
    for process in processes:
        run.check(process.wait())


def test_scores(run, data):
    command = [built("packhorse-train"), "eval", "--checkpoint", run.out / "best.pt", "--data", data, "--split", "test", "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"interrupted: eval failed:\n{done.stderr}")
    return json.loads(done.stdout)


def require_alike(whole, resumed):
    strip = lambda rows: [{name: value for name, value in row.items() if name not in TIMES} for row in rows]
    for one, other in zip(strip(whole.log()), strip(resumed.log()), strict=True):
        if one != other:
            sys.exit(f"interrupted: the resumed run differs:\n{one}\n{other}")
    import torch

    one, other = (torch.load(run.out / "last.pt", weights_only=True)["model"] for run in (whole, resumed))
    if one.keys() != other.keys() or not all(torch.equal(one[name], other[name]) for name in one):
        sys.exit("interrupted: the resumed run's parameters differ")


def measured(options, work):
    folder, data = unpacked(ARCHIVES / "bccd.tar.zst", work / "bccd") / "bccd", work / "packed"
    pack = [built("packhorse"), "pack", folder, data, "--format", "wds", "--source-kind", "coco"]
    subprocess.run(pack, check=True, capture_output=True)
    whole = Run(options, data, work / "whole", cpus="0")
    resumed = Run(options, data, work / "resumed", "--checkpoint-every", 10, cpus="1")
    shared = Run(options, data, work / "shared")
    process = whole.start()
    try:
        after = finish(resumed, resumed.start(), options.kills, options.seconds)
        whole.check(process.wait())
    finally:
        process.kill()
    require_alike(whole, resumed)
    together(shared, 2)

    runs = {"in one go": whole, "killed and resumed": resumed, "two processes": shared}
    logs = {name: run.log() for name, run in runs.items()}
    marked = [1, *range(max(1, options.epochs // 6), options.epochs + 1, max(1, options.epochs // 6))]
    rows = [
        [str(epoch), *(f"{log[epoch - 1][what]:.{digits}f}" for log in logs.values() for what, digits in (("train_loss", 2), ("ap50", 3)))]
        for epoch in dict.fromkeys(marked)
    ]
    tested = [test_scores(run, data) for run in runs.values()]
    rows.append(["test", *(word for scores in tested for word in ("", f"{scores['ap50']:.3f}"))])
    head = ["epoch", *(f"{what}, {name}" for name in runs for what in ("loss", "AP50"))]
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    rates = {name: sum(row["images_per_s"] for row in log) / len(log) for name, log in logs.items()}
    killed = f"{', '.join(map(str, after[:-1]))} and {after[-1]}" if len(after) > 1 else str(after)
    return (
        f"{options.epochs} epochs, the last {options.epochs // 7} without a mosaic; seed 0. {cpu}. "
        f"{machine.packhorse_versions(built('packhorse')).split(' (')[0]}. Killed after {killed} epochs: the log and the "
        f"last parameters equal those of the run in one go, bit for bit. Two processes share each batch of 8 and train "
        f"{rates['two processes']:.1f} images/s on two CPUs; one, on one CPU beside another, {rates['in one go']:.1f}.\n\n{table(head, rows)}"
    )


def main():
    arguments = parser("detection/interrupted.py", __doc__)
    arguments.add_argument("--epochs", type=int, default=60)
    arguments.add_argument("--kills", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=120, help="between kills, on average")
    options = arguments.parse_args()
    require(built("packhorse-train"))
    if options.write and (options.epochs < 60 or options.kills < 5):
        sys.exit("interrupted: measured with fewer than 60 epochs, or 5 kills")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "detector interrupted", text)


if __name__ == "__main__":
    main()

"""Trains a network twice on several processes, once killed in the middle and resumed, and compares what came out.

    .venv/bin/python bench/resume build/test-data/cifar10 --write docs/measured/resume.md
    .venv/bin/python bench/resume DIR --arch resnet18-cifar --per-class 500 --epochs 8 --processes 2

DIR has train/ and test/ (or val/). Each process is killed (SIGKILL) once the run has saved a checkpoint in the middle
of an epoch; then all are started again with --resume. A third run, with another seed, says how much chance alone does.
Prints Markdown.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine  # noqa: E402
from common.environment import ROOT, built  # noqa: E402
from common.markdown import parser, show, table  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(options, data, out, *more):
    """The processes of one run. Only the first one's output is kept."""
    port, world, processes = free_port(), options.processes, []
    command = [built("packhorse-train"), "fit", "--data", data, "--out", out, "--arch", options.arch, "--device", "cpu",
               "--epochs", options.epochs, "--checkpoint-every", options.checkpoint_every, "--json", *more]  # fmt: skip
    for rank in range(world):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
        environment = os.environ | {"MASTER_ADDR": "127.0.0.1"} | {k: str(v) for k, v in place.items()}
        kept = subprocess.PIPE if rank == 0 else subprocess.DEVNULL
        processes.append(subprocess.Popen([str(c) for c in command], env=environment, stdin=subprocess.DEVNULL,
                                          stdout=kept, stderr=None if rank == 0 else subprocess.DEVNULL))  # fmt: skip
    return processes


def finish(processes):
    out, _ = processes[0].communicate()
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit(f"resume: the processes ended with {codes}")
    return json.loads(out)


def kill_in_the_middle(options, data, out, *more):
    """Starts a run and kills all of it behind the first checkpoint past half of all steps. The steps it had saved."""
    processes = start(options, data, out, *more)
    half = options.steps // 2
    while all(process.poll() is None for process in processes):
        saved = steps_saved(out)
        if saved > half and saved % options.steps_per_epoch:
            break
        time.sleep(0.2)
    else:
        sys.exit("resume: the run ended before it could be killed; use more data or more --epochs")
    time.sleep(0.3)  # into steps that are not saved
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        process.wait()
    return steps_saved(out)


def steps_saved(out):
    """Of step-N.pt, which --keep gives each checkpoint beside last.pt; 0 while there is none."""
    steps = [int(path.stem.split("-")[1]) for path in out.glob("step-*.pt")]
    return max(steps, default=0)


def same_parameters(a, b):
    import torch

    one, two = (torch.load(path / "last.pt", weights_only=True)["model"] for path in (a, b))
    return all(one[name].equal(two[name]) for name in one)


def history(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def machine_text():
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores, no GPU."


def epochs_table(*runs):
    head = ["epoch"]
    for name in ("undisturbed", "killed and resumed", "another seed"):
        head += [f"{name}: loss", "top-1"]
    rows = []
    for epochs in zip(*runs, strict=True):
        cells = [text for row in epochs for text in (f"{row['train_loss']:.4f}", f"{row['top1']:.2f} %")]
        rows.append([str(epochs[0]["epoch"]), *cells])
    return table(head, rows)


def study(options, work):
    data = work / "packed"
    pack = ["pack", options.folder, data, "--format", "wds", "--samples-per-class", options.per_class]
    subprocess.run([str(c) for c in [built("packhorse"), *pack]], check=True, stdout=subprocess.DEVNULL)
    samples = json.loads((data / "train/dataset.json").read_text())["samples"]
    options.steps_per_epoch = samples // options.batch_size
    options.steps = options.steps_per_epoch * options.epochs
    options.checkpoint_every = max(1, options.steps_per_epoch // 3)
    more = ["--batch-size", options.batch_size, "--keep", 2]
    begin = time.monotonic()
    whole = finish(start(options, data, work / "whole", *more))
    seconds = time.monotonic() - begin
    saved = kill_in_the_middle(options, data, work / "parts", *more)
    parts = finish(start(options, data, work / "parts", *more, "--resume"))
    other = finish(start(options, data, work / "other", *more, "--seed", 1))
    equal = same_parameters(work / "whole", work / "parts")
    return "\n\n".join([
        f"{options.arch}, {options.processes} processes, {samples:,} pictures, batch {options.batch_size}, "
        f"{options.epochs} epochs of {options.steps_per_epoch} steps ({seconds / 60:.0f} minutes). All processes were "
        f"killed once; step {saved} of {options.steps} was the last one saved. {machine_text()}",
        epochs_table(*(history(work / name) for name in ("whole", "parts", "other"))),
        f"In the end: top-1 {whole['top1']:.2f} % undisturbed, {parts['top1']:.2f} % killed and resumed, "
        f"{other['top1']:.2f} % with another seed. The parameters of the first two are "
        + ("equal, bit for bit." if equal else "NOT equal."),
    ])  # fmt: skip


def main():
    arguments = parser("resume", __doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--arch", default="resnet18-cifar")
    arguments.add_argument("--per-class", type=int, default=500, help="pictures of each class and split")
    arguments.add_argument("--batch-size", type=int, default=128)
    arguments.add_argument("--epochs", type=int, default=8)
    arguments.add_argument("--processes", type=int, default=2)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = study(options, Path(work))
    show(options, "resume", text)


if __name__ == "__main__":
    main()

"""Reads from object storage that is far away: one object, by ranges, and epochs of pictures, beside other programs.

    python3 bench/remote                                         # prints Markdown
    python3 bench/remote --write PAGE                            # between its markers `remote bench`
    python3 bench/remote --delays 20 --rounds 1 --object-mib 32 --copies 1 --parts object     # a quick try

SeaweedFS of this machine (tests/remote/servers.py) is the storage. For each of --delays, in ms for a round trip, and
with --mbit for all answers together, it is made a distant one (network.py says how; `--shaping netem` or `proxy` asks
for one way). Then the programs take turns, A B C A B C; each starts with nothing cached, and what the first ones bring
is compared with the object by its SHA-256. Needs scripts/setup and bench/setup; what is not there is named.
"""

import json
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common import machine, measure  # noqa: E402
from common.data import CannotMake, Places, measured, photos  # noqa: E402
from common.environment import ARCHIVES, ROOT, built  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402

from contenders import (  # noqa: E402
    FORM_OF, OURS, TO_DISK, UPLOAD, Task, Unavailable, digest, emptied, fetchers, packers, readers,
)  # fmt: skip
from forms import BUCKET, put_forms, put_object  # noqa: E402
from network import best  # noqa: E402

import servers  # noqa: E402

PHOTOS = 60  # of the archive
PARTS = ["object", "packing", "epochs"]


class Part:
    """Rounds of some contenders: what each cost, or why it was not measured."""

    def __init__(self, names):
        self.runs, self.missing = {name: [] for name in names}, {}

    def run(self, name, make, place, environment, work, take):
        """One run of a contender. `make()` gives its command, `take(cost, printed)` its figures."""
        if name in self.missing:
            return
        try:
            words = [f"{key}={value}" for key, value in environment.items() if key.startswith("AWS_")]
            command = [*place.prefix, "env", *words, *make()]
            figures = take(*measure.run(command, work))
            self.runs[name].append(figures)
            print(f"remote: {name}: {json.dumps(figures)}", file=sys.stderr)
        except (Unavailable, measure.Failed) as reason:
            self.missing[name] = str(reason).replace(f"{work}/", "")  # which is of this run alone
            print(f"remote: {name}: not measured: {reason}", file=sys.stderr)

    def notes(self):
        return "\n".join(f"- {name}: not measured: {reason}" for name, reason in self.missing.items())


def chosen(contenders, options):
    """Those that --only names, or all."""
    names = [name.strip() for name in options.only.split(";") if name.strip()]
    return {name: make for name, make in contenders.items() if not names or name in names}


def fetch_rounds(options, server, place, work, stored):
    """Every program brings the object, round by round."""
    contenders = chosen(fetchers(options.connections), options)
    part, size, wanted = Part(contenders), stored.size, stored.sum
    for _ in range(options.rounds):
        for name, make in contenders.items():
            out = emptied(work / "out")
            task = Task(place.endpoint, BUCKET, stored.key, size, out, options.connections)

            def take(cost, _, out=out):
                if digest(out) != wanted:
                    raise measure.Failed("what it brought is not the object")
                return {"mb_per_s": size / cost.seconds / 1e6, "cpu_s_per_gb": cost.cpu_seconds / size * 1e9}

            part.run(name, lambda make=make, task=task: make(task), place, server.environment(place.endpoint), work, take)
    return part


def epoch_rounds(options, server, place, work, missing):
    """Every loader reads an epoch, round by round."""
    contenders = chosen(readers(work / "forms/packhorse"), options)
    part = Part(contenders)
    forms = {name: FORM_OF[re.split("[ ,]", name)[0]] for name in contenders}
    part.missing |= {name: missing[form] for name, form in forms.items() if form in missing}
    for _ in range(options.rounds):
        for name, make in contenders.items():
            out = emptied(work / "out")
            task = Task(place.endpoint, BUCKET, forms[name], 0, out, options.connections)

            def take(cost, printed):
                found = json.loads(printed)
                return {"images_per_s": found["images_per_s"], "first_batch_s": found["first_batch_s"],
                        "cpu_ms": 1000 * found["cpu_s"] / found["images"],
                        "second_images_per_s": found["second"]["images_per_s"]}  # fmt: skip

            jobs = options.jobs
            part.run(name, lambda make=make, task=task, jobs=jobs: make(task, jobs), place,
                     server.environment(place.endpoint), work, take)  # fmt: skip
    return part


def pack_rounds(options, server, place, work, source):
    """Photos are packed in every way, round by round, each time to a new place."""
    contenders = chosen(packers(options.packhorse, source.path, work / "packed"), options)
    part = Part(contenders)
    for number in range(options.rounds):
        for name, make in contenders.items():
            out = emptied(work / "out")
            key = f"packed-{os.path.basename(place.endpoint)}-{number}-{list(contenders).index(name)}"
            task = Task(place.endpoint, "private", key, 0, out, options.connections)

            def take(cost, _):
                return {"mb_per_s": source.bytes / cost.seconds / 1e6, "cpu_s_per_gb": cost.cpu_seconds / source.bytes * 1e9}

            part.run(name, lambda make=make, task=task: make(task), place, server.environment(place.endpoint), work, take)
    return part


def fetchers_but_ours(options):
    return [name for name in fetchers(options.connections) if name != OURS]


def of(runs, field):
    return [run[field] for run in runs]


def rate_table(part, bases, which=max):
    """Beside the fastest (or with min the slowest) of `bases`, round by round."""
    known = {name: statistics.median(of(runs, "mb_per_s")) for name, runs in part.runs.items() if runs}
    others = [name for name in bases if name in known]
    base = which(others, key=known.get) if others else None
    rows = []
    for name in known:
        rates, baseline = of(part.runs[name], "mb_per_s"), of(part.runs[base], "mb_per_s") if base else []
        ratio = spread_text([a / b for a, b in zip(rates, baseline)], lambda x: f"{x:.2f}") if base else ""
        cpu = statistics.median(of(part.runs[name], "cpu_s_per_gb"))
        rows.append([name, spread_text(rates, lambda x: f"{x:,.0f}"), ratio, f"{cpu:.2f}"])
    return table(["program", "MB/s", f"beside {base}", "CPU s / GB"], rows)


def epoch_table(part):
    rows = []
    for name, runs in part.runs.items():
        if runs:
            rate, second = (spread_text(of(runs, name), lambda x: f"{x:,.0f}")
                            for name in ("images_per_s", "second_images_per_s"))  # fmt: skip
            first, cpu = (statistics.median(of(runs, name)) for name in ("first_batch_s", "cpu_ms"))
            rows.append([name, rate, f"{1000 / cpu:,.0f}", f"{first:.2f}", second])
    return table(["loader", "epoch 1, images/s", "for each CPU second", "first batch, s", "epoch 2, images/s"], rows)


def conditions(options, network):
    cpu = machine.first_match(r"model name\s*: (.*)", "/proc/cpuinfo")
    return (
        f"{cpu}, {len(os.sched_getaffinity(0))} cores. {options.rounds} rounds; round trips and {options.mbit:,} Mbit/s "
        f"by {network.name}; {options.connections} connections, {options.jobs} loader processes."
    )


def study(options, work):
    with best(options.shaping) as network, servers.Seaweed(work / "storage", network.host) as server:
        client, texts = server.client(), [conditions(options, network)]
        objects = []
        if "object" in options.parts:
            objects = [put_object(client, mib << 20, options.packhorse, work) for mib in options.object_mib]
        places = Places(work, work, ARCHIVES, options.photos, options.packhorse)
        if "packing" in options.parts:
            source = photos(places, options.pack_copies * PHOTOS)
        if "epochs" in options.parts:
            missing = put_forms(client, places, options.copies * PHOTOS, options.jobs, emptied(work / "forms"))
            shown = measured(work / "forms/webdataset") if (work / "forms/webdataset").exists() else None
            megabytes = f", {shown.bytes / 1e6:,.0f} MB" if shown else ""
            texts.append(f"Epochs are of {options.copies * PHOTOS:,} photos{megabytes}.")
        for delay in options.delays:
            texts.append(f"### {delay:g} ms")
            if "packing" in options.parts:
                # To a server of its own: it gives no room back.
                with (
                    servers.Seaweed(emptied(work / "packing"), network.host) as target,
                    network.limited(target, delay, options.mbit * 125_000) as place,
                ):
                    part = pack_rounds(options, target, place, work, source)
                texts += [f"Packing {source.files:,} photos, {source.bytes / 1e6:,.0f} MB:", rate_table(part, (TO_DISK, UPLOAD), min), part.notes()]
            with network.limited(server, delay, options.mbit * 125_000) as place:
                for stored in objects:
                    part = fetch_rounds(options, server, place, work, stored)
                    texts += [f"An object of {stored.size >> 20:,} MiB:", rate_table(part, fetchers_but_ours(options)), part.notes()]
                if "epochs" in options.parts:
                    part = epoch_rounds(options, server, place, work, missing)
                    texts += ["Two epochs, with nothing cached before the first:", epoch_table(part), part.notes()]
        return "\n\n".join(filter(None, texts))


def parse():
    arguments = parser("remote", __doc__)
    arguments.add_argument("--delays", type=lambda text: [float(one) for one in text.split(",")], default=[1, 20, 100],
                           metavar="MS,MS", help="round trips (default 1,20,100)")  # fmt: skip
    arguments.add_argument("--mbit", type=int, default=2000, help="a second, of all answers together (default 2000)")
    arguments.add_argument("--shaping", choices=["auto", "netem", "proxy"], default="auto")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--object-mib", type=lambda text: [int(one) for one in text.split(",")], default=[256, 1024],
                           metavar="MIB,MIB")  # fmt: skip
    arguments.add_argument("--copies", type=int, default=20, help="of each photo")
    arguments.add_argument("--pack-copies", type=int, default=100, help="of each photo, for packing")
    arguments.add_argument("--connections", type=int, default=16)
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    arguments.add_argument("--only", default="", metavar="NAMES", help="these contenders only, separated by ';'")
    arguments.add_argument("--photos", type=Path, metavar="DIR", help="JPEG files to use instead of imagenet200.tar")
    arguments.add_argument("--packhorse", type=Path, default=built("packhorse"), metavar="FILE")
    return arguments.parse_args()


def main():
    options = parse()
    if options.write and (options.rounds < 5 or options.only):
        sys.exit("remote: measured in fewer than 5 rounds, or in part")
    (ROOT / "build").mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
            text = study(options, Path(work))
    except (servers.Missing, servers.Failed, CannotMake) as reason:
        sys.exit(f"remote: {reason}")
    show(options, "remote bench", text)


if __name__ == "__main__":
    main()

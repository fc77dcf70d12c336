"""The section of a measurement: what was gained, where the time goes, and the figures behind it."""

import math
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

from plot_report import facts, speed, steps
from plot_report.documents import Document
from plot_report.look import Palette, bytes_text, condition_details, condition_name, number, times
from plot_report.page import Columns, Html, Note, Picture, Section, Table
from plot_report.runs import Runs

WHISKERS = (
    "A bar to the right of 1× is a gain, one to the left, on grey, a loss; the scale is logarithmic, so that twice as"
    " fast and half as fast are as long. The thin line goes from the input's slowest repeat against the folder's "
    "fastest to the reverse: where it crosses 1×, or with fewer than 5 repeats, the two cannot be told apart, and the "
    "figure has a ≈. Noisy: the repeats lie further apart than 10 % of their median. *: other work: roi decodes less "
    "for the same pixels, resize and raw have other pixels."
)
SPREADS = (
    "Medians of the repeats; in grey the smallest and the largest. ≈: the repeats do not tell that there is a "
    "difference. *: other work: less to decode (roi), or other pixels (resize, raw)."
)
FASTER = "speed against the folder (right of 1× is faster)"
PICTURES = (  # name, title, how to read it, what draws it
    (
        "speedup-training",
        "Training speed against the folder",
        WHISKERS,
        partial(speed.speedup, what="training", title=f"Training {FASTER}"),
    ),
    (
        "storage",
        "Speed by storage",
        "Above: times the folder's speed under the same condition. Below: the speed itself, with the folder dotted "
        "and the device limit dashed; an input whose line stays at the limit does not feel the storage.",
        speed.storage,
    ),
    (
        "step",
        "Time of a step",
        "Waiting and compute make up the step. The dashed line is a step with data already in the device's memory: "
        "what a step takes beyond it is the cost of loading. On a CPU part of that cost is compute, slowed down by "
        "the loading on the same cores.",
        steps.step_parts,
    ),
    (
        "attribution",
        "Time of an epoch",
        "Each row ends at the length of an epoch (black tick). Grey is what the device needs by itself, in the same "
        "repeat as the rest of the row, so it scatters about the dashed line, the median; all else is the cost of "
        "loading. Where noise makes a part negative, it is left of 0.",
        steps.attribution,
    ),
    (
        "latency",
        "Distribution of the steps",
        "The thin line holds 98 % of the steps, the thick one half of them; the points are the fastest and the "
        "slowest.",
        steps.latency,
    ),
    (
        "speedup-read",
        "Reading speed against the folder",
        "Stored bytes only: nothing is decoded. " + WHISKERS,
        partial(speed.speedup, what="read", title=f"Reading {FASTER}"),
    ),
    (
        "speedup-decode",
        "Reading and decoding speed against the folder",
        "Batches as training gets them, without training. " + WHISKERS,
        partial(speed.speedup, what="decode", title=f"Reading + decoding {FASTER}"),
    ),
)


def section(document: Document, palette: Palette, stem: str) -> Section:
    body = document.body
    runs = Runs(body)
    own = [
        ("loading", f"{body['workers']} workers (reader threads), {body['slots']} batches in memory"),
        ("measured", measured_text(body)),
        *(
            (name, "on")
            for field, name in (("cuda_graph", "CUDA graph"), ("gpu_decode", "GPU decoding"))
            if body.get(field)
        ),
        ("device limit", facts.limit_text(body["device_limit"])),
    ]
    notes = [Note(text) for text in remarks(runs)]
    pictures = [
        Note(f"No picture “{title}”: {why}.")
        if (why := nothing_to_draw(runs, name))
        else Picture.of(f"{stem}-{name}", title, caption, draw(runs, palette))
        for name, title, caption, draw in PICTURES
    ]
    tables = [
        training_table(runs),
        reading_table(runs),
        epoch_table(runs),
        *gaps(runs),
        input_table(runs),
        *packing(body),
        condition_table(runs),
    ]
    return Section(
        f"Measurement ({document.path.name})",
        facts.common(body) + own,
        [*body.get("io_speedup", []), *body["verdict"]],
        [*notes, *pictures, *tables],
    )


def nothing_to_draw(runs: Runs, name: str) -> str:
    """Why a picture would be empty."""
    if not runs.found:
        return "nothing was measured"
    if name.startswith("speedup") and len(runs.names) == 1:
        return "there is no other input beside the folder"
    if name == "storage" and len(runs.conditions) == 1:
        return "there is one condition only"
    return ""


def measured_text(body: dict[str, Any]) -> str:
    repeats, steps_before = body["repeats"], body["warmup_steps"]
    text = f"{repeats} repeat{'s' * (repeats != 1)}, at most {number(body['max_seconds'])} s each"
    return f"{text}, after {steps_before} step{'s' * (steps_before != 1)} to warm up"


def remarks(runs: Runs) -> list[str]:
    """What a reader must know before the pictures."""
    found = []
    simulated = [each["name"] for each in runs.conditions if each["kind"] == "simulated"]
    if simulated:
        found.append(
            f"Simulated, not real storage: {', '.join(simulated)}. Each is the page cache, slowed down to the figures "
            "under Conditions."
        )
    if runs.noisy_ones:
        found.append(
            f"{runs.noisy_ones} of {len(runs.found)} runs are noisy: their repeats lie further apart than 10 % of the "
            "median. They are marked."
        )
    if runs.reasons:
        count = len(runs.reasons)
        found.append(
            f"{count} combination{'s' * (count > 1)} of input and condition {'were' if count > 1 else 'was'} not "
            "measured; a table says why."
        )
    return found


def spread(work: str, field: str, scale: float = 1) -> Callable[[dict[str, Any]], str]:
    return lambda run: facts.spread(run[work][field], scale)


def middle(work: str, field: str) -> Callable[[dict[str, Any]], str]:
    return lambda run: facts.middle(run[work][field])


def training_table(runs: Runs) -> Table:
    copies = any(run["training"]["copy_ms"]["max"] > 0 for run in runs.found.values())

    def loss(run: dict[str, Any]) -> str:
        return "no number" if (value := run["training"]["loss"]) is None else number(value, aligned=True)

    columns = [
        ("speedup", lambda run: ratio_text(runs, run, "training")),
        ("images/s", spread("training", "images_per_s")),
        ("waiting, %", spread("training", "wait_share", 100)),
        ("waiting, ms/step", middle("training", "wait_ms")),
        ("compute, ms/step", middle("training", "compute_ms")),
        *([("copy, ms/step", middle("training", "copy_ms"))] if copies else []),
        ("slowest step, ms", lambda run: number(max(run["training"]["step_ms_quantiles"]["ms"]), aligned=True)),
        ("CPU-s/1000 images", middle("training", "cpu_s_per_1000")),
        ("first batch, s", middle("training", "first_batch_s")),
        ("loss", loss),
    ]
    return run_table("Training", runs, columns, SPREADS + (" Copying goes on beside the compute." if copies else ""))


def reading_table(runs: Runs) -> Table:
    columns = [
        ("read: speedup", lambda run: ratio_text(runs, run, "read")),
        ("images/s", spread("read", "images_per_s")),
        ("MB/s", middle("read", "mb_per_s")),
        ("from storage, bytes/image", middle("read", "disk_bytes_per_image")),
        ("read + decode: speedup", lambda run: ratio_text(runs, run, "decode")),
        ("images/s", spread("decode", "images_per_s")),
        ("CPU-s/1000 images", middle("decode", "cpu_s_per_1000")),
        ("batch p50, ms", middle("decode", "batch_p50_ms")),
        ("batch p99, ms", middle("decode", "batch_p99_ms")),
    ]
    return run_table("Reading, and reading + decoding", runs, columns, SPREADS)


def epoch_table(runs: Runs) -> Table:
    def seconds(field: str) -> Callable[[dict[str, Any]], str]:
        def text(run: dict[str, Any]) -> str:
            parts = run["attribution"]
            places = max(0, 2 - math.floor(math.log10(parts["epoch_s"]))) if parts["epoch_s"] > 0 else 3
            return f"{round(parts[field], places) + 0.0:,.{places}f}"  # + 0.0: no -0.00

        return text

    heads = ["epoch, s", "device, s", "sharing, s", "preparation stall, s", "fetch stall, s", "other, s"]
    fields = ["epoch_s", *(field for field, *_ in steps.EPOCH)]
    return run_table("Time of an epoch", runs, [(head, seconds(field)) for head, field in zip(heads, fields)])


def run_table(title: str, runs: Runs, columns: Columns, note: str = "") -> Table:
    """For each condition a heading, and a row for each input, also for those not measured."""
    rows = []
    for condition in runs.conditions:
        rows.append([condition_name(condition)])
        for name in runs.names:
            run = runs.of(name, condition)
            missing = [f"not measured: {runs.reason(name, condition)}"]
            rows.append([name, *([text(run) for _, text in columns] if run else missing)])
    return Table(title, ["input", *(head for head, _ in columns)], rows, 1, note)


def ratio_text(runs: Runs, run: dict[str, Any], what: str) -> str:
    if run["input"] == runs.folder:
        return "the folder"
    bounds = runs.ratios(run["input"], run["condition"], what)
    if bounds is None:
        return "no folder"
    ratio = bounds[1]
    text = times(ratio) + (" *" if runs.other_work(run["input"]) else "")
    if not runs.told_apart(bounds):
        return f"≈ {text}"
    return Html(f"<b>{text}</b>") if ratio < 1 else text


def gaps(runs: Runs) -> list[Table]:
    found = [[gap["input"], gap["condition"], gap["reason"]] for gap in runs.body["not_measured"]]
    return [Table("Not measured", ["input", "condition", "why"], found, 3)] if found else []


def input_table(runs: Runs) -> Table:
    fields = {"input": "name", "format": "format", "images stored as": "image", "path": "path",
              "file system": "file_system"}  # fmt: skip
    columns = [
        *((head, itemgetter(field)) for head, field in fields.items()),
        ("images", lambda each: f"{each['samples']:,}"),
        ("bytes", lambda each: bytes_text(each["bytes"])),
    ]
    return Table.of("Inputs", columns, runs.inputs, texts=5)


def packing(body: dict[str, Any]) -> list[Table]:
    def row(cost: dict[str, Any]) -> list[str]:
        if "seconds" not in cost:
            return [cost["input"], "was packed already"]
        sizes = (bytes_text(cost.get(field, 0)) for field in ("bytes_in", "bytes_out"))
        return [cost["input"], number(cost["seconds"]), number(cost.get("cpu_s", 0)), *sizes]

    found = [row(cost) for cost in body.get("packing", [])]
    return [Table("What packing cost", ["input", "seconds", "CPU-seconds", "read", "written"], found)] if found else []


def condition_table(runs: Runs) -> Table:
    columns = [("condition", condition_name), ("what it is", condition_details)]
    return Table.of("Conditions", columns, runs.conditions, texts=2)

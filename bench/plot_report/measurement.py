"""The section of a measurement: what was gained, where the time goes, and the figures behind it."""

import math
from collections.abc import Callable
from typing import Any

from plot_report import facts, speed, steps
from plot_report.documents import Document
from plot_report.look import Palette, bytes_text, condition_details, condition_name, number, times
from plot_report.page import Html, Note, Picture, Section, Table
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
PICTURES = (  # name, title, how to read it, what draws it
    (
        "speedup-training",
        "Training speed against the folder",
        WHISKERS,
        lambda runs, palette: speed.speedup(
            runs, palette, "training", "Training speed against the folder (right of 1× is faster)"
        ),
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
        lambda runs, palette: speed.speedup(
            runs, palette, "read", "Reading speed against the folder (right of 1× is faster)"
        ),
    ),
    (
        "speedup-decode",
        "Reading and decoding speed against the folder",
        "Batches as training gets them, without training. " + WHISKERS,
        lambda runs, palette: speed.speedup(
            runs, palette, "decode", "Reading + decoding speed against the folder (right of 1× is faster)"
        ),
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


def training_table(runs: Runs) -> Table:
    copies = any(run["training"]["copy_ms"]["max"] > 0 for run in runs.found.values())

    def row(run: dict[str, Any]) -> list[str]:
        training = run["training"]
        return [
            ratio_text(runs, run, "training"),
            facts.spread(training["images_per_s"]),
            facts.spread(training["wait_share"], 100),
            facts.middle(training["wait_ms"]),
            facts.middle(training["compute_ms"]),
            *([facts.middle(training["copy_ms"])] if copies else []),
            number(max(training["step_ms_quantiles"]["ms"]), aligned=True),
            facts.middle(training["cpu_s_per_1000"]),
            facts.middle(training["first_batch_s"]),
            "no number" if training["loss"] is None else number(training["loss"], aligned=True),
        ]

    head = [
        "input",
        "speedup",
        "images/s",
        "waiting, %",
        "waiting, ms/step",
        "compute, ms/step",
        *(["copy, ms/step"] if copies else []),
        "slowest step, ms",
        "CPU-s/1000 images",
        "first batch, s",
        "loss",
    ]
    return Table(
        "Training", head, rows(runs, row), 1, SPREADS + (" Copying goes on beside the compute." if copies else "")
    )


def reading_table(runs: Runs) -> Table:
    def row(run: dict[str, Any]) -> list[str]:
        read, decode = run["read"], run["decode"]
        return [
            ratio_text(runs, run, "read"),
            facts.spread(read["images_per_s"]),
            facts.middle(read["mb_per_s"]),
            facts.middle(read["disk_bytes_per_image"]),
            ratio_text(runs, run, "decode"),
            facts.spread(decode["images_per_s"]),
            facts.middle(decode["cpu_s_per_1000"]),
            facts.middle(decode["batch_p50_ms"]),
            facts.middle(decode["batch_p99_ms"]),
        ]

    head = [
        "input",
        "read: speedup",
        "images/s",
        "MB/s",
        "from storage, bytes/image",
        "read + decode: speedup",
        "images/s",
        "CPU-s/1000 images",
        "batch p50, ms",
        "batch p99, ms",
    ]
    return Table("Reading, and reading + decoding", head, rows(runs, row), 1, SPREADS)


def epoch_table(runs: Runs) -> Table:
    def row(run: dict[str, Any]) -> list[str]:
        parts = run["attribution"]
        places = max(0, 2 - math.floor(math.log10(parts["epoch_s"]))) if parts["epoch_s"] > 0 else 3
        fields = ("epoch_s", *(field for field, *_ in steps.EPOCH))
        return [f"{round(parts[field], places) + 0.0:,.{places}f}" for field in fields]  # + 0.0: no -0.00

    head = ["input", "epoch, s", "device, s", "sharing, s", "preparation stall, s", "fetch stall, s", "other, s"]
    return Table("Time of an epoch", head, rows(runs, row))


def rows(runs: Runs, make: Callable[[dict[str, Any]], list[str]]) -> list[list[str]]:
    """For each condition a heading, and a row for each input, also for those not measured."""
    found = []
    for condition in runs.conditions:
        found.append([condition_name(condition)])
        for name in runs.names:
            run = runs.of(name, condition)
            found.append([name, *(make(run) if run else [f"not measured: {runs.reason(name, condition)}"])])
    return found


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
    found = [
        [
            each["name"],
            each["format"],
            each["image"],
            each["path"],
            each["file_system"],
            f"{each['samples']:,}",
            bytes_text(each["bytes"]),
        ]
        for each in runs.inputs
    ]
    return Table("Inputs", ["input", "format", "images stored as", "path", "file system", "images", "bytes"], found, 5)


def packing(body: dict[str, Any]) -> list[Table]:
    def row(cost: dict[str, Any]) -> list[str]:
        if "seconds" not in cost:
            return [cost["input"], "was packed already"]
        sizes = (bytes_text(cost.get(field, 0)) for field in ("bytes_in", "bytes_out"))
        return [cost["input"], number(cost["seconds"]), number(cost.get("cpu_s", 0)), *sizes]

    found = [row(cost) for cost in body.get("packing", [])]
    return [Table("What packing cost", ["input", "seconds", "CPU-seconds", "read", "written"], found)] if found else []


def condition_table(runs: Runs) -> Table:
    found = [[condition_name(each), condition_details(each)] for each in runs.conditions]
    return Table("Conditions", ["condition", "what it is"], found, 2)

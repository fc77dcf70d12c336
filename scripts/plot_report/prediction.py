"""The section of a prediction: what each part of a machine would allow, and how well that fits the measurements."""

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plot_report import facts
from plot_report.documents import Document
from plot_report.look import (
    BAR, FOLDER, GREY, MARKERS, PALE, Palette, condition_details, condition_name, head, legend_below, log_axis,
    name_rows, note_row, number, ordered, paler, panels, row_text,
)  # fmt: skip
from plot_report.page import Html, Note, Picture, Section, Table

PARTS = {
    "storage": "storage (MB/s)",
    "cpu": "CPU (reading, decoding)",
    "device": "device (training)",
    "latency": "latency (waiting for reads)",
}
WORK = {"training": "training", "decode": "reading and decoding"}
BEYOND = 2.2  # a limit above this multiple of the fastest prediction is drawn as an arrow


def section(document: Document, palette: Palette, stem: str, simulated: set[str]) -> Section:
    body = document.body
    machine = body["machine"]
    condition = machine["condition"]
    own = [
        ("made", body["created"]),
        ("computed from", body["from"]),
        ("machine", counts(machine) + "".join(details(machine))),
        ("condition", f"{condition_name(condition)}: {condition_details(condition)}"),
    ]
    title = f"Prediction: {where(machine)} ({document.path.name})"
    return Section(
        title,
        own,
        verdict(body),
        [*prediction_parts(body, palette, stem), *check_parts(body, palette, stem, simulated)],
    )


def counts(machine: dict[str, Any]) -> str:
    devices = machine["devices"]
    return f"{facts.cpus(machine['cpus'])}, {devices} device{'s' * (devices != 1)}"


def details(machine: dict[str, Any]) -> Iterator[str]:
    if "workers" in machine:
        yield f", {machine['workers']} workers (reader threads)"
    if machine.get("core_speed", 1) != 1:
        yield f", each CPU {number(machine['core_speed'])} times as fast as those measured"
    if machine.get("device_is_cpu"):
        yield "; the CPUs train, too"


def where(machine: dict[str, Any]) -> str:
    return f"{counts(machine)}, {condition_name(machine['condition'])}"


def verdict(body: dict[str, Any]) -> list[str]:
    sentences = []
    if body["predictions"]:
        best = max(body["predictions"], key=lambda each: each["images_per_s"])
        rate = number(best["images_per_s"])
        sentences.append(f"Fastest is {best['input']}: {rate} images/s predicted, limited by its {best['bottleneck']}.")
    errors = sorted(abs(each["error"]) for each in body["check"])
    if errors:
        middle = errors[len(errors) // 2]
        sentences.append(
            f"On the machine that was measured the same computation is off by {100 * middle:.0f} % in the median of "
            f"{len(errors)} figures, by {100 * errors[-1]:.0f} % at worst."
        )
    return sentences


def prediction_parts(body: dict[str, Any], palette: Palette, stem: str) -> list[Picture | Table | Note]:
    if not body["predictions"]:
        return [Note("The document predicts no input.")]
    caption = (
        "Images a second that each part by itself would allow; the shortest bar of a row, in full colour with its "
        "figure in bold, is the bottleneck and so the prediction. The other parts have room to spare. An arrow goes "
        "on beyond the edge; its figure says how far."
    )
    columns = [
        ("input", itemgetter("input")),
        ("predicted, images/s", lambda each: number(each["images_per_s"])),
        ("bottleneck", itemgetter("bottleneck")),
        *((f"{part} allows, images/s", partial(limit_text, part)) for part in PARTS),
    ]
    return [
        Picture.of(f"{stem}-limits", "What limits each input", caption, limits(body, palette)),
        Table.of("Prediction", columns, body["predictions"]),
    ]


def check_parts(body: dict[str, Any], palette: Palette, stem: str, simulated: set[str]) -> list[Picture | Table | Note]:
    checks = [{**each, "condition": check_condition(each["condition"], simulated)} for each in body["check"]]
    drawn = [each for each in checks if each["predicted"] > 0 and each["measured"] > 0]
    parts: list[Picture | Table | Note] = []
    if drawn:
        caption = (
            "The same computation for the machine that was measured, beside what was measured there. Left: on the "
            "line the prediction is right, above it too high; the grey band is 10 % to either side. Right: the error "
            "of each input; near 0 is good. Filled points are training, hollow ones reading and decoding alone."
        )
        parts.append(Picture.of(f"{stem}-check", "Predicted against measured", caption, check(drawn, palette)))
    else:
        parts.append(Note("The document holds no figure to check the prediction with."))
    columns = [
        ("input", itemgetter("input")),
        ("condition", itemgetter("condition")),
        ("work", lambda each: WORK[work(each)]),
        ("predicted, images/s", lambda each: number(each["predicted"])),
        ("measured, images/s", lambda each: number(each["measured"])),
        ("error", lambda each: error_text(each["error"])),
    ]
    return [*parts, *([Table.of("Check", columns, checks, texts=3)] if checks else [])]


def check_condition(name: str, simulated: set[str]) -> str:
    return f"{name} (simulated)" if name in simulated else name


def limit_text(part: str, prediction: dict[str, Any]) -> str:
    value = prediction["limits"].get(part)
    return "no limit" if value is None else number(value)


def error_text(error: float) -> str:
    text = f"{100 * error:+.1f} %"
    return Html(f"<b>{text}</b>") if abs(error) > 0.1 else text


def limits(body: dict[str, Any], palette: Palette) -> Figure:
    """A panel for each part, a row for each input."""
    names = [each["input"] for each in body["predictions"]]
    figure, axes = panels(
        len(PARTS),
        len(names),
        f"What each part would allow; the shortest, in full colour, limits: {where(body['machine'])}",
        share_x=True,
        columns=4,
    )
    edge = BEYOND * max(each["images_per_s"] for each in body["predictions"]) or 1
    for each, (part, title) in zip(axes, PARTS.items()):
        each.set_title(title)
        each.set_xlabel("images/s")
        each.set_xlim(0, edge * 1.32)
        each.grid(axis="x", color=PALE)
        ticks = [tick for tick in each.get_xticks() if tick <= edge]
        each.set_xticks(ticks, [number(tick) for tick in ticks])
        name_rows(each, names, palette)
        for y, entry in enumerate(body["predictions"]):
            limit_row(
                each, y, entry["limits"].get(part), entry["bottleneck"] == part, palette.colour(entry["input"]), edge
            )
    return figure


def limit_row(axes: Axes, y: int, value: float | None, bottleneck: bool, colour: Any, edge: float) -> None:
    if value is None:
        note_row(axes, y, "no limit")
        return
    length = min(value, edge)
    shade = colour if bottleneck else paler(colour, 0.72)
    axes.barh(y, length, height=BAR, color=shade, edgecolor="black", linewidth=1.0 * bottleneck)
    arrow = "→ " if value > edge else ""
    text = arrow + (f"{value / 1e6:.3g} M" if value >= 1e6 else number(value))
    look = {"fontweight": "bold", "color": "black"} if bottleneck else {"fontweight": "normal", "color": FOLDER}
    row_text(axes, y, length, text, **look)


def check(checks: list[dict[str, Any]], palette: Palette) -> Figure:
    conditions = ordered(each["condition"] for each in checks)
    names = ordered(each["input"] for each in checks)
    marker = {condition: MARKERS[i % len(MARKERS)] for i, condition in enumerate(conditions)}
    figure = Figure(figsize=(12, max(4.9, 1.3 + 0.26 * len(names))), layout="constrained")
    scatter, errors = figure.subplots(1, 2, width_ratios=(1, 1.25))
    head(figure, "Prediction against measurement on the machine that was measured")
    values = [value for each in checks for value in (each["predicted"], each["measured"])]
    low, high = min(values) / 1.25, max(values) * 1.25
    scatter.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    scatter.set_title("On the line is right, above it too high")
    scatter.plot([low, high], [low, high], color="black", linewidth=1)
    scatter.fill_between([low, high], [low * 0.9, high * 0.9], [low * 1.1, high * 1.1], color=PALE, zorder=0)
    for axis in (scatter.xaxis, scatter.yaxis):
        log_axis(axis, low, high, number)
    scatter.set_xlabel("measured, images/s (logarithmic)")
    scatter.set_ylabel("predicted, images/s (logarithmic)")
    errors.set_title("Error of each input (near 0 is good)")
    ratios = [each["predicted"] / each["measured"] for each in checks]
    least, most = min([0.85, *ratios]) / 1.04, max([1.15, *ratios]) * 1.04
    errors.set(xscale="log", xlim=(least, most))
    log_axis(errors.xaxis, least, most, lambda ratio: f"{100 * (ratio - 1):+.0f} %" if ratio != 1 else "0")
    errors.set_xlabel("error of the prediction (right: too high; logarithmic)")
    errors.axvspan(0.9, 1.1, color=PALE, zorder=0)
    errors.axvline(1, color="black", linewidth=1)
    name_rows(errors, names, palette)
    both = len({work(each) for each in checks}) > 1
    for each in checks:
        colour, row = palette.colour(each["input"]), names.index(each["input"])
        trained = work(each) == "training"
        look = outline(marker[each["condition"]], colour if trained else "white", colour if not trained else "black")
        scatter.plot([each["measured"]], [each["predicted"]], **look)
        errors.plot([each["predicted"] / each["measured"]], [row + (0.16 if trained else -0.16) * both], **look)
    handles = [Line2D([], [], **outline(marker[each], GREY, "black"), label=each) for each in conditions]
    if both:
        handles.append(Line2D([], [], **outline("o", GREY, "black"), label="filled: training"))
        handles.append(Line2D([], [], **outline("o", "white", GREY), label="hollow: reading and decoding"))
    legend_below(figure, handles, title="condition (the colour is the input)")
    return figure


def outline(marker: str, face: Any, edge: Any) -> dict[str, Any]:
    width = 0.4 if face != "white" else 1.4
    return {"marker": marker, "markersize": 6.5, "linestyle": "", "markerfacecolor": face, "markeredgecolor": edge,
            "markeredgewidth": width}  # fmt: skip


def work(entry: dict[str, Any]) -> str:
    """The work that a check's figures are about; documents that do not say mean training."""
    return entry.get("work", "training")

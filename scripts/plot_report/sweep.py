"""The section of a sweep: speed and waiting by reader threads, a curve for each number of batches in memory."""

from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from plot_report import facts
from plot_report.documents import Document
from plot_report.look import (
    FOLDER, MARKERS, PALE, VERMILLION, bytes_text, condition_name, head, legend_below, number, plain_axis,
)  # fmt: skip
from plot_report.page import Note, Picture, Section, Table

CURVES = 10  # curves that a picture shows


def section(document: Document, stem: str) -> Section:
    body = document.body
    condition = condition_name(body["condition"])
    title = f"Sweep: {body['input']['name']}, {condition} ({document.path.name})"
    knee, best = body["knee"], body["recommended"]
    rising = "; speed still rose at the end of the sweep, so the knee may lie beyond" if knee["still_rising"] else ""
    verdict = [
        f"Recommended: {setting(best)} in memory. {best['reason']}",
        f"Knee: {setting(knee)}, {number(knee['images_per_s'])} images/s{rising}.",
    ]
    allowed = body["limits"]
    free = f"{bytes_text(allowed['memory_available_bytes'])} of memory free"
    worker = allowed.get("memory_per_worker_bytes")
    each = f", about {bytes_text(worker)} for a further worker" if worker is not None else ""
    own = [
        *facts.input_facts(body["input"]),
        *facts.condition_facts([body["condition"]]),
        ("limits", f"{facts.cpus(allowed['cpus'])}, {free}{each}"),
        ("repeats", str(body["repeats"])),
        ("device limit", facts.limit_text(body["device_limit"])),
    ]
    caption = (
        "Each curve is one number of batches in memory; the bars span the repeats, hollow points are noisy. Left: up "
        "is faster, and nothing passes the dashed device limit. Right: down is better; at 0 the device never waits. "
        "The star is the knee, from which more gains little; the ring is the setting to use. The dotted line is the "
        "number of CPUs."
    )
    shown = Picture.of(f"{stem}-sweep", "Speed and waiting by workers and batches in memory", caption, picture(body))
    drawn, depths = curves(body)
    parts: list[Table | Picture | Note] = [shown]
    if len(drawn) < len(depths):
        parts.append(Note(f"The picture shows {len(drawn)} of {len(depths)} numbers of batches; the table holds all."))
    parts += [table(body), *(Note(f"Not tried: {text}") for text in allowed.get("left_out", []))]
    return Section(title, facts.common(body) + own, verdict, parts)


def curves(body: dict[str, Any]) -> tuple[list[int], list[int]]:
    """The numbers of batches to draw, including those of the knee and the recommendation; and all there are."""
    depths = sorted({point["slots"] for point in body["points"]})
    kept = {body["knee"]["slots"], body["recommended"]["slots"]} & set(depths)
    spread = [depths[round(i * (len(depths) - 1) / (CURVES - 3))] for i in range(CURVES - 2)]
    return depths if len(depths) <= CURVES else sorted(kept | set(spread)), depths


def picture(body: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(12, 5.0), layout="constrained")
    speed, wait = figure.subplots(1, 2)
    where = f"{body['input']['name']}, {condition_name(body['condition'])}"
    head(figure, f"Training speed by reader threads: {where}")
    speed.set_title("Speed (up is faster)")
    wait.set_title("Waiting for data (down is better)")
    depths, _ = curves(body)
    for i, slots in enumerate(depths):
        points = sorted((p for p in body["points"] if p["slots"] == slots), key=lambda point: point["workers"])
        look = {
            "color": matplotlib.colormaps["cividis"](0.05 + 0.8 * i / max(1, len(depths) - 1)),
            "marker": MARKERS[i % len(MARKERS)],
            "label": f"{slots} batch{'es' * (slots != 1)} in memory",
        }
        curve(speed, points, "images_per_s", 1, look)
        curve(wait, points, "wait_share", 100, look)
    limit = body["device_limit"]["images_per_s"]["median"]
    speed.axhline(limit, color="black", linewidth=1, linestyle="--", label="device limit")
    marks(speed, wait, body)
    for each, text in ((speed, "images/s in training"), (wait, "% of the time waiting for data")):
        each.set_ylabel(text)
        each.set_ylim(bottom=0)
        each.grid(color=PALE)
        plain_axis(each.yaxis)
        worker_axis(each, [point["workers"] for point in body["points"]], body["limits"]["cpus"])
    speed.set_ylim(0, speed.get_ylim()[1] * 1.03)
    wait.set_ylim(0, max(5.0, wait.get_ylim()[1] * 1.03))
    handles = speed.get_legend_handles_labels()[0]
    legend_below(figure, sorted(handles, key=lambda handle: not isinstance(handle, ErrorbarContainer)), columns=5)
    return figure


def curve(axes: Axes, points: list[dict[str, Any]], field: str, scale: float, look: dict[str, Any]) -> None:
    xs = [point["workers"] for point in points]
    middle = [scale * point[field]["median"] for point in points]
    below = [max(0, m - scale * point[field]["min"]) for m, point in zip(middle, points)]
    above = [max(0, scale * point[field]["max"] - m) for m, point in zip(middle, points)]
    axes.errorbar(xs, middle, yerr=[below, above], capsize=2, linewidth=1.6, elinewidth=0.9, markersize=5.5, **look)
    noisy = [i for i, point in enumerate(points) if point["images_per_s"]["noisy"]]
    hollow = {"marker": look["marker"], "markersize": 5.5, "markerfacecolor": "white", "markeredgecolor": look["color"]}
    axes.plot([xs[i] for i in noisy], [middle[i] for i in noisy], linestyle="", zorder=4, **hollow)


def marks(speed: Axes, wait: Axes, body: dict[str, Any]) -> None:
    """Marks the knee and the recommended setting in both panels."""
    found = {(point["workers"], point["slots"]): point for point in body["points"]}
    knee, best = body["knee"], body["recommended"]
    ring = {"marker": "o", "markersize": 15, "markerfacecolor": "none", "markeredgewidth": 1.8}
    looks = (
        (knee, {"marker": "*", "markersize": 11, "color": VERMILLION, "label": f"knee: {setting(knee)}"}),
        (best, {**ring, "color": VERMILLION, "label": f"recommended: {setting(best)}"}),
    )
    for mark, look in looks:
        workers = mark["workers"]
        if point := found.get((workers, mark["slots"])):
            look |= {"linestyle": "", "zorder": 5}
            speed.plot([workers], [point["images_per_s"]["median"]], **look)
            wait.plot([workers], [100 * point["wait_share"]["median"]], clip_on=False, **look)
        else:
            speed.axvline(workers, color=VERMILLION, linewidth=1, label=look["label"] + ", not among the points")


def setting(mark: dict[str, Any]) -> str:
    return f"{mark['workers']} worker{'s' * (mark['workers'] != 1)}, {mark['slots']} batch{'es' * (mark['slots'] != 1)}"


def worker_axis(axes: Axes, workers: list[int], cpus: float) -> None:
    """Sets a linear axis for few threads, otherwise a logarithmic one, with as many ticks at the tried numbers as there
    is room for; and draws a line for the CPUs."""
    tried = sorted(set(workers))
    high = max(tried[-1], 1)
    near = cpus <= 1.5 * high
    if near:
        high = max(high, cpus)
    text = facts.cpus(cpus) + ("" if near else ", far to the right")
    axes.axvline(cpus if near else -9, color=FOLDER, linewidth=1, linestyle=":", label=text)
    if high > 24:
        axes.set_xscale("symlog", base=2, linthresh=1)
        axes.set_xlim(tried[0] * 0.85 if tried[0] else -0.3, high * 1.2)
        tried = [n for n in tried if n & (n - 1) == 0] or tried
    else:
        axes.set_xlim(tried[0] - 0.3 - 0.02 * high, high + 0.3 + 0.02 * high)
    axes.xaxis.set_major_locator(FixedLocator(tried[:: -(-len(tried) // 13)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(f"workers (reader threads{', logarithmic' if high > 24 else ''})")


def table(body: dict[str, Any]) -> Table:
    def marks_of(point: dict[str, Any]) -> str:
        setting_of = {"workers": point["workers"], "slots": point["slots"]}
        return ", ".join(name for name in ("knee", "recommended") if setting_of.items() <= body[name].items())

    columns = [
        ("batches in memory", lambda point: str(point["slots"])),
        ("workers", lambda point: str(point["workers"])),
        ("training, images/s", lambda point: facts.spread(point["images_per_s"])),
        ("waiting, %", lambda point: facts.spread(point["wait_share"], 100)),
        ("memory of the batches", lambda point: bytes_of(point, "batches_bytes")),
        ("of the program", lambda point: bytes_of(point, "memory_bytes")),
        ("", marks_of),
    ]
    points = sorted(body["points"], key=lambda each: (each["slots"], each["workers"]))
    return Table.of("Points", columns, points, texts=0)


def bytes_of(point: dict[str, Any], field: str) -> str:
    return bytes_text(point[field]) if field in point else "not said"

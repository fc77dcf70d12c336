"""Pictures of how fast the inputs of a measurement are: against the folder, and by storage."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plot_report.look import (
    BAR, FOLDER, LOSS, PALE, Palette, condition_name, head, label, legend_below, log_axis, note_row, number,
    ordered, row_panels, row_text, times,
)  # fmt: skip
from plot_report.runs import Runs

BESIDE = 0.008  # of a panel's width
ROOM, NOISY_ROOM = 0.18, 0.29  # of a logarithmic axis, right of the longest bar, for its text


def speedup(runs: Runs, palette: Palette, what: str, title: str) -> Figure:
    """A bar for each input in a panel for each condition, from 1x to the right for a gain, to the left for a loss."""
    figure, axes = row_panels(runs, palette, title, share_x=True)
    found = [(name, condition["name"]) for name in runs.names for condition in runs.conditions]
    bounds = [ratio for name, condition in found if (ratio := runs.ratios(name, condition, what))]
    low, high = limits(bounds, NOISY_ROOM if runs.any_noisy(what) else ROOM)
    for each, condition in zip(axes, runs.conditions):
        each.set_xscale("log")
        each.set_xlim(low, high)
        log_axis(each.xaxis, low, high, lambda value: f"{number(value)}×")
        each.set_xlabel("times the folder's images/s (logarithmic)")
        each.axvspan(low, 1, color=PALE, zorder=0)
        each.axvline(1, color=FOLDER, linewidth=1)
        for y, name in enumerate(runs.names):
            speedup_row(each, y, runs, name, condition, what, palette)
    return figure


def speedup_row(
    axes: Axes, y: int, runs: Runs, name: str, condition: dict[str, Any], what: str, palette: Palette
) -> None:
    bounds = runs.ratios(name, condition["name"], what)
    if bounds is None:
        if run := runs.of(name, condition):
            note_row(axes, y, runs.gap(run))
        return
    least, ratio, most = bounds
    colour = palette.colour(name)
    if name == runs.folder:
        axes.plot([ratio], [y], marker="D", markersize=5, color=colour)
    else:
        axes.barh(y, ratio - 1, left=1, height=BAR, color=colour)
    axes.plot([least, most], [y, y], color="black", linewidth=1, marker="|", markersize=4)
    text, weight, shade = times(ratio), "normal", "black"
    if name == runs.folder:
        text, shade = "the folder", FOLDER
    elif not runs.told_apart(bounds):
        text, shade = f"≈ {text}", FOLDER
    elif ratio < 1:
        text, weight, shade = f"{text}, slower", "bold", LOSS
    text += " *" if runs.other_work(name) else ""
    text += ", noisy" if runs.noisy(name, condition, what) else ""
    row_text(axes, y, max(most, 1), text, color=shade, fontweight=weight)


def limits(bounds: list[tuple[float, float, float]], room: float) -> tuple[float, float]:
    """Of the axis: 1 and all whiskers, and room for the text of the longest bar."""
    low = min([0.85, *(least / 1.1 for least, _, _ in bounds)])
    high = max([1.2, *(most for _, _, most in bounds)])
    return low, high * (high / low) ** (room / (1 - room))


def storage(runs: Runs, palette: Palette) -> Figure:
    """Speedup and images a second over the conditions, from the fastest storage to the slowest. Many inputs have a
    panel for each format."""

    def ratio(name: str, condition: dict[str, Any]) -> float:
        return (runs.ratios(name, condition["name"], "training") or (0, 0))[1]

    def rate(name: str, condition: dict[str, Any]) -> float:
        return runs.median(name, condition, "training")

    conditions = runs.by_storage()
    packed = [name for name in runs.names if name != runs.folder]
    formats = ordered(map(palette.format, packed)) if palette.by_format else [""]
    groups = [(kind, [name for name in packed if kind in ("", palette.format(name))]) for kind in formats]
    rows = 2 if packed else 1
    figure = Figure(figsize=(max(9.0, min(14.0, 4.0 * len(groups))), 1.2 + 3 * rows), layout="constrained")
    grid = figure.subplots(rows, len(groups), sharex=True, sharey="row", squeeze=False)
    head(figure, "Speed by storage, from where the folder is fastest to where it is slowest (up is faster)")
    for column, (kind, names) in enumerate(groups):
        below = grid[-1][column]
        grid[0][column].set_title(kind)
        if packed:
            lines(grid[0][column], names, conditions, palette, ratio)
            grid[0][column].axhline(1, color=FOLDER, linewidth=1)
        lines(below, [*names, runs.folder], conditions, palette, rate)
        below.axhline(runs.device_limit, color="black", linewidth=1, linestyle="--")
        names_below = [condition_name(each) for each in conditions]
        below.set_xticks(range(len(conditions)), names_below, rotation=30, ha="right", rotation_mode="anchor")
        below.set_xlim(-0.4, len(conditions) - 0.6)
    if packed:
        grid[0][0].set_ylabel("times the folder's images/s in training\n(logarithmic)")
        fit_heights(grid[0], lambda value: f"{number(value)}×")
    grid[-1][0].set_ylabel("images/s in training\n(logarithmic)")
    fit_heights(grid[-1], number)
    legend_below(figure, storage_legend(runs, palette, packed))
    return figure


def lines(
    axes: Axes,
    names: list[str],
    conditions: list[dict[str, Any]],
    palette: Palette,
    height: Callable[[str, dict[str, Any]], float],
) -> None:
    """A line for each input. They stand a little beside each other, so that equal ones are all seen."""
    axes.set_yscale("log")
    axes.grid(axis="y", color=PALE)
    for i, name in enumerate(names):
        heights = [height(name, each) for each in conditions]
        aside = BESIDE * len(conditions) * (i - (len(names) - 1) / 2)
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.5, "markersize": 5.5}
        look = {"color": palette.colour(name), "marker": palette.marker(name), **edge}
        seen = [value if value > 0 else math.nan for value in heights]
        style = "-" if name in palette.looks else ":"
        axes.plot([x + aside for x in range(len(conditions))], seen, linewidth=1.6, linestyle=style, **look)


def fit_heights(row: Sequence[Axes], text: Callable[[float], str]) -> None:
    """Ticks between the lowest and the highest that any panel of a row shows."""
    heights = [y for axes in row for line in axes.lines for y in line.get_ydata() if y == y and y > 0]
    low, high = min(heights, default=1) / 1.15, max(heights, default=1) * 1.15
    for axes in row:
        axes.set_ylim(low, high)
        log_axis(axes.yaxis, low, high, text)


def storage_legend(runs: Runs, palette: Palette, packed: list[str]) -> list[Line2D]:
    """An entry for each input; where a panel shows one format, for each way of storing images."""
    folder = Line2D([], [], color=FOLDER, marker="s", linestyle=":", label=f"{label(runs.folder)} (the folder)")
    limit = Line2D([], [], color="black", linestyle="--", label="device limit: data already in its memory")
    if not palette.by_format:
        entries = [(label(name), palette.colour(name), palette.marker(name)) for name in packed]
    else:
        first = {palette.inputs[name]["image"]: name for name in reversed(packed)}
        entries = [
            (image, palette.colour(first[image]), "") for image in ordered(palette.inputs[n]["image"] for n in packed)
        ]
    shown = [Line2D([], [], color=colour, marker=marker, label=text, linewidth=2) for text, colour, marker in entries]
    return [*shown, folder, limit]

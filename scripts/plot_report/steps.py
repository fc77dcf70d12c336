"""Pictures of where the time of a measurement goes: of a step, of an epoch, and how evenly steps follow each other."""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plot_report.look import (
    BAR, FOLDER, GREY, ORANGE, SKY, VERMILLION, Palette, legend_below, log_axis, number, plain_axis,
    row_panels, row_text,
)  # fmt: skip
from plot_report.runs import Runs

EPOCH = (  # field, what it is, colour, hatch
    ("device_s", "device: what it needs by itself", GREY, ""),
    ("sharing_s", "sharing: steps slower because loading uses the same cores", SKY, ""),
    ("preparation_s", "stalled for preparation (decoding, augmenting)", ORANGE, ""),
    ("fetch_s", "stalled for fetching (storage)", VERMILLION, ""),
    ("other_s", "other", "white", "////"),
)
ROOM, NOISY_ROOM, EPOCH_ROOM = 0.38, 0.47, 0.2  # of an axis, right of the longest bar, for its text
CLEAR = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6}  # of the device limit, which may run behind
RANGE = 20  # largest over smallest from which a logarithmic scale helps


def for_each_run(runs: Runs, axes: list[Axes], draw: Callable[[Axes, int, dict[str, Any]], float], room: float) -> None:
    """Draws the rows of all panels, each from 0 to its own longest, with room for the text behind it."""
    for each, condition in zip(axes, runs.conditions):
        found = [(y, run) for y, name in enumerate(runs.names) if (run := runs.of(name, condition))]
        longest = max([draw(each, y, run) for y, run in found], default=1)
        low = min(0, each.dataLim.x0) if found else 0
        each.set_xlim(low, low + (longest - low) / (1 - room) or 1)
        plain_axis(each.xaxis)


def step_parts(runs: Runs, palette: Palette) -> Figure:
    """Waiting and the rest of a step, and the copy that goes on beside it."""
    title = "Time of a training step (shorter is faster; waiting is what better loading can save)"
    figure, axes = row_panels(runs, palette, title, share_x=False)
    copies = any(run["training"]["copy_ms"]["median"] > 0 for run in runs.found.values())

    def draw(each: Axes, y: int, run: dict[str, Any]) -> float:
        training = run["training"]
        wait, compute, copy = (training[field]["median"] for field in ("wait_ms", "compute_ms", "copy_ms"))
        each.barh(y, wait, height=BAR, color=VERMILLION)
        each.barh(y, compute, left=wait, height=BAR, color=GREY)
        each.barh(y + 0.2, copy, left=wait, height=0.16, color="black")
        noisy = ", noisy" if training["wait_ms"]["noisy"] and training["images_per_s"]["noisy"] else ""
        waiting = f"{percent(training['wait_share']['median'])} waiting{noisy}"
        row_text(each, y, wait + compute, f"{number(wait + compute)} ms, {waiting}", bbox=CLEAR)
        return wait + compute

    for_each_run(runs, axes, draw, NOISY_ROOM if runs.any_noisy("training") else ROOM)
    limit = runs.body["device_limit"]["step_ms"]["median"]
    for each in axes:
        each.axvline(limit, color="black", linewidth=1, linestyle="--")
        each.set_xlabel("ms a step (each panel has its own scale)")
    handles = [
        Patch(color=VERMILLION, label="waiting for data"),
        Patch(color=GREY, label="compute (all that is not waiting)"),
    ]
    if copies:
        handles.append(Patch(color="black", label="copy to the device, beside the compute"))
    legend_below(figure, [*handles, limit_handle()])
    return figure


def attribution(runs: Runs, palette: Palette) -> Figure:
    """The seconds of an epoch, by what they are spent on."""
    title = "Where an epoch's time goes (shorter is faster; grey is what the device needs anyway)"
    figure, axes = row_panels(runs, palette, title, share_x=False)

    def draw(each: Axes, y: int, run: dict[str, Any]) -> float:
        parts = run["attribution"]
        right, left = 0.0, 0.0
        for field, _, colour, hatch in EPOCH:
            seconds = parts[field]
            start = right if seconds >= 0 else left
            look = {"color": colour, "hatch": hatch, "edgecolor": FOLDER if hatch else colour}
            each.barh(y, seconds, left=start, height=BAR, linewidth=0.4 if hatch else 0, **look)
            right, left = right + max(seconds, 0), left + min(seconds, 0)
        each.plot([parts["epoch_s"]] * 2, [y - 0.4, y + 0.4], color="black", linewidth=1.2)
        row_text(each, y, max(right, parts["epoch_s"]), f"{number(parts['epoch_s'])} s", bbox=CLEAR)
        return max(right, parts["epoch_s"])

    for_each_run(runs, axes, draw, EPOCH_ROOM)
    images = runs.inputs[0]["samples"]
    for each in axes:
        if runs.device_limit > 0:
            each.axvline(images / runs.device_limit, color="black", linewidth=1, linestyle="--")
        each.set_xlabel("seconds an epoch (each panel has its own scale)")
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=FOLDER if hatch else colour, label=text)
        for _, text, colour, hatch in EPOCH
    ]
    end = Line2D([], [], color="black", marker="|", linestyle="", markersize=10, label="end of the epoch")
    legend_below(figure, [*handles, end, limit_handle()], columns=3)
    return figure


def latency(runs: Runs, palette: Palette) -> Figure:
    """Quantiles of the steps: how long most take, and how much longer the slowest."""
    title = "How evenly steps follow each other (left is faster; a long tail to the right is an uneven supply)"
    figure, axes = row_panels(runs, palette, title, share_x=False)
    for each, condition in zip(axes, runs.conditions):
        found = [run for name in runs.names if (run := runs.of(name, condition))]
        times = [ms for run in found for ms in run["training"]["step_ms_quantiles"]["ms"] if ms > 0]
        low, high = min(times, default=1) / 1.15, max(times, default=1) * 1.1
        wide = high / low > RANGE
        if wide:
            each.set_xscale("log")
            log_axis(each.xaxis, low, high, number)
        else:
            plain_axis(each.xaxis)
        each.set_xlim(low if wide else 0, high)
        each.set_xlabel(f"ms a step ({'logarithmic' if wide else 'linear'}; each panel has its own scale)")
        for y, name in enumerate(runs.names):
            if run := runs.of(name, condition):
                quantile_row(each, y, run["training"]["step_ms_quantiles"], palette.colour(name))
    handles = [
        Line2D([], [], color=GREY, linewidth=1, label="1 % to 99 % of the steps"),
        Line2D([], [], color=GREY, linewidth=7, label="25 % to 75 %"),
        Line2D([], [], color="black", marker="|", linestyle="", markersize=10, markeredgewidth=1.4, label="median"),
        Line2D([], [], color=GREY, marker="o", linestyle="", markersize=3.5, label="fastest and slowest step"),
    ]
    legend_below(figure, handles)
    return figure


def quantile_row(axes: Axes, y: int, quantiles: dict[str, list[float]], colour: Any) -> None:
    def at(p: float) -> float:
        """The time at the listed probability that is nearest."""
        i = min(range(len(quantiles["p"])), key=lambda each: abs(quantiles["p"][each] - p))
        return quantiles["ms"][i]

    axes.plot([at(0.01), at(0.99)], [y, y], color=colour, linewidth=1.2)
    axes.plot([at(0.25), at(0.75)], [y, y], color=colour, linewidth=7, solid_capstyle="butt")
    axes.plot([at(0), at(1)], [y, y], color=colour, marker="o", markersize=3.5, linestyle="")
    axes.plot([at(0.5)], [y], color="black", marker="|", markersize=10, markeredgewidth=1.4)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def limit_handle() -> Line2D:
    return Line2D([], [], color="black", linestyle="--", linewidth=1, label="device limit: data already in its memory")

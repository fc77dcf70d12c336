"""Text shared by tables and heads of sections: the machine, the recipe, spreads."""

from html import escape
from typing import Any

from plot_report.look import bytes_text, condition_details, condition_name, number
from plot_report.page import Html, code


def common(body: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts about a measurement or a sweep."""
    machine, recipe = body["machine"], body["recipe"]
    load = "" if machine["load_average"] is None else f"; load {number(machine['load_average'])} when it started"
    size = f"{cpus(machine['cpus'])}, {bytes_text(machine['memory_bytes'])} of memory"
    return [
        ("made", body["created"]),
        ("command", code(body["command"])),
        ("machine", f"{machine['processor']}, {size}, {machine['architecture']}, {machine['kernel']}{load}"),
        ("device", body["device"]),
        ("versions", ", ".join(f"{name} {version}" for name, version in body["versions"].items())),
        ("recipe", ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in recipe.items())),
    ]


def cpus(count: float) -> str:
    return f"{count:g} CPU{'s' * (count != 1)}"


def input_facts(entry: dict[str, Any]) -> list[tuple[str, str]]:
    what = f"{entry['name']}: {entry['format']}, {entry['image']}"
    size = f"{entry['samples']:,} images, {bytes_text(entry['bytes'])}"
    return [("input", f"{what}, {size}, {entry['path']} on {entry['file_system']}")]


def condition_facts(conditions: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [("condition", f"{condition_name(each)}: {condition_details(each)}") for each in conditions]


def limit_text(limit: dict[str, Any]) -> str:
    rate, step = limit["images_per_s"], limit["step_ms"]
    noisy = ", noisy" if rate["noisy"] else ""
    return (
        f"{number(rate['median'])} images/s, {number(step['median'])} ms a step, with data already in its memory{noisy}"
    )


def plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def spread(figure: dict[str, Any], scale: float = 1) -> Html:
    """The median, and on a line below it the smallest and the largest: `312 noisy`, `298 .. 320`."""
    low, high = (escape(number(scale * figure[field], aligned=True)) for field in ("min", "max"))
    return Html(f'{middle(figure, scale)}<br><span class="range">{low} .. {high}</span>')


def middle(figure: dict[str, Any], scale: float = 1) -> Html:
    """The median alone: `312 noisy`"""
    noisy = ' <span class="noisy">noisy</span>' if figure["noisy"] else ""
    return Html(escape(number(scale * figure["median"], aligned=True)) + noisy)

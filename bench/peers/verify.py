"""Holds what each loader delivers against the folder, once. What is wrong ends the bench with an exit code, but for the
contenders that are left as they come: they are there to show it."""

import dataclasses
import json
import math

from common.page import table
from common.reading import ReadSession
from common.suite import Contender

VERIFIED = 1000  # photos at most, no multiple of the batch
COLOURS_ALIKE, RED_BLUE_ALIKE = 0.8, 0.5  # correlations with the original; of wrong labels, about 0
DEVIATIONS = 5  # standard ones, by which the share of flipped pictures may differ from a half


class VerifySession(ReadSession):
    def __init__(self, suite, settings):
        super().__init__(suite, dataclasses.replace(settings, repeats=1))
        self.wrong = []

    def scaled(self, count):
        return min(VERIFIED, super().scaled(count))

    def measured(self, entry):
        return self.one_run(entry)  # whatever came from the disk

    def run_of(self, entry, cost, figures):
        found = wrong(figures)
        if not entry.contender.defaults:
            self.wrong += [f"{entry.name} {words}" for words in found]
        return {"foreign_cpus": cost.foreign_cpus, **figures, "wrong": found}

    def words(self, run):
        return "; ".join(run["wrong"]) or "all samples once, pictures and labels belong together"

    def facts(self):
        return super().facts() | {"rounds": 1, "wrong": self.wrong}


def packed_as_the_source(name):
    """Of what packhorse has packed; of what it reads, its own tests say the same."""

    def facts(printed, *_):
        found = json.loads(printed)
        lost = sum(finding["kind"] != "extra" for finding in found["findings"])
        return {"samples": found["checked"]["samples"], "lost": [lost], "repeated": [], "packed_only": True}

    argv = ("{packhorse}", "inspect", "{source}", "--against", "{original}", "--json")
    return Contender(name, argv, "packhorse inspect DATASET --against SOURCE", facts)


def wrong(facts):
    """What speaks against a loader, in words."""
    found = []
    if any(facts["lost"]):
        found.append(f"loses {each_epoch(facts['lost'])} of {facts['samples']:,} samples")
    if any(facts["repeated"]):
        found.append(f"repeats {each_epoch(facts['repeated'])}")
    if facts.get("packed_only"):
        return found
    if facts["colours_alike"] < COLOURS_ALIKE:
        found.append(f"labels and pictures do not belong together (colours alike by {facts['colours_alike']:.2f})")
    if facts["red_blue_alike"] < RED_BLUE_ALIKE:
        found.append("red and blue are not where they were")
    if facts["upright_of"] and abs(facts["upright"] - 0.5) > DEVIATIONS * 0.5 / math.sqrt(facts["upright_of"]):
        found.append(f"flips {1 - facts['upright']:.0%} of the pictures")
    if facts["same_crops"]:
        found.append(f"delivers {facts['same_crops']:,} crops again")
    return found


def each_epoch(numbers):
    return f"{numbers[0]:,}" if len(set(numbers)) == 1 else ", ".join(f"{number:,}" for number in numbers)


MARKS = {  # heading -> the text of a run that says it of itself
    "lost": lambda run: ", ".join(map(str, run["lost"])),
    "repeated": lambda run: ", ".join(map(str, run["repeated"])),
    "colours alike": lambda run: f"{run['colours_alike']:.2f}",
    "not flipped": lambda run: "" if run["upright"] is None else f"{run['upright']:.0%}",
    "moved by": lambda run: f"{run['moved']:.2f}",
    "first batch, later": lambda run: "overwritten" if run["overwritten"] else "kept",
}


def row(entry):
    (run,) = entry["runs"]
    if run.get("packed_only"):
        marks = [str(run["lost"][0]), "0", "as the source, by `inspect --against`", "", "", ""]
    else:
        marks = [text(run) for text in MARKS.values()]
    return [entry["name"], entry["version"], *marks, "; ".join(run["wrong"]) or "nothing"]


def verified_table(suite):
    entries = [entry for entry in suite["entries"] if entry["runs"] and not entry["failed"]]
    return table(["contender", "version", *MARKS, "what is wrong"], map(row, entries))

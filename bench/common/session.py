"""Runs a suite: its entries take turns, A B C A B C, each by itself."""

import dataclasses
import sys

from common.data import CannotMake, Places
from common.measure import Failed
from common.rows import row_of


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a run was asked to do; `tools` is what a bench's commands are made of."""

    places: Places
    tools: object
    repeats: int = 3
    timeout: float = 900
    scale: float = 1.0  # of the number of files
    only: tuple = ()  # names of contenders; empty: all


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Session:
    """One suite on this machine; a bench fills in what its entries need and what a turn of one is. One thread.

    A suite has `name`, `title`, `cache`, `entries` and `rows`; an entry has `name`, `contender`, `data` and `count`; a
    contender has `shown` and `missing(tools)`.
    """

    def __init__(self, suite, settings):
        self.suite, self.settings = suite, settings
        self.folders = {}  # of each (data, count): what data.py made
        self.entries = {}

    def make(self, entry):
        """Makes what the entry reads. May raise CannotMake, which ends the suite, or Failed, which ends the entry."""

    def made(self):
        """After all entries have what they read."""

    def measured(self, entry):
        """One run, as a dictionary for the report; may raise Failed."""
        raise NotImplementedError

    def words(self, run):
        """A run in a line."""
        raise NotImplementedError

    def clear(self):
        """Removes what was made for the suite, in whatever state it is."""

    def facts(self):
        """What the report says of the suite beside what all benches say."""
        return {}

    def rows(self):
        """Those of the suite whose contenders took part."""
        return [
            row
            for row in self.suite.rows
            if not any(self.is_left_out(name) for name in (row.subject, row.against) if name)
        ]

    def run(self):
        """The suite in JSON."""
        try:
            self.prepare()
            for repeat in range(self.settings.repeats):
                for entry in self.suite.entries:
                    if entry.name in self.entries and not self.entries[entry.name]["failed"]:
                        self.turn(entry, repeat)
        finally:
            self.clear()
        return self.report()

    def prepare(self):
        """Decides who takes part, and makes what they read."""
        for entry in self.suite.entries:
            if self.is_left_out(entry.name):
                continue
            reason = entry.contender.missing(self.settings.tools)
            self.entries[entry.name] = {"command": entry.contender.shown, "failed": reason, "runs": []}
            if reason:
                say(f"{self.suite.name}: {entry.name}: not measured: {reason}")
            else:
                self.attempt(entry, self.make, entry)
        self.made()

    def turn(self, entry, repeat):
        run = self.attempt(entry, self.measured, entry)
        if run:
            self.entries[entry.name]["runs"].append(run)
            say(f"{self.suite.name} {repeat + 1}/{self.settings.repeats}: {entry.name}: {self.words(run)}")

    def attempt(self, entry, work, *arguments):
        try:
            return work(*arguments)
        except Failed as failure:
            self.entries[entry.name]["failed"] = str(failure)
            say(f"{self.suite.name}: {entry.name}: failed: {failure}")

    def is_left_out(self, name):
        return bool(self.settings.only) and name not in self.settings.only

    def scaled(self, count):
        return max(1, round(count * self.settings.scale))

    def fail_all(self, reason):
        """The report of a suite that could not begin."""
        for entry in self.suite.entries:
            self.entries[entry.name] = {"command": entry.contender.shown, "failed": reason, "runs": []}
        return self.report()

    def report(self):
        return {
            "name": self.suite.name,
            "title": self.suite.title,
            "cache": self.suite.cache,
            **self.facts(),
            "repeats": self.settings.repeats,
            "scale": self.settings.scale,
            "only": list(self.settings.only),
            "folders": [
                {"data": data, "files": folder.files, "bytes": folder.bytes}
                for (data, _), folder in self.folders.items()
            ],
            "entries": [{"name": name, **entry} for name, entry in self.entries.items()],
            "rows": [row_of(row, self.entries) for row in self.rows()],
        }


def run_suite(session):
    try:
        return session.run()
    except CannotMake as reason:
        say(f"{session.suite.name}: not measured: {reason}")
        return session.fail_all(str(reason))

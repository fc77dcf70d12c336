"""A suite of the packing bench: every run is on a cache in the same state and into an empty folder."""

import dataclasses

from common.data import require_space
from common.markdown import spread_text
from common.measure import sync
from common.report import Book, conditions_text, failures_text, rows_table, suite_text
from common.session import Session


class PackSession(Session):
    field, unit = "seconds", "s"

    def made(self):
        most = max(self.folders.values(), key=lambda folder: folder.bytes, default=None)
        if most:
            require_space(self.work.parent, 1.6 * most.bytes + 3072 * most.files, "the output")

    def one_run(self, entry):
        self.empty(self.work, self.settings.tools.scratch)
        sync(self.work)
        return super().one_run(entry)

    def run_of(self, entry, cost, figures):
        out = self.work / "out"
        size = sum(file.stat().st_size for file in [out, *out.rglob("*")] if file.is_file())
        right = self.cache_was_right(cost.read_bytes, self.folder(entry).disk_bytes)
        return {**dataclasses.asdict(cost), **figures, "output_bytes": size, "cache_as_asked": right}

    def facts(self):
        return {"place": self.suite.place}


def seconds_text(suite, name):
    taken = [run["seconds"] for entry in suite["entries"] if entry["name"] == name for run in entry["runs"]]
    return spread_text(taken, "{:.2f}".format) if taken else ""


SECONDS = (
    ("seconds, ours", lambda suite, row: seconds_text(suite, row["subject"])),
    ("seconds, theirs", lambda suite, row: seconds_text(suite, row["against"])),
)


def pack_text(suite):
    return suite_text(suite, conditions_text(suite, "jobs"), rows_table(suite, SECONDS), failures_text(suite))


BOOK = Book("pack", pack_text)

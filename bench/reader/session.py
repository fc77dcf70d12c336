"""A suite of the reader's bench: every contender reads the form of the folder that suits it."""

import contextlib
import statistics

from common.markdown import spread_text, table
from common.report import Book, conditions_text, rows_table, suite_text
from common.session import Session


class ReaderSession(Session):
    field, unit = property(lambda self: self.suite.field), property(lambda self: self.suite.unit)

    @contextlib.contextmanager
    def cache_as_asked(self, entry):
        """The contenders see to it: each reads an epoch that is not timed, or drops its input from the cache."""
        yield {}

    def run_of(self, entry, cost, figures):
        if figures.get("cpu_s") and "images" in figures:
            figures["images_per_cpu_s"] = figures["images"] / figures["cpu_s"]
        right = self.cache_was_right(figures.get("disk_bytes", 0), figures.get("bytes", 0))
        return {
            "foreign_cpus": cost.foreign_cpus,
            **figures,
            "max_rss_bytes": cost.max_rss_bytes,
            "cache_as_asked": self.suite.cache == "cold" or right,
        }

    def facts(self):
        columns = [{"heading": heading, "field": field} for heading, field in self.suite.columns]
        about = {"unit": self.suite.unit, "field": self.suite.field, "columns": columns}
        return {"seconds": self.settings.tools.seconds, **about}


def number_text(value, like):
    """With as many digits as a figure like `like` deserves."""
    return f"{value:,.{0 if like >= 100 else 1 if like >= 10 else 3}f}"


def rate_text(suite, entry):
    if entry["failed"] or not entry["runs"]:
        return entry["failed"] or "not measured"
    values = [run[suite["field"]] for run in entry["runs"]]
    return spread_text(values, lambda value: number_text(value, statistics.median(values)))


def column_text(entry, field):
    """The median, where the contender tells."""
    values = [run[field] for run in entry["runs"] if field in run]
    return number_text(statistics.median(values), max(values)) if values else ""


def entries_table(suite):
    def cells(entry):
        memory = max((run["max_rss_bytes"] for run in entry["runs"]), default=None)
        columns = [column_text(entry, column["field"]) for column in suite["columns"]]
        size = f"{memory >> 20:,}" if memory else ""
        return [entry["name"], rate_text(suite, entry), *columns, size, f"`{entry['command']}`"]

    columns = [column["heading"] for column in suite["columns"]]
    head = ["contender", suite["unit"], *columns, "MiB, largest process", "command"]
    return table(head, map(cells, suite["entries"]))


def reader_text(suite):
    conditions = conditions_text(suite, "threads or processes")
    return suite_text(suite, conditions, rows_table(suite), entries_table(suite))


BOOK = Book("reader", reader_text, rounds=3)

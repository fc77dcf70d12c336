"""A suite of the reader's bench: every contender reads the form of the folder that suits it."""

import collections
import shutil
from pathlib import Path

from common.data import MAKERS, files_below
from common.inputs import Kit
from common.measure import Failed, run
from common.session import Session, say
from rows import Fastest

WARM_SHARE = 0.05  # of what it reads a warm run may have from the disk
COLD_ATTEMPTS = 3  # something else may touch the files meanwhile
NOT_COLD = ("not cold", "cannot be made cold")


class ReaderSession(Session):
    """One suite on this machine. Not for more than one thread."""

    def __init__(self, suite, settings):
        super().__init__(suite, settings)
        self.work = settings.places.data / "reader-work"
        self.kits = {}  # of each (data, count)
        self.inputs = {}  # of each entry: a path
        self.class_files = {}  # of each (data, count)
        self.clear()
        for path in (self.work, settings.tools.scratch):
            path.mkdir(parents=True)

    def make(self, entry):
        key = (entry.data, entry.count)
        if key not in self.kits:
            say(f"{self.suite.name}: folder: {entry.data}, {self.scaled(entry.count):,} files")
            self.folders[key] = MAKERS[entry.data](self.settings.places, self.scaled(entry.count))
            self.kits[key] = Kit(self.folders[key], self.settings.tools, self.work)
        say(f"{self.suite.name}: input of {entry.name}")
        self.inputs[entry.name] = self.kits[key].path(entry.form)

    def measured(self, entry):
        for attempt in range(COLD_ATTEMPTS):
            try:
                return self.one_run(entry)
            except Failed as failure:
                last = attempt + 1 == COLD_ATTEMPTS
                if last or not any(words in str(failure) for words in NOT_COLD):
                    raise
                say(f"{self.suite.name}: {entry.name}: {failure}")

    def one_run(self, entry):
        command = entry.contender.command(self.settings.tools, self.inputs[entry.name])
        cost, printed = run(list(map(str, command)), self.work, self.settings.timeout)
        figures = entry.contender.figures(printed)
        wanted = entry.samples or self.folders[entry.data, entry.count].files
        if figures.get("samples", wanted) != wanted:
            raise Failed(f"read {figures['samples']:,} of {wanted:,} samples")
        labels = figures.pop("labels", None)
        if labels and labels != self.labels(entry):
            raise Failed("read other samples than there are: some labels come too often")
        from_disk = figures.get("disk_bytes", 0)
        if figures.get("cpu_s") and "images" in figures:
            figures["images_per_cpu_s"] = figures["images"] / figures["cpu_s"]
        return {
            **figures,
            "max_rss_bytes": cost.max_rss_bytes,
            "foreign_cpus": figures.get("foreign_cpus", cost.foreign_cpus),
            "cache_as_asked": self.suite.cache == "cold" or from_disk <= WARM_SHARE * figures.get("bytes", 0),
        }

    def labels(self, entry):
        """How many files each class has, in the order of their names."""
        key = (entry.data, entry.count)
        if key not in self.class_files:
            path = self.folders[key].path
            counts = collections.Counter(Path(file).relative_to(path).parts[0] for file in files_below(path))
            self.class_files[key] = [counts[name] for name in sorted(counts)]
        return self.class_files[key]

    def words(self, run):
        rate = f"{run[self.suite.field]:,.4g} {self.suite.unit}"
        return f"{rate}, {run['max_rss_bytes'] >> 20} MiB, {run['foreign_cpus']:.2f} cores busy with other things"

    def rows(self):
        rows = [row.among(self.entries) if isinstance(row, Fastest) else row for row in self.suite.rows]
        return [row for row in rows if all(name in self.entries for name in (row.subject, row.against) if name)]

    def clear(self):
        for path in (self.work, self.settings.tools.scratch):
            shutil.rmtree(path, ignore_errors=True)

    def facts(self):
        tools = self.settings.tools
        suite = self.suite
        columns = [{"heading": heading, "field": field} for heading, field in suite.columns]
        return {
            "jobs": tools.jobs,
            "seconds": tools.seconds,
            "unit": suite.unit,
            "field": suite.field,
            "columns": columns,
        }

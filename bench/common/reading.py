"""Suites of loaders and bare loops: each reads the form of the folder that suits it, in a process of its own."""

from common.data import measured
from common.memory import MemoryWatch
from common.session import Session


class ReadSession(Session):
    """Says of each entry what it reads, too."""

    def make(self, entry):
        super().make(entry)
        size, cost = measured(self.inputs[entry.name]), self.kit(entry).costs.get(entry.form)
        self.entries[entry.name] |= {
            "version": entry.contender.version(self.settings.tools),
            "shuffle": entry.contender.shuffle,
            "disk_bytes": size.disk_bytes,
            "bytes": size.bytes,
            "convert_s": cost.seconds if cost else 0.0,
        }

    def run_of(self, entry, cost, figures):
        if figures.get("cpu_s") and "images" in figures:
            figures["images_per_cpu_s"] = figures["images"] / figures["cpu_s"]
            figures["cpu_s_per_1000"] = 1000 * figures["cpu_s"] / figures["images"]
        # A dataset of ours has lists that a pass does not read: `bytes` are those of its pictures.
        size = figures.get("bytes", self.entries[entry.name]["bytes"])
        right = "read_bytes" not in figures or self.cache_was_right(figures["read_bytes"], size)
        known = {"foreign_cpus": cost.foreign_cpus, "max_rss_bytes": cost.max_rss_bytes}
        return known | figures | {"cache_as_asked": right}

    def facts(self):
        return {"seconds": self.settings.tools.seconds}


class PassSession(ReadSession):
    """Passes whose memory is watched."""

    def watch(self, pid):
        self.memory = MemoryWatch(pid)
        return self.memory

    def run_of(self, entry, cost, figures):
        memory = {"memory_bytes": self.memory.own, "mapped_bytes": self.memory.mapped}
        return super().run_of(entry, cost, figures) | memory

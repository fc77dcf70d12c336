"""A suite beside a server of its own, as many milliseconds away as the suite says: the fault proxy of the tests delays a
connection by a round trip when it is opened and once for each request, and limits all answers together. Large answers are
not slowed down further, as those of TCP are where a window is small."""

import dataclasses
import tempfile
from pathlib import Path

from common.data import CannotMake
from common.environment import import_test_servers
from common.measure import run
from common.session import Session
from common.suite import Suite

import_test_servers()

import servers  # noqa: E402

BUCKET = "public"  # everybody may read it
CONNECTIONS = 16
LONGEST_FOLDER = 107 - len("/filer.sock.grpc")


@dataclasses.dataclass(frozen=True)
class RemoteSuite(Suite):
    delay_ms: float = 0


@dataclasses.dataclass(frozen=True)
class Task:
    """What a contender reads, s3://BUCKET/KEY or a path, and where it writes to: an empty folder, or a key."""

    endpoint: str
    source: str
    local: Path  # the same here
    out: Path
    key: str
    jobs: int
    bytes: int  # of the folder that all is made of


class RemoteSession(Session):
    def run(self):
        self.stored = {}  # path -> the same in the bucket
        folder, rate = self.settings.places.data / "s3", self.settings.options.mbit * 125_000
        if len(str(folder)) > LONGEST_FOLDER:
            raise CannotMake(f"{folder} is too long a name for sockets in it: give a shorter --data")
        distance = ("--delay-ms", str(self.suite.delay_ms), "--total-bytes-per-s", str(rate))
        self.empty(folder)
        try:
            with (
                tempfile.TemporaryDirectory() as proxy,
                servers.Seaweed(folder) as self.server,
                servers.Proxy(proxy, self.server.address, *distance) as self.proxy,
            ):
                return super().run()
        except (servers.Missing, servers.Failed) as reason:
            raise CannotMake(str(reason)) from reason
        finally:
            self.remove(folder)

    def make(self, entry):
        """What a contender reads from the bucket is put there once."""
        super().make(entry)
        path = Path(self.inputs[entry.name])
        if entry.contender.from_bucket and path not in self.stored:
            self.server.client().put_folder(BUCKET, path, path.name)
            self.stored[path] = f"s3://{BUCKET}/{path.name}"

    def one_run(self, entry):
        contender, path, out = entry.contender, Path(self.inputs[entry.name]), self.work / "out"
        self.empty(out)
        source = self.stored[path] if contender.from_bucket else str(path)
        key = f"packed-{self.round}-{list(self.entries).index(entry.name)}"
        jobs, size = self.settings.tools.jobs, self.folder(entry).bytes
        task = Task(self.proxy.url, source, path, out, key, jobs, size)
        keys = [f"{k}={v}" for k, v in self.server.environment(self.proxy.url).items() if k.startswith("AWS_")]
        cost, printed = run(["env", *keys, *contender.build(task)], self.work, self.settings.timeout)
        figures = contender.figures(printed, task, cost)
        return {"foreign_cpus": cost.foreign_cpus, "cache_as_asked": True, **figures}

    def facts(self):
        return {"delay_ms": self.suite.delay_ms, "mbit": self.settings.options.mbit}

"""What the contenders read: a folder of pictures in the form each of them wants, made before anything is measured."""

import dataclasses
import itertools
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import cache, measure
from common.data import CannotMake, Folder, files_below
from common.environment import PEER, PEERS_PYTHON

SHORT_SIDE, QUALITY = 256, 90


@dataclasses.dataclass(frozen=True)
class AsIs:
    """The folder itself."""

    def make(self, kit):
        return kit.folder.path


@dataclasses.dataclass(frozen=True)
class Packed:
    """A dataset of ours."""

    format: str
    options: tuple = ()

    def make(self, kit):
        out = kit.new_path()
        kit.costs[self] = kit.packhorse("pack", kit.folder.path, out, "--format", self.format, *self.options)
        return out


@dataclasses.dataclass(frozen=True)
class Shrunk:
    """The pictures of `--image resize` as a class folder, without the restart markers of ours: jpegtran copies the
    coefficients and leaves them out. So all decode the same pictures, and each the form that suits it."""

    def make(self, kit):
        if not shutil.which("jpegtran"):
            raise CannotMake("jpegtran is not installed: apt-get install libjpeg-turbo-progs")
        packed = kit.path(Packed("wds", resize_options()))
        marked, plain = kit.new_path(), kit.new_path()
        kit.packhorse("unpack", packed, marked)

        def copy(file):
            target = plain / Path(file).relative_to(marked)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["jpegtran", "-copy", "none", "-outfile", target, file], check=True)

        with ThreadPoolExecutor(kit.tools.jobs) as threads:
            list(threads.map(copy, (file for file in files_below(marked) if file.lower().endswith((".jpg", ".jpeg")))))
        return plain


@dataclasses.dataclass(frozen=True)
class PeerPacked:
    """What a contender makes of a folder."""

    peer: str  # a name in contenders/
    of: object = AsIs()
    shard_bytes: int = 256 << 20  # where they can be chosen

    def make(self, kit):
        out, source, tools = kit.new_path(), kit.path(self.of), kit.tools
        command = [PEERS_PYTHON, PEER, "make", self.peer, source, out, tools.jobs, "--scratch", tools.scratch]
        command += ["--shard-bytes", self.shard_bytes]
        kit.costs[self], _ = measure.run([*map(str, command)], kit.work, waits=True)
        return out


def resize_options():
    return ("--image", "resize", "--short-side", str(SHORT_SIDE), "--quality", str(QUALITY))


@dataclasses.dataclass
class Kit:
    """Makes the forms of one folder, each once, below `work`."""

    folder: Folder
    tools: object
    work: Path
    paths: dict = dataclasses.field(default_factory=dict)
    costs: dict = dataclasses.field(default_factory=dict)  # of the forms that a tool made
    numbers: object = dataclasses.field(default_factory=itertools.count)

    def path(self, form):
        if form not in self.paths:
            if not isinstance(form, AsIs):
                cache.warm(self.folder.path)  # or the first tool would wait for the disk, and the next would not
            self.paths[form] = form.make(self)
        return self.paths[form]

    def new_path(self):
        return self.work / f"{self.folder.path.name}-{next(self.numbers)}"

    def packhorse(self, *arguments):
        """The cost of a call of ours."""
        return measure.run([*map(str, [self.tools.packhorse, *arguments])], self.work)[0]

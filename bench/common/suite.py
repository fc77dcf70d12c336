"""What a bench measures: suites of entries, each a contender on a folder. (A row of a suite: rows.py.)"""

import dataclasses
import json
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from common.environment import PEER, PEERS_PYTHON, first_line, packhorse_versions, peer_version
from common.inputs import AsIs


@dataclasses.dataclass(frozen=True)
class Tools:
    """What the commands are made of."""

    packhorse: Path
    jobs: int
    scratch: Path  # of the contenders' own, which LitData clears
    seconds: float = 0  # a warm pass lasts at least, in whole epochs
    loops: Path | None = None


def printed_figures(printed, tools, out):
    return json.loads(printed)


@dataclasses.dataclass(frozen=True)
class Contender:
    """A command with {source}, {out}, {jobs} and so on to be filled in, and the figures it gives."""

    name: str
    argv: tuple
    shown: str
    figures: Callable = printed_figures  # printed bytes, tools, output -> dictionary
    program: str = ""  # that it is about, where that is not the first word
    peer: str = ""  # the name in contenders/ of what runs in the peers' environment
    waits: bool = False  # see measure.py
    wake: tuple = ("true",)  # brings the program into the page cache
    version_option: str = "--version"
    shuffle: str = ""  # how it mixes, in words
    defaults: bool = False  # as it comes, where that loses or repeats samples

    def filled(self, words, tools, **paths):
        known = {field.name: getattr(tools, field.name) for field in dataclasses.fields(tools)} | paths
        return [word.format(**known, python=PEERS_PYTHON, peer=PEER) for word in words]

    def command(self, tools, source, out="", original="", round=0):
        return self.filled(self.argv, tools, source=source, out=out, original=original, round=round)

    def woken(self, tools):
        return self.filled(self.wake, tools)

    def missing(self, tools):
        """Why it cannot run here, or nothing."""
        if self.peer:
            return peer_version(self.peer)[1]
        program = self.program or self.filled(self.argv[:1], tools)[0]
        return None if shutil.which(program) else f"{program} is not installed"

    def version(self, tools):
        if self.peer:
            return peer_version(self.peer)[0]
        if self.program:
            return first_line(self.program, self.version_option)
        return packhorse_versions(tools.packhorse).split(" (")[0]


@dataclasses.dataclass(frozen=True)
class Entry:
    """A contender, the folder it is about and the form of it that it reads. Two entries of a suite may be the same
    command on different folders."""

    contender: Contender
    data: str  # a key of data.MAKERS
    count: int
    form: object = AsIs()
    samples: int = 0  # that it reads, where that is not the number of files

    @property
    def name(self):
        return self.contender.name


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    title: str
    entries: tuple
    rows: tuple = ()
    cache: str = "warm"
    unit: str = "images/s"
    field: str = "images_per_s"  # of the runs, that has this unit
    side: int = 0  # of the crops
    tables: tuple = ()  # functions: the suite in JSON -> Markdown (tables.py)
    session: Callable | None = None  # where it is another one than the bench's


def by_name(*suites):
    return {suite.name: suite for suite in suites}


def versions(settings, contenders):
    """Of packhorse with its libraries, of the contenders that ran, and of Python."""
    found = {"packhorse": packhorse_versions(settings.tools.packhorse)}
    for contender in contenders:
        if contender.peer or contender.program:
            found[contender.peer or contender.program] = contender.version(settings.tools)
    return found | {"python": platform.python_version()}

"""The commands that are measured side by side, and how many samples each has really written."""

import dataclasses
import functools
import json
import os
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

from common.data import files_below
from common.machine import first_line, packhorse_versions
from peers import PEERS

HERE = Path(__file__).resolve().parent
PEERS_PYTHON = HERE.parent / ".venv/bin/python"

# jpegtran takes one file at a time, so as many shells as jobs each call it for 50 files in turn. Its exit code 2 is a
# warning; a file it did not write is missing from the count.
JPEGTRAN = """
mkdir "$2" && find "$1" -type f -print0 | xargs -0 -n 50 -P "$3" sh -c '
  for file; do
    jpegtran -copy all -restart 1 -optimize -outfile "$0/${file##*/}" "$file" || [ $? -eq 2 ] || exit 255
  done' "$2"
"""

# One process for each file, as many at a time as jobs.
SHA256SUM = """
cd "$1" && cut -d " " -f 3- SHA256SUMS | xargs -n 1 -P "$2" sha256sum
"""
SCRIPTS = {JPEGTRAN: "jpegtran", SHA256SUM: "sha256sum"}  # and the program each is about


@dataclasses.dataclass(frozen=True)
class Tools:
    """What the commands are made of."""

    packhorse: Path
    jobs: int
    scratch: Path


@dataclasses.dataclass(frozen=True)
class Contender:
    """A command with {source}, {out} and so on to be filled in, and the way its samples are counted."""

    name: str
    argv: tuple
    shown: str
    counted: str  # a key of COUNTERS, or a peer
    waits: bool = False
    wake: tuple = ("true",)  # brings the program into the page cache

    def command(self, tools, source, out):
        filled = {
            "packhorse": tools.packhorse,
            "source": source,
            "out": out,
            "jobs": tools.jobs,
            "scratch": tools.scratch,
            "python": PEERS_PYTHON,
            "peers": HERE / "peers.py",
        }
        return [word.format(**filled) if word not in SCRIPTS else word for word in self.argv]

    def woken(self, tools):
        return [word.format(packhorse=tools.packhorse) for word in self.wake]

    def missing(self, tools):
        """Why it cannot run here, or nothing."""
        if self.waits:
            return version_of_peer(self.name)[1]
        program = SCRIPTS.get(self.argv[2]) or self.command(tools, "", "")[0]
        return None if shutil.which(program) else f"{program} is not installed"


def packhorse(name, form, *options, jobs="{jobs}"):
    options = ("--format", form, "--jobs", jobs, *options)
    shown = " ".join(("packhorse pack SOURCE OUT", *options)).replace("{jobs}", "JOBS")
    argv = ("{packhorse}", "pack", "{source}", "{out}", "--allow-odd-classes", *options, "--json")
    counted = "dry run" if "--dry-run" in options else "packhorse"
    return Contender(name, argv, shown, counted, wake=("{packhorse}", "--version"))


def tar():
    argv = ("tar", "-cf", "{out}", "-C", "{source}", ".")
    return Contender("tar", argv, "tar -cf OUT -C SOURCE .", "tar", wake=("tar", "--version"))


def jpegtran():
    shown = "jpegtran -copy all -restart 1 -optimize, in JOBS processes"
    return Contender("jpegtran", ("sh", "-c", JPEGTRAN, "sh", "{source}", "{out}", "{jobs}"), shown, "files")


def verify(form):
    argv = ("{packhorse}", "inspect", "{source}", "--verify", "full", "--jobs", "{jobs}", "--json")
    shown = "packhorse inspect DATASET --verify full --jobs JOBS"
    return Contender(form, argv, shown, "verified", wake=("{packhorse}", "--version"))


def describe(form):
    argv = ("{packhorse}", "inspect", "{source}", "--json")
    return Contender(form, argv, "packhorse inspect DATASET", "described", wake=("{packhorse}", "--version"))


def sha256sum(name):
    argv = ("sh", "-c", SHA256SUM, "sh", "{source}", "{jobs}")
    shown = "sha256sum, a process for each file, JOBS at a time"
    return Contender(name, argv, shown, "sums", wake=("sha256sum", "--version"))


def peer(name):
    argv = ("{python}", "{peers}", "pack", name, "{source}", "{out}", "{jobs}", "{scratch}")
    return Contender(name, argv, f"peers.py pack {name} SOURCE OUT JOBS SCRATCH", name, waits=True)


@functools.cache
def version_of_peer(name):
    """(version, None), or (None, why it cannot be imported)."""
    if not PEERS_PYTHON.exists():
        return None, "no environment of peers: run bench/setup"
    done = ask_peer("version", name)
    if done.returncode == 0:
        return done.stdout.strip(), None
    return None, f"cannot be imported: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"


def jpegtran_version():
    """The first line of `jpegtran -version`, which goes on to wait for an image."""
    command = ["jpegtran", "-version"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stderr.splitlines()[0]


def ask_peer(*arguments):
    command = [PEERS_PYTHON, HERE / "peers.py", *arguments]
    return subprocess.run([os.fspath(c) for c in command], capture_output=True, text=True, check=False)


def count_dataset(tools, out, printed):
    """What `pack` says must be what `inspect` finds."""
    packed = json.loads(printed)["packed"]
    found = 0
    for split in json.loads(printed)["splits"]:
        described = subprocess.run(
            [tools.packhorse, "inspect", split["path"], "--json"], capture_output=True, check=True
        )
        found += json.loads(described.stdout)["samples"]
    return min(packed, found)


def count_planned(tools, out, printed):
    return json.loads(printed)["packed"]


def count_tar(tools, out, printed):
    with tarfile.open(out) as tar:
        return sum(member.isfile() for member in tar)


def count_files(tools, out, printed):
    return sum(os.stat(file).st_size > 0 for file in files_below(out))


def count_verified(tools, out, printed):
    """The files that were checked and found right; the list of sums itself is not in that list."""
    report = json.loads(printed)
    return report["checked"]["files"] - 1 if report["ok"] else 0


def count_described(tools, out, printed):
    return json.loads(printed)["samples"]


def count_sums(tools, out, printed):
    return len(printed.splitlines())


COUNTERS = {
    "packhorse": count_dataset,
    "dry run": count_planned,
    "verified": count_verified,
    "described": count_described,
    "sums": count_sums,
    "tar": count_tar,
    "files": count_files,
}


def samples_in(contender, tools, out, printed):
    """How many samples the contender has written, read back from what it wrote."""
    if contender.counted in COUNTERS:
        return COUNTERS[contender.counted](tools, out, printed)
    done = ask_peer("count", contender.counted, os.fspath(out))
    return int(done.stdout) if done.returncode == 0 else 0


def versions(settings, names):
    """The version of each contender of `names` that is installed, and of packhorse with its libraries."""
    found = {"packhorse": packhorse_versions(settings.tools.packhorse)}
    if "tar" in names:
        found["tar"] = first_line("tar", "--version")
    if "jpegtran" in names:
        found["jpegtran"] = jpegtran_version()
    if any(name.startswith("sha256sum") for name in names):
        found["sha256sum"] = first_line("sha256sum", "--version")
    peers = {name: version_of_peer(name)[0] for name in names if name in PEERS}
    found |= {name: version for name, version in peers.items() if version}
    found["python"] = platform.python_version()
    return found

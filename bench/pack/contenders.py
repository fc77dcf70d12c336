"""The commands that are measured side by side, and how many samples each has really written."""

import json
import os
import subprocess
import tarfile
from functools import partial

from common.data import files_below
from common.environment import PACK_PEERS, call
from common.suite import Contender

# jpegtran takes one file at a time, so as many shells as jobs each call it for 50 files in turn. Its exit code 2 is a
# warning; a file it did not write is missing from the count.
JPEGTRAN = """
mkdir "$2" && find "$1" -type f -print0 | xargs -0 -n 50 -P "$3" sh -c '
  for file; do
    jpegtran -copy all -restart 1 -optimize -outfile "$0/${{file##*/}}" "$file" || [ $? -eq 2 ] || exit 255
  done' "$2"
"""

# One process for each file, as many at a time as jobs.
SHA256SUM = """
cd "$1" && cut -d " " -f 3- SHA256SUMS | xargs -n 1 -P "$2" sha256sum
"""


def samples(count):
    """The figures of a contender of which count(printed, tools, output) says how many samples it has written."""
    return lambda *ran: {"samples": count(*ran)}


def in_dataset(printed, tools, out):
    """What `pack` says must be what `inspect` finds."""
    report, found = json.loads(printed), 0
    for split in report["splits"]:
        command = [tools.packhorse, "inspect", split["path"], "--json"]
        found += json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["samples"]
    return min(report["packed"], found)


def in_tar(printed, tools, out):
    with tarfile.open(out) as tar:
        return sum(member.isfile() for member in tar)


def in_folder(printed, tools, out):
    return sum(os.stat(file).st_size > 0 for file in files_below(out))


def verified(printed, tools, out):
    """The files that were checked and found right; the list of sums itself is not in that list."""
    report = json.loads(printed)
    return report["checked"]["files"] - 1 if report["ok"] else 0


def printed_count(field):
    return samples(lambda printed, *_: json.loads(printed)[field])


def counted_by_peer(name, printed, tools, out):
    done = call(PACK_PEERS, "count", name, os.fspath(out))
    return int(done.stdout) if done.returncode == 0 else 0


def ours(name, argv, shown, figures):
    return Contender(name, ("{packhorse}", *argv, "--json"), shown, figures, wake=("{packhorse}", "--version"))


def packhorse(name, form, *options, jobs="{jobs}"):
    options = ("--format", form, "--jobs", jobs, *options)
    shown = " ".join(("packhorse pack SOURCE OUT", *options)).replace("{jobs}", "JOBS")
    figures = printed_count("packed") if "--dry-run" in options else samples(in_dataset)
    return ours(name, ("pack", "{source}", "{out}", "--allow-odd-classes", *options), shown, figures)


def verify(form):
    argv = ("inspect", "{source}", "--verify", "full", "--jobs", "{jobs}")
    return ours(form, argv, "packhorse inspect DATASET --verify full --jobs JOBS", samples(verified))


def describe(form):
    return ours(form, ("inspect", "{source}"), "packhorse inspect DATASET", printed_count("samples"))


def tar():
    argv = ("tar", "-cf", "{out}", "-C", "{source}", ".")
    return Contender("tar", argv, "tar -cf OUT -C SOURCE .", samples(in_tar), "tar", wake=("tar", "--version"))


def jpegtran():
    shown = "jpegtran -copy all -restart 1 -optimize, in JOBS processes"
    argv = ("sh", "-c", JPEGTRAN, "sh", "{source}", "{out}", "{jobs}")
    return Contender("jpegtran", argv, shown, samples(in_folder), "jpegtran", version_option="-version")


def sha256sum(name):
    argv = ("sh", "-c", SHA256SUM, "sh", "{source}", "{jobs}")
    shown = "sha256sum, a process for each file, JOBS at a time"
    figures = samples(lambda printed, *_: len(printed.splitlines()))
    return Contender(name, argv, shown, figures, "sha256sum", wake=("sha256sum", "--version"))


def peer(name):
    argv = ("{python}", "{pack_peers}", "pack", name, "{source}", "{out}", "{jobs}", "{scratch}")
    shown = f"peers.py pack {name} SOURCE OUT JOBS SCRATCH"
    figures = samples(partial(counted_by_peer, name))
    return Contender(name, argv, shown, figures, peer=(PACK_PEERS, name), waits=True)

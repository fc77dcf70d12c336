"""The commands of packhorse and of the system that are measured side by side, and what each has really done."""

import json
import os
import tarfile

from common.data import files_below
from common.packing import ours
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


def in_tar(printed, tools, out):
    with tarfile.open(out) as tar:
        return {"samples": sum(member.isfile() for member in tar)}


def in_folder(printed, tools, out):
    return {"samples": sum(os.stat(file).st_size > 0 for file in files_below(out))}


def verified(printed, tools, out):
    """The files that were checked and found right; the list of sums itself is not in that list."""
    report = json.loads(printed)
    return {"samples": report["checked"]["files"] - 1 if report["ok"] else 0}


def lines(printed, tools, out):
    return {"samples": len(printed.splitlines())}


def verify(form):
    argv = ("inspect", "{source}", "--verify", "full", "--jobs", "{jobs}")
    return ours(form, argv, "packhorse inspect DATASET --verify full --jobs JOBS", verified)


def tar():
    argv = ("tar", "-cf", "{out}", "-C", "{source}", ".")
    return Contender("tar", argv, "tar -cf OUT -C SOURCE .", in_tar, "tar", wake=("tar", "--version"))


def jpegtran():
    shown = "jpegtran -copy all -restart 1 -optimize, in JOBS processes"
    argv = ("sh", "-c", JPEGTRAN, "sh", "{source}", "{out}", "{jobs}")
    return Contender("jpegtran", argv, shown, in_folder, "jpegtran", version_option="-version")


def sha256sum(name):
    argv = ("sh", "-c", SHA256SUM, "sh", "{source}", "{jobs}")
    shown = "sha256sum, a process for each file, JOBS at a time"
    return Contender(name, argv, shown, lines, "sha256sum", wake=("sha256sum", "--version"))

"""What an option of output does to what is no regular file: links, FIFOs, devices, sockets, pipes nobody reads."""

import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from python_support import DONE, FAILED, PACKHORSE, SHAPES, USAGE, packhorse, run, tree

CLOSED = 141  # as the shell has it for a program that SIGPIPE ended

# An option, the ending its file needs, whether two runs write the same, and the command before it.
OUTPUTS = {
    "inspect --output": ("jpg", True, ["inspect", "set", "--show", "0", "--output"]),
    "inspect --sheet": ("png", True, ["inspect", "set", "--sheet"]),
    "inspect --report": ("html", True, ["inspect", "set", "--report"]),
    "pack --log": ("jsonl", True, ["pack", "source", "none", "--format", "wds", "--dry-run", "--log"]),
    "index --log": ("jsonl", True, ["index", "set", "--out", "adopted", "--overwrite", "--log"]),
    "check --write-baseline": ("txt", True, ["check", "source", "--write-baseline"]),
    "bench --metrics": ("prom", False, ["bench", "set", "--work", "read", "--min-seconds", "0", "--repeats", "1", "-q", "--metrics"]),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    shutil.copytree(SHAPES / "val", folder / "source")
    (folder / "source/notes.txt").write_text("skipped, and so in the log")
    packhorse("pack", folder / "source", folder / "set", "--format", "wds", "-q")
    return folder


@pytest.fixture(params=OUTPUTS)
def output(request, place, tmp_path):
    """write(file) runs the command; plain is what it writes to a regular file, or None where two runs differ."""
    ending, same, command = OUTPUTS[request.param]

    def write(file):
        return run(*command, file, cwd=place)

    plain = tmp_path / f"plain.{ending}"
    assert write(plain).code == DONE
    write.content = plain.read_bytes() if same else None
    write.file = tmp_path / f"file.{ending}"
    return write


def check(output, content):
    assert content == output.content if output.content is not None else content


def test_every_option_that_writes_a_file_is_in_the_table():
    options = set()
    for command in re.findall(r"^  (\S+)  ", packhorse("--help").out, re.M):
        text = packhorse(command, "--help-all").out if not command.startswith("-") else ""
        for option in re.split(r"^  (?=\S)", text, flags=re.M):
            words = " ".join(option.split())
            if re.search(r"[Ww]rite .*(to this file|\(\.(jpg|html))", words) and "needs --output" not in words:
                options.add(f"{command} {re.search('--[a-z-]+', option)[0]}")
    assert options == set(OUTPUTS)


def test_a_link_stays_and_its_target_is_written(output, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    there, new = folder / "there", folder / "new"
    there.write_text("earlier")
    for target in (there, new):
        output.file.symlink_to(os.path.relpath(target, tmp_path))
        assert output(output.file).code == DONE
        assert output.file.is_symlink() and not target.is_symlink()
        check(output, target.read_bytes())
        output.file.unlink()
    assert sorted(os.listdir(folder)) == ["new", "there"]


def test_a_fifo_is_written_into(output):
    os.mkfifo(output.file)
    read = []
    reader = threading.Thread(target=lambda: read.append(output.file.read_bytes()))
    reader.start()
    assert output(output.file).code == DONE
    reader.join()
    check(output, read[0])
    assert output.file.is_fifo()


def test_a_device_is_written_into(output):
    """Private copies of /dev/null and /dev/full, as the machine's own would be lost with a fault."""
    for minor, code in ((3, DONE), (7, FAILED)):
        try:
            os.mknod(output.file, 0o600 | stat.S_IFCHR, os.makedev(1, minor))
            output.file.open("wb").close()
        except PermissionError:
            pytest.skip("only root makes devices")
        result = output(output.file)
        empty = output.content == b"" and code == FAILED  # nothing was written
        assert result.code == (DONE if empty else code), result
        assert ("No space left" in result.err) == (code == FAILED and not empty)
        assert output.file.is_char_device()
        output.file.unlink()


def test_standard_output_is_written_into_and_holds_nothing_else(output):
    output.file.symlink_to("/proc/self/fd/1")
    result = output(output.file)
    assert result.code == DONE and output.file.is_symlink()
    if output.content is not None:
        assert result.raw.startswith(output.content)
        assert result.raw == output.content or b"seen " in result.raw  # pack and index print a summary, too


def test_what_cannot_be_written_is_said_before_the_work(output, tmp_path):
    with socket.socket(socket.AF_UNIX) as bound, tempfile.TemporaryDirectory() as short:
        name = Path(short) / output.file.name
        bound.bind(str(name))
        for file, code, said in (
            (name, USAGE, "it is a socket"),
            (tmp_path, USAGE, "it is a directory"),
            (tmp_path / "no/file", FAILED, "cannot create"),
        ):
            result = output(file)
            assert result.code == code and said in result.err and result.out == "", result
            assert str(file) in result.err and ".tmp" not in result.err
        assert name.is_socket()


def run_closed(*command, cwd):
    """Runs with a standard output that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([PACKHORSE, *command], cwd=cwd, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    return done.returncode, done.stderr


def test_a_pipe_that_nobody_reads_ends_every_command_quietly(place, tmp_path):
    packhorse("pack", place / "source", tmp_path / "other", "--format", "lmdb", "-q")
    for command in (
        ["--help"],
        ["--version"],
        ["pack", "source", tmp_path / "new", "--format", "wds"],
        ["pack", "source", tmp_path / "none", "--format", "wds", "--dry-run"],
        ["inspect", "set"],
        ["inspect", "set", "--list"],
        ["inspect", "set", "--json"],
        ["inspect", "set", "--show", "0"],
        ["inspect", "set", "--show", "0", "-o", "-"],
        ["inspect", "set", "--show", "0", "-o", "/proc/self/fd/1"],
        ["inspect", "set", "--verify", "full"],
        ["stats", "set"],
        ["diff", "set", tmp_path / "other"],
        ["duplicates", "set"],
        ["unpack", "set", tmp_path / "unpacked"],
        ["copy", "set", tmp_path / "copied"],
        ["repair", "set", "source"],
        ["export-index", "set", "-o", tmp_path / "indexes"],
        ["index", "set", "--out", tmp_path / "adopted"],
        ["bench", "set", "--work", "read", "--min-seconds", "0", "--repeats", "1", "-q"],
    ):
        assert run_closed(*command, cwd=place) == (CLOSED, b""), command


def test_damage_is_no_success_though_nobody_reads(place, tmp_path):
    packhorse("copy", place / "set", tmp_path / "set")
    shard = next(Path(tmp_path / "set").glob("*.tar"))
    damaged = bytearray(shard.read_bytes())
    damaged[2000] ^= 1
    shard.write_bytes(damaged)
    assert run_closed("inspect", "set", "--verify", "full", cwd=tmp_path)[0] == CLOSED
    assert run_closed("inspect", "nowhere", cwd=tmp_path)[0] == FAILED


@pytest.fixture
def read(place, tmp_path):
    """A source, a dataset and files that commands read."""
    shutil.copytree(place / "source", tmp_path / "source")
    shutil.copytree(place / "set", tmp_path / "set")
    (tmp_path / "list.csv").write_text("path,label\n" + "".join(f"source/{file.relative_to(tmp_path / 'source')},a\n" for file in images(tmp_path)))
    (tmp_path / "classes.txt").write_text("".join(f"{name}\n" for name in sorted(os.listdir(tmp_path / "source")) if name != "notes.txt"))
    (tmp_path / "link").symlink_to("source")
    os.link(tmp_path / "classes.txt", tmp_path / "other name")
    return tmp_path


def images(folder):
    return sorted(file for file in (folder / "source").rglob("*") if file.is_file() and file.name != "notes.txt")


def test_an_output_replaces_nothing_that_the_command_reads(read):
    image = images(read)[0].relative_to(read / "source")
    before = tree(read)
    pack = ["pack", "source", "out", "--format", "wds"]
    for command, said in (
        ([*pack, "--classes", "classes.txt", "--log", "classes.txt"], "it is the same file as 'classes.txt'"),
        ([*pack, "--log", "other name", "--classes", "classes.txt"], "it is the same file as 'classes.txt'"),
        ([*pack, "--labels", "val=list.csv", "--log", "list.csv"], "it is the same file as 'list.csv'"),
        ([*pack, "--targets", "coco:list.csv", "--log", "./list.csv"], "it is the same file as 'list.csv'"),
        ([*pack, "--log", f"source/{image}"], "it is a file in 'source', which the command reads"),
        ([*pack, "--log", f"link/{image}"], "it is a file in 'source', which the command reads"),
        ([*pack, "--log", "source/notes.txt"], "it is a file in 'source', which the command reads"),
        (["pack", "list.csv", "out", "--format", "wds", "--log", "list.csv"], "it is the same file as 'list.csv'"),
        (["pack", "list.csv", "out", "--format", "wds", "--log", f"source/{image}"], "a text would replace a file that is none"),
        (["inspect", "set", "--show", "0", "-o", "set/shard-000000.tar"], "it is a file in 'set', which the command reads"),
        (["inspect", "set", "--sheet", "set/dataset.json"], "it is a file in 'set', which the command reads"),
        (["inspect", "set", "--report", "set/dataset.json"], "it is a file in 'set', which the command reads"),
        (["inspect", "set", "--report", f"source/{image}", "--against", "source"], "it is a file in 'source'"),
        (["bench", "set", "--work", "read", "--metrics", "set/dataset.json"], "it is a file in 'set', which the command reads"),
        (["index", "set/*.tar", "--out", "new", "--log", "set/shard-000000.tar"], "it is a file in 'set', which the command reads"),
    ):
        result = run(*command, cwd=read)
        assert result.code == USAGE and said in result.err and result.out == "", result
        assert tree(read) == before, command


def test_a_new_file_among_what_is_read_and_an_earlier_output_elsewhere_are_written(read):
    for _ in range(2):
        packhorse("pack", ".", "/nowhere", "--classes-at", "2", "--dry-run", "--format", "wds", "--log", "../log.jsonl", cwd=read / "source")
        packhorse("pack", "source", "none", "--format", "wds", "--dry-run", "--log", "wds/log.jsonl" if (read / "wds").exists() else "log", cwd=read)
        (read / "wds").mkdir(exist_ok=True)
        packhorse("inspect", "set", "--report", "page.html", cwd=read)
        packhorse("inspect", "set", "--show", "0", "-o", "image", cwd=read)
    packhorse("inspect", "set", "--report", "set/page.html", cwd=read)
    packhorse("inspect", "set", "--verify", "quick", cwd=read)


def test_a_sheet_goes_into_what_has_no_name_for_its_kind(place):
    assert run("inspect", "set", "--sheet", "/dev/null", cwd=place).code == DONE
    assert run("inspect", "set", "--show", "0", "--draw", "-o", "/dev/null", cwd=place).code in (DONE, USAGE)

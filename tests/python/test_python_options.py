"""Options as the library's table has them: the keyword arguments, what help shows, and how messages name them."""

import functools
import inspect
import re
import shutil
import subprocess
import sys

import pytest
from package import packhorse
from python_support import BIN, ROOT, SHAPES


def table():
    from packhorse import _pack  # noqa: PLC0415: the extension, which the package loads when it is needed

    return _pack.options()


def loader_table():
    from packhorse import _reader  # noqa: PLC0415

    return _reader.options()


def keywords(function):
    return set(inspect.signature(function).parameters)


@functools.cache
def options_of(command):
    """The names of a command's options, those of switches and flags that turn something off included."""
    programs = [program for program in (BIN / "packhorse", BIN / "packhorse-train") if program.exists()]
    shown = [subprocess.run([program, command, "--help-all"], capture_output=True, text=True, check=False) for program in programs]
    flags = re.findall(r"--([a-z][a-z0-9-]+)", "".join(one.stdout for one in shown if one.returncode == 0))
    return {flag.replace("-", "_") for flag in flags}


def texts():
    """(file, string literal) of the libraries."""
    for folder in ("libpack", "reader", "trainer"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".cc", ".h"):
                code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)
                code = re.sub(r'"\s*\n\s*"', "", code)
                for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
                    yield path, literal


def test_what_is_made_of_the_table_is_up_to_date():
    command = [sys.executable, ROOT / "scripts/options", "--check", "--package", BIN.parent / "python/packhorse"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "function,taker",
    [(packhorse.pack, "pack"), (packhorse.verify, "verify"), (packhorse.Writer.__init__, "writer"), (packhorse.index, "index")],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_help_shows_every_option(function, taker):
    rows = table()[taker]
    assert {row["name"] for row in rows} <= keywords(function) and "options" not in keywords(function)
    parameters = inspect.signature(function).parameters
    for row in rows:
        assert (parameters[row["name"]].default is inspect.Parameter.empty) == row["required"]
    assert "memory" in keywords(packhorse.verify)


def test_options_that_a_function_does_not_take_are_refused(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'image'"):
        packhorse.verify(tmp_path, image="raw")
    with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
        packhorse.Writer(tmp_path / "out", format="wds", limit=3)


def test_a_list_may_be_given_as_its_text(tmp_path):
    forms = ["train=train,val=val", ["train=train", "val=val"], {"train": "train", "val": "val"}, iter(["train", "val"])]
    reports = [packhorse.pack(SHAPES, tmp_path / "out", format="wds", split_folders=form, dry_run=True) for form in forms]
    assert [[split["split"] for split in report.json["preview"]["splits"]] for report in reports] == [["train", "val"]] * 4
    none = packhorse.pack(SHAPES, tmp_path / "out", format="wds", split_folders=[], allow_odd_classes=True, dry_run=True)
    assert [split["split"] for split in none.json["preview"]["splits"]] == [""]


def test_texts_of_the_libraries_name_options_that_are_there():
    known = {row["name"] for rows in table().values() for row in rows} | {row["name"] for row in loader_table()}
    known |= keywords(packhorse.index) | keywords(packhorse.configure_remote) | options_of("pack")
    found, called = set(), set()
    for path, literal in texts():
        for name in re.findall(r"`([a-z_0-9]+)=[^`]*`", literal):
            assert name in known, (path, literal)
            found.add(name)
        for command, inside in re.findall(r"`([a-z-]+)\(([^`]*)\)`", literal):
            names = set(re.findall(r"([a-z_]+)=", inside))
            assert names <= options_of(command) and options_of(command), (path, literal)
            called.add(command)
    for folder in ("libpack", "reader", "trainer"):
        for path in (ROOT / folder).rglob("*.cc"):
            for name in re.findall(r'\bopt\("(\w+)"', path.read_text()):
                assert name in known, (path, name)
                found.add(name)
    assert {"labels", "targets", "max_rejects", "batch_size"} <= found and {"inspect", "pack", "fit"} <= called


def test_a_command_in_a_message_is_a_call(tmp_path):
    (tmp_path / "photos").mkdir()
    shutil.copy(next((SHAPES / "train/balls").iterdir()), tmp_path / "photos/0.jpg")
    (tmp_path / "photos/0.json").write_text("{}")
    with pytest.raises(packhorse.errors.UsageError) as raised:
        packhorse.pack(tmp_path / "photos", tmp_path / "out", format="wds")
    call = f"packhorse.pack('{tmp_path}/photos', OUT, fields='json', unlabelled=True)"
    assert call in raised.value.advice
    made = eval(call.replace("OUT", f"'{tmp_path}/out', format='wds'"), {"packhorse": packhorse})
    assert made.packed == 1 and made.published

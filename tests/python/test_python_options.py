"""Options as the library's table has them: the keyword arguments, what help shows, and how messages name them."""

import inspect
import re
import subprocess
import sys

import pytest
from package import packhorse
from python_support import BIN, ROOT, SHAPES

# Names of options that are stored in datasets (the rules of skips, the reasons of rejects) keep the words they had.
STORED = {"names.h", "select.cc", "replay.cc", "image_header.cc", "label_pattern.cc", "scan_shard.cc"}
# Commands that are printed for a shell, of ours or of others.
COMMANDS = {"summary.cc", "annotated_kind.cc", "beside_images.cc", "coco_folder.cc", "hf_folder.cc", "yolo_source.cc", "keys.cc"}
A_COMMAND = re.compile(r"packhorse(?:-train)? [a-z]|`(?:pack|unpack) --|^--[a-z]+`")
OF_TOOLS = {"--cold"}


def table():
    from packhorse import _pack  # noqa: PLC0415: the extension, which the package loads when it is needed

    return _pack.options()


def keywords(function):
    return set(inspect.signature(function).parameters)


def texts():
    """(file, string literal) of the library and the reader."""
    for folder in ("libpack", "reader"):
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


def test_texts_of_the_library_name_options_that_are_there():
    known = {row["name"] for rows in table().values() for row in rows}
    known |= keywords(packhorse.index) | keywords(packhorse.configure_remote)
    found = set()
    for path, literal in texts():
        for name in re.findall(r"`([a-z_]+)=[^`]*`", literal):
            assert name in known, (path, literal)
            found.add(name)
    for folder in ("libpack", "reader"):
        for path in (ROOT / folder).rglob("*.cc"):
            for name in re.findall(r'\bopt\("(\w+)"', path.read_text()):
                assert name in known, (path, name)
                found.add(name)
    assert {"labels", "targets", "max_rejects", "shuffle"} - found <= {"shuffle"}


def test_texts_of_the_library_have_no_flags():
    for path, literal in texts():
        flags = set(re.findall(r"--[a-z][a-z-]+", literal)) - OF_TOOLS
        assert not flags or path.name in STORED | COMMANDS or A_COMMAND.search(literal), (path, literal)

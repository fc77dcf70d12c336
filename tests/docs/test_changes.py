"""scripts/changes joins the notes in changes/ into CHANGELOG.md and refuses those of another shape; scripts/check asks it."""

import runpy
import shutil
import subprocess

import pytest
from python_support import ROOT, put

LOG = "# Changelog\n\nHead.\n\n## 0.1.0 (2026-11-25)\n\n- old\n"


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/changes", tmp_path / "scripts/changes")
    put(tmp_path / "CHANGELOG.md", LOG)
    put(tmp_path / "libpack/include/packhorse/version.h", '#define PACKHORSE_VERSION "0.2.0"\n')
    return tmp_path


def changes(tree, *options):
    return subprocess.run([tree / "scripts/changes", *options], capture_output=True, text=True, check=False)


def test_a_release_moves_the_notes_by_kind_into_the_log(tree):
    put(tree / "changes/b.fixed.md", "- A fault.\n")
    put(tree / "changes/a.new.md", "- [Labels](../docs/labels.md) have\n  names.\n")
    put(tree / "changes/c.new.md", "- More.\n")
    section = "### New\n\n- [Labels](docs/labels.md) have\n  names.\n- More.\n\n### Fixed\n\n- A fault.\n"
    assert changes(tree).stdout == section and (tree / "CHANGELOG.md").read_text() == LOG
    done = changes(tree, "--release")
    assert done.returncode == 0, done.stderr
    head, rest = (tree / "CHANGELOG.md").read_text().split("## 0.2.0 (", 1)
    assert head == "# Changelog\n\nHead.\n\n" and rest[len("2026-11-25)\n\n") :] == section + "\n## 0.1.0 (2026-11-25)\n\n- old\n"
    assert list((tree / "changes").iterdir()) == []
    assert "there are no notes" in changes(tree).stderr


def test_a_version_is_released_once(tree):
    put(tree / "libpack/include/packhorse/version.h", '#define PACKHORSE_VERSION "0.1.0"\n')
    put(tree / "changes/a.new.md", "- x\n")
    done = changes(tree, "--release")
    assert done.returncode == 1 and "raise the version in " in done.stderr
    assert (tree / "CHANGELOG.md").read_text() == LOG and (tree / "changes/a.new.md").exists()


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("a.md", "- x\n", "is not named NAME.KIND.md"),
        ("a.odd.md", "- x\n", "is not named NAME.KIND.md"),
        ("a.new.md", "x\n", "is not a list"),
        ("a.new.md", "- x\ny\n", "is not a list"),
        ("a.new.md", "- x", "is not a list"),
        ("a.new.md", "- x\n\n- y\n", "is not a list"),
        ("a.new.md", f"- {'x' * 119}\n", "more than 120"),
    ],
)
def test_a_note_of_another_shape_is_refused(tree, name, text, said):
    put(tree / "changes" / name, text)
    done = changes(tree, "--release")
    assert done.returncode == 1 and f"changes/{name}" in done.stderr and said in done.stderr
    assert (tree / "CHANGELOG.md").read_text() == LOG


def test_check_looks_at_the_notes():
    assert list(runpy.run_path(str(ROOT / "scripts/check"))["check_changes"]()) == []

"""Man pages and completions: made of the program's own help, well-formed, and complete what a user types."""

import functools
import os
import re
import shutil
import subprocess

import pytest
from python_support import PACKHORSE, TRAIN

PROGRAMS = [PACKHORSE, *([TRAIN] if TRAIN.exists() else [])]
of_both = pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
EPOCH = {"SOURCE_DATE_EPOCH": "1000000000"}


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    folder = tmp_path_factory.mktemp("share")
    for program in PROGRAMS:
        subprocess.run([program, "help-files", folder], env={**os.environ, **EPOCH}, check=True)
    return folder


def needs(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not there")
    return program


@functools.cache
def help_of(program, *subcommand):
    return subprocess.run([program, *subcommand, "--help-all" if subcommand else "--help"], capture_output=True, text=True, check=True).stdout


@of_both
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_help_fits_the_terminal_and_shows_first_what_is_used_most(program, columns):
    def shown(*words):
        environment = {**os.environ, "COLUMNS": str(columns)}
        return subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=True).stdout

    def options(text):
        return set(re.findall(r"^  (-.*?)(?:  |$)", text, re.M))

    shortened = 0
    for name in subcommands(program):
        some, all_of_them = shown(name, "--help"), shown(name, "--help-all")
        for line in re.findall(r"^ {28}.*", some + all_of_them, re.M):
            assert len(line) <= columns or len(line.split()) == 1, (name, line)
        assert options(some) <= options(all_of_them), name
        if options(some) < options(all_of_them):
            shortened += 1
            assert len(options(some)) <= 22 and f"all {len(options(all_of_them))} options" in " ".join(some.split()), name
    assert shortened >= 3


def subcommands(program):
    return re.findall(r"^  (\S+)  ", help_of(program).partition("Subcommands:\n")[2], re.M)


def pages(share, program):
    yield share / f"man/man1/{program.name}.1", ()
    for name in subcommands(program):
        yield share / f"man/man1/{program.name}-{name}.1", (name,)


@pytest.mark.thorough
@of_both
def test_there_is_a_well_formed_page_for_each_subcommand_with_all_that_help_says(share, program):
    needs("mandoc")
    for page, subcommand in pages(share, program):
        command = ["mandoc", "-T", "utf8", "-O", "width=120", page]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        text = re.sub(".\b", "", shown.stdout).split()
        said = " ".join(text)
        for names in re.findall(r"^  (-.*?)(?:  |$)", help_of(program, *subcommand), re.M):
            for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", names):
                assert option in said, (page.name, option)
        for example in re.findall(r"^  packhorse .*$", help_of(program, *subcommand), re.M):
            assert " ".join(example.split()) in said, (page.name, example)
        command = ["mandoc", "-T", "lint", "-W", "warning", page]
        lint = subprocess.run(command, capture_output=True, text=True, check=False)
        assert lint.stdout == "", lint.stdout
        assert ".TH " in page.read_text() and "2001-09-09" in page.read_text()


def bash_offers(share, program, words):
    """What bash offers for the last of `words`, after the completion has been loaded; None: file names."""
    script = f"""
        source {share}/bash-completion/completions/{program}
        compopt() {{ [[ $* != *+o* ]] || no_files=1; }}
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) no_files=
        _{program.replace("-", "_")}
        [[ $no_files ]] && echo "no files"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-euc", script, "bash", *words], capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n")[:-1]
    return [line for line in lines[1:] if line] if lines[:1] == ["no files"] else None


def test_bash_completes_subcommands_options_choices_and_files(share):
    def offers(*words):
        return bash_offers(share, "packhorse", ["packhorse", *words])

    assert offers("") == subcommands(PACKHORSE)
    assert offers("un") == ["unpack"]
    assert "--version" in offers("--v") and "-V" in offers("-")
    assert offers("pack", "in", "out", "--form") == ["--format"]
    assert offers("pack", "--format", "") == ["wds", "lmdb", "lmdb-members", "hdf5"]
    assert offers("pack", "--format", "=") == ["wds", "lmdb", "lmdb-members", "hdf5"]
    assert offers("pack", "--format", "=", "h") == ["hdf5"]
    assert offers("pack", "-f", "lmdb-") == ["lmdb-members"]
    assert offers("pack", "--image", "r") == ["roi", "resize", "raw"]
    assert offers("pack", "--overwrite", "--qui") == ["--quiet"] and offers("pack", "in", "--json", "-q", "") is None
    assert offers("pack", "--chroma", "") == ["source", "420"]
    assert offers("inspect", "packed", "--verify", "") == ["quick", "full"]
    assert offers("pack", "--seed", "") == []
    assert offers("pack", "--log", "") is None and offers("pack", "in") is None
    assert "help-files" not in offers("")
    if TRAIN.exists():
        words = ["packhorse-train", "fit", "--order", "w"]
        assert bash_offers(share, "packhorse-train", words) == ["window", "window-first"]

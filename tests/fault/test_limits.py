"""The limits of a shell (ulimit): reaching one gives an error message, never a signal."""

import subprocess

import pytest
from python_support import FAILED, FORMATS, PACKHORSE, Result, make_source, pack, packhorse, staging, tree


def limited(limit, *command):
    """Runs the command under `ulimit LIMIT`."""
    shell = f'ulimit {limit} && exec "$@"'
    done = subprocess.run(["bash", "-c", shell, "bash", *command], capture_output=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("source") / "source", 60)


@pytest.mark.parametrize("form", FORMATS)
def test_the_limit_on_file_sizes_is_named_and_the_next_run_goes_on(source, tmp_path, form):
    command = ("pack", source, tmp_path / "out", "--format", form)
    result = limited("-f 20", PACKHORSE, *command)
    assert result.code == FAILED and result.out == "", result
    assert "because of the process's file size limit (ulimit -f)" in result.err and "where: " in result.err
    assert "next:  raise that limit" in result.err
    assert not (tmp_path / "out").exists() and staging(tmp_path / "out").exists()
    packhorse(*command)
    pack(source, tmp_path / "undisturbed", "--format", form)
    assert tree(tmp_path / "out") == tree(tmp_path / "undisturbed")


@pytest.mark.thorough
def test_too_little_memory_ends_with_words_at_any_limit(source, tmp_path):
    """From a limit at which the program barely loads to one at which everything works: another step fails each time."""
    out = tmp_path / "out"
    succeeded = refused = 0
    for mebibytes in range(60, 1200, 40):
        result = limited(f"-v {mebibytes * 1024}", PACKHORSE, "pack", source, out, "--format", "wds", "--jobs", "4")
        if result.code == 127:
            continue  # not even the libraries could be loaded
        if result.code == 0:
            succeeded += 1
            packhorse("inspect", out, "--verify", "full")
            break
        refused += 1
        assert result.code == FAILED and "packhorse: error: " in result.err, (mebibytes, result)
        assert "next: " in result.err and "terminate" not in result.err, (mebibytes, result)
        assert not out.exists()
    assert succeeded == 1 and refused > 0

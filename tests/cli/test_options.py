"""Options that would change nothing, invalid values, and URLs are usage errors, before anything is done."""

import pytest
from python_support import DONE, SHAPES, TRAIN, USAGE, make_source, pack, run, train

USES = {
    "original": set(),
    "roi": {"--restart-mcus"},
    "resize": {"--restart-mcus", "--short-side", "--quality", "--chroma"},
    "raw": {"--size", "--fit"},
}
VALUES = {
    "--restart-mcus": "4",
    "--short-side": "256",
    "--quality": "90",
    "--chroma": "420",
    "--size": "256",
    "--fit": "crop",
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("options") / "source", 8)


@pytest.mark.parametrize("mode", USES)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_that_the_mode_does_not_use_is_refused_even_with_its_default(source, tmp_path, mode, option):
    given = (option, VALUES[option])
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run", "--image", mode, *given)
    if option in USES[mode]:
        assert result.code == DONE, result
    else:
        assert result.code == USAGE and f"{option} has no effect with --image {mode}" in result.err, result
        assert "next:  leave it out, or give --image " in result.err


@pytest.mark.parametrize(
    "option",
    [("--shard-samples", "0"), ("--limit", "0"), ("--sample-per-class", "0"), ("--split-folders", ""), ("--labels", "")],
)
def test_an_option_that_changes_nothing_is_refused(source, tmp_path, option):
    result = run("pack", source, tmp_path / "out", "--format", "wds", *option)
    assert result.code == USAGE and option[0] in result.err, result


@pytest.mark.parametrize("form", ["lmdb", "hdf5"])
def test_compression_is_refused_by_formats_that_have_none(source, tmp_path, form):
    result = run("pack", source, tmp_path / "out", "--format", form, "--compress", "zstd")
    assert result.code == USAGE and f"the format {form} cannot be compressed" in result.err, result


@pytest.mark.parametrize("option", [("--size", "64"), ("--max-pixels", "5"), ("--max-decoded-bytes", "5MiB")])
def test_bench_refuses_options_of_decoding_where_nothing_is_decoded(source, option):
    result = run("bench", source, "--work", "read", *option)
    assert result.code == USAGE and "--work read decodes no images" in result.err, result


@pytest.mark.parametrize(
    "options,words",
    [
        ("--decode", "--decode needs --verify full or --against"),
        ("--decode --list", "--decode needs"),
        ("--decode --verify quick", "--decode needs"),
        ("--list --source-kind folder", "--source-kind needs --against"),
        ("--classes nowhere", "--classes needs --against"),
        ("--verify quick --limit 3", "--limit needs --against"),
        ("--verify full --split 90:10", "--split needs --against"),
        ("--list --max-pixels 3", "image limits have no effect: no images are decoded"),
        ("--verify quick --against {source} --allow-odd-classes", "--allow-odd-classes"),
    ],
)
def test_inspect_refuses_options_that_change_nothing(source, tmp_path, options, words):
    pack(source, tmp_path / "packed", "--format", "wds")
    result = run("inspect", tmp_path / "packed", *options.format(source=source).split())
    assert result.code == USAGE and result.out == "" and words in result.err, result


@pytest.mark.parametrize(
    "options,instead",
    [
        ("--repair x", "packhorse repair DATASET FROM"),
        ("--stats", "packhorse stats DATASET"),
        ("--stats-sample 3", "packhorse stats DATASET [--sample N"),
        ("--duplicates", "packhorse duplicates DATASET"),
        ("--duplicates other", "packhorse duplicates DATASET [OTHER]"),
        ("--identical", "packhorse duplicates"),
    ],
)
def test_inspect_says_where_moved_options_went(tmp_path, options, instead):
    result = run("inspect", tmp_path, *options.split())
    assert result.code == USAGE and "is now a subcommand" in result.err and instead in result.err, result


def test_inspect_takes_the_options_of_a_source_that_is_looked_at(source, tmp_path):
    pack(source, tmp_path / "packed", "--format", "wds", "--limit", "3", "--decode")
    against = ("inspect", tmp_path / "packed", "--against", source, "--source-kind", "folder", "--limit", "3")
    assert run(*against).code == DONE
    assert run(*against, "--verify", "quick", "--decode").code == DONE


@pytest.mark.parametrize("option", [("--finish",), ("--task", "0/3")])
def test_a_dry_run_is_no_share_of_a_run(source, tmp_path, option):
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run", *option)
    assert result.code == USAGE and "--dry-run" in result.err and option[0] in result.err, result


NUMBERS = ["-1", "-0", "+1", "010", "0x10", "18446744073709551616", "99999999999999999999", "1.0", "1e3", " 1", "x"]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_decimal_and_none_wraps_around(source, tmp_path, number):
    for option in ("--seed", "--max-pixels", "--max-scan-pixels", "--limit", "--shard-samples"):
        result = run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run", f"{option}={number}")
        assert result.code == USAGE and option in result.err and number.strip() in result.err, result
    for command in (("bench", source, f"--max-images={number}"), ("diff", source, source, f"--limit={number}")):
        assert run(*command).code == USAGE, command


@pytest.mark.parametrize("number", ["010", "0x2", "+2", "99999999999999999999"])
def test_numbers_with_a_sign_are_decimal_too(source, tmp_path, number):
    result = run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run", f"--jobs={number}")
    assert result.code == USAGE and "--jobs" in result.err, result


@pytest.mark.parametrize(
    "size",
    [".", "1.2.3MiB", "1.MiB", ".5MiB", "nan", "inf", "-1", "+1", "1e3", "0", "0.2", "MiB", "1 MiB", "1mib", "99999999999TiB", ""],
)
def test_sizes_that_are_none_are_refused_in_words(source, tmp_path, size):
    result = run("pack", source, tmp_path / "out", "--format", "wds", f"--shard-bytes={size}")
    assert result.code == USAGE, result
    assert size == "" or (f"'{size}' is not a valid size" in result.err and "256MiB" in result.err), result
    result = run("pack", source, tmp_path / "out", "--format", "wds", f"--max-decoded-bytes={size}")
    assert result.code == USAGE and (size == "" or f"'{size}' is not a valid size" in result.err), result


@pytest.mark.parametrize("size", ["1MiB", "1.5K", "4096", "0.5GB"])
def test_sizes_are_taken(source, tmp_path, size):
    sizes = ("--shard-bytes", size, "--max-decoded-bytes", size)
    assert run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run", *sizes).code == DONE


@pytest.mark.parametrize("limit", ["nan%", "inf%", "101%", "-1", "1e1%", " 5%", "%", "1.5", "", "99999999999999999999"])
def test_limits_of_rejects_that_are_none_are_refused(source, tmp_path, limit):
    result = run("pack", source, tmp_path / "out", "--format", "wds", f"--max-rejects={limit}")
    assert result.code == USAGE, result


URLS = ["s3://bucket/x", "gs://bucket/x", "https://host/x.tar", "file:///x", "hdfs://x"]


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_refused_wherever_a_path_is_wanted(source, tmp_path, url):
    here = tmp_path / "here"
    here.mkdir()
    pack(source, tmp_path / "packed", "--format", "wds")
    commands = [
        ("pack", source, "out", "--format", "wds", "--labels", url),
        ("pack", source, "out", "--format", "wds", "--classes", url),
        ("pack", source, "out", "--format", "wds", "--log", url),
        ("unpack", tmp_path / "packed", url),
        ("repair", url, tmp_path / "packed"),
        ("inspect", tmp_path / "packed", "--report", url),
        ("inspect", tmp_path / "packed", "--show", "0", "-o", url),
        ("index", url),
        ("index", tmp_path / "packed", "--out", url),
        ("index", tmp_path / "packed", "--log", url),
        ("export-index", url),
        ("export-index", tmp_path / "packed", "-o", url),
        ("bench", source, "--metrics", url),
        ("cache", "list", "--cache", url),
    ]
    for command in commands:
        result = run(*command, cwd=here)
        assert result.code == USAGE, (command, result)
        assert f"'{url}' is a URL" in result.err and "next:  " in result.err, (command, result)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("url", ["gs://bucket/x", "file:///x", "hdfs://x"])
def test_a_dataset_at_a_url_of_another_scheme_is_refused(tmp_path, url):
    commands = [("inspect", url), ("bench", url), ("unpack", url, "out"), ("duplicates", url), ("diff", url, "packed")]
    commands += [("copy", url, "out"), ("pack", url, "out", "--format=wds"), ("pack", SHAPES, url, "--format=wds")]
    for command in commands:
        result = run(*command, cwd=tmp_path)
        assert result.code == USAGE and "a scheme that is not known here" in result.err and "s3://" in result.err, result
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_path_may_look_like_a_url(source, tmp_path):
    pack(source, tmp_path / "packed", "--format", "wds")
    result = run("inspect", tmp_path / "packed", "--list", "--class", "http://x")
    assert "there is no class 'http://x'" in result.err, result
    result = run("inspect", tmp_path / "packed", "--show", "http://x/y.jpg")
    assert result.code != USAGE and "URL" not in result.err, result
    assert run("pack", source, tmp_path / "out", "--format", "wds", "--exclude", "http://*").code == DONE


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_the_trainer_refuses_a_url_too(source, tmp_path):
    result = train("fit", "--data", source, "--arch", "smallnet", "--out", "s3://bucket/run", cwd=tmp_path)
    assert result.code == USAGE and "is a URL" in result.err and list(tmp_path.iterdir()) == [], result


def test_a_folder_with_a_url_for_a_name_can_be_given_by_another_spelling(source, tmp_path):
    assert run("pack", source, "./s3://x", "--format", "wds", cwd=tmp_path).code == DONE
    assert (tmp_path / "s3:/x/dataset.json").exists()

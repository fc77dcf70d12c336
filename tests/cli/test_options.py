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


@pytest.fixture(scope="module")
def packed(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("options") / "packed"
    pack(source, out, "--format", "wds", "--limit", "3", "--decode")
    return out


@pytest.fixture
def dry(source, tmp_path):
    """dry(*options): what `pack --dry-run` with them ends with."""
    return lambda *options: run("pack", source, tmp_path / "out", "--format", "wds", "--dry-run", *options)


@pytest.mark.parametrize("mode", USES)
def test_an_option_that_the_mode_does_not_use_is_refused_even_with_its_default(dry, mode):
    used = [word for option in USES[mode] for word in (option, VALUES[option])]
    assert dry("--image", mode, *used).code == DONE
    for option in set(VALUES) - USES[mode]:
        result = dry("--image", mode, option, VALUES[option])
        assert result.code == USAGE and f"{option} has no effect with --image {mode}" in result.err, result
        assert "next:  leave it out, or give --image " in result.err


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--shard-samples", ["0"]),
        ("--limit", ["0"]),
        ("--samples-per-class", ["0"]),
        ("--split-folders", [""]),
        ("--labels", [""]),
        ("--short-side", ["0"]),
        ("--quality", ["0", "101"]),
        ("--restart-mcus", ["0"]),
        ("--size", ["0"]),
        ("--chroma", ["422"]),
        ("--fit", ["stretch"]),
        ("--compress", ["", "gzip", "zstd:0", "zstd:20", "zstd:", "zstd:x", "zstd3"]),
        ("--memory", ["15MiB", "0", "much", "1.5"]),
        ("--max-rejects", ["nan%", "101%", "-1", "1e1%", " 5%", "%", "1.5", "", "99999999999999999999"]),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(dry, option, values):
    mode = next((mode for mode in USES if option in USES[mode]), "original")
    name = option.strip("-").replace("-", "_")
    for value in values:
        result = dry("--image", mode, f"{option}={value}")
        assert result.code == USAGE, (value, result)
        assert name in result.err.replace("-", "_") or f"'{value}'" in result.err, (value, result)


def test_compression_is_refused_by_formats_that_have_none(source, tmp_path):
    for form in ("lmdb", "lmdb-members", "hdf5"):
        result = run("pack", source, tmp_path / "out", "--format", form, "--compress", "zstd")
        assert result.code == USAGE and f"the format {form} cannot be compressed" in result.err, result
    assert list(tmp_path.iterdir()) == []


def test_bench_refuses_options_of_decoding_where_nothing_is_decoded(source):
    for option in ("--size", "64"), ("--max-pixels", "5"), ("--max-decoded-bytes", "5MiB"):
        result = run("bench", source, "--work", "read", *option)
        assert result.code == USAGE and "--work read decodes no images" in result.err, result


@pytest.mark.parametrize(
    "options,words",
    [
        ("--decode", "--decode needs --verify full or --against"),
        ("--decode --verify quick", "--decode needs"),
        ("--list --source-kind folder", "--source-kind needs --against"),
        ("--classes nowhere", "--classes needs --against"),
        ("--verify quick --limit 3", "--limit needs --against"),
        ("--verify full --split 90:10", "--split needs --against"),
        ("--list --max-pixels 3", "image limits have no effect: no images are decoded"),
        ("--verify quick --against {source} --allow-odd-classes", "--allow-odd-classes"),
        ("--repair x", "packhorse repair DATASET FROM"),
        ("--stats", "packhorse stats DATASET"),
        ("--stats-sample 3", "packhorse stats DATASET [--sample N"),
        ("--duplicates", "packhorse duplicates DATASET"),
        ("--duplicates other", "packhorse duplicates DATASET [OTHER]"),
        ("--identical", "packhorse duplicates"),
    ],
)
def test_inspect_refuses_options_that_change_nothing_or_have_moved(source, packed, options, words):
    result = run("inspect", packed, *options.format(source=source).split())
    assert result.code == USAGE and result.out == "" and words in result.err, result


def test_inspect_takes_the_options_of_a_source_that_is_looked_at(source, packed):
    against = ("inspect", packed, "--against", source, "--source-kind", "folder", "--limit", "3")
    assert run(*against).code == DONE
    assert run(*against, "--verify", "quick", "--decode").code == DONE


def test_a_dry_run_is_no_share_of_a_run(dry):
    for option in ("--finish",), ("--task", "0/3"):
        result = dry(*option)
        assert result.code == USAGE and "--dry-run" in result.err and option[0] in result.err, result


def test_numbers_are_decimal_and_none_wraps_around(source, dry):
    numbers = ["-1", "-0", "+1", "010", "0x10", "18446744073709551616", "99999999999999999999", "1.0", "1e3", " 1", "x"]
    options = ["--seed", "--max-pixels", "--max-scan-pixels", "--limit", "--shard-samples"]
    for i, number in enumerate(numbers):
        option = options[i % len(options)]
        result = dry(f"{option}={number}")
        assert result.code == USAGE and option in result.err and number.strip() in result.err, result
    for option in options:
        assert dry(f"{option}=18446744073709551616").code == USAGE
    for number in ("010", "0x2", "+2", "99999999999999999999"):  # of one that may be negative elsewhere
        result = dry(f"--jobs={number}")
        assert result.code == USAGE and "--jobs" in result.err, result
    for command in (("bench", source, "--max-images=-1"), ("diff", source, source, "--limit=010")):
        assert run(*command).code == USAGE, command


def test_sizes_that_are_none_are_refused_in_words(dry):
    sizes = [".", "1.2.3MiB", "1.MiB", ".5MiB", "nan", "inf", "-1", "+1", "1e3", "0", "0.2", "MiB", "1 MiB", "1mib",
             "1XB", "x", "None", "99999999999TiB"]  # fmt: skip
    for i, size in enumerate(sizes):
        result = dry(f"{('--shard-bytes', '--max-decoded-bytes')[i % 2]}={size}")
        assert result.code == USAGE and f"'{size}' is not a valid size" in result.err and "256MiB" in result.err, result
    for option in ("--shard-bytes", "--max-decoded-bytes"):
        assert dry(f"{option}=").code == dry(f"{option}=0").code == USAGE
    for size in ("1MiB", "1.5K", "4096", "0.5GB"):
        assert dry("--shard-bytes", size, "--max-decoded-bytes", size).code == DONE


def test_a_url_is_refused_wherever_a_path_is_wanted(source, packed, tmp_path):
    urls = ["s3://bucket/x", "gs://bucket/x", "https://host/x.tar", "file:///x", "hdfs://x"]
    commands = [
        ("pack", source, "out", "--format", "wds", "--labels", "URL"),
        ("pack", source, "out", "--format", "wds", "--classes", "URL"),
        ("pack", source, "out", "--format", "wds", "--log", "URL"),
        ("unpack", packed, "URL"),
        ("repair", "URL", packed),
        ("inspect", packed, "--report", "URL"),
        ("inspect", packed, "--show", "0", "-o", "URL"),
        ("index", "URL"),
        ("index", packed, "--out", "URL"),
        ("index", packed, "--log", "URL"),
        ("export-index", "URL"),
        ("export-index", packed, "-o", "URL"),
        ("bench", source, "--metrics", "URL"),
        ("cache", "list", "--cache", "URL"),
    ]
    for i, command in enumerate(commands):
        url = urls[i % len(urls)]
        result = run(*(url if word == "URL" else word for word in command), cwd=tmp_path)
        assert result.code == USAGE, (command, result)
        assert f"'{url}' is a URL" in result.err and "next:  " in result.err, (command, result)
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_at_a_url_of_another_scheme_is_refused(tmp_path):
    for url, *command in (
        ("gs://bucket/x", "inspect", "URL"),
        ("file:///x", "bench", "URL"),
        ("hdfs://x", "unpack", "URL", "out"),
        ("gs://bucket/x", "duplicates", "URL"),
        ("file:///x", "diff", "URL", "packed"),
        ("hdfs://x", "copy", "URL", "out"),
        ("file:///x", "pack", "URL", "out", "--format=wds"),
        ("gs://bucket/x", "pack", SHAPES, "URL", "--format=wds"),
    ):
        result = run(*(url if word == "URL" else word for word in command), cwd=tmp_path)
        assert result.code == USAGE and "a scheme that is not known" in result.err, result
        assert ("the path alone" if url.startswith("file") else "s3://") in result.err, result
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_path_may_look_like_a_url(packed, dry):
    result = run("inspect", packed, "--list", "--class", "http://x")
    assert "there is no class 'http://x'" in result.err, result
    result = run("inspect", packed, "--show", "http://x/y.jpg")
    assert result.code != USAGE and "URL" not in result.err, result
    assert dry("--exclude", "http://*").code == DONE


@pytest.mark.skipif(not TRAIN.exists(), reason="packhorse-train is not part of this build")
def test_the_trainer_refuses_a_url_too(source, tmp_path):
    result = train("fit", "--data", source, "--arch", "smallnet", "--out", "s3://bucket/run", cwd=tmp_path)
    assert result.code == USAGE and "is a URL" in result.err and list(tmp_path.iterdir()) == [], result


def test_a_folder_with_a_url_for_a_name_can_be_given_by_another_spelling(source, tmp_path):
    assert run("pack", source, "./s3://x", "--format", "wds", cwd=tmp_path).code == DONE
    assert (tmp_path / "s3:/x/dataset.json").exists()

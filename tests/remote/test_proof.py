"""Proof from afar: what `inspect --verify`, `--against`, `diff` and `repair` say of a dataset at a URL is what they say
of the same files on the disk."""

import json
import shutil

import pytest
from fault_plan import Plan, Rule
from faults import Cut, Flip, TimeSkewed, Unavailable
from python_support import DAMAGE, DONE, FAILED, FORMATS, copy_tree, flip_byte, make_source, packhorse, put, refused, run, run_on_small_disk, tree, truncate
from test_pack_to_bucket import put_padded

NO_CACHE = "--no-cache"


@pytest.fixture(name="scratch", autouse=True)
def scratch_fixture(tmp_path, monkeypatch):
    """Where copies of shards lie meanwhile: nothing may stay there."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    yield scratch
    assert list(scratch.iterdir()) == []


@pytest.fixture(name="serve")
def serve_fixture(nginx, tmp_path):
    """Puts a copy of a dataset, with damage, behind the web server: serve(dataset, damage) -> (URL, the copy)."""
    served = []

    def serve(dataset, damage=lambda _: None):
        place = nginx.root / f"proof-{tmp_path.name}-{len(served)}"
        served.append(place)
        damage(copy_tree(dataset, place))
        return f"{nginx.url}/{place.name}", place

    yield serve
    for place in served:
        shutil.rmtree(place)


def both(url, place, *options):
    """The same check there and here, which must say the same."""
    there, here = run("inspect", url, *options, "--json", NO_CACHE), run("inspect", place, *options, "--json")
    assert there.code == here.code, (there, here)
    assert json.loads(there.out.replace(url, str(place))) == here.json
    return there


@pytest.fixture(scope="module", name="packed")
def packed_fixture(tmp_path_factory):
    """A dataset with several shards in each format."""
    folder = tmp_path_factory.mktemp("proof")
    source = make_source(folder / "source", 32)
    for name in FORMATS:
        packhorse("pack", source, folder / name, f"--format={name}", "--shard-samples=8")
    return folder


@pytest.mark.parametrize(
    ("name", "level"),
    [
        *((name, ["--verify=full", "--decode"]) for name in FORMATS),
        ("wds", ["--verify=quick"]),
        ("lmdb", ["--verify=full", "--subset=1/9"]),
    ],
)
def test_a_sound_dataset_is_found_sound(name, level, packed, serve):
    assert both(*serve(packed / name), *level).json["findings"] == []


def damages(name):
    """What may be wrong with a dataset: name -> how it is done to a copy of it."""
    shard, index = {"wds": "shard-000001.tar", "lmdb": "shard-000001.lmdb/data.mdb", "hdf5": "shard-000001.h5"}[name], "shard-000002.index"
    return {
        "flip": lambda place: flip_byte(place / shard, (place / shard).stat().st_size // 2),
        "cut": lambda place: truncate(place / shard, 5000),
        "missing": lambda place: (place / shard).unlink(),
        "index": lambda place: flip_byte(place / index, 200),
        "no index": lambda place: (place / index).unlink(),
        "classes": lambda place: (place / "classes.txt").write_text("a\nb\n"),
        "sums": lambda place: flip_byte(place / "SHA256SUMS", 3),
        "manifest": lambda place: flip_byte(place / "dataset.json", 100),
    }


@pytest.mark.parametrize(
    ("name", "what"),
    [*(("wds", what) for what in damages("wds")), ("lmdb", "flip"), ("lmdb", "cut"), ("hdf5", "flip"), ("hdf5", "missing")],
)
def test_damage_is_found_as_on_the_disk(name, what, packed, serve):
    url, place = serve(packed / name, damages(name)[what])
    for level in ("quick", "full"):
        result = run("inspect", url, f"--verify={level}", "--json", NO_CACHE)
        here = run("inspect", place, f"--verify={level}", "--json")
        assert result.code == here.code, (result, here)
        there, expected = json.loads(result.out.replace(url, str(place))), here.json
        for found in (there, expected):
            for finding in found["findings"]:
                if finding["kind"] == "missing":
                    finding["detail"] = finding["detail"].partition(":")[0]  # the rest is in the words of disk or server
        assert there["findings"] == expected["findings"]
        if level == "full":
            assert result.code == DAMAGE and there["findings"]


def test_damage_on_the_way_is_no_damage(packed, nginx, serve, in_front_of):
    url, place = serve(packed / "wds")
    faults = Rule([Flip(at=700), Cut(100), Unavailable(retry_after=0)], path="*shard*", each=1)
    proxy = in_front_of(nginx, plan=Plan([faults], seed=3))
    result = run("inspect", url.replace(nginx.url, proxy.url), "--verify=full", "--json", NO_CACHE)
    assert result.code == DONE and result.json["findings"] == [], result
    assert sum(proxy.counters()["faults"].values()) > 4
    stays = in_front_of(nginx, plan=Plan([Rule(Flip(at=700), path="*shard-000001.tar")]))
    result = run("inspect", url.replace(nginx.url, stays.url), "--verify=full", "--json", NO_CACHE)
    assert result.code == DAMAGE and {finding["shard"] for finding in result.json["findings"]} == {"shard-000001.tar"}


def test_a_storage_that_fails_is_an_error_and_no_finding(packed, nginx, serve, in_front_of):
    url, _ = serve(packed / "wds")
    proxy = in_front_of(nginx, plan=Plan([Rule(Cut(10), path="*shard-000003.tar")]))
    result = refused("inspect", url.replace(nginx.url, proxy.url), "--verify=full", NO_CACHE, code=FAILED)
    assert "shard-000003.tar" in result.err and "next: " in result.err, result
    proxy = in_front_of(nginx, plan=Plan([Rule(TimeSkewed(), skip=12)]))
    result = refused("inspect", url.replace(nginx.url, proxy.url), "--verify=full", NO_CACHE, code=FAILED)
    assert "clock" in result.err and "replaced" not in result.err, result


def test_only_two_shards_for_each_job_are_on_the_disk_at_once(serve, scratch, tmp_path):
    """A directory of temporary files that holds two and a half of the four shards is enough for one job."""
    for i in range(8):
        put_padded(tmp_path / f"source/class{i % 2}/{i}.jpg", 500_000)
    packhorse("pack", tmp_path / "source", tmp_path / "packed", "--format=wds", "--shard-samples=2")
    url, place = serve(tmp_path / "packed")
    sizes = [path.stat().st_size for path in place.glob("*.tar")]
    assert len(sizes) == 4
    result = run_on_small_disk(sum(sizes) * 5 // 8, scratch, "inspect", url, "--verify=full", "--jobs=1", NO_CACHE)
    assert result.code == DONE, result


def test_a_place_for_copies_that_is_not_there_is_named(packed, serve, scratch, monkeypatch):
    url, _ = serve(packed / "wds")
    monkeypatch.setenv("TMPDIR", str(scratch / "none"))
    result = refused("inspect", url, "--verify=full", NO_CACHE, code=FAILED)
    assert "scratch/none" in result.err, result


def test_a_dataset_is_compared_with_its_source(packed, serve):
    url, place = serve(packed / "hdf5")
    assert both(url, place, "--against", packed / "source").code == DONE
    put(packed / "with-rejects/a/1.jpg", b"no image")
    for name in "ab":
        put(packed / f"with-rejects/{name}/2.jpg")
    assert run("pack", packed / "with-rejects", packed / "rejects", "--format=wds", "--max-rejects=1").code == DONE
    assert both(*serve(packed / "rejects"), "--against", packed / "with-rejects").code == DONE
    other = copy_tree(packed / "source", place.parent / "other-source")
    try:
        next(other.rglob("*.jpg")).unlink()
        assert both(url, place, "--against", other).code == DAMAGE
    finally:
        shutil.rmtree(other)


def test_datasets_are_compared_with_each_other(packed, serve):
    url, place = serve(packed / "wds")
    same = packhorse("diff", url, packed / "wds", NO_CACHE)
    assert same.out.startswith("equal")
    there, here = (run("diff", one, packed / "hdf5", "--json", *options) for one, options in ((url, [NO_CACHE]), (place, [])))
    assert there.code == here.code == DAMAGE and there.json == here.json
    assert "has no effect" in run("diff", place, packed / "wds", NO_CACHE).err


def test_a_dataset_is_repaired_from_a_copy_at_a_url(packed, serve, tmp_path):
    url, _ = serve(packed / "lmdb")
    damaged = copy_tree(packed / "lmdb", tmp_path / "damaged")
    damages("lmdb")["flip"](damaged)
    damages("lmdb")["no index"](damaged)
    (damaged / "classes.txt").unlink()
    packhorse("repair", damaged, url, NO_CACHE)
    assert tree(damaged) == tree(packed / "lmdb")
    damages("lmdb")["flip"](damaged)
    broken, _ = serve(damaged)
    result = refused("repair", damaged, broken, NO_CACHE, code=FAILED)
    assert "no sound file" in result.err, result
    result = refused("repair", url, packed / "source", NO_CACHE, code=2)
    assert "only files can be read and written" in result.err


@pytest.mark.parametrize("name", ["wds", "hdf5"])
def test_a_dataset_at_a_url_is_packed_into_another_format(name, packed, serve, tmp_path):
    url, _ = serve(packed / "wds")
    options = [f"--format={name}", "--shard-samples=12"]
    packhorse("pack", packed / "wds", tmp_path / "here", *options)
    packhorse("pack", url, tmp_path / "there", *options, NO_CACHE)
    assert tree(tmp_path / "there") == tree(tmp_path / "here")

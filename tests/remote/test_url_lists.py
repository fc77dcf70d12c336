"""Lists of URLs as sources: the dataset of the same list of paths, whatever lies where."""

import os
import shutil
import subprocess
import sys

import pytest
from fault_plan import Plan, Rule
from faults import Cut, Unavailable
from python_support import BIN, DAMAGE, DONE, FAILED, USAGE, make_source, pack, packhorse, refused, run, tree

OPTIONS = ("--format=wds", "--shard-samples=8")
NO_CACHE = "--no-cache"


@pytest.fixture(scope="module", name="photos")
def photos_fixture(nginx, seaweed):
    """The same pictures on the disk, behind the web server and in the bucket; the web server's names need encoding."""
    folder = make_source(nginx.root / "lists/a photo", 24)
    seaweed.client().put_folder("public", folder, "lists")
    yield folder
    shutil.rmtree(nginx.root / "lists")


def names(photos):
    return sorted(path.relative_to(photos).as_posix() for path in photos.rglob("*.jpg"))


def write(path, rows, head="path,label"):
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def of_paths(photos, tmp_path):
    """What the list of the paths gives."""
    listed = write(photos / "here.csv", [f"{name},{name.split('/')[0]}" for name in names(photos)])
    pack(listed, tmp_path / "here", *OPTIONS)
    listed.unlink()
    return tree(tmp_path / "here")


def test_urls_of_a_web_server_give_the_dataset_of_the_paths_and_are_fetched_again_by_against(photos, nginx, tmp_path):
    listed = write(tmp_path / "urls.csv", [f"{nginx.url}/lists/a%20photo/{name},{name.split('/')[0]}" for name in names(photos)])
    pack(listed, tmp_path / "out", *OPTIONS)
    assert tree(tmp_path / "out") == of_paths(photos, tmp_path)
    against = ["inspect", tmp_path / "out", "--verify=full", "--against", listed, NO_CACHE]
    assert run(*against).code == DONE
    first = photos / names(photos)[0]
    content = first.read_bytes()
    try:
        first.write_bytes(content[:-2] + b"\xff\xd9\n")
        result = run(*against)
        assert result.code == DAMAGE and names(photos)[0] in result.out + result.err
    finally:
        first.write_bytes(content)


def test_urls_of_a_bucket_give_it_too(photos, seaweed, tmp_path, monkeypatch):
    for name, value in seaweed.environment().items():
        monkeypatch.setenv(name, value)
    listed = write(tmp_path / "urls.tsv", [f"s3://public/lists/{name}\t{name.split('/')[0]}" for name in names(photos)], "path\tlabel")
    pack(listed, tmp_path / "out", *OPTIONS)
    assert tree(tmp_path / "out") == of_paths(photos, tmp_path)


def test_splits_fields_and_several_places_in_one_list(photos, nginx, seaweed, tmp_path, monkeypatch):
    for name, value in seaweed.environment().items():
        monkeypatch.setenv(name, value)
    first, *others = names(photos)
    rows = [f"{nginx.url}/lists/a%20photo/{first},cat,val,asleep"] + [f"s3://public/lists/{name},dog,train," for name in others]
    pack(write(tmp_path / "urls.csv", rows, "path,label,split,caption"), tmp_path / "out", *OPTIONS)
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    host = nginx.url.split("://")[1]
    (image,) = (tmp_path / "back/val").rglob("*.jpg")
    assert image.relative_to(tmp_path / "back/val").as_posix() == f"http/{host}/lists/a photo/{first}"
    assert image.read_bytes() == (photos / first).read_bytes() and image.with_suffix(".caption").read_text() == "asleep"
    assert len(list((tmp_path / "back/train/s3/public/lists").rglob("*.jpg"))) == len(others)


def test_rows_that_cannot_be_are_rejected_by_their_line(photos, nginx, tmp_path):
    base = f"{nginx.url}/lists/a%20photo"
    rows = [f"{base}/{name},a" for name in names(photos)[:3]]
    rows += [f"{base}/none.jpg,a", f"{base}/b.jpg?key=SECRET,a", "local.jpg,a", "ftp://host/x.jpg,a", f"{nginx.url},a", "https://u:SECRET@h/x,a"]
    result = run("pack", write(tmp_path / "urls.csv", rows), tmp_path / "out", *OPTIONS, "--json",
                 "--max-rejects=6")  # fmt: skip
    assert result.code == DONE, result
    found = {reject["reason"].split(":")[0]: reject["reason"] for reject in result.json["rejects"]}
    for line, said in [(5, "nothing at this URL"), (6, "a query"), (7, "a path, though the list begins with a URL"), (8, "ftp"),
                       (9, "a URL of a host"), (10, "password")]:  # fmt: skip
        assert said in found[f"line {line}"], found
    assert "SECRET" not in result.out + result.err
    rows = [f"{base}//{names(photos)[0]},a", f"{base}/x/,a", f"{base}/a%2Fb.jpg,a", f"https://u:SECRET@h/x?key=SECRET,", f"{base}/{names(photos)[0]},a"]
    result = run("pack", write(tmp_path / "odd.csv", rows), tmp_path / "odd", *OPTIONS, "--json", "--max-rejects=4")
    assert result.code == DONE and len(result.json["rejects"]) == 4 and "SECRET" not in result.out + result.err, result
    assert sum("an empty part, a slash at its end" in reject["reason"] for reject in result.json["rejects"]) == 3
    rows = [f"{names(photos)[0]},a", f"{base}/{names(photos)[1]}?key=SECRET,a"]
    refused_rows = run("pack", write(photos / "mixed.csv", rows), tmp_path / "mixed", *OPTIONS, "--json")
    (photos / "mixed.csv").unlink()
    assert "SECRET" not in refused_rows.out + refused_rows.err
    assert refused_rows.code == DAMAGE and "a URL, though the list begins with a path" in refused_rows.out


def test_a_server_that_is_not_there_is_an_error_and_no_reject(tmp_path):
    listed = write(tmp_path / "urls.csv", ["http://127.0.0.1:9/a.jpg,a", "http://127.0.0.1:9/b.jpg,b"])
    result = refused("pack", listed, tmp_path / "out", *OPTIONS)
    assert result.code == FAILED and "127.0.0.1:9" in result.err and not (tmp_path / "out").exists()


def test_faults_on_the_way_change_nothing(photos, nginx, in_front_of, tmp_path):
    proxy = in_front_of(nginx)
    proxy.plan = Plan([Rule([Unavailable(), Cut(200)], path="*.jpg", chance=0.4, each=2)], seed=4)
    listed = write(tmp_path / "urls.csv", [f"{proxy.url}/lists/a%20photo/{name},{name.split('/')[0]}" for name in names(photos)])
    pack(listed, tmp_path / "out", *OPTIONS)
    assert tree(tmp_path / "out") == of_paths(photos, tmp_path)
    assert sum(proxy.counters()["faults"].values()) > 10


def test_options_of_storage_without_a_url_are_refused(tmp_path):
    refused("pack", tmp_path, tmp_path / "out", *OPTIONS, "--endpoint=http://localhost:1", code=USAGE)


def test_python_packs_a_list_of_urls(photos, nginx, tmp_path):
    package = BIN.parent / "python"
    if not (package / "packhorse/_remote.pyi").exists():
        pytest.skip("the Python package is not built")
    listed = write(tmp_path / "urls.csv", [f"{nginx.url}/lists/a%20photo/{name},{name.split('/')[0]}" for name in names(photos)])
    code = f"import packhorse, pathlib; packhorse.pack(pathlib.Path({str(listed)!r}), {str(tmp_path / 'out')!r}, format='wds', shard_samples=8)"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(package)}, check=True)
    assert tree(tmp_path / "out") == of_paths(photos, tmp_path)

"""Secrets of addresses (https://user:password@h/x?token=...) are neither printed nor published, whatever names them."""

import json

import annotated_support as made
import pytest
from python_support import DAMAGE, DONE, USAGE, packhorse, run, tree

URLS = (
    "https://h/1.ppm?token=SECRET",
    "HTTPS:/h/1.ppm?SECRET",
    " https://h/1.ppm?X-Amz-Signature=SECRET",
    "1.ppm?sig=SECRET",
    "https://user:SECRET@h/1.ppm",
)


@pytest.fixture
def source(tmp_path):
    for i in range(4):
        made.image(tmp_path / f"c/{'ab'[i % 2]}/{i}.ppm", i)
    return tmp_path / "c"


def hidden(result, *files):
    """Checks that no secret is in what a command printed, and in no file."""
    assert "SECRET" not in result.out + result.err, result
    for file in files:
        for path in [file, *file.rglob("*")] if file.is_dir() else [file]:
            assert path.is_dir() or b"SECRET" not in path.read_bytes(), path
    return result


def quoted(cell):
    return json.dumps(cell)


@pytest.mark.parametrize("url", URLS)
def test_tables_never_show_the_secret_of_an_address(source, tmp_path, url):
    second = url.replace("1.ppm", "2.ppm")
    tables = {
        "labels.csv": f"path,label\n{quoted(url)},cat\n{quoted(second)},dog\n",
        "labels.jsonl": f'{{"path": {quoted(url)}, "label": "cat"}}\n',
        "twice.csv": f"path,label\na/0.ppm,{quoted(url)}\na/0.ppm,{quoted(second)}\n",
        "labels.txt": f"a/0.ppm {url.strip()}\n",
        "header.csv": f"{quoted(url)},label\na/0.ppm,cat\n",
        "captions.csv": f"path,caption\n{quoted(url)},a cat\n",
    }
    for name, text in tables.items():
        made.text(tmp_path / name, text)
        kind = ("--targets", f"caption:{tmp_path / name}") if name.startswith("captions") else ("--labels", tmp_path / name)
        hidden(run("pack", source, tmp_path / "out", "--format=wds", "--max-rejects=9", "--log", tmp_path / "log", *kind))
        hidden(run("pack", source, tmp_path / "no", "--format=wds", "--dry-run", *kind))
        assert not (tmp_path / "log").exists() or b"SECRET" not in (tmp_path / "log").read_bytes()


@pytest.mark.parametrize("url", URLS)
def test_lists_neither_show_nor_publish_it(source, tmp_path, url):
    rows = {"path": ["a/0.ppm", "cat", "train"], "split": ["b/1.ppm", "dog", url], "reject": [url, "dog", "train"]}
    made.text(source / "list.csv", "path,label,split\n" + "".join(",".join(map(quoted, row)) + "\n" for row in rows.values()))
    result = hidden(run("pack", source / "list.csv", tmp_path / "out", "--format=wds", "--max-rejects=9", "--log", tmp_path / "log"), tmp_path / "log")
    assert result.code in (DONE, USAGE, DAMAGE)
    if (tmp_path / "out").exists():
        hidden(result, tmp_path / "out")
        assert len((tmp_path / "log").read_text().splitlines()) >= 2
        result = hidden(run("inspect", tmp_path / "out", "--against", source / "list.csv", "--json"))
        assert result.code == DONE, result


def test_an_address_is_no_class(source, tmp_path):
    for url in URLS:
        made.text(tmp_path / "labels.csv", f"path,label\n0.ppm,{quoted(url)}\n1.ppm,dog\n2.ppm,dog\n3.ppm,dog\n")
        made.text(tmp_path / "classes.txt", f"dog\n{url}\n")
        for option in ("--labels", tmp_path / "labels.csv"), ("--classes", tmp_path / "classes.txt"):
            result = hidden(run("pack", source, tmp_path / "out", "--format=wds", *option))
            assert result.code == USAGE and "would be published" in result.err, result
    made.text(tmp_path / "labels.csv", "path,label\n" + "".join(f"{i}.ppm,http://dbpedia.org/Cat#{i % 2}\n" for i in range(4)))
    packhorse("pack", source, tmp_path / "out", "--format=wds", "--labels", tmp_path / "labels.csv")


def test_the_field_of_a_list_is_refused(source, tmp_path):
    made.text(source / "list.csv", f"path,label,url,text\na/0.ppm,a,{URLS[0]},\nb/1.ppm,b,https://h/1?id=3,what? key\n")
    result = hidden(run("pack", source / "list.csv", tmp_path / "out", "--format=wds"))
    assert result.code == USAGE and "line 2: the field 'url' holds a secret" in result.err, result
    packhorse("pack", source / "list.csv", tmp_path / "out", "--format=wds", "--fields=text")


@pytest.mark.parametrize("where", ["image", "annotation", "info"])
def test_members_of_coco_are_refused(tmp_path, where):
    for name, url in (("secret", URLS[0]), ("harmless", "https://h/1.ppm?id=3")):
        member = {where: {"coco_url": url}}
        made.image(tmp_path / name / "images/1.ppm", 1)
        content = {
            "info": member.get("info", {}),
            "images": [{"id": 1, "file_name": "1.ppm", "width": 100, "height": 80, **member.get("image", {})}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], **member.get("annotation", {})}],
            "categories": [{"id": 1, "name": "cat"}],
        }
        made.text(tmp_path / name / "annotations/instances.json", json.dumps(content).replace("/", "\\/"))
    result = hidden(run("pack", tmp_path / "secret", tmp_path / "out", "--format=wds", "--max-rejects=9"))
    assert result.code == USAGE and "its coco_url holds a secret, which would be published: 'https://h/1.ppm?...'" in result.err, result
    packhorse("pack", tmp_path / "harmless", tmp_path / "out", "--format=wds")


def test_masks_and_pictures_in_texts_are_no_secrets(tmp_path):
    made.image(tmp_path / "s/images/1.ppm", 1)
    content = {
        "images": [{"id": 1, "file_name": "1.ppm", "width": 100, "height": 80, "data": "data:image/png;base64,KEYSIG=="}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "area": 8000, "segmentation": {"size": [80, 100], "counts": [0, 8000]}}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    made.text(tmp_path / "s/annotations/instances.json", json.dumps(content))
    packhorse("pack", tmp_path / "s", tmp_path / "out", "--format=wds")


@pytest.mark.parametrize("url", URLS)
def test_the_command_line_does_not_show_it(source, tmp_path, url):
    packhorse("pack", source, tmp_path / "set", "--format=wds")
    out, data = tmp_path / "out", tmp_path / "set"
    for command in (
        ["pack", url, out, "--format=wds"],
        ["pack", source, url, "--format=wds", "--dry-run"],
        ["pack", source, out, "--format", url],
        ["pack", source, out, "--format=wds", "--labels", url],
        ["pack", source, out, "--format=wds", "--labels", f"val={url}"],
        ["pack", source, out, "--format=wds", "--label-pattern", url],
        ["pack", source, out, "--format=wds", "--targets", f"coco:{url}"],
        ["pack", source, out, "--format=wds", "--classes", url],
        ["pack", source, out, "--format=wds", "--split-folders", f"train={url}"],
        ["pack", source, out, "--format=wds", "--field-from", f"seg.png={url}"],
        ["pack", source, out, "--format=wds", "--bogus", url],
        ["pack", source, out, url, "--format=wds"],
        ["inspect", url],
        ["inspect", data, "--show", url],
        ["inspect", data, "--show", "0", "-o", url + "/x"],
        ["inspect", data, "--report", url + "/x"],
        ["inspect", data, "--sheet", url + "/x"],
        ["inspect", data, "--against", url],
        ["inspect", data, "--class", url, "--list"],
        ["index", url],
        ["index", url, "--out", out],
        ["copy", url, out],
        ["diff", data, url],
        [url],
    ):
        result = hidden(run(*command))
        assert result.code != DONE or "--dry-run" in command, result


def test_yaml_and_xml_do_not_show_it(tmp_path):
    made.yolo(tmp_path / "yolo", splits=("train",), yaml=f"path: {URLS[0]}\ntrain: images/train\nnames: [cat, dog]\n")
    hidden(run("pack", tmp_path / "yolo", tmp_path / "out", "--format=wds"))
    for i in range(2):
        made.image(tmp_path / f"voc/JPEGImages/{i}.ppm", i)
        made.text(tmp_path / f"voc/Annotations/{i}.xml", "<annotation><object><name>cat</name></object></annotation>")
    made.text(tmp_path / "voc/ImageSets/Main/train.txt", f"0\n1\n{URLS[0]}\n{URLS[3]}\n")
    result = hidden(run("pack", tmp_path / "voc", tmp_path / "out", "--format=wds", "--max-rejects=9", "--log", tmp_path / "log"))
    if (tmp_path / "log").exists():
        hidden(result, tmp_path / "log")


def test_names_of_files_that_are_there_are_packed_and_listed_exactly(tmp_path):
    names = [f"{folder}/{folder}{query}.ppm" for folder in "cd" for query in ("?size=3", "?token=1", "?token=2")]
    for i, name in enumerate(names):
        made.image(tmp_path / "s" / name, i)
    packhorse("pack", tmp_path / "s", tmp_path / "out", "--format=wds")
    assert sorted(line.split("\t")[-1] for line in packhorse("inspect", tmp_path / "out", "--list").out.splitlines()) == names
    assert sorted(one["path"] for one in packhorse("inspect", tmp_path / "out", "--list", "--json").json["samples"]) == names
    packhorse("inspect", tmp_path / "out", "--against", tmp_path / "s")
    packhorse("unpack", tmp_path / "out", tmp_path / "back")
    assert tree(tmp_path / "back") == tree(tmp_path / "s")

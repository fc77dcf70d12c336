"""Datasets whose manifest or index lies, as a forger's would: with every checksum and id matching. And foreign
shards."""

import ctypes
import functools
import hashlib
import json
import random
import shutil
import struct
import tempfile
from pathlib import Path

from python_support import packhorse

from . import Hostile
from .archives import IMAGE, tar
from .images import png

RANGES, LABELS, IMAGES, KEYS, PATHS, FRAMES = 1, 3, 4, 6, 8, 13  # sections of an index: docs/formats/index.md
CHECKSUM = slice(56, 64)
PNM = b"P5 10 10 255\n" + bytes(range(100))


@functools.cache
def xxh3():
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    return lambda data: library.XXH3_64bits(bytes(data), ctypes.c_size_t(len(data)))


@functools.cache
def scratch():
    """A folder that is removed when the interpreter ends."""
    return tempfile.TemporaryDirectory(prefix="packhorse-hostile-")


@functools.cache
def sound(*options):
    """A valid dataset."""
    folder = Path(scratch().name) / ("-".join(options).replace(":", "") or "default")
    source = folder / "source"
    for name, content in {"cat/a.jpg": IMAGE, "cat/b.jpg": IMAGE + b"b", "dog/c.png": png(4, 4), "dog/d.pgm": PNM}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(content)
    packhorse("pack", source, folder / "out", *options)
    return folder / "out"


class Forged:
    """A copy of a valid dataset; leaving the context updates all sums."""

    def __init__(self, path, *options):
        shutil.copytree(sound(*options), path)
        self.path = path
        self.manifest = json.loads((path / "dataset.json").read_text())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for shard in self.manifest["shards"]:
            index = self.path / shard["index"]
            if index.is_file():
                data = index.read_bytes()
                shard["index_bytes"], shard["index_sha256"] = len(data), hashlib.sha256(data).hexdigest()
        for file in self.manifest["files"]:
            if (self.path / file["file"]).is_file():
                data = (self.path / file["file"]).read_bytes()
                file["bytes"], file["sha256"] = len(data), hashlib.sha256(data).hexdigest()
        self.write_manifest()

    def write_manifest(self):
        content = {name: value for name, value in self.manifest.items() if name not in ("packhorse", "id")}
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        self.manifest["id"] = hashlib.sha256(text.encode()).hexdigest()
        whole = json.dumps(self.manifest, indent=1, ensure_ascii=False) + "\n"
        (self.path / "dataset.json").write_text(whole)
        lines = [f"{shard['sha256']}  {shard['file']}\n{shard['index_sha256']}  {shard['index']}\n"
                 for shard in self.manifest["shards"]]
        lines += [f"{file['sha256']}  {file['file']}\n" for file in self.manifest["files"]]
        lines.append(f"{hashlib.sha256(whole.encode()).hexdigest()}  dataset.json\n")
        (self.path / "SHA256SUMS").write_text("".join(lines))

    def edit_index(self, edit):
        """Calls edit(data, sections) with the index and, by number, the (offset, length) of its sections."""
        index = self.path / self.manifest["shards"][0]["index"]
        data = bytearray(index.read_bytes())
        sections = {}
        for i in range(struct.unpack_from("<I", data, 12)[0]):
            number, _, offset, length = struct.unpack_from("<IIQQ", data, 64 + 24 * i)
            sections[number] = (offset, length)
        edit(data, sections)
        data[CHECKSUM] = bytes(8)
        data[CHECKSUM] = struct.pack("<Q", xxh3()(data))
        index.write_bytes(data)


def with_manifest(edit, *options):
    def make(path):
        with Forged(path, *options) as forged:
            edit(forged.manifest)

    return make


def with_index(section, form, row, values, *options):
    """Overwrites a row of a column with numbers."""

    def edit(data, sections):
        struct.pack_into(form, data, sections[section][0] + row * struct.calcsize(form), *values)

    def make(path):
        with Forged(path, *options) as forged:
            forged.edit_index(edit)

    return make


def with_text(section, text, *options):
    """Overwrites a column of texts with `text`, repeated."""

    def edit(data, sections):
        offset, length = sections[section]
        data[offset : offset + length] = (text * length)[:length]

    def make(path):
        with Forged(path, *options) as forged:
            forged.edit_index(edit)

    return make


def every_image_is(kind, width, height, components, *options):
    def edit(data, sections):
        offset, length = sections[IMAGES]
        for at in range(offset, offset + length, 12):
            struct.pack_into("<IIBBBB", data, at, width, height, kind, components, 8, 1)

    def make(path):
        with Forged(path, *options) as forged:
            forged.edit_index(edit)

    return make


def with_class_names(text, *options):
    def make(path):
        with Forged(path, *options) as forged:
            (path / "classes.txt").write_bytes(text)

    return make


def raw_manifest(text):
    def make(path):
        shutil.copytree(sound("--format", "wds"), path)
        (path / "dataset.json").write_text(text)

    return make


def shard(key, value, place=0):
    def edit(manifest):
        manifest["shards"][place][key] = value

    return edit


def put(**values):
    return lambda manifest: manifest.update(values)


def many_shards(manifest):
    manifest["shards"] *= 100


def datasets():
    wds, zst, lmdb, hdf5 = (["--format", "wds"], ["--format", "wds", "--compress", "zstd"], ["--format", "lmdb"],
                            ["--format", "hdf5"])
    huge = (1 << 64) - 1
    made = {
        "manifest-deep": raw_manifest("[" * 200_000 + "]" * 200_000),
        "manifest-deep-object": raw_manifest('{"a":' * 200_000 + "1" + "}" * 200_000),
        "manifest-empty": raw_manifest(""),
        "manifest-list": raw_manifest("[]"),
        "manifest-100-times-a-shard": with_manifest(many_shards, *wds),
        "manifest-shard-absolute": with_manifest(shard("file", "/etc/passwd"), *wds),
        "manifest-shard-outside": with_manifest(shard("file", "../../../../etc/passwd"), *wds),
        "manifest-index-outside": with_manifest(shard("index", "../../../../etc/passwd"), *wds),
        "manifest-file-outside": with_manifest(
            lambda m: m["files"].append({"file": "../outside", "bytes": 1, "sha256": "0" * 64}), *wds),
        "manifest-shard-escape": with_manifest(shard("file", "\x1b]0;owned\x07\x1b[2J.tar"), *wds),
        "manifest-shard-directory": with_manifest(shard("file", "."), *wds),
        "manifest-shard-device": with_manifest(shard("file", "/dev/zero"), *wds),
        "manifest-samples": with_manifest(put(samples=huge), *wds),
        "manifest-shard-samples": with_manifest(shard("samples", huge), *wds),
        "manifest-first-sample": with_manifest(shard("first_sample", huge), *wds),
        "manifest-shard-bytes": with_manifest(shard("bytes", huge), *wds),
        "manifest-classes": with_manifest(put(class_samples=[1] * 1_000_000), *wds),
        "manifest-no-classes": with_manifest(put(class_samples=[]), *wds),
        "manifest-format": with_manifest(put(format="lmdb"), *wds),
        "manifest-format-unknown": with_manifest(put(format="\x1b[31m"), *wds),
        "manifest-image": with_manifest(put(image="raw", image_settings="size=2147483647 fit=crop"), *wds),
        "manifest-settings": with_manifest(put(image="resize", image_settings="short_side=-1 quality=101"), *wds),
        "manifest-compress": with_manifest(put(compress="zstd:3"), *wds),
        "manifest-fields": with_manifest(put(fields=["json"] * 100_000), *wds),
        "manifest-split": with_manifest(put(split="../../x"), *wds),
        "manifest-shuffle": with_manifest(lambda m: m["options"].update(seed=huge, shard_samples=huge), *wds),
        "classes-outside": with_class_names(b"../../escaped\n/tmp/packhorse-escaped\n", *wds),
        "classes-control": with_class_names(b"\x1b[2J\n\xff\xfe\n", *wds),
        "classes-fewer": with_class_names(b"cat\n", *wds),
        "index-label-negative": with_index(LABELS, "<q", 0, [-5], *wds),
        "index-label-huge": with_index(LABELS, "<q", 0, [1 << 62], *wds),
        "index-range-whole-file": with_index(RANGES, "<QQ", 0, [0, 5000], *wds),
        "index-range-overlap": with_index(RANGES, "<QQ", 1, [512, 100], *wds),
        "index-paths-outside": with_text(PATHS, b"../", *wds),
        "index-paths-absolute": with_text(PATHS, b"/tmp/packhorse-escaped/", *wds),
        "index-paths-control": with_text(PATHS, b"\x1b]0;owned\x07\n\t", *wds),
        "index-keys-control": with_text(KEYS, b"\x1b[2J", *wds),
        "index-keys-outside": with_text(KEYS, b"../", *wds),
        "index-images-pnm-3000": every_image_is(6, 3000, 3000, 3, *wds),
        "index-images-pnm-0": every_image_is(6, 0, 0, 0, *wds),
        "index-images-jpeg-65535": every_image_is(1, 65535, 65535, 3, *wds),
        "index-images-png-huge": every_image_is(2, 0xFFFFFFFF, 0xFFFFFFFF, 255, *wds),
        "index-images-raw": every_image_is(7, 3000, 3000, 3, *wds),
        "index-images-unknown": every_image_is(200, 8, 8, 3, *wds),
        "index-frame-content": with_index(FRAMES, "<QQQQ", 0, [0, 400, 0, 400 * 43_690], *zst),
        "index-frame-far": with_index(FRAMES, "<QQQQ", 0, [0, 400, 1 << 63, 400], *zst),
        "index-frame-all": with_index(FRAMES, "<QQQQ", 1, [0, 1000, 0, 1000 * 43_690], *zst),
        "lmdb-images-pnm-3000": every_image_is(6, 3000, 3000, 3, *lmdb),
        "hdf5-images-pnm-3000": every_image_is(6, 3000, 3000, 3, *hdf5),
        "hdf5-label-huge": with_index(LABELS, "<q", 0, [1 << 62], *hdf5),
        "lmdb-range-whole-file": with_index(RANGES, "<QQ", 0, [0, 5000], *lmdb),
    }
    return made


def flipped(seed, format, places):
    """A valid shard with some bytes changed."""

    def make(path):
        data_file = {"hdf5": "shard-000000.h5", "lmdb": "shard-000000.lmdb/data.mdb"}[format]
        data = bytearray((sound("--format", format) / data_file).read_bytes())
        draw = random.Random(seed)
        # Any byte will do: most of the file is structure.
        for _ in range(places):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        path.write_bytes(data)

    return make


def with_h5py(work):
    def make(path):
        import h5py

        with h5py.File(path, "w") as file:
            work(h5py, file)

    return make


def external(h5py, file):
    file["images"] = h5py.ExternalLink("/etc/passwd", "/x")


def link_loop(h5py, file):
    file["images"] = h5py.SoftLink("/images")


def huge_array(h5py, file):
    file.create_dataset("images", shape=(1 << 40, 64, 64, 3), dtype="uint8")


def huge_chunks(h5py, file):
    file.create_dataset("images", shape=(1 << 30, 64, 64, 3), chunks=(1, 64, 64, 3), dtype="uint8", compression=9)


def deep_groups(h5py, file):
    group = file
    for i in range(2000):
        group = group.create_group("images")


def entries():
    found = [Hostile(name, "dataset", make) for name, make in datasets().items()]
    for format, suffix in (("hdf5", "h5"), ("lmdb", "mdb")):
        found += [Hostile(f"flipped-{seed}.{suffix}", "shard", flipped(seed, format, 1 + seed % 8)) for seed in range(30)]
    for work in (external, link_loop, huge_array, huge_chunks, deep_groups):
        found.append(Hostile(f"{work.__name__.replace('_', '-')}.h5", "shard", with_h5py(work)))
    found.append(Hostile("tar-of-meta.tar", "shard", lambda path: path.write_bytes(tar([("__meta__/a.jpg", IMAGE)]))))
    return found

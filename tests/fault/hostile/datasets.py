"""Datasets whose manifest or index lies, as a forger's would: with every checksum and id matching. And foreign
shards."""

import functools
import random
import shutil
import struct
import tempfile
from pathlib import Path

from python_support import packhorse

from . import Hostile, forge
from .archives import IMAGE, tar
from .forge import FRAMES, IMAGES, KEYS, LABELS, PATHS, RANGES
from .images import png

PNM = b"P5 10 10 255\n" + bytes(range(100))


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


def forged(change, *options):
    """Makes a copy of a valid dataset, and changes it."""

    def make(path):
        shutil.copytree(sound(*options), path)
        change(path)

    return make


def with_manifest(edit, *options):
    return forged(lambda path: forge.edit_manifest(path, edit), *options)


def with_index(section, form, row, values, *options):
    """Overwrites a row of a column with numbers."""

    def edit(index):
        struct.pack_into(form, index.column(section), row * struct.calcsize(form), *values)

    return forged(lambda path: forge.edit_index(path, edit), *options)


def with_text(section, text, *options):
    """Overwrites a column of texts with `text`, repeated."""

    def edit(index):
        column = index.column(section)
        column[:] = (text * len(column))[: len(column)]

    return forged(lambda path: forge.edit_index(path, edit), *options)


def every_image_is(kind, width, height, components, *options):
    def edit(index):
        column = index.column(IMAGES)
        column[:] = struct.pack("<IIBBBB", width, height, kind, components, 8, 1) * (len(column) // 12)

    return forged(lambda path: forge.edit_index(path, edit), *options)


def with_class_names(text, *options):
    def change(path):
        (path / "classes.txt").write_bytes(text)
        forge.reseal(path)

    return forged(change, *options)


def raw_manifest(text):
    return forged(lambda path: (path / "dataset.json").write_text(text), "--format", "wds")


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

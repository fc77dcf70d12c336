"""Changes datasets as a forger would: all sums and checksums match the changed content."""

import ctypes
import ctypes.util
import hashlib
import json
import os
import struct
from pathlib import Path

_XXHASH = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
_XXHASH.XXH3_64bits.restype = ctypes.c_uint64
_XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

# Sections of an index: docs/formats/index.md.
RANGES, HASHES, LABELS, IMAGES, KEY_ENDS, KEYS, PATH_ENDS, PATHS, FRAMES = 1, 2, 3, 4, 5, 6, 7, 8, 13
JPEG, PNG, WEBP, BMP, TIFF, PNM, RAW = 1, 2, 3, 4, 5, 6, 7


def xxh3(data):
    return _XXHASH.XXH3_64bits(data, len(data))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Index:
    """shard-NNNNNN.index, as docs/formats/index.md draws it."""

    HEADER = struct.Struct("<8sIIQQQ16xQ")

    def __init__(self, path):
        self.path = Path(path)
        data = self.path.read_bytes()
        _, _, sections, self.samples, self.data_bytes, _, _ = self.HEADER.unpack_from(data)
        self.sections = {}  # id -> (flags, bytes)
        for i in range(sections):
            number, flags, offset, length = struct.unpack_from("<IIQQ", data, 64 + 24 * i)
            self.sections[number] = (flags, bytearray(data[offset : offset + length]))

    def column(self, number):
        return self.sections[number][1]

    def put(self, number, row, at, form, value):
        """Changes the number at a byte offset of a row."""
        width = len(self.column(number)) // self.samples
        struct.pack_into("<" + form, self.column(number), row * width + at, value)

    def write(self, edit=None):
        """`edit` changes the finished bytes before their checksum is made."""
        end = 64 + 24 * len(self.sections)
        table, body = b"", b""
        for number, (flags, data) in self.sections.items():
            begin = -(-end // 64) * 64
            body += bytes(begin - end) + data
            table += struct.pack("<IIQQ", number, flags, begin, len(data))
            end = begin + len(data)
        header = self.HEADER.pack(b"PHINDEX1", 64, len(self.sections), self.samples, self.data_bytes, end, 0)
        whole = bytearray(header + table + body)
        if edit:
            edit(whole)
        whole[56:64] = bytes(8)
        whole[56:64] = struct.pack("<Q", xxh3(bytes(whole)))
        self.path.write_bytes(whole)


def manifest_of(dataset):
    return json.loads((dataset / "dataset.json").read_text())


def put_manifest(dataset, manifest):
    """Writes dataset.json with the matching id, and SHA256SUMS."""
    content = {k: v for k, v in manifest.items() if k not in ("packhorse", "id")}
    compact = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    whole = {"packhorse": manifest["packhorse"], "id": sha256(compact.encode()), **content}
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    (dataset / "dataset.json").write_text(text)
    sums = [(s["sha256"], s["file"], s["index_sha256"], s["index"]) for s in manifest["shards"]]
    lines = [f"{a}  {b}\n{c}  {d}\n" for a, b, c, d in sums]
    lines += [f"{f['sha256']}  {f['file']}\n" for f in manifest["files"]]
    (dataset / "SHA256SUMS").write_text("".join(lines) + f"{sha256(text.encode())}  dataset.json\n")


def reseal(dataset):
    """Updates the sizes and sums of all existing shards and lists."""
    manifest = manifest_of(dataset)
    for shard in manifest["shards"]:
        for name, size, total in (("file", "bytes", "sha256"), ("index", "index_bytes", "index_sha256")):
            data = (dataset / shard[name]).read_bytes()
            shard[size], shard[total] = len(data), sha256(data)
    for file in manifest["files"]:
        data = (dataset / file["file"]).read_bytes()
        file["bytes"], file["sha256"] = len(data), sha256(data)
    put_manifest(dataset, manifest)


def edit_manifest(dataset, edit):
    manifest = manifest_of(dataset)
    edit(manifest)
    put_manifest(dataset, manifest)


def edit_index(dataset, edit, bytes_edit=None):
    """Changes the index of the first shard, and seals the dataset again."""
    index = Index(dataset / manifest_of(dataset)["shards"][0]["index"])
    edit(index)
    index.write(bytes_edit)
    reseal(dataset)


def replace_image(dataset, row, image):
    """Replaces an image by other bytes, no more than it has."""
    shard = dataset / manifest_of(dataset)["shards"][0]["file"]

    def edit(index):
        offset, length = struct.unpack_from("<QQ", index.column(RANGES), 16 * row)
        assert len(image) <= length
        data = bytearray(shard.read_bytes())
        data[offset : offset + length] = image + bytes(length - len(image))
        shard.write_bytes(data)
        index.put(HASHES, row, 0, "Q", xxh3(bytes(data[offset : offset + length])))

    edit_index(dataset, edit)


def zstd_bomb(content_bytes):
    """A frame that holds only runs of zeros: four bytes for each 128 KiB."""
    block = 128 << 10
    frame = struct.pack("<IBBQ", 0xFD2FB528, 3 << 6, 7 << 3, content_bytes)
    for begin in range(0, content_bytes, block):
        size = min(block, content_bytes - begin)
        last = begin + size == content_bytes
        frame += (size << 3 | 1 << 1 | last).to_bytes(3, "little") + b"\0"
    return frame


def link_away(path, to):
    path.rename(to)
    path.symlink_to(os.path.relpath(to, path.parent))

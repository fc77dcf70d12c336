"""Shards written by other programs, for `packhorse index`."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import h5py
import lmdb
import numpy as np
import webdataset
from PIL import Image
from python_support import SHAPES

CLASSES = ["balls", "bricks", "clouds"]


class Photo:
    """One sample of the folder that the shards are made from."""

    def __init__(self, number, label, path):
        self.key, self.label = f"{number:06}", label
        self.bytes = path.read_bytes() + number.to_bytes(4, "little")  # no two alike
        self.extension = path.suffix.lower().lstrip(".")


def some_photos(each=6):
    photos = []
    for label, name in enumerate(CLASSES):
        for path in sorted((SHAPES / "train" / name).glob("*.jpg"))[:each]:
            photos.append(Photo(len(photos), label, path))
    return photos


def sum_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# --- tars


def add_member(archive, name, content, **headers):
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), 1_700_000_000.25
    member.uname, member.pax_headers = "someone", headers
    archive.addfile(member, io.BytesIO(content))


def write_tar(path, members, form=tarfile.PAX_FORMAT, **headers):
    with tarfile.open(path, "w", format=form) as archive:
        for name, content in members:
            add_member(archive, name, content, **headers)
    return path


def webdataset_tar(path, photos):
    with open(path, "wb") as file, webdataset.TarWriter(file) as writer:
        for p in photos:
            writer.write({"__key__": p.key, "jpg": p.bytes, "cls": p.label, "txt": f"photo {p.key}"})
    return path


def img2dataset_tar(path, photos):
    """Members jpg, json and txt as img2dataset writes them, with a label in the json."""
    members = []
    for p in photos:
        about = {"caption": "a photo", "url": f"http://x/{p.key}", "key": p.key, "label": p.label, "width": 1}
        members += [(f"{p.key}.jpg", p.bytes), (f"{p.key}.json", json.dumps(about).encode())]
        members += [(f"{p.key}.txt", b"a photo")]
    return write_tar(path, members, tarfile.GNU_FORMAT)


def pax_tar(path, photos):
    """Folders of photos, with names beyond ustar's limits and also sizes in pax headers."""
    members = []
    for p in photos:
        key = f"{'photos/' * 30}Grüße/{p.key}"
        members += [(f"{key}.cls", str(p.label).encode()), (f"{key}.jpg", p.bytes)]
    return write_tar(path, members, tarfile.PAX_FORMAT, comment="made by somebody else")


def gnu_tar(path, photos):
    members = []
    for p in photos:
        key = f"./{'n' * 120}/{p.key}"
        members += [(f"{key}.JPEG", p.bytes), (f"{key}.cls", b" %d\n" % p.label), (f"{key}.seg.png", b"mask")]
    return write_tar(path, members, tarfile.GNU_FORMAT)


# --- LMDB


def write_lmdb(path, items, subdir=True, map_size=1 << 28):
    with lmdb.open(str(path), map_size=map_size, subdir=subdir, lock=subdir) as env, env.begin(write=True) as txn:
        for key, value in items:
            assert txn.put(key, value)
    return path


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def datum(image, label, encoded=True):
    """A value as Caffe's convert_imageset --encoded writes it: fields in the order of their numbers."""
    size = b"\x08\x03\x10\x08\x18\x08" if not encoded else b""
    text = size + b"\x22" + varint(len(image)) + image + b"\x28" + varint(label)
    return text + (b"\x38\x01" if encoded else b"")


def caffe_lmdb(path, photos):
    return write_lmdb(path, [(f"{i:08}_photos/{p.key}.jpg".encode(), datum(p.bytes, p.label)) for i, p in enumerate(photos)])


def pairs_lmdb(path, photos):
    items = [(b"num-samples", str(len(photos)).encode())]
    for i, p in enumerate(photos, 1):
        items += [(f"image-{i:09}".encode(), p.bytes), (f"label-{i:09}".encode(), CLASSES[p.label].encode())]
    return write_lmdb(path, items)


def values_lmdb(path, photos):
    items = [(str(i).encode(), p.bytes) for i, p in enumerate(photos)]  # at most 9 photos: LMDB sorts keys as bytes
    return write_lmdb(path, [*items, (b"__len__", str(len(photos)).encode())], subdir=False)


def members_lmdb(path, photos):
    items = []
    for p in photos:
        items += [(f"{p.key}.jpg".encode(), p.bytes), (f"{p.key}.cls".encode(), str(p.label).encode())]
        items += [(f"{p.key}.txt".encode(), b"a photo")]
    return write_lmdb(path, items)


# --- HDF5


def pixels(photos, side=24):
    return np.stack(
        [np.asarray(Image.open(io.BytesIO(p.bytes)).convert("RGB").resize((side, side))) for p in photos]
    )


def arrays_hdf5(path, photos):
    with h5py.File(path, "w") as f:
        f["images"] = pixels(photos)
        f["labels"] = np.array([p.label for p in photos], dtype=np.int32)
    return path


def vlen_hdf5(path, photos, userblock=1024, **storage):
    with h5py.File(path, "w", userblock_size=userblock) as f:
        images = f.create_dataset("images", (len(photos),), dtype=h5py.vlen_dtype(np.uint8), **storage)
        for i, p in enumerate(photos):
            images[i] = np.frombuffer(p.bytes, dtype=np.uint8)
        f["labels"] = [p.label for p in photos]
        f.create_dataset("keys", data=[p.key for p in photos], dtype=h5py.string_dtype())
    return path


def chunked_vlen_hdf5(path, photos):
    return vlen_hdf5(path, photos, userblock=0, chunks=(5,), maxshape=(None,))


def flat_hdf5(path, photos):
    """Names that no program uses by default."""
    ends = np.cumsum([len(p.bytes) for p in photos])
    with h5py.File(path, "w", userblock_size=512) as f:
        f["train/blob"] = np.frombuffer(b"".join(p.bytes for p in photos), dtype=np.uint8)
        f["train/begins"] = np.concatenate([[0], ends[:-1]])
        f.create_dataset("train/classes", data=[CLASSES[p.label] for p in photos], compression="gzip")
    return path


FLAT_NAMES = ["--images", "train/blob", "--offsets", "train/begins", "--label-array", "train/classes"]

#!/usr/bin/env python3
"""Other tools that pack folders of images, run as the programs measure.py waits for, in the peers' own environment.

    peers.py pack NAME SOURCE OUT JOBS SCRATCH [SHARD_BYTES]
                              packs as soon as it reads a line, see measure.py; shards of 256 MiB where they can be chosen
    peers.py count NAME OUT   prints how many samples OUT holds, read back from the disk
    peers.py version NAME     prints the version; fails where the peer cannot be imported

All take every file below SOURCE with its class as label, and list the folder themselves, as packhorse does.
"""

import importlib
import json
import multiprocessing
import os
import resource
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.litdata_folders import keep_litdata_in  # noqa: E402
from common.usage import used  # noqa: E402

LMDB_PUTS_PER_COMMIT = 1000
BOTH = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def entries(source):
    """[(path, label, key)] in the order of torchvision's ImageFolder."""
    found = []
    for label, name in enumerate(sorted(e.name for e in os.scandir(source) if e.is_dir())):
        for file in sorted(os.listdir(os.path.join(source, name))):
            found.append((os.path.join(source, name, file), label, f"{name}/{os.path.splitext(file)[0]}"))
    return found


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Peer:
    """A tool: the package that has its version, what is imported before the clock runs, and its work."""

    package, modules = "", []
    shard_bytes = 256 << 20  # packhorse's default

    def prepare(self, scratch):
        """Before the clock runs."""

    def pack(self, source, out, jobs):
        raise NotImplementedError

    def count(self, out):
        raise NotImplementedError


class WebDataset(Peer):
    package, modules = "webdataset", ["webdataset"]

    def pack(self, source, out, jobs):
        import webdataset

        os.mkdir(out)
        pattern = os.path.join(out, "shard-%06d.tar")
        with webdataset.ShardWriter(pattern, maxcount=1 << 30, maxsize=self.shard_bytes, verbose=0) as writer:
            for path, label, key in entries(source):
                writer.write({"__key__": key.replace(".", "_"), "jpg": read(path), "cls": label})

    def count(self, out):
        import tarfile

        total = 0
        for shard in Path(out).iterdir():
            with tarfile.open(shard) as tar:
                total += sum(member.name.endswith(".jpg") and member.size > 0 for member in tar)
        return total


class Lmdb(Peer):
    package, modules = "lmdb", ["lmdb"]

    def pack(self, source, out, jobs):
        import lmdb

        found = entries(source)
        size = sum(os.path.getsize(path) for path, _, _ in found)
        environment = lmdb.open(out, map_size=2 * size + 8192 * len(found) + (64 << 20), subdir=False)
        transaction = environment.begin(write=True)
        for i, (path, label, _) in enumerate(found):
            transaction.put(b"%08d" % i, label.to_bytes(4, "little") + read(path), append=True)
            if (i + 1) % LMDB_PUTS_PER_COMMIT == 0:
                transaction.commit()
                transaction = environment.begin(write=True)
        transaction.commit()
        environment.sync(True)
        environment.close()

    def count(self, out):
        import lmdb

        with lmdb.open(out, subdir=False, readonly=True, lock=False) as environment:
            return environment.stat()["entries"]


class Hdf5(Peer):
    """Flat bytes, offsets and labels: the layout packhorse writes too."""

    package, modules = "h5py", ["h5py", "numpy"]

    def pack(self, source, out, jobs):
        import h5py
        import numpy

        found = entries(source)
        offsets = numpy.zeros(len(found) + 1, numpy.int64)
        numpy.cumsum([os.path.getsize(path) for path, _, _ in found], out=offsets[1:])
        with h5py.File(out, "w", libver="latest") as file:
            data = file.create_dataset("data", (int(offsets[-1]),), "u1")
            file["offsets"] = offsets
            file["labels"] = numpy.array([label for _, label, _ in found], numpy.int64)
            for i, (path, _, _) in enumerate(found):
                data[offsets[i] : offsets[i + 1]] = numpy.frombuffer(read(path), numpy.uint8)

    def count(self, out):
        import h5py

        with h5py.File(out) as file:
            assert len(file["data"]) == file["offsets"][-1]
            return len(file["labels"])


class Mds(Peer):
    package, modules = "mosaicml-streaming", ["streaming"]

    def pack(self, source, out, jobs):
        from streaming import MDSWriter

        with MDSWriter(out=out, columns={"image": "bytes", "label": "int"}) as writer:
            for path, label, _ in entries(source):
                writer.write({"image": read(path), "label": label})

    def count(self, out):
        index = json.loads(Path(out, "index.json").read_text())
        assert all(Path(out, shard["raw_data"]["basename"]).is_file() for shard in index["shards"])
        return sum(shard["samples"] for shard in index["shards"])


class Lance(Peer):
    package, modules = "pylance", ["lance", "pyarrow"]
    rows = 1024  # handed over at once

    def pack(self, source, out, jobs):
        import lance
        import pyarrow

        found = entries(source)
        schema = pyarrow.schema([("image", pyarrow.binary()), ("label", pyarrow.int64())])

        def batches():
            for begin in range(0, len(found), self.rows):
                part = found[begin : begin + self.rows]
                columns = [[read(path) for path, _, _ in part], [label for _, label, _ in part]]
                yield pyarrow.record_batch(columns, schema=schema)

        lance.write_dataset(pyarrow.RecordBatchReader.from_batches(schema, batches()), out)

    def count(self, out):
        import lance

        return lance.dataset(out).count_rows()


class LitDataSample:
    """Gives LitData sample numbers, not paths: inputs that look like files it fetches, and removes, as its own."""

    def __init__(self, source):
        self.source, self.found = source, None

    def __call__(self, i):
        if self.found is None:
            self.found = entries(self.source)
        path, label, _ = self.found[i]
        return {"image": read(path), "label": label}


class LitData(Peer):
    package, modules = "litdata", ["litdata"]

    def prepare(self, scratch):
        keep_litdata_in(scratch)

    def pack(self, source, out, jobs):
        from litdata import optimize

        inputs = list(range(len(entries(source))))
        optimize(LitDataSample(source), inputs, out, chunk_bytes="64MB", num_workers=jobs, verbose=False)

    def count(self, out):
        index = json.loads(Path(out, "index.json").read_text())
        assert all(Path(out, chunk["filename"]).is_file() for chunk in index["chunks"])
        return sum(chunk["chunk_size"] for chunk in index["chunks"])


class FfcvImages:
    """What FFCV's own ImageNet example gives its writer: decoded images and labels."""

    def __init__(self, source):
        self.found = entries(source)

    def __len__(self):
        return len(self.found)

    def __getitem__(self, i):
        from PIL import Image

        path, label, _ = self.found[i]
        with Image.open(path) as image:
            return image.convert("RGB"), label


class Ffcv(Peer):
    """FFCV's image field cannot take encoded bytes: it decodes every file and encodes it again."""

    package, modules = "ffcv", ["ffcv.writer", "ffcv.fields", "ffcv.reader", "PIL.Image"]
    shard_bytes = 1 << 24  # its pages

    def pack(self, source, out, jobs):
        from ffcv.fields import IntField, RGBImageField
        from ffcv.writer import DatasetWriter

        fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=90), "label": IntField()}
        writer = DatasetWriter(out, fields, num_workers=jobs, page_size=self.shard_bytes)
        writer.from_indexed_dataset(FfcvImages(source), chunksize=50)

    def count(self, out):
        from ffcv.reader import Reader

        return len(Reader(out).alloc_table)  # one allocation for each image written


class OpenCv(Peer):
    """Reads, shrinks to a short side of 256 and writes JPEG files, one thread for each job."""

    package, modules = "opencv-python-headless", ["cv2"]

    def pack(self, source, out, jobs):
        import cv2
        from multiprocessing.pool import ThreadPool

        cv2.setNumThreads(1)  # the jobs are the parallelism
        os.mkdir(out)

        def shrink(path):
            image = cv2.imread(path, cv2.IMREAD_COLOR)
            scale = 256 / min(image.shape[:2])
            size = [max(256, round(side * scale)) for side in image.shape[1::-1]]
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
            cv2.imwrite(os.path.join(out, os.path.basename(path)), image, [cv2.IMWRITE_JPEG_QUALITY, 90])

        with ThreadPool(jobs) as pool:
            for _ in pool.imap_unordered(shrink, [path for path, _, _ in entries(source)], chunksize=16):
                pass

    def count(self, out):
        return sum(entry.stat().st_size > 0 for entry in os.scandir(out))


PEERS = {
    "webdataset": WebDataset,
    "py-lmdb": Lmdb,
    "h5py": Hdf5,
    "mds": Mds,
    "lance": Lance,
    "litdata": LitData,
    "ffcv": Ffcv,
    "opencv": OpenCv,
}


def load(name):
    peer = PEERS[name]()
    for module in peer.modules:
        importlib.import_module(module)
    return peer


def main():
    work, name, *rest = sys.argv[1:]
    peer = load(name)
    if work == "version":
        print(metadata.version(peer.package))
    elif work == "count":
        print(peer.count(*rest))
    else:
        source, out, jobs, scratch, *shard_bytes = rest
        if shard_bytes:
            peer.shard_bytes = int(shard_bytes[0])
        answers = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # what the peer prints is not for measure.py
        peer.prepare(scratch)
        print("ready", used(*BOTH), file=answers)
        sys.stdin.readline()
        peer.pack(source, out, int(jobs))
        print("done {}", file=answers)
        for worker in multiprocessing.active_children():
            worker.join(10)
        print("used", used(*BOTH), file=answers)


if __name__ == "__main__":
    main()

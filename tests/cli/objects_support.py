"""Reads the field "objects" by docs/formats/objects.md alone, beside packhorse."""

import struct
import tarfile

import h5py
import lmdb
import numpy

COLUMNS = ["boxes", "labels", "flags", "areas", "polygons", "points", "outlines", "runs", "counts", "keypoints", "k"]
TYPES = ["4<f4", "<i4", "u1", "<f4", "<u4", "<u4", "2<f8", "<u4", "<u4", "3<f4", "<u4"]


def parse(data):
    """The columns of a field as numpy arrays, by name."""
    assert data[:8] == b"PHOBJ1\0\0"
    counts = struct.unpack("<11I", data[8:52])
    at, columns = 52, {}
    for name, kind, count in zip(COLUMNS, TYPES, counts):
        axes = int(kind[0]) if kind[0].isdigit() else 1
        values = numpy.frombuffer(data, kind.lstrip("0123456789"), count * axes, at)
        columns[name] = values.reshape(-1, axes) if axes > 1 else values
        at += -(-values.nbytes // 4) * 4
    assert at == len(data)
    return columns


def of_tar(path):
    """The fields of each sample of a tar shard, in order: {extension: bytes}."""
    samples = {}
    with tarfile.open(path) as tar:
        for member in tar:
            key, extension = member.name.split(".", 1)
            samples.setdefault(key, {})[extension] = tar.extractfile(member).read()
    return list(samples.values())


def of_hdf5(path, field):
    with h5py.File(path) as file:
        group = file["fields"][field]
        data, offsets = group["data"][()].tobytes(), group["offsets"][()]
        return [data[a:b] for a, b in zip(offsets, offsets[1:])]


def of_lmdb(path, field):
    """Of the layout lmdb-members: a value for each member of a sample."""
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return [bytes(value) for key, value in transaction.cursor() if key.decode().endswith("." + field)]


def fields_of(dataset, name):
    """A field of each sample, in order, by other people's readers alone."""
    if (dataset / "shard-000000.tar").exists():
        return [sample[name] for sample in of_tar(dataset / "shard-000000.tar")]
    if (dataset / "shard-000000.h5").exists():
        return of_hdf5(dataset / "shard-000000.h5", name)
    return of_lmdb(dataset / "shard-000000.lmdb", name)

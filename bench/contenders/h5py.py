"""h5py: flat bytes, offsets and labels, the layout packhorse writes too; read by a Dataset in a DataLoader."""

import os

import h5py
import numpy

from contenders import files, read
from contenders.torch_loader import Samples, data_loader

PACKAGES = ["h5py"]


def make(source, out, options):
    found = files(source)
    offsets = numpy.zeros(len(found) + 1, numpy.int64)
    numpy.cumsum([os.path.getsize(path) for path, _, _ in found], out=offsets[1:])
    with h5py.File(out, "w", libver="latest") as file:
        data = file.create_dataset("data", (int(offsets[-1]),), "u1")
        file["offsets"] = offsets
        file["labels"] = numpy.array([label for _, label, _ in found], numpy.int64)
        for i, (path, _, _) in enumerate(found):
            data[offsets[i] : offsets[i + 1]] = numpy.frombuffer(read(path), numpy.uint8)


def count(out):
    with h5py.File(out) as file:
        assert len(file["data"]) == file["offsets"][-1]
        return len(file["labels"])


def batches(source, options):
    decode = options.decode()
    with h5py.File(source) as file:
        offsets, labels = file["offsets"][:], file["labels"][:]

    def sample(data, i):
        return decode(data[offsets[i] : offsets[i + 1]]), int(labels[i])

    dataset = Samples(len(labels), lambda: h5py.File(source)["data"], sample)
    return data_loader(dataset, options, shuffle=True)

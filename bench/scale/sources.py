"""What is packed: a .npy of random pictures of 4 x 4 pixels, and one of labels of 1,000 classes."""

import dataclasses
import random
import struct

from common.data import MAKERS, made_once, measured, require_space

SIDE, CLASSES = 4, 1000
CHUNK = 100_000  # rows at a time: the peak of a child begins with what its parent has


def write_array(path, shape, kind, values):
    """A .npy; `values(n)` are the bytes of n rows."""
    head = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        for begin in range(0, shape[0], CHUNK):
            file.write(values(min(CHUNK, shape[0] - begin)))


def arrays(places, count):
    def make(root):
        require_space(root, count * (SIDE * SIDE * 3 + 2), "arrays")
        draws = random.Random(0)
        shape = (count, SIDE, SIDE, 3)
        write_array(root / "images.npy", shape, "|u1", lambda n: draws.randbytes(n * SIDE * SIDE * 3))
        few = [struct.pack("<H", label) for label in range(CLASSES)]
        write_array(root / "labels.npy", (count,), "<u2", lambda n: b"".join(draws.choices(few, k=n)))

    return dataclasses.replace(measured(made_once(places.data / f"arrays-{count}", make)), files=count)


MAKERS["arrays"] = arrays

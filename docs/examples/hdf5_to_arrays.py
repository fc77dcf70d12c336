"""Copies all arrays of the named HDF5 files to arrays/*.npy, 1,000 rows at a time."""

import pathlib, sys, h5py, numpy
pathlib.Path("arrays").mkdir()
for name in sys.argv[1:]:
    with h5py.File(name) as file:
        for key, array in file.items():
            path = f"arrays/{pathlib.Path(name).stem}_{key}.npy"
            copy = numpy.lib.format.open_memmap(path, "w+", array.dtype, array.shape)
            for i in range(0, len(array), 1000):
                copy[i : i + 1000] = array[i : i + 1000]

"""Other loaders, each as its documentation has it, by the names the benches give them. Their packages are imported when
one is loaded, in the peers' own environment (bench/setup)."""

import importlib
from importlib import metadata

from common.loaders.indexed import Folder, Hdf5, Lmdb
from common.loaders.pipelines import Dali, Ffcv, Spdl
from common.loaders.streams import LitData, Mds, WebDataset

DECODERS = ("PIL", "torchvision.io")
STORES = {
    "ImageFolder": Folder,
    "webdataset": WebDataset,
    "LMDB": Lmdb,
    "h5py": Hdf5,
    "LitData": LitData,
    "MDS": Mds,
}
PIPELINES = {"FFCV": Ffcv, "DALI": Dali, "SPDL": Spdl}
NAMES = (*PIPELINES, *(f"{store} + {decoder}" for store in STORES for decoder in DECODERS))


def make(name, **options):
    """The loader `name`, with what it needs imported. Where that fails, so does this."""
    store, _, decoder = name.partition(" + ")
    loader = STORES[store](decoder, **options) if decoder else PIPELINES[store](**options)
    for module in loader.modules:
        importlib.import_module(module)
    return loader


def version_text(loader):
    """The version of its package, or of each of them with its name."""
    if len(loader.packages) == 1:
        return metadata.version(loader.packages[0])
    return f"({', '.join(f'{name} {metadata.version(name)}' for name in loader.packages)})"

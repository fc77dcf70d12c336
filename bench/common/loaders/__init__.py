"""Other loaders, and ours from Python, each as its documentation has it, by the names the benches give them. Their
packages are imported when one is loaded, in the peers' own environment (bench/setup)."""

import importlib

from common.loaders.indexed import Folder, Hdf5, Lance, Lmdb
from common.loaders.ours import Packhorse, RemotePackhorse
from common.loaders.pipelines import Dali, Datago, Ffcv, Spdl, TurboLoader
from common.loaders.remote import RemoteFiles, RemoteLitData, RemoteMds, RemoteWebDataset
from common.loaders.streams import LitData, Mds, WebDataset

DECODERS = ("PIL", "torchvision.io")
STORES = {
    "ImageFolder": Folder,
    "webdataset": WebDataset,
    "LMDB": Lmdb,
    "h5py": Hdf5,
    "Lance": Lance,
    "LitData": LitData,
    "MDS": Mds,
}
PIPELINES = {
    "FFCV": Ffcv,
    "DALI": Dali,
    "SPDL": Spdl,
    "turboloader": TurboLoader,
    "datago": Datago,
    "packhorse.Loader": Packhorse,
}
NAMES = (*PIPELINES, *(f"{store} + {decoder}" for store in STORES for decoder in DECODERS))
# What these read is a URL: bench/remote.
REMOTE_STORES = {
    "webdataset over curl": RemoteWebDataset,
    "MDS from S3": RemoteMds,
    "LitData from S3": RemoteLitData,
    "s3torchconnector": RemoteFiles,
}
REMOTE_PIPELINES = {"packhorse.Loader from S3": RemotePackhorse}
REMOTE_NAMES = (*REMOTE_PIPELINES, *(f"{store} + {decoder}" for store in REMOTE_STORES for decoder in DECODERS))


def make(name, **options):
    """The loader `name`, with what it needs imported. Where that fails, so does this."""
    store, _, decoder = name.partition(" + ")
    loader = (STORES | REMOTE_STORES)[store](decoder, **options) if decoder else (PIPELINES | REMOTE_PIPELINES)[store](**options)
    for module in loader.modules:
        importlib.import_module(module)
    return loader

"""packhorse.Loader: the threads of the C++ loader, batches as tensors. `+ all bands` gives floats of all bands, `+ SimCLR`
and the like what decoders.py calls `ours`."""

import os
import sys

import torch  # noqa: F401: batches are tensors where it is imported
from common.environment import built, packhorse_versions

from contenders import REMOTE, Epochs
from contenders.decoders import DECODERS

sys.path.insert(1, str(built("packhorse").parent.parent / "python"))

import packhorse  # noqa: E402

PACKAGES = []


def version():
    return packhorse_versions(built("packhorse")).split(" (")[0]


def batches(source, options):
    if source.startswith(REMOTE):
        packhorse.configure_remote(cache=os.path.join(options.scratch, "cache"))  # which is empty
    more = {"bands": "all", "dtype": "float32"} if options.decoder == "all bands" else {}
    steps = getattr(DECODERS.get(options.decoder), "ours", "")
    augment = [packhorse.RandomResizedCrop(options.side), *([steps] if steps else [])]
    loader = packhorse.Loader(source, options.batch, augment=augment, workers=options.jobs, **more)
    return Epochs(lambda: ((batch.images, batch.labels) for batch in loader))

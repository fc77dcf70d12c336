"""The tools that packhorse is measured beside, one file each, written as the tool's own documentation has it. A file has

    PACKAGES                     what is installed of it; the first one has its version
    make(source, out, options)   writes a dataset of a class folder                         (where it packs)
    count(out)                   how many samples such a dataset holds, read from the disk  (where it packs)
    batches(source, options)     gives (images, labels) of one epoch each time it is iterated           (where it loads)

and, where it must, DTYPE of its pixels, version(), prove(), which fails where it can be imported and still not work, and close(),
which gives back what would outlive the program. `options` are those of peer.py, which imports the file in bench/.venv
before any clock runs. A name is the file's, as people write it (packhorse.Loader, boxes/DALI), or `FILE + DECODER`
(decoders.py) where the tool decodes nothing itself.
"""

import importlib
import os
import re
from importlib import metadata

SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # of the crop that all make: RandomResizedCrop
REMOTE = "s3://"  # how the source of an epoch from object storage begins


def load(name):
    """(The module of a contender, its decoder or None), with all that they need imported."""
    file, _, decoder = name.partition(" + ")
    module = importlib.import_module("contenders." + re.sub(r"\W", "_", file.lower()).replace("boxes_", "boxes."))
    if not decoder:
        return module, None
    from contenders.decoders import DECODERS

    for needed in DECODERS[decoder].modules:
        importlib.import_module(needed)
    return module, DECODERS[decoder]


def version_text(name):
    """Fails where the contender cannot be used."""
    module, decoder = load(name)
    getattr(module, "prove", lambda: None)()
    if hasattr(module, "version"):
        return module.version()
    packages = [*module.PACKAGES, *(decoder.packages if decoder else ())]
    versions = [f"{package} {metadata.version(package)}" for package in dict.fromkeys(packages)]
    return versions[0].split()[1] if len(versions) == 1 else ", ".join(versions)


def files(source):
    """[(path, label, key)] of a class folder, in the order of torchvision's ImageFolder."""
    return [
        (os.path.join(source, name, file), label, f"{name}/{os.path.splitext(file)[0]}")
        for label, name in enumerate(sorted(entry.name for entry in os.scandir(source) if entry.is_dir()))
        for file in sorted(os.listdir(os.path.join(source, name)))
    ]


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Epochs:
    """What begins anew each time it is iterated, of a function that gives the batches of one epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter(self.epoch())


def endpoint():
    """Where object storage is; it and the key to it are in the environment (AWS_...)."""
    return os.environ["AWS_ENDPOINT_URL_S3"]


def objects_below(source):
    """The bucket of s3://BUCKET/PREFIX, and the keys of all objects below it."""
    from common.environment import import_test_servers

    import_test_servers()
    from s3 import S3

    bucket, _, prefix = source.removeprefix(REMOTE).partition("/")
    keys = [os.environ[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION")]
    return bucket, sorted(S3(endpoint(), *keys).list(bucket, f"{prefix.rstrip('/')}/"))


def emptied(*names):
    """A folder that holds nothing: nothing is cached yet."""
    import shutil

    folder = os.path.join(*names)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder

"""s3torchconnector: each picture is an object, and no cache is kept."""

import os

from s3torchconnector import S3ClientConfig, S3MapDataset

from contenders import endpoint, objects_below
from contenders.torch_loader import data_loader

PACKAGES = ["s3torchconnector"]


class Picture:
    """Makes a sample of an object of a class folder."""

    def __init__(self, decode, labels):
        self.decode, self.labels = decode, labels

    def __call__(self, reader):
        return self.decode(bytearray(reader.read())), self.labels[reader.key.split("/")[-2]]


def batches(source, options):
    _, keys = objects_below(source)
    names = sorted({key.split("/")[-2] for key in keys})
    dataset = S3MapDataset.from_prefix(
        f"{source.rstrip('/')}/",
        region=os.environ["AWS_REGION"],
        endpoint=endpoint(),
        transform=Picture(options.decode(), {name: label for label, name in enumerate(names)}),
        s3client_config=S3ClientConfig(force_path_style=True),
    )
    return data_loader(dataset, options, shuffle=True)

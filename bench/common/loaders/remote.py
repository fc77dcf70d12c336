"""Loaders that read from storage of S3: their source is s3://BUCKET/PREFIX, and where that is, and the key to it, is in
the environment (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)."""

import os
import shutil
import sys

from common.environment import TEST_SERVERS
from common.loaders.indexed import TorchLoader
from common.loaders.streams import LitData, Mds, WebDataset


def endpoint():
    return os.environ["AWS_ENDPOINT_URL_S3"]


def objects_below(source):
    """The keys of all objects below a source, and its bucket."""
    sys.path.insert(1, str(TEST_SERVERS))
    from s3 import S3

    bucket, _, prefix = source.removeprefix("s3://").partition("/")
    keys = [os.environ[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION")]
    return bucket, sorted(S3(endpoint(), *keys).list(bucket, f"{prefix.rstrip('/')}/"))


def emptied(scratch, name):
    """A folder of the scratch folder that holds nothing: nothing is cached yet."""
    folder = os.path.join(scratch, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


class RemoteWebDataset(WebDataset):
    """As its documentation reads from anywhere: a curl for each shard. The bucket must be open to everybody."""

    def shards(self, source):
        bucket, keys = objects_below(source)
        urls = [f"{endpoint()}/{bucket}/{key}" for key in keys if key.endswith(".tar")]
        return [f"pipe:curl -s -f -L {url}" for url in urls]


class RemoteMds(Mds):
    """Shards come whole, into a folder that begins empty."""

    def place(self, source):
        os.environ["S3_ENDPOINT_URL"] = endpoint()
        return {"remote": source, "local": emptied(self.scratch, "mds")}


class RemoteLitData(LitData):
    """Chunks come whole, into a folder that begins empty."""

    def place(self):
        from litdata.streaming import downloader

        # The client that it fetches chunks with insists on TLS otherwise, and takes no options of the caller's.
        downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
        return {"cache_dir": emptied(self.scratch, "litdata"), "storage_options": {"endpoint_url": endpoint()}}


class Picture:
    """Makes a sample of an object of a class folder."""

    def __init__(self, decode, classes):
        self.decode, self.classes = decode, classes

    def __call__(self, reader):
        return self.decode(bytearray(reader.read())), self.classes[reader.key.split("/")[-2]]


class RemoteFiles(TorchLoader):
    """Each picture is an object, and no cache is kept."""

    store_packages, store_modules = ["s3torchconnector"], ["s3torchconnector"]

    def dataset(self, source):
        from s3torchconnector import S3ClientConfig, S3MapDataset

        _, keys = objects_below(source)
        names = sorted({key.split("/")[-2] for key in keys})
        return S3MapDataset.from_prefix(
            f"{source.rstrip('/')}/",
            region=os.environ["AWS_REGION"],
            endpoint=endpoint(),
            transform=Picture(self.decode(), {name: label for label, name in enumerate(names)}),
            s3client_config=S3ClientConfig(force_path_style=True),
        )

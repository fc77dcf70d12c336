"""Parquet files of Hugging Face's Hub, and the libraries that read them."""

import importlib
import os
import re
from typing import Any

from .errors import Error, NotFoundError, StorageError, UnsupportedError, UsageError

_URL = re.compile(r"hf://datasets/(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[^/]+))?(/(?P<subset>.*?)/*)?")


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise UnsupportedError(
            f"{package} is not installed: {error}", advice=f"pip install {package} (packhorse[hf] names all that the Hub needs)"
        ) from error


def fetched(url: str) -> list[str]:
    """The Parquet files of a dataset on the Hub, in the cache of huggingface_hub, which goes on where it was interrupted."""
    hub, match = module("huggingface_hub"), _URL.fullmatch(url)
    if match is None:
        raise UsageError("this names no dataset of the Hub", url, "write hf://datasets/OWNER/NAME, perhaps with @REVISION or /SUBSET")
    place = {"repo_id": match["repository"], "revision": match["revision"], "repo_type": "dataset"}
    try:
        place["revision"] = hub.HfApi().repo_info(**place).sha  # all files are of one commit, whatever is pushed meanwhile
        names = hub.HfApi().list_repo_files(**place)
        names = sorted(name for name in names if name.endswith(".parquet"))
        inside = [name for name in names if not match["subset"] or f"{name}/".startswith(f"{match['subset']}/")]
        _refuse_subsets(url, names, inside)
        return [hub.hf_hub_download(filename=name, **place) for name in inside]
    except Error:
        raise
    except Exception as error:
        what = f"the Hub: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        raise StorageError(what[:500], url, "check the name; datasets with conditions need HF_TOKEN, or `hf auth login`") from error


def _refuse_subsets(url: str, names: list[str], inside: list[str]) -> None:
    def subset(name: str) -> str:
        folder, file = os.path.split(name)
        return os.path.dirname(folder) if file.removesuffix(".parquet").isdigit() else folder

    if not inside:
        there = ", ".join(sorted({subset(name) for name in names})[:20])
        raise NotFoundError(
            f"there are no Parquet files{f' there, but in {there}' if names else ''}", url,
            "name one of these folders" if names else "the Hub may have made some: add @refs%2Fconvert%2Fparquet to the name",
        )  # fmt: skip
    subsets = sorted({subset(name) for name in inside})
    if len(subsets) > 1:
        raise UsageError(f"the dataset has several subsets: {', '.join(subsets[:20])}", url, f"add one of them: {url}/{subsets[0]}")

"""Keeps LitData from folders that are not ours. Nothing here calls LitData without it."""

import os
import sys
import tempfile


def keep_litdata_in(scratch):
    """optimize() begins with rmtree() of $TMPDIR/chunks and $TMPDIR/data, by default /tmp/chunks and /tmp/data,
    whatever they hold. Points all it clears at a folder of our own, and stops where LitData does not follow."""
    if not scratch:
        sys.exit("not run: LitData needs a scratch folder of its own, which it clears")
    scratch = os.path.realpath(scratch)
    folders = {"DATA_OPTIMIZER_CACHE_FOLDER": "chunks", "DATA_OPTIMIZER_DATA_CACHE_FOLDER": "data", "TMPDIR": "tmp"}
    for variable, name in folders.items():
        os.environ[variable] = os.path.join(scratch, name)
    os.makedirs(os.environ["TMPDIR"], exist_ok=True)
    tempfile.tempdir = None
    from litdata.processing import data_processor

    cleared = [data_processor._get_cache_dir(), data_processor._get_cache_data_dir(), tempfile.gettempdir()]
    for path in cleared:
        if not os.path.realpath(path).startswith(scratch + os.sep):
            sys.exit(f"not run: LitData would clear {path}")

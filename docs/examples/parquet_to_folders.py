"""Writes the images of the named Parquet files of a Hugging Face dataset to class folders in images/, unchanged."""

import json, pathlib, sys, pyarrow.parquet
for name in map(pathlib.Path, sys.argv[1:]):  # data/train-00000-of-00002.parquet ...
    file = pyarrow.parquet.ParquetFile(name)
    names = json.loads(file.schema_arrow.metadata[b"huggingface"])["info"]["features"]["label"]["names"]
    rows = (row for batch in file.iter_batches(1000, columns=["image", "label"]) for row in batch.to_pylist())
    for i, row in enumerate(rows):
        path = pathlib.Path("images", name.name.split("-")[0], names[row["label"]], f"{name.stem}-{i:06}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(row["image"]["bytes"])

import datasets

splits = datasets.load_dataset("packed")
for name, split in splits.items():
    row = split[0]
    print(name, len(split), row["jpg"].size, split.features["cls"])

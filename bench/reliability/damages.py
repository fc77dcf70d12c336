"""Where the shards of a dataset are damaged: the same places for the same seed and bytes."""

import json
import random
from collections import namedtuple

# kind: "flip" of the bit `bit` of the byte `place`, or "cut" to `place` bytes
Damage = namedtuple("Damage", "kind file place bit")


def shards(dataset):
    return [shard["file"] for shard in json.loads((dataset / "dataset.json").read_text())["shards"]]


def plan(dataset, flips, cuts, seed):
    dice = random.Random(seed)
    files = shards(dataset)
    sizes = [(dataset / file).stat().st_size for file in files]
    made = []
    for _ in range(flips):
        (which,) = dice.choices(range(len(files)), sizes)
        made.append(Damage("flip", files[which], dice.randrange(sizes[which]), dice.randrange(8)))
    for _ in range(cuts):
        (which,) = dice.choices(range(len(files)), sizes)
        made.append(Damage("cut", files[which], dice.randrange(sizes[which]), 0))
    return made


def damaged(whole, damage):
    """The bytes of a file after the damage."""
    if damage.kind == "cut":
        return whole[: damage.place]
    data = bytearray(whole)
    data[damage.place] ^= 1 << damage.bit
    return bytes(data)

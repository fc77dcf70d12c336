#!/usr/bin/env python3
"""Opens a checkpoint of packhorse-train in Python and prints what it holds, one line an entry.

check_checkpoint.py run/last.pt
"""

import sys

import torch


def main(path: str) -> int:
    checkpoint = torch.load(path, weights_only=True)
    assert checkpoint["format"] == "packhorse-train", checkpoint["format"]
    for key, value in checkpoint.items():
        if isinstance(value, dict) and all(isinstance(v, torch.Tensor) for v in value.values()):
            numbers = sum(v.numel() for v in value.values())
            print(f"{key}: {len(value)} tensors, {numbers} numbers")
        elif isinstance(value, torch.Tensor):
            print(f"{key}: {value.dtype} {tuple(value.shape)}")
        else:
            print(f"{key}: {value}")
    state = checkpoint["model"]
    assert all(torch.isfinite(v).all() for v in state.values() if v.is_floating_point())
    assert set(checkpoint["optimizer"]["momentum"]) <= set(state)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

"""Documents as packhorse-train prints them, computed from a simple model of a machine, for the tests of scripts/plot."""

import json
import random
from pathlib import Path
from typing import Any

CONDITIONS: dict[str, dict[str, Any]] = {
    "warm": {"name": "warm", "kind": "warm"},
    "cold": {"name": "cold", "kind": "cold", "names_dropped": True},
    "hdd": {"name": "hdd", "kind": "simulated", "open_ms": 9.0, "access_ms": 9.0, "mb_per_s": 160.0, "depth": 1},
    "sata-ssd": {"name": "sata-ssd", "kind": "simulated", "open_ms": 0.1, "access_ms": 0.1, "mb_per_s": 520.0,
                 "depth": 32},
    "nfs": {"name": "nfs", "kind": "simulated", "open_ms": 2.0, "access_ms": 0.6, "mb_per_s": 110.0, "depth": 8},
    "nvme": {"name": "nvme", "kind": "simulated", "open_ms": 0.02, "access_ms": 0.02, "mb_per_s": None, "depth": None},
}  # fmt: skip
FORMATS, IMAGES = ("wds", "lmdb", "hdf5"), ("original", "resize", "roi", "raw")
SIZES = {"original": 110e3, "resize": 24e3, "roi": 122e3, "raw": 150e3}  # bytes per image
CPU_MS = {"original": 3.1, "resize": 1.2, "roi": 1.6, "raw": 0.35}  # to prepare one image on one core
LEFT_OUT = "16 workers, 4096 batches: 39.5 GB, of which 21 GB are free"
DEVICE, BATCH, SAMPLES, WORKERS = 900.0, 64, 10000, 2  # images/s
MACHINE = {"processor": "Made-up CPU 9000 at 2.50GHz", "cpus": 2, "memory_bytes": 24.6e9, "kernel": "Linux 6.1.0",
           "architecture": "x86_64", "load_average": 0.12}  # fmt: skip
RECIPE = {"arch": "resnet18", "image_size": 224, "batch_size": BATCH, "augment": "crop", "order": "shuffled",
          "amp": False, "seed": 1}  # fmt: skip
VERSIONS = {"packhorse": "0.1.0", "libtorch": "2.11.0", "libjpeg-turbo": "2.1.5"}


def spread(value: float, scatter: float = 0.02, repeats: int = 5, seed: object = 0) -> dict[str, Any]:
    chance = random.Random(f"{value} {seed}")
    values = [value * (1 + scatter * chance.uniform(-1, 1)) for _ in range(repeats)]
    low, high, middle = min(values), max(values), sorted(values)[repeats // 2]
    return {"min": low, "median": middle, "max": high, "noisy": high - low > 0.1 * middle, "values": values}


def inputs(count: int = 13) -> list[dict[str, Any]]:
    """The inputs: the folder and `count` - 1 packed ones."""
    packed = [(form, image) for form in FORMATS for image in IMAGES][: count - 1]
    names = [("folder", "folder", "original"), *((f"{form} {image}", form, image) for form, image in packed)]
    return [
        {"name": name, "path": f"/data/{name.replace(' ', '-')}", "format": form, "image": image, "samples": SAMPLES,
         "bytes": int(SAMPLES * SIZES[image]), "file_system": "ext4"}
        for name, form, image in names
    ]  # fmt: skip


def fetch_ms(entry: dict[str, Any], condition: dict[str, Any]) -> float:
    """The least milliseconds between two images that the storage allows."""
    folder = entry["format"] == "folder"
    size = SIZES[entry["image"]]
    if condition["kind"] == "warm":
        return size / 4e9 * 1e3 + (0.02 if folder else 0.0)
    if condition["kind"] == "cold":
        return size / 1.2e9 * 1e3 + (0.35 if folder else 0.01)
    at_once = min(condition["depth"] or WORKERS, WORKERS)
    latency = condition["open_ms"] + condition["access_ms"] if folder else condition["access_ms"] / 40
    rate = condition["mb_per_s"]
    return latency / at_once + (size / (rate * 1e6) * 1e3 if rate else 0)


def one_pass(rate: float, cpu: float, size: float, disk: float, scatter: float, seed: object) -> dict[str, Any]:
    batch_ms = BATCH / rate * 1e3

    def figure(value: float) -> dict[str, Any]:
        return spread(value, scatter, seed=seed)

    return {
        "images_per_s": figure(rate),
        "mb_per_s": figure(rate * size / 1e6),
        "cpu_s_per_1000": figure(cpu),
        "disk_bytes_per_image": figure(disk),
        "first_batch_s": figure(1.4 * batch_ms / 1e3),
        "batch_p50_ms": figure(0.96 * batch_ms),
        "batch_p99_ms": figure(1.9 * batch_ms),
    }


def run(entry: dict[str, Any], condition: dict[str, Any], scatter: float = 0.02) -> dict[str, Any]:
    size, cpu = SIZES[entry["image"]], CPU_MS[entry["image"]] * (1.06 if entry["format"] == "hdf5" else 1)
    fetch, prepare, device = fetch_ms(entry, condition), cpu / WORKERS, 1e3 / DEVICE
    sharing = 0.16 * device * min(1.0, cpu / 3)
    stall = max(0.0, max(fetch, prepare) - device - sharing) + 0.01
    prepare_stall = min(stall, max(0.0, prepare - device - sharing))
    image_ms = device + sharing + stall
    step, disk = image_ms * BATCH, 0.0 if condition["kind"] != "cold" else size
    seed = entry["name"], condition["name"]
    training = one_pass(1e3 / image_ms, cpu + 0.6, size, disk, scatter, seed)
    shares = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1]
    tail = 0.1 + 1.4 * stall / image_ms
    training |= {
        "wait_share": spread(stall / image_ms, scatter, seed=seed),
        "wait_ms": spread(stall * BATCH, scatter, seed=seed),
        "compute_ms": spread(step - stall * BATCH, scatter, seed=seed),
        "copy_ms": spread(0.0),
        "step_ms_quantiles": {"p": shares, "ms": [step * (0.9 + 0.12 * p + tail * p**12) for p in shares]},
        "loss": 2.031,
    }
    seconds = SAMPLES / 1e3
    return {
        "input": entry["name"],
        "condition": condition["name"],
        "read": one_pass(1e3 / max(fetch, 0.02), 0.05, size, disk, scatter, seed),
        "decode": one_pass(1e3 / max(fetch, prepare), cpu, size, disk, scatter, seed),
        "training": training,
        "attribution": {
            "epoch_s": seconds * image_ms,
            "device_s": seconds * device,
            "sharing_s": seconds * sharing,
            "preparation_s": seconds * prepare_stall,
            "fetch_s": seconds * (stall - prepare_stall - 0.005),
            "other_s": seconds * 0.005,
        },
    }


def with_speedups(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    base = {each["condition"]: each for each in runs if each["input"] == "folder"}
    for each in runs:
        if each["condition"] in base:
            each["speedup"] = {
                what: middle(each, what) / middle(base[each["condition"]], what)
                for what in ("read", "decode", "training")
            }
    return runs


def middle(each: dict[str, Any], what: str) -> float:
    return each[what]["images_per_s"]["median"]


def device_limit() -> dict[str, Any]:
    return {"images_per_s": spread(DEVICE), "step_ms": spread(BATCH / DEVICE * 1e3)}


def head(kind: str, command: str) -> dict[str, Any]:
    return {
        "schema": f"packhorse-{kind}/1",
        "created": "2026-11-22T01:20:00Z",
        "command": command,
        "versions": dict(VERSIONS),
        "machine": dict(MACHINE),
        "device": "cpu",
        "recipe": dict(RECIPE),
    }


def measurement(count: int = 13, conditions: tuple[str, ...] = tuple(CONDITIONS)) -> dict[str, Any]:
    entries, asked = inputs(count), [dict(CONDITIONS[name]) for name in conditions]
    gone = ("wds raw", "cold") if count > 4 and "cold" in conditions else None
    noisy = ("lmdb roi", "nfs")
    runs = [
        run(entry, condition, 0.12 if (entry["name"], condition["name"]) == noisy else 0.02)
        for condition in asked
        for entry in entries
        if (entry["name"], condition["name"]) != gone
    ]
    reason = "the page cache kept 38 % of it: the file system is on memory"
    packing: list[dict[str, Any]] = [
        {"input": entry["name"], "was_there": False, "seconds": 12.5, "cpu_s": 20.1, "bytes_in": 1.1e9}
        | {"bytes_out": entry["bytes"]}
        for entry in entries[1:]
    ]
    packing[-1:] = [{"input": entries[-1]["name"], "was_there": True}] if packing else []
    return head("measurement", "packhorse-train measure --folder /data/folder --pack-all --json") | {
        "workers": WORKERS,
        "slots": 4,
        "repeats": 5,
        "warmup_steps": 3,
        "max_seconds": 2.0,
        "conditions": asked,
        "device_limit": device_limit(),
        "inputs": entries,
        "packing": packing,
        "runs": with_speedups(runs),
        "not_measured": [{"input": gone[0], "condition": gone[1], "reason": reason}] if gone else [],
        "verdict": ["Packing gains most under hdd (simulated).", "Warm, the folder is limited by decoding."],
    }


def sweep(workers: tuple[int, ...] = (1, 2, 3, 4, 6, 8), slots: tuple[int, ...] = (2, 4, 8)) -> dict[str, Any]:
    points = []
    for depth in slots:
        for count in workers:
            rate = min(DEVICE * 0.97, 190 * max(count, 0.7) * (1 - 0.3 / depth)) * (1 - 0.004 * count)
            scatter = 0.09 if (count, depth) == (workers[-1], slots[0]) else 0.02
            points.append({
                "workers": count,
                "slots": depth,
                "images_per_s": spread(rate, scatter, seed=depth),
                "wait_share": spread(max(0.004, 1 - rate / DEVICE), 0.03, seed=depth),
                "batches_bytes": depth * BATCH * 224 * 224 * 3,
                "memory_bytes": 310e6 + depth * BATCH * 224 * 224 * 3,
            })  # fmt: skip
    best = max(points, key=lambda point: point["images_per_s"]["median"])
    knee = min(
        (p for p in points if p["images_per_s"]["median"] > 0.95 * best["images_per_s"]["median"]),
        key=lambda p: p["workers"],
    )
    chosen = {"workers": knee["workers"], "slots": knee["slots"]}
    return head("sweep", "packhorse-train sweep --packed /data/wds-roi --condition nfs --json") | {
        "condition": dict(CONDITIONS["nfs"]),
        "input": inputs()[3],
        "repeats": 5,
        "device_limit": device_limit(),
        "points": points,
        "knee": {**chosen, "images_per_s": knee["images_per_s"]["median"], "still_rising": False},
        "limits": {"cpus": 4, "memory_available_bytes": 21e9, "left_out": [LEFT_OUT]},
        "recommended": {**chosen, "reason": "More of either gains less than 5 %."},
    }


def prediction(count: int = 13) -> dict[str, Any]:
    measured = measurement(count)
    entries, condition, found = inputs(count), CONDITIONS["nfs"], []
    for entry in entries:
        folder = entry["format"] == "folder"
        limits = {
            "storage": condition["mb_per_s"] * 1e6 * 30 / SIZES[entry["image"]],
            "cpu": 96e3 / CPU_MS[entry["image"]],
            "device": 8 * 4100.0,
            "latency": 96e3 / 2.6 if folder else None,
        }
        part = min((name for name in limits if limits[name]), key=lambda name: limits[name])
        found.append({"input": entry["name"], "images_per_s": limits[part], "bottleneck": part, "limits": limits})
    check = []
    for each in measured["runs"]:
        if each["condition"] == "cold":
            continue
        for work in ("decode", "training"):
            error = random.Random(f"{each['input']} {each['condition']} {work}").gauss(0.01, 0.06)
            rate = middle(each, work)
            check.append({"input": each["input"], "condition": each["condition"], "work": work, "measured": rate,
                          "predicted": rate * (1 + error), "error": error})  # fmt: skip
    return {
        "schema": "packhorse-prediction/1",
        "created": "2026-11-22T01:40:00Z",
        "from": "measurement.json",
        "machine": {"cpus": 96, "devices": 8, "workers": 96, "core_speed": 1.2,
                    "condition": condition | {"mb_per_s": 3300.0}},
        "predictions": found,
        "check": check,
    }


def write(folder: Path, **documents: dict[str, Any]) -> list[Path]:
    """Writes each document as NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(body))
    return [folder / f"{name}.json" for name in documents]

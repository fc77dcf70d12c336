"""Trains a detector as others do: bench/detection/training.py runs this.

train_peer.py torchvision|ultralytics FOLDER SIDE BATCH WORKERS EPOCHS

The last line it prints is JSON: images/s of the last epoch, and the share of its time spent waiting for data.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch  # noqa: E402
from loaders.common import one_thread, stacked  # noqa: E402


def tell(images, seconds, wait):
    print(json.dumps({"rate": images / seconds, "wait": wait / seconds}))


def train_torchvision(folder, side, batch, workers, epochs):
    """torchvision's network and losses, CocoDetection and transforms v2, in the loop of its examples."""
    from loaders.torchvision_v2 import Letterbox
    from torchvision.models.detection import fcos_resnet50_fpn
    from torchvision.transforms import v2

    dataset = Letterbox(folder, side)
    classes = 1 + max(dataset.coco.coco.getCatIds())
    model = fcos_resnet50_fpn(weights=None, weights_backbone=None, num_classes=classes, min_size=side, max_size=side)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0025, momentum=0.9, weight_decay=1e-4)
    flip = v2.RandomHorizontalFlip()
    to_float = v2.ToDtype(torch.float32, scale=True)

    def collate(samples):
        return stacked([flip(picture, target) for picture, target in samples])

    loader = torch.utils.data.DataLoader(
        dataset, batch, shuffle=True, num_workers=workers, collate_fn=collate, drop_last=True, worker_init_fn=one_thread
    )
    model.train()
    for _ in range(epochs):
        begin, wait, images = time.perf_counter(), 0.0, 0
        batches = iter(loader)
        while True:
            asked = time.perf_counter()
            found = next(batches, None)
            wait += time.perf_counter() - asked
            if found is None:
                break
            pictures, targets = found
            losses = model(list(to_float(pictures)), targets)
            optimizer.zero_grad()
            sum(losses.values()).backward()
            optimizer.step()
            images += len(pictures)
    tell(images, time.perf_counter() - begin, wait)


def train_ultralytics(folder, side, batch, workers, epochs):
    """Its own trainer, through its public functions, without what it does beside training."""
    from ultralytics import YOLO

    times = []
    model = YOLO("yolov8n.yaml")
    images = len(list((folder / "images").iterdir()))
    model.add_callback("on_train_epoch_start", lambda trainer: times.append([time.perf_counter(), 0.0, 0.0, 0]))
    model.add_callback("on_train_epoch_end", lambda trainer: times[-1].__setitem__(1, time.perf_counter()))

    def batch_begins(trainer):
        if times[-1][2]:
            times[-1][3] += time.perf_counter() - times[-1][2]

    model.add_callback("on_train_batch_start", batch_begins)
    model.add_callback("on_train_batch_end", lambda trainer: times[-1].__setitem__(2, time.perf_counter()))
    model.train(
        data=str(folder / "data.yaml"), imgsz=side, batch=batch, epochs=epochs, workers=workers, device="cpu", optimizer="SGD",
        amp=False, val=False, plots=False, save=False, mosaic=1.0, close_mosaic=0, project=str(folder.parent / "ultralytics"),
        exist_ok=True, verbose=False,
    )  # fmt: skip
    begin, end, _, wait = times[-1]
    tell(images, end - begin, wait)


def main():
    name, folder, *numbers = sys.argv[1:]
    torch.manual_seed(0)
    {"torchvision": train_torchvision, "ultralytics": train_ultralytics}[name](Path(folder), *map(int, numbers))


if __name__ == "__main__":
    main()

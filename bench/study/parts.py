"""The parts of the study: each a command of packhorse-train, whose JSON is a file of the results.

All but `cpu` train on a simulated device, which takes so many images a second and no core: a stand-in for a GPU that
anybody can repeat. `cpu` trains for real, as slowly as the cores do.
"""

import dataclasses
from pathlib import Path

FORMATS, MODES = "wds,lmdb,hdf5", "original,roi,resize,raw"
EVERY_STORAGE = ["--storage", "hdd", "--storage", "sata-ssd", "--storage", "nfs", "--storage", "nvme"]
PHOTOS = ["--image-size", "224", "--augment", "rrc", "--batch-size", "64", "--device", "cpu"]
CIFAR = ["--image-size", "32", "--augment", "pad-crop", "--batch-size", "128", "--device", "cpu"]
PHOTO_DEVICE, CIFAR_DEVICE = ["--simulated-device", "1500"], ["--simulated-device", "20000"]


@dataclasses.dataclass(frozen=True)
class Part:
    """`options` come after the command, the inputs and what the run says of repeats and seconds."""

    name: str
    title: str
    folder: str | None  # "photos", "cifar", or None for what needs no inputs
    options: tuple[str, ...]
    command: str = "measure"
    formats: str = FORMATS
    modes: str = MODES
    swept: str = "folder"  # or the name of a packed dataset

    def arguments(self, folder, scratch, results, run):
        """The command line behind the program, without --json."""
        if self.command == "predict":
            return ["predict", results / "photos.json", *self.options]
        passes = ["--repeats", run.repeats, "--max-seconds", run.seconds]
        if self.command == "sweep":
            data = folder if self.swept == "folder" else scratch / self.swept
            return ["sweep", "--data", data, *passes, *self.options]
        packed = ["--pack-all", "--keep", "--scratch", scratch, "--formats", self.formats, "--modes", self.modes]
        split = ["--split", "train"] if self.folder == "cifar" else []
        return ["measure", "--folder", folder, *packed, *split, *passes, *self.options]


def measured(name, title, folder, *options, **more):
    return Part(name, title, folder, options, **more)


PARTS = [
    measured("photos", "10,000 photos, a device of 1,500 images/s", "photos", *PHOTOS, *PHOTO_DEVICE, "--cold",
             *EVERY_STORAGE),  # fmt: skip
    measured("photos-window", "The same in windows (--order window), for storage that hates random reads", "photos",
             *PHOTOS, *PHOTO_DEVICE, "--order", "window", "--cold", "--storage", "hdd", "--storage", "nfs",
             formats="wds"),  # fmt: skip
    measured("cifar", "CIFAR-10: 60,000 files of 900 bytes, the 50,000 to train on read, a device of 20,000 images/s",
             "cifar", *CIFAR, *CIFAR_DEVICE, "--cold", *EVERY_STORAGE),  # fmt: skip
    measured("delay", "5 ms to open a file, and nothing else", "photos", *PHOTOS, *PHOTO_DEVICE, "--storage",
             "open=5ms", formats="wds"),  # fmt: skip
    measured("cpu", "ResNet-18 on the cores, all files cached: where packing gains nothing", "photos", "--arch",
             "resnet18", "--image-size", "224", "--batch-size", "16", "--device", "cpu", "--warmup-steps", "2",
             formats="wds", modes="original,roi"),  # fmt: skip
    measured("sweep", "Reader threads and batches ahead, a device of 3,000 images/s", "photos", *PHOTOS,
             "--simulated-device", "3000", "--slots", "2,4,8", command="sweep", swept="wds-roi"),  # fmt: skip
    measured("folder-threads", "Threads in the place of packing: the folder on NFS, read by more threads than cores",
             "photos", *PHOTOS, *PHOTO_DEVICE, "--storage", "nfs", "--workers", "2,4,8,16,32", "--slots", "8",
             command="sweep"),  # fmt: skip
    measured("predict", "A machine that is not here: 96 cores and 8 GPUs of 2,800 images/s on NFS", None, "--cpus",
             "96", "--devices", "8", "--device-rate", "2800", "--storage", "nfs", command="predict"),  # fmt: skip
]


def find(name):
    return next(part for part in PARTS if part.name == name)


def scratch_of(data: Path, folder: Path):
    """Where a folder's packed datasets are kept for the parts that follow."""
    return data / f"study-{folder.name}"

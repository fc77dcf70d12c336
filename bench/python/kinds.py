"""Kinds of images beside the usual loaders: photos as PNG, WebP, TIFF and BMP, as grey of 16 bits and as ten bands, by packhorse.Loader
from a packed dataset, by a DataLoader over ImageFolder with the decoders of Pillow, torchvision, OpenCV, torchcodec and tifffile, and by
DALI, in turns. A loader that is not installed is left out, and says so.

    .venv/bin/python bench/python/kinds.py                                       # prints Markdown
    .venv/bin/python bench/python/kinds.py --write docs/measured/python.md
    .venv/bin/python bench/python/kinds.py --rounds 1 --seconds 1                # a quick try

The photos are those of imagenet200.tar in PACKHORSE_DATA (default ../shared/data), written by Pillow. Every pass is a process of its
own and lasts at least --seconds in whole epochs, after one that is not timed. What counts is images for a second of
CPU time: decoding is nearly all of it. Needs the preset release, scripts/setup, and what bench/requirements.txt names for this bench.
"""

import importlib.util
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from common.environment import ROOT, built, require  # noqa: E402
from common.markdown import parser, show, spread_text, table  # noqa: E402
from pictures import conditions, packed, photos, run  # noqa: E402

PASSES = Path(__file__).with_name("passes.py")
SIDE, BATCH = 224, 64
OURS = "packhorse.Loader"
# Which pass a loader is, of passes.py, and the module that it needs.
LOADERS = {
    OURS: ("loader", "torch"),
    "DataLoader, Pillow": ("folder", "PIL"),
    "DataLoader, torchvision.io": ("folder_io", "torchvision"),
    "DataLoader, OpenCV": ("folder_cv", "cv2"),
    "DataLoader, torchcodec": ("folder_codec", "torchcodec"),
    "DALI": ("dali", "nvidia.dali"),
}
BANDS = {OURS: ("bands", "torch"), "DataLoader, tifffile": ("folder_bands", "tifffile")}
BY_PILLOW = {OURS: ("bands", "torch"), "DataLoader, Pillow": ("folder_bands", "PIL")}
ALL, OTHERS = set(LOADERS), set(LOADERS) - {"DataLoader, torchvision.io", "DataLoader, torchcodec"}


def save_grey(picture, file):
    """Of 16 bits, all of which are used: the photo's grey, and noise below it."""
    import numpy as np
    from PIL import Image

    grey = np.asarray(picture.convert("L")).astype(np.uint16)
    noise = np.random.default_rng(grey.size).integers(0, 16, grey.shape, np.uint16)
    Image.fromarray(grey * 256 + noise).save(file)


def save_bands(picture, file):
    """Ten mixtures of the photo's colours, of 12 of 16 bits, as satellites' pictures are stored."""
    import numpy as np
    import tifffile

    shares = np.random.default_rng(10).dirichlet(np.ones(3), 10)
    bands = np.asarray(picture).astype(np.float64) @ shares.T * 16
    tifffile.imwrite(file, bands.astype(np.uint16), photometric="minisblack", planarconfig="contig", compression="zlib", metadata=None)


# Its extension; a function that writes it, or the options that Pillow takes; the loaders that read it.
KINDS = {
    "PNG": ("png", {}, ALL),
    "WebP, quality 85": ("webp", {"quality": 85}, ALL),
    "TIFF, LZW": ("tif", {"compression": "tiff_lzw"}, OTHERS),
    "TIFF, not compressed": ("tif", {}, OTHERS),
    "BMP": ("bmp", {}, OTHERS),
    "PNG, grey of 16 bits": ("png", save_grey, BY_PILLOW),
    "TIFF, 10 bands of 16 bits": ("tif", save_bands, BANDS),
}


def written(folder, target, extension, how):
    from PIL import Image

    for path in sorted(folder.rglob("*.*")):
        file = target / path.parent.name / f"{path.stem}.{extension}"
        file.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.open(path).convert("RGB")
        how(picture, file) if callable(how) else picture.save(file, **how)
    return target


def is_there(module):
    if importlib.util.find_spec(module.partition(".")[0]) is not None:
        return True
    print(f"kinds: {module} is not installed, and left out", file=sys.stderr)
    return False


def loaders_of(kind, beside):
    which = KINDS[kind][2]
    known = which if isinstance(which, dict) else {name: LOADERS[name] for name in LOADERS if name in which}
    return {name: work for name, (work, module) in known.items() if (beside is None or name == OURS or module in beside) and is_there(module)}


def passes(kind, folder, dataset, options):
    found = {}
    for name, work in loaders_of(kind, options.beside).items():
        path = dataset if name == OURS else folder
        figures = json.loads(run([sys.executable, PASSES, work, path, SIDE, BATCH, options.jobs, options.seconds]))
        found[name] = figures["images"] / max(figures["cpu_s"], 0.01)  # what is counted; only of a quick try
        print(f"kinds: {kind}: {name}: {found[name]:,.0f} images for a second of CPU time", file=sys.stderr)
    return found


def rows_of(kind, rounds):
    rows = []
    for name in rounds[0]:
        rates = [one[name] for one in rounds]
        ratios = [one[OURS] / one[name] for one in rounds]
        beside = "" if name == OURS else spread_text(ratios, lambda x: f"{x:.2f}")
        rows.append([kind, name, f"{statistics.median(rates):,.0f}", beside])
    return rows


def measured(options, work):
    folder = photos(work, 1)
    sets = {}
    for number, (kind, (extension, how, _)) in enumerate(KINDS.items()):
        made = written(folder, work / f"as{number}", extension, how)
        sets[kind] = made, packed(made, work / f"packed{number}", "--bands")
    runs = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind, (made, dataset) in sets.items():
            runs[kind].append(passes(kind, made, dataset, options))
    rows = [row for kind, rounds in runs.items() for row in rows_of(kind, rounds)]
    about = f"{options.rounds} rounds, passes of {options.seconds:g} s or more, {options.jobs} workers, warm. {conditions()}"
    return f"{about}\n\n{table(['photos as', 'loader', 'images for a CPU second', 'packhorse beside it'], rows)}"


def main():
    arguments = parser("kinds", __doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=2.0)
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--beside", nargs="+", metavar="MODULE", help="only loaders that need these modules")
    options = arguments.parse_args()
    require(built("packhorse"))
    if options.write and options.rounds < 5:
        sys.exit("kinds: measured in fewer than 5 rounds")
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        text = measured(options, Path(work))
    show(options, "kinds bench", text)


if __name__ == "__main__":
    main()

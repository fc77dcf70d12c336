"""Damages packed photos in thousands of places, one at a time, and counts who notices.

    python3 bench/reliability --write docs/measured/reliability.md
    python3 bench/reliability --flips 300 --cuts 60 --formats wds lmdb

docs/measured/reliability.md says what is measured. Needs h5py and lmdb, which scripts/setup brings.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import damages  # noqa: E402
import ours  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
from common.environment import ROOT, built  # noqa: E402
from common.page import parser, show  # noqa: E402

FORMATS = {"wds": (), "wds-zstd": ("--compress", "zstd"), "lmdb": (), "lmdb-members": (), "hdf5": ()}


def parse():
    arguments = parser("reliability", __doc__)
    arguments.add_argument("--flips", type=int, default=10_000, help="single bits a format (default 10,000)")
    arguments.add_argument("--cuts", type=int, default=2_000, help="truncations a format (default 2,000)")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS), metavar="FORMAT")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="default: the CPUs there are")
    arguments.add_argument("--bin", type=Path, default=built("packhorse").parent, metavar="DIR", help="the programs")
    arguments.add_argument("--photos", type=Path, metavar="DIR", help="a class folder instead of imagenet200")
    arguments.add_argument("--scratch", type=Path, default=Path("/dev/shm"), metavar="DIR", help="default /dev/shm")
    options = arguments.parse_args()
    data = Path(os.environ.get("PACKHORSE_TEST_DATA", ROOT / "build/test-data"))
    options.photos = options.photos or data / "imagenet/imagenet200"
    if not options.photos.is_dir():
        arguments.error(f"{options.photos} is not there: run a test that unpacks it, or say --photos DIR")
    return options


def measure(form, options, scratch):
    dataset = scratch / form
    ours.pack(options, dataset, form.removesuffix("-zstd"), *FORMATS[form])
    plan = damages.plan(dataset, options.flips, options.cuts, f"{options.seed} {form}")
    print(f"{form}: {len(plan)} damages, packhorse ...", file=sys.stderr)
    result = {"format": form, "ours": ours.judge(options, dataset, plan)}
    if form in peers.READERS:
        print(f"{form}: {len(plan)} damages, another reader ...", file=sys.stderr)
        result["peer"] = peers.judge(form, dataset, plan, options.jobs)
    shutil.rmtree(dataset)
    return result


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="packhorse-reliability-", dir=options.scratch) as scratch:
        results = {
            "flips": options.flips,
            "cuts": options.cuts,
            "seed": options.seed,
            "versions": {"packhorse": ours.version(options), **peers.versions()},
            "formats": [measure(form, options, Path(scratch)) for form in options.formats],
        }
    show(options, "reliability", report.text(results), results)
    return 0 if report.is_good(results) else 1


if __name__ == "__main__":
    sys.exit(main())

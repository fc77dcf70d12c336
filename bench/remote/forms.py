"""The objects and the datasets that are read, put into the bucket that is open to everybody."""

import dataclasses
import os
import subprocess

from common import measure
from common.data import photos
from common.environment import PACK_PEERS, PEERS_PYTHON, ROOT
from common.measure import Failed

from contenders import SHARD_BYTES, digest, emptied

BUCKET = "public"
PICTURE = 4 << 20  # bytes


@dataclasses.dataclass(frozen=True)
class Stored:
    """The only shard of a dataset."""

    key: str
    size: int
    sum: str


def put_object(client, size, packhorse, work):
    """A dataset with one shard of about `size` bytes, most of them random."""
    folder, name = emptied(work / "object"), f"object-{size}"
    source, out = folder / "source/pictures", folder / name
    source.mkdir(parents=True)
    head = next((ROOT / "samples/shapes").rglob("*.jpg")).read_bytes()
    for number in range(max(1, size // PICTURE)):
        (source / f"{number:06}.jpg").write_bytes(head + os.urandom(min(size, PICTURE)))
    options = ["--format", "wds", "--shard-bytes", "none", "--allow-odd-classes", "--quiet"]
    subprocess.run([packhorse, "pack", folder / "source", out, *options], check=True)
    client.put_folder(BUCKET, out, name)
    return Stored(f"{name}/shard-000000.tar", (out / "shard-000000.tar").stat().st_size, digest(out))


def peer_packed(name):
    def make(source, out, jobs, scratch):
        command = [PEERS_PYTHON, PACK_PEERS, "pack", name, source, out, jobs, scratch, SHARD_BYTES]
        measure.run([*map(str, command)], out.parent, waits=True)

    return make


FORMS = {"webdataset": peer_packed("webdataset"), "mds": peer_packed("mds"), "litdata": peer_packed("litdata")}


def put_forms(client, places, count, jobs, work):
    """Every form that can be made here, below its name. Returns those, and why others cannot: name -> reason."""
    source = photos(places, count).path
    client.put_folder(BUCKET, source, "files")
    missing = {}
    for name, make in FORMS.items():
        try:
            make(source, work / name, jobs, work / "scratch")
        except (Failed, OSError) as error:
            missing[name] = f"it cannot be packed here: {error}"
            continue
        client.put_folder(BUCKET, work / name, name)
    packed = [places.packhorse, "pack", source, work / "packhorse", "--format", "wds", "--shard-bytes", str(SHARD_BYTES)]
    done = subprocess.run([*map(str, packed)], check=False, capture_output=True, text=True)
    if done.returncode == 0:
        client.put_folder(BUCKET, work / "packhorse", "packhorse")
    else:
        missing["packhorse"] = f"it cannot be packed here: {done.stderr.strip()}"
    return missing

"""packhorse from Python, as it was built for the Python of the peers' environment."""

import os
import sys

from common.environment import built
from common.loaders.loader import BATCH, Loader
from common.machine import packhorse_versions


class Packhorse(Loader):
    """packhorse.Loader: the threads of the C++ loader, batches as tensors."""

    modules = ["torch", "packhorse"]

    def __init__(self, **options):
        super().__init__(**options)
        package = built("packhorse").parent.parent / "python"
        if not package.exists():
            sys.exit(f"no {package}: cmake --build --preset release --target packhorse_python")
        sys.path.insert(1, str(package))

    def version_text(self):
        return packhorse_versions(built("packhorse")).split(" (")[0]

    def open(self, source, jobs):
        import packhorse

        self.loader = packhorse.Loader(source, BATCH, augment=packhorse.RandomResizedCrop(self.side), workers=jobs)

    def epoch(self):
        return ((batch.images, batch.labels) for batch in self.loader)


class RemotePackhorse(Packhorse):
    """The same from object storage, with a cache that is empty at first."""

    def open(self, source, jobs):
        import packhorse

        packhorse.configure_remote(cache=os.path.join(self.scratch, "cache"))
        super().open(source, jobs)

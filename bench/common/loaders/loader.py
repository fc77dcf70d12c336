"""What a loader is here, and the crop that all of them make."""

from importlib import metadata

BATCH, SIDE = 64, 224
SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)


class Loader:
    """The packages that have its version, what is imported at first, and epochs of batches, (images, labels).
    Pixels are uint8, or the numbers that the loader has instead.

    With `defaults` it is left as it comes where that loses or repeats samples (peers/verify.py says which do).
    """

    packages, modules = [], []
    dtype = "uint8"

    def __init__(self, side=SIDE, scratch="", defaults=False):
        self.side, self.scratch, self.defaults = side, scratch, defaults

    def prove(self):
        """Fails where the loader can be imported and still not work."""

    def version_text(self):
        """The version of its package, or of each of them with its name."""
        if len(self.packages) == 1:
            return metadata.version(self.packages[0])
        return f"({', '.join(f'{name} {metadata.version(name)}' for name in self.packages)})"

    def open(self, source, jobs):
        """Makes what epoch() uses. Before the clock of an epoch runs."""
        raise NotImplementedError

    def epoch(self):
        """Batches of one epoch."""
        raise NotImplementedError

    def close(self):
        """Gives back what would outlive the program."""

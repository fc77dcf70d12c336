"""A task that does nothing for a while: importable, since engines pickle it by its name."""

import time

from packhorse.cluster import _Task


class Sleep(_Task):
    def attempt(self):
        time.sleep(self.options["seconds"])

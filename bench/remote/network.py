"""Makes a server on this machine a distant one: every answer takes as long as a round trip lasts, and all answers
together have a limited bandwidth.

    with best(options.shaping) as network, Seaweed(folder, network.host) as server:
        with network.limited(server, delay_ms=20, bytes_per_s=125_000_000) as place:
            run([*place.prefix, "curl", f"{place.endpoint}/public/object"])

Two ways. `netem`: programs run in a network namespace, whose only way out has a queue of the kernel's, with delay and
rate; it takes rights that containers may not have. `proxy`: the fault proxy of the tests; a connection waits once when
it is opened and once for each request, and large answers are not slowed down further, as those of TCP are where a
window is small. The page says which it was.
"""

import contextlib
import dataclasses
import os
import subprocess
import sys
import tempfile

from common.environment import TEST_SERVERS

sys.path.insert(1, str(TEST_SERVERS))

from servers import Proxy  # noqa: E402

QUEUE = 100_000  # packets; none is to be lost


@dataclasses.dataclass(frozen=True)
class Place:
    """Where clients find the server, and what their command begins with."""

    endpoint: str
    prefix: tuple = ()


class ByProxy:
    """The fault proxy in front of the server."""

    name, host = "proxy", "127.0.0.1"

    @contextlib.contextmanager
    def limited(self, server, delay_ms, bytes_per_s):
        options = ("--delay-ms", str(delay_ms), "--total-bytes-per-s", str(bytes_per_s))
        with tempfile.TemporaryDirectory() as folder, Proxy(folder, server.address, *options) as proxy:
            yield Place(proxy.url)


class ByNamespace:
    """netem in both directions of a pair of virtual network cards."""

    name = "netem"

    def __init__(self):
        number = os.getpid()
        self.namespace, self.ours, self.theirs = f"packhorse-{number}", f"ph{number}", f"phc{number}"
        network = f"10.{200 + number // 16384 % 50}.{number // 64 % 256}.{number % 64 * 4}"
        first, _, last = network.rpartition(".")
        self.host, self.client = f"{first}.{int(last) + 1}", f"{first}.{int(last) + 2}"

    def __enter__(self):
        try:
            tell("ip", "netns", "add", self.namespace)
            tell("ip", "link", "add", self.ours, "type", "veth", "peer", "name", self.theirs)
            tell("ip", "link", "set", self.theirs, "netns", self.namespace)
            tell("ip", "address", "add", f"{self.host}/30", "dev", self.ours)
            tell("ip", "link", "set", self.ours, "up")
            address = f"address add {self.client}/30 dev {self.theirs}"
            for words in (address, f"link set {self.theirs} up", "link set lo up"):
                tell(*self.inside, "ip", *words.split())
            self.limit(1, 1_000_000)  # whether the kernel has netem
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for command in (("ip", "link", "delete", self.ours), ("ip", "netns", "delete", self.namespace)):
            subprocess.run(command, check=False, capture_output=True)

    @property
    def inside(self):
        return ("ip", "netns", "exec", self.namespace)

    def limit(self, delay_ms, bytes_per_s):
        """Half of a round trip in each direction."""
        for prefix, card in (((), self.ours), (self.inside, self.theirs)):
            tell(*prefix, "tc", "qdisc", "replace", "dev", card, "root", "netem", "delay", f"{delay_ms / 2}ms",
                 "rate", f"{bytes_per_s * 8}bit", "limit", str(QUEUE))  # fmt: skip

    @contextlib.contextmanager
    def limited(self, server, delay_ms, bytes_per_s):
        self.limit(delay_ms, bytes_per_s)
        yield Place(server.url, self.inside)


class Impossible(Exception):
    """What a namespace needs is not permitted here."""


def tell(*command):
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise Impossible(f"{command[0]} is not installed (iproute2)") from missing
    if done.returncode != 0:
        raise Impossible(f"{' '.join(command)}: {done.stderr.strip()}")


@contextlib.contextmanager
def best(shaping):
    """`netem`, `proxy`, or with `auto` the first of them that is possible here."""
    with contextlib.ExitStack() as stack:
        network = ByProxy()
        if shaping != "proxy":
            try:
                network = stack.enter_context(ByNamespace())
            except Impossible as why:
                if shaping == "netem":
                    sys.exit(f"remote: no netem here: {why}")
                print(f"remote: no netem here ({why}): the proxy delays instead", file=sys.stderr)
        yield network

"""Which request meets which fault: rules, the first of which that applies is taken.

    Plan([Rule(Cut(1000), path="*.tar", times=1)])                           the first request for a tar is cut
    Plan([Rule([Reset(), Unavailable()], chance=0.2, each=3)], seed=7)       a fifth of all requests, at random

Chance is drawn for a request by what it asks for and how often that was asked before, not by the order in which
requests come: with one seed the same requests meet the same faults, however many are under way at once, and in each
run, whatever its places are called.
"""

import dataclasses
import fnmatch
import random
import re
import urllib.parse

from faults import Fault, Untouched, from_json

DRAWN_NAME = re.compile(r"[0-9a-f]{32}")  # of a place made for one test (uuid4().hex): other in each run


class Request:
    """The head of a request, and what it asks for."""

    def __init__(self, head):
        self.head = head
        self.method, self.target = (head.start.split(" ") + ["", ""])[:2]
        path, _, self.query = self.target.partition("?")
        self.path = urllib.parse.unquote(path)
        self.range_text = head.get("Range", "")

    @property
    def range(self):
        """(first, last) bytes, of which one may be None, or None when there is no range."""
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.range_text)
        return tuple(int(number) if number else None for number in found.groups()) if found else None

    @property
    def identity(self):
        return f"{self.method} {self.path} {self.range_text}"


@dataclasses.dataclass
class Rule:
    """A fault, or several of which one is drawn, and the requests that meet it."""

    faults: Fault | list
    path: str = "*"  # a pattern of the decoded path: "/bucket/*.tar"
    method: str = ""  # "": any
    ranged: bool | None = None  # only requests for ranges, or only those for whole objects
    query: str = "*"  # a pattern of what follows the question mark
    skip: int = 0  # as many requests go by first
    times: int | None = None  # faults there are at most
    each: int | None = None  # faults that one and the same request (method, path, range) meets at most
    chance: float = 1.0

    def __post_init__(self):
        self.faults = self.faults if isinstance(self.faults, list) else [self.faults]
        self.forget()

    def forget(self):
        self.seen, self.done, self.asked, self.met = 0, 0, {}, {}

    def matches(self, request):
        return (
            self.method in ("", request.method)
            and (self.ranged is None or self.ranged == bool(request.range_text))
            and fnmatch.fnmatchcase(request.path, self.path)
            and fnmatch.fnmatchcase(request.query, self.query)
        )

    def applies(self, request, draw):
        """Whether the request meets the fault, and counts it. `draw()` is a number of 0 to 1."""
        self.seen += 1
        self.asked[request.identity] = self.asked.get(request.identity, 0) + 1
        full = self.times is not None and self.done >= self.times
        spared = self.each is not None and self.met.get(request.identity, 0) >= self.each
        if self.seen <= self.skip or full or spared or (self.chance < 1 and draw() >= self.chance):
            return False
        self.done += 1
        self.met[request.identity] = self.met.get(request.identity, 0) + 1
        return True


class Plan:
    """Rules, and the seed of what is left to chance."""

    def __init__(self, rules=(), seed=0):
        self.rules, self.seed = list(rules), seed

    @classmethod
    def from_json(cls, document):
        """{"seed": 7, "rules": [{"fault": {"kind": "cut", "bytes": 10}, "path": "*.tar", "chance": 0.1}]}; `faults` is
        a list to draw from. Raises ValueError."""
        if not isinstance(document, dict) or document.keys() - {"seed", "rules"}:
            raise ValueError("a plan is an object of `seed` and `rules`")
        rules = []
        for one in document.get("rules", []):
            try:
                options = dict(one)
                faults = options.pop("faults", None) or [options.pop("fault", {})]
                rules.append(Rule([from_json(fault) for fault in faults], **options))
            except TypeError as error:
                raise ValueError(f"rule: {error}") from error
        return cls(rules, document.get("seed", 0))

    def randomness(self, rule, request):
        tries = self.rules[rule].asked.get(request.identity, 0)
        alike = DRAWN_NAME.sub("", request.identity)
        return random.Random(f"{self.seed}/{rule}/{alike}/{tries}")

    def decide(self, request):
        """(the fault that the request meets, a source of chance for it)."""
        for i, rule in enumerate(self.rules):
            if not rule.matches(request):
                continue
            if rule.applies(request, lambda i=i: self.randomness(i, request).random()):
                chance = self.randomness(i, request)
                chance.random()  # the draw above
                return chance.choice(rule.faults), chance
        return Untouched(), random.Random(0)

"""A measurement as the pictures and tables ask for it: by input and condition."""

from typing import Any

ENOUGH_REPEATS = 5  # kEnoughRepeats of packhorse-train


class Runs:
    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.conditions: list[dict[str, Any]] = body["conditions"]
        self.inputs: list[dict[str, Any]] = body["inputs"]
        self.names = [entry["name"] for entry in self.inputs]
        self.folder = next((entry["name"] for entry in self.inputs if entry["format"] == "folder"), self.names[0])
        self.device_limit: float = body["device_limit"]["images_per_s"]["median"]
        self.found = {(run["input"], run["condition"]): run for run in body["runs"]}
        self.reasons = {(gap["input"], gap["condition"]): gap["reason"] for gap in body["not_measured"]}

    def of(self, name: str, condition: dict[str, Any]) -> dict[str, Any] | None:
        return self.found.get((name, condition["name"]))

    def ratios(self, name: str, condition: str, what: str) -> tuple[float, float, float] | None:
        """Least, median and most times the folder's speed that the repeats allow: an input's slowest against the
        folder's fastest, and the reverse. Of the folder itself: its own spread."""
        run, folder = self.found.get((name, condition)), self.found.get((self.folder, condition))
        if run is None or folder is None:
            return None
        mine, base = run[what]["images_per_s"], folder[what]["images_per_s"]
        if min(mine["min"], base["min"]) <= 0:
            return None
        if run is folder:
            return base["min"] / base["median"], 1.0, base["max"] / base["median"]
        ratio = run.get("speedup", {}).get(what) or mine["median"] / base["median"]
        return min(ratio, mine["min"] / base["max"]), ratio, max(ratio, mine["max"] / base["min"])

    def told_apart(self, bounds: tuple[float, float, float]) -> bool:
        """Whether such ratios() are more than chance, by the rule of docs/measuring.md."""
        least, _, most = bounds
        return self.body["repeats"] >= ENOUGH_REPEATS and not least <= 1 <= most

    def other_work(self, name: str) -> bool:
        """Whether it decodes less than the folder, or other pixels."""
        return any(entry["name"] == name and entry["image"] != "original" for entry in self.inputs)

    def median(self, name: str, condition: dict[str, Any], what: str) -> float:
        """Images a second; 0 where there is no run."""
        run = self.of(name, condition)
        return run[what]["images_per_s"]["median"] if run else 0

    def by_storage(self) -> list[dict[str, Any]]:
        """The conditions, from the one where the folder is fastest. Where that was not measured the slowest input
        stands for it."""

        def speed(condition: dict[str, Any]) -> float:
            found = [rate for name in self.names if (rate := self.median(name, condition, "training")) > 0]
            return self.median(self.folder, condition, "training") or min(found, default=0)

        return sorted(self.conditions, key=speed, reverse=True)

    def noisy(self, name: str, condition: dict[str, Any], what: str) -> bool:
        run = self.of(name, condition)
        return bool(run and run[what]["images_per_s"]["noisy"])

    def any_noisy(self, what: str) -> bool:
        return any(run[what]["images_per_s"]["noisy"] for run in self.found.values())

    def gap(self, run: dict[str, Any]) -> str:
        """Why there is nothing to compare it with."""
        folder = (self.folder, run["condition"])
        return "no images a second" if folder in self.found else "no folder to compare with"

    def reason(self, name: str, condition: dict[str, Any]) -> str:
        return self.reasons.get((name, condition["name"]), "the document does not say why")

    @property
    def noisy_ones(self) -> int:
        """Runs whose training, reading or decoding scattered."""
        return sum(
            any(run[what]["images_per_s"]["noisy"] for what in ("training", "read", "decode"))
            for run in self.found.values()
        )

"""One call of scripts/plot: documents in, a page and its pictures out."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from plot_report import measurement, prediction, sweep
from plot_report.documents import KINDS, Document, Unfit, load
from plot_report.look import Palette
from plot_report.page import Section, page

TITLE = "packhorse: what packing gains"


@dataclasses.dataclass(frozen=True)
class Session:
    documents: Sequence[Document]

    @classmethod
    def read(cls, files: Sequence[Path]) -> "Session":
        """Measurements first, then sweeps, then predictions, each kind in the order given."""
        found = [load(file) for file in files]
        return cls(sorted(found, key=lambda document: [*KINDS].index(document.kind)))

    def sections(self) -> list[Section]:
        palette = Palette(self.inputs())
        simulated = self.simulated()
        found = []
        for document, stem in zip(self.documents, stems([document.path.stem for document in self.documents])):
            match document.kind:
                case "measurement":
                    found.append(measurement.section(document, palette, stem))
                case "sweep":
                    found.append(sweep.section(document, stem))
                case "prediction":
                    found.append(prediction.section(document, palette, stem, simulated))
        return found

    def inputs(self) -> list[dict[str, str]]:
        """The inputs of all documents, each name once; predictions know only the names."""
        known: dict[str, dict[str, str]] = {}
        for document in self.documents:
            body = document.body
            if document.kind == "prediction":
                entries = [guessed(each["input"]) for each in [*body["predictions"], *body["check"]]]
            else:
                entries = body["inputs"] if document.kind == "measurement" else [body["input"]]
            for entry in entries:
                known.setdefault(entry["name"], entry)
        return list(known.values())

    def simulated(self) -> set[str]:
        """Names of simulated conditions. A prediction's check has only names: those that no document shares are
        simulated, except "warm" and "cold"."""
        known: dict[str, bool] = {"warm": False, "cold": False}
        for document in self.documents:
            body = document.body
            single = body["condition"] if document.kind == "sweep" else body["machine"].get("condition")
            for condition in body.get("conditions", [single]):
                known[condition["name"]] = condition["kind"] == "simulated"
        for document in self.documents:
            for each in document.body.get("check", []):
                known.setdefault(each["condition"], True)
        return {name for name, is_simulated in known.items() if is_simulated}

    def write(self, sections: Sequence[Section], out: Path, images: Path | None) -> int:
        """Writes the page, and with `images` each picture as NAME.png. Returns how many pictures there are."""
        pictures = [picture for section in sections for picture in section.pictures()]
        if out.resolve() in {document.path.resolve() for document in self.documents}:
            raise Unfit(f"{out} is one of the documents; give the page another name with --out")
        if images:
            images.mkdir(parents=True, exist_ok=True)
            for picture in pictures:
                (images / f"{picture.name}.png").write_bytes(picture.image)
        out.write_text(page(TITLE, sections), encoding="utf-8")
        return len(pictures)


def guessed(name: str) -> dict[str, str]:
    """An input of which only the name is known: `wds roi` has the format wds and stores roi."""
    first, _, rest = name.partition(" ")
    return {"name": name, "format": first, "image": rest or "original"}


def stems(names: Sequence[str]) -> list[str]:
    """A prefix for the names of each document's pictures: its file's name, with a number where two are equal."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "-", name) for name in names]
    return [f"{name}-{plain[:i].count(name) + 1}" if plain.count(name) > 1 else name for i, name in enumerate(plain)]

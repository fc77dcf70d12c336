"""Reads the documents of packhorse-train and checks them against docs/schemas.

document = load(Path("measurement.json"))
document.kind, document.body["runs"]
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

SCHEMAS = Path(__file__).resolve().parents[2] / "docs/schemas"
KINDS = {"measurement": "measure", "sweep": "sweep", "prediction": "predict"}  # -> the command that prints it
SHOWN = 5  # errors of a file that are listed


class Unfit(Exception):
    """A file is invalid; the text says which, where in it, and what to do."""


@dataclasses.dataclass(frozen=True)
class Document:
    """A file that fits its schema."""

    path: Path
    kind: str  # one of KINDS
    body: dict[str, Any]


def schema_file(kind: str) -> Path:
    return SCHEMAS / f"{kind}.schema.json"


def validator(kind: str) -> Draft202012Validator:
    """The validator of one kind. The schemas refer to each other by file name."""
    files = map(schema_file, KINDS)
    known = Registry().with_resources(
        (file.name, Resource.from_contents(json.loads(file.read_text()))) for file in files
    )
    return Draft202012Validator({"$ref": schema_file(kind).name}, registry=known)


def load(path: Path) -> Document:
    body = parsed(path)
    kind = kind_of(path, body)
    faults = [*schema_faults(kind, body)] or [*name_faults(kind, body)]
    if faults:
        more = f"\n  and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise Unfit(
            f"{path} is no packhorse-{kind}/1:\n  " + "\n  ".join(faults[:SHOWN]) + f"{more}\n"
            f"docs/schemas/{schema_file(kind).name} describes it; packhorse-train {KINDS[kind]} --json prints it."
        )
    return Document(path, kind, body)


def parsed(path: Path) -> Any:
    def refuse(word: str) -> None:
        raise Unfit(f"{path} is not JSON: it holds {word}, which is no number there")

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except UnicodeDecodeError:
        raise Unfit(f"{path} is not JSON: it is not even text in UTF-8") from None
    except json.JSONDecodeError as error:
        hint = "; it is empty: did the command that should have written it fail?" if path.stat().st_size == 0 else ""
        raise Unfit(f"{path} is not JSON: {error}{hint}") from None


def kind_of(path: Path, body: Any) -> str:
    named = body.get("schema") if isinstance(body, dict) else None
    for kind in KINDS:
        if named == f"packhorse-{kind}/1":
            return kind
    known = ", ".join(f"packhorse-{kind}/1" for kind in KINDS)
    what = f'its field "schema" is {named!r}' if named is not None else 'it has no field "schema"'
    raise Unfit(
        f"{path} is none of the documents this program reads ({known}): {what}.\n"
        f"Make one with: packhorse-train {'|'.join(KINDS.values())} --json"
    )


def schema_faults(kind: str, body: Any) -> Iterator[str]:
    """Errors such as `runs[3].training: "loss" is missing`, outermost first."""
    errors = validator(kind).iter_errors(body)
    for error in sorted(errors, key=lambda each: (len(each.absolute_path), each.json_path)):
        yield fault(error)


def fault(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".") or "the document"
    if error.validator == "required":
        missing = next(
            name for name in error.validator_value if name not in error.instance and repr(name) in error.message
        )
        return f'{where}: "{missing}" is missing'
    value = json.dumps(error.instance)
    shown = value if len(value) <= 40 else value[:37] + "..."
    match error.validator:
        case "type":
            wanted = error.validator_value
            return f"{where}: {shown} is no {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
        case "enum":
            return f"{where}: {shown} is none of {', '.join(error.validator_value)}"
        case "minItems":
            return f"{where}: it is empty"
        case _:
            return f"{where}: {error.message}"


def name_faults(kind: str, body: dict[str, Any]) -> Iterator[str]:
    """Names that lead nowhere or occur twice, which a schema cannot express."""
    if kind != "measurement":
        return
    for field in ("inputs", "conditions"):
        names = [entry["name"] for entry in body[field]]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{field}: {name!r} is there twice"
    inputs, conditions = ({entry["name"] for entry in body[field]} for field in ("inputs", "conditions"))
    seen = set()
    for i, run in enumerate(body["runs"]):
        for key, known in (("input", inputs), ("condition", conditions)):
            if run[key] not in known:
                yield f"runs[{i}].{key}: {run[key]!r} is none of the document's {key}s"
        pair = run["input"], run["condition"]
        if pair in seen:
            yield f"runs[{i}]: {pair[0]!r} under {pair[1]!r} is there twice"
        seen.add(pair)
        quantiles = run["training"]["step_ms_quantiles"]
        if len(quantiles["p"]) != len(quantiles["ms"]):
            yield f"runs[{i}].training.step_ms_quantiles: {len(quantiles['p'])} p, but {len(quantiles['ms'])} ms"

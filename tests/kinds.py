"""What follows from the kinds and schemes alone: their part of the certificate's schema, and the list in `spec`.

`make kinds` writes both anew.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from verified_dp.core.families.table import ALL_RELEASES, SCHEMES
from verified_dp.core.kernel.certificate.statement import COMPOSED
from verified_dp.core.kernel.composition import SCHEME_KEYS
from verified_dp.core.kernel.exact import MAX_COUNT
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Gaussian, Reader, Stated

ROOT = Path(__file__).resolve().parents[1]
SCHEMA, SPEC = ROOT / "verified_dp" / "schemas" / "certificate.schema.json", ROOT / "verified_dp" / "spec.py"
LISTED = re.compile(r"(?<=Other kinds, with their keys:\n\n)(    .*\n)+")
_FRACTION = {"$ref": "#/$defs/fraction"}
_SAMPLING = {"sampling": {"$ref": "#/$defs/sampling"}}
_SELECTION = {"selection": {"$ref": "#/$defs/selection"}}
_EITHER: dict[str, tuple[tuple[str, ...], ...]] = {
    "gaussian": (("noise_multiplier",), ("sigma", "sensitivity")),
    "randomized-response": (("noise_probability",), ("epsilon",)), "shuffled-local": (("epsilon0",), ("odds",)),
    "partition-selection": (("sigma",), ("scale",)), "sparse-vector": (("threshold_scale",), ("threshold_sigma",))}
"""Of the keys that may be left out, those of one form each."""


def value_schema(reader: Reader) -> dict[str, Any]:
    """How a value is recorded that this reads: by the type it gives."""
    bare = reader.func if isinstance(reader, partial) else reader
    given = inspect.get_annotations(bare)["return"]
    if given == "int":
        most = reader.args[0] if isinstance(reader, partial) else MAX_COUNT
        return {"type": "integer", "minimum": 1, "maximum": most}
    numbers = {"type": "array", "minItems": 1, "maxItems": MAX_OUTCOMES, "items": _FRACTION}
    return {"Fraction": _FRACTION, "bool": {"type": "boolean"}, "tuple[Fraction, ...]": numbers}[given]


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [key for key in properties if key not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _kinds() -> Iterator[tuple[str, type[Stated]]]:
    yield "gaussian", Gaussian
    yield from ALL_RELEASES.items()


def steps_schema() -> dict[str, Any]:
    """Of a list of mechanisms: one object for each kind, or for each of its forms."""
    found, count = [], value_schema(SCHEMES["shuffled"].stated.readers["rounds"])
    for name, kind in _kinds():
        readers, sampled = kind.stated.readers, {} if kind.stated.not_sampled and kind is not Gaussian else _SAMPLING
        left_out = tuple(key for key in readers if hasattr(kind, key))
        for form in _EITHER.get(name, (left_out,)):
            keys = {key: value_schema(read) for key, read in readers.items() if key not in left_out or key in form}
            optional = (*SCHEME_KEYS, *(() if name in _EITHER else form))
            found.append(_object({"kind": {"const": name}, "count": count, **keys, **sampled, **_SELECTION}, optional))
    composed = {"kind": {"const": COMPOSED}, "count": count, "releases": {"$ref": "#/$defs/steps"}}
    found += [_object({**composed, **_SAMPLING, **_SELECTION}, ("selection",)), _object({**composed, **_SELECTION})]
    return {"type": "array", "items": {"oneOf": found}}


def scheme_schema(stated: str) -> dict[str, Any]:
    """One object for each scheme that is stated under this key."""
    return {"oneOf": [_object({"scheme": {"const": name}, **{
        key: value_schema(read) for key, read in scheme.stated.readers.items()}})
        for name, scheme in SCHEMES.items() if scheme.key == stated]}


def schema() -> str:
    """The certificate's schema as it should be."""
    document = json.loads(SCHEMA.read_text(encoding="utf-8"))
    document["$defs"].update(steps=steps_schema(), **{key: scheme_schema(key) for key in SCHEME_KEYS})
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def listed() -> str:
    """The list of kinds as it should be: keys, lists among them as such, those in brackets may be left out."""
    lines = []
    for name, kind in _kinds():
        if kind is Gaussian:
            continue
        shown = [f"{key} = [..]" if value_schema(read).get("type") == "array" else key
                 for key, read in kind.stated.readers.items()]
        keys = ", ".join(f"[{text}]" if hasattr(kind, key) else text
                         for text, key in zip(shown, kind.stated.readers, strict=True))
        lines.append(f"    {name:<26}{keys:<56}{'' if kind.stated.not_sampled else '(sampling)'}".rstrip())
    lines.append(f"    {COMPOSED:<26}releases = [[mechanism.releases]] tables, and sampling: from one Poisson sample,"
                 "\n" + " " * 30 + "or selection")
    return "\n".join(lines) + "\n"


def spec_source() -> str:
    """The source of `spec` as it should be."""
    return LISTED.sub(lambda _: listed(), SPEC.read_text(encoding="utf-8"))


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
    SPEC.write_text(spec_source(), encoding="utf-8")

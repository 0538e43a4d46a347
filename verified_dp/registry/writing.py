"""Entries of the registry that hold specifications, written so that they are read back as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from verified_dp.core.kernel.composition import Spec
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.ranges import parse_ranged
from verified_dp.registry.entry import _STATUSES, FIELDS

_FIRST = "The parameters of the first block under mechanisms; others have their own."
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def entry_yaml(specifications: Sequence[str], facts: Mapping[str, str | Sequence[str]], *, slug: str = "",
               status: str = "Draft", tier: int = 1) -> str:
    """An entry that states the specifications: TOML texts, whose numbers may be ranges; the first has the claim.

    facts: path below `deployment` -> text, or texts. Parameters and variant are the claim's unless they are given. A
    field that is not known is a comment that names it, never a guess: without those that are required it is no entry.
    Raises: InvalidInput for a field that the schema does not have, and for what is no specification.
    """
    if unknown := [path for path in facts if path not in FIELDS]:
        raise InvalidInput("facts", unknown[0], "a field of the registry's schema")
    if status not in _STATUSES:
        raise InvalidInput("status", status, f"one of {', '.join(_STATUSES)}")
    specs = [parse_ranged(text).worst for text in specifications]
    blocks = "\n\n".join(f"```toml\n{text.strip()}\n```" for text in specifications)
    stated = {**_claimed(specs[0], specifications[0]), **facts}
    said = stated.get("implementation.mechanisms", "")
    stated["implementation.mechanisms"] = f"{said}\n\n{blocks}".strip()
    if len(specs) > 1:
        stated.setdefault("privacy_loss.privacy_parameters_details", _FIRST)
    name = str(stated.get("basic.name", ""))
    slug = slug or re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return "\n".join([f"url_slug: {json.dumps(slug)}", f"status: {status}", f"tier: {tier}", "deployment:",
                      *_sections(stated, tier)]) + "\n"


def _claimed(spec: Spec, text: str) -> dict[str, str]:
    """What a claim and its mechanism say by themselves."""
    claim = spec.claim
    if claim is None:
        return {}
    rho = re.findall(r'^rho = (?:\{ rounded = )?"([0-9.]+)"', text, re.MULTILINE)
    only = rho and len(spec.composition.parts) == 1 and spec.composition.parts[0][1] == 1
    variant = "Zero-concentrated DP" if only else "Approximate DP" if claim.delta else "Pure DP"
    parameters = {"epsilon": claim.epsilon_text, **({"delta": claim.delta_text} if claim.delta else {}),
                  **({"rho": rho[0]} if only else {})}
    return {"basic.name": claim.title, "dp_variant.variant_name": variant, "administrative.sources": claim.source,
            **{f"privacy_loss.privacy_parameters.{key}": text for key, text in parameters.items()}}


def _sections(stated: Mapping[str, str | Sequence[str]], tier: int) -> Iterator[str]:
    """The fields in the schema's order, each table with a head of its own."""
    heads: list[str] = []
    filled = {path[:n] for path in stated for n, c in enumerate(path) if c == "."}
    for path, field in FIELDS.items():
        *tables, key = path.split(".")
        value = stated.get(path, "")
        if not value and (field.tier > tier or path.endswith("_details") or "parameters." in path):
            continue
        for depth, table in enumerate(tables, 1):
            if heads[:depth] != tables[:depth]:
                yield f"{'  ' * depth}{'' if '.'.join(tables[:depth]) in filled else '# '}{table}:"
        heads, pad = tables, "  " * (len(tables) + 1)
        if value:
            yield f"{pad}{key}:{_value(value, pad)}"
        else:
            yield f"{pad}# {key}: {field.words}{': required' * field.required}"


def _value(value: str | Sequence[str], pad: str) -> str:
    if not isinstance(value, str):
        return "".join(f"\n{pad}  - {json.dumps(one, ensure_ascii=False)}" for one in value)
    if _NUMBER.fullmatch(value):
        mantissa, _, power = value.lower().partition("e")
        return f" {mantissa}" if not power else f" {mantissa}{'' if '.' in mantissa else '.0'}e{power}"
    if "\n" in value:
        return " |" + "".join("\n" + f"{pad}  {line}".rstrip() for line in value.splitlines())
    return f" {json.dumps(value, ensure_ascii=False)}"

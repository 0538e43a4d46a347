"""Specifications as TOML text that `parse_spec` reads back."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from textwrap import wrap
from typing import Any

from verified_dp.core.kernel.composition import Composition, Grouped, Sampled, Spec
from verified_dp.core.kernel.exact import fraction_text
from verified_dp.core.kernel.shown import decimal_text
from verified_dp.interop.reading import Converted


def spec_toml(spec: Spec) -> str:
    """The specification as TOML, exact; where it was converted, comments say from what, how floats were read, and
    what it rests on.

    >>> from verified_dp import Gaussian, compose
    >>> print(spec_toml(Spec("add", compose((Gaussian("1.1"), 3)))))
    relation = "add"
    <BLANKLINE>
    [[mechanism]]
    kind = "gaussian"
    noise_multiplier = "1.1"
    count = 3
    <BLANKLINE>
    """
    return "\n".join([*_head(spec), *_mechanisms(spec.composition), *_claim(spec)]) + "\n"


def _head(spec: Spec) -> Iterator[str]:
    if isinstance(spec, Converted):
        yield f"# {spec.words}"
        yield from (f"# {line}" for said in spec.assumptions for line in wrap(said, 118, subsequent_indent="  "))
    yield f"relation = {_text(str(spec.relation))}"
    if spec.composition.group_size > 1:
        yield f"group_size = {spec.composition.group_size}"


def _mechanisms(composition: Composition) -> Iterator[str]:
    for mechanism, count in composition.parts:
        inner = mechanism.mechanism if isinstance(mechanism, Grouped) else mechanism
        bare, schemes = _bare(inner)
        yield from ["", "[[mechanism]]"]
        if isinstance(bare, Composition):
            yield from ['kind = "composition"', *schemes, f"count = {count}"]
            for release, times in bare.parts:
                own, of_release = _bare(release)
                yield from ["", "[[mechanism.releases]]", *_keys(own), *of_release, f"count = {times}"]
        else:
            yield from [*_keys(bare), *schemes, f"count = {count}"]


def _keys(mechanism: Any) -> Iterator[str]:
    """kind and the stated fields of a mechanism that is not sampled."""
    yield f"kind = {_text(mechanism.stated.name)}"
    stated = ((name, getattr(mechanism, name)) for name in mechanism.stated.readers)
    yield from (f"{name} = {_value(value)}" for name, value in stated if value is not None)


def _bare(mechanism: object) -> tuple[object, list[str]]:
    """What runs, and the tables of its schemes, with all their keys, the innermost first."""
    schemes: list[str] = []
    while isinstance(mechanism, Sampled):
        numbers = (f"{key} = {_value(getattr(mechanism, key))}" for key in mechanism.stated.readers)
        scheme = f'scheme = "{mechanism.stated.name}"'
        schemes.insert(0, f"{mechanism.key} = {{ {', '.join([scheme, *numbers])} }}")
        mechanism = mechanism.mechanism
    return mechanism, schemes


def _claim(spec: Spec) -> Iterator[str]:
    if spec.claim is not None:
        claim = spec.claim
        numbers = {"epsilon": claim.epsilon_text, "delta": claim.delta_text}
        stated = {"title": claim.title, "source": claim.source, **numbers}
        yield from ["", "[claim]", *(f"{key} = {_text(value)}" for key, value in stated.items())]


def _value(value: bool | int | Fraction | tuple[Fraction, ...]) -> str:
    """Integers, true and false bare, other numbers quoted: decimals where a float prints as one, else fractions."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, int):
        return str(value)
    text = decimal_text(value)
    return _text(text if len(text) <= _LONGEST else fraction_text(value))


_LONGEST = 24
"""Characters of a float's decimal."""


def _text(text: str) -> str:
    """A basic TOML string: the characters that TOML forbids in one are escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'

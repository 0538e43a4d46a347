"""Schema and list of kinds are those that `make kinds` writes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import jsonschema
import pytest
from golden import golden
from kinds import LISTED, SCHEMA, SPEC, schema, spec_source, steps_schema, value_schema

from verified_dp.core.families.allocation.mechanism import read_flag
from verified_dp.core.families.lists import read_numbers
from verified_dp.core.families.table import ALL_RELEASES
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.mechanisms import up_to


def form(value: Any) -> Any:
    """The keys of a step and of what is in it, with its words; no numbers."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in value.items()}
    if isinstance(value, list):
        return [form(one) for one in value[:1]]
    return value if isinstance(value, str) and value.replace("-", "").isalpha() else type(value).__name__


def test_the_schema_follows_from_the_kinds() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema()


def test_the_list_of_kinds_follows_from_the_kinds() -> None:
    source = SPEC.read_text(encoding="utf-8")
    assert source == spec_source() and LISTED.search(source)


def test_values_are_recorded_as_their_readers_say() -> None:
    assert value_schema(exact.positive) == value_schema(exact.probability) == {"$ref": "#/$defs/fraction"}
    assert value_schema(up_to(7)) == {"type": "integer", "minimum": 1, "maximum": 7}
    assert value_schema(read_flag) == {"type": "boolean"}
    assert value_schema(read_numbers)["items"] == {"$ref": "#/$defs/fraction"}
    with pytest.raises(KeyError):
        value_schema(partial(divmod, 1))


def test_what_is_recorded_fits_and_bites() -> None:
    """The inputs of the golden certificates, one of each form; one key more, one less."""
    rules = {**json.loads(SCHEMA.read_text(encoding="utf-8")), **steps_schema()}
    fits = jsonschema.Draft202012Validator({key: rules[key] for key in ("$defs", "type", "items")})
    steps = [line["certificate"]["input"]["mechanisms"] for line in golden()]
    assert {step["kind"] for parts in steps for step in parts} >= set(ALL_RELEASES)
    for parts in {str([form(step) for step in parts[:9]]): parts for parts in steps}.values():
        assert fits.is_valid(parts)
        first = parts[0]
        assert not fits.is_valid([{**first, "more": 1}])
        assert not any(fits.is_valid([{key: value for key, value in first.items() if key != gone}])
                       for gone in ("kind", "count"))

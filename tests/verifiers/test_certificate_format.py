"""proofs/CERTIFICATE.md: its example is recomputed, its texts are the code's, its schema fits every certificate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from verified_dp.certificate import build_certificate
from verified_dp.core.engines.table import HOMES
from verified_dp.core.families.table import ALL_RELEASES, SCHEMES
from verified_dp.core.kernel import words as trusted_words
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import canonical
from verified_dp.profile import privacy_profile
from verified_dp.spec import load_spec
from verified_dp.verifiers import independent
from verified_dp.verifiers.formal import _KEYS, _KIND_KEYS
from verified_dp.verifiers.independent import words
from verified_dp.verifiers.record_formal import with_formal

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "proofs" / "CERTIFICATE.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "verified_dp" / "schemas" / "certificate.schema.json").read_text(encoding="utf-8"))
EXAMPLE = PAGE.partition("## A worked example")[2]
Document = dict[str, Any]


@pytest.fixture(scope="module")
def example() -> Document:
    block = [line for line in EXAMPLE.splitlines() if line.startswith("    ")]
    found: Document = json.loads("\n".join(block))
    return found


def test_the_example_is_valid(example: Document) -> None:
    assert verify(example).valid
    assert independent.verify(canonical(example)) == independent.Check(
        True, "proved", None, "proved by the curve of Gaussians; 3 enclosures confirmed", by_itself=True, replayed=3)


def test_the_example_is_recomputed(example: Document) -> None:
    """Every number of the table to all its digits, and every enclosure."""
    rows = re.findall(r"^\| ([0-9/]+) \| (.*) \|$", EXAMPLE, re.MULTILINE)
    assert [at for at, _ in rows] == [entry["at"] for entry in example["evaluations"]]
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.mpf(3) / 4)
        for (text, numbers), entry in zip(rows, example["evaluations"], strict=True):
            at = mpmath.mpf(Fraction(text).numerator) / Fraction(text).denominator
            places = at / mu - mu / 2, at / mu + mu / 2
            tails = [mpmath.erfc(place / mpmath.sqrt(2)) / 2 for place in places]
            delta = tails[0] - mpmath.exp(at) * tails[1]
            for shown, value in zip(numbers.split(" | "), [*places, *tails, delta], strict=True):
                digits = len(shown.partition(".")[2])
                assert int(shown.replace(".", "")) == int(mpmath.floor(value * mpmath.mpf(10) ** digits))
            low, high = (mpmath.mpf(entry["enclosure"][key]) for key in ("lower_decimal", "upper_decimal"))
            assert low < delta < high < low * (1 + mpmath.mpf("1e-18"))


def test_the_texts_are_those_of_the_code() -> None:
    flat = " ".join(PAGE.split())
    for value in (value for name, value in vars(words).items() if not name.startswith("__")):
        texts = value.values() if isinstance(value, dict) else [value] if isinstance(value, str) else []
        for text in texts:
            assert all(" ".join(part.split()) in flat for part in ([text] if isinstance(text, str) else text)), text
    assert trusted_words.assumptions


def complaints(document: Document) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)]


def test_the_schema_fits_and_bites(example: Document) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert not complaints(example)
    entry = example["evaluations"][0]
    for change in ({"verdict": "maybe"}, {"more": 1}, {"claim": {**example["claim"], "epsilon": "02"}},
                   {"theorems": ["T1"]}, {"evaluations": [{**entry, "at": "2/x"}]}, {"evaluations": []},
                   {"evaluations": [{**entry, "witness": {"kind": "closed-form", "prec": "88"}}]},
                   {"evaluations": [{**entry, "enclosure": {**entry["enclosure"], "lower": "2*2^1"}}]},
                   {"input": {"relation": "remove", "mechanisms": [{"kind": "gaussian", "count": 3}]}}):
        assert complaints({**example, **change}), change


CLAIMS = sorted((ROOT / "examples" / "claims").glob("*.toml"))
SLOW = ("opacus-snli-s0", "tfp-test2", "prv-issue17", "tfp-ex-", "tfp-stmt-user2-pld", "gdp-readme-clt-u",
        "autodp-online-", "opacus-snli-s10", "autodp-laplace-sub", "autodp-laplace100", "google-laplace-delta-five",
        "google-go-gauss-small", "dpa-mixture", "dpa-truncated")


@pytest.mark.parametrize("path", [
    pytest.param(path, marks=[pytest.mark.long] if path.stem.startswith(SLOW) else [], id=path.stem)
    for path in CLAIMS])
def test_published_claims_fit_the_schema_and_are_confirmed(path: Path) -> None:
    """Written as `certify` writes them, but to few digits."""
    spec = load_spec(path)
    assert spec.claim is not None
    profile = privacy_profile(spec)
    document = build_certificate(spec, *profile.solve_claim(spec.claim, 4))
    assert not complaints(document)
    checked = independent.verify(canonical(document))
    assert checked.valid and checked.verdict == document["verdict"], checked


def test_other_kinds_fit_the_schema(certify_text: Callable[..., Document]) -> None:
    for kind in ('kind = "renyi"\nrenyi_orders = ["2", "8"]\nepsilons = ["0.01", "0.05"]',
                 'kind = "randomized-response"\ncategories = 3\nepsilon = "1/2"', 'kind = "zcdp"\nrho = "0.01"'):
        assert not complaints(certify_text("replace", f"[[mechanism]]\n{kind}\n", "0.5", "1e-3", digits=3))


def test_every_kind_and_witness_has_its_shape_and_its_words() -> None:
    """And the keys of formal parts; what they are is checked by example, in claims and here."""
    shapes = SCHEMA["$defs"]["steps"]["items"]["oneOf"]
    assert {shape["properties"]["kind"]["const"] for shape in shapes} == {"gaussian", "composition", *ALL_RELEASES}
    texts = json.dumps(SCHEMA["$defs"]["witness"])
    for name in (*ALL_RELEASES, *SCHEMES, *HOMES, *_KEYS, *_KIND_KEYS):
        assert f"`{name}`" in PAGE or f'"{name}"' in PAGE or f"`{name} " in PAGE, name
    assert all(f'"{kind}"' in texts for kind in HOMES)


def test_formal_parts_fit_the_schema(certify_text: Callable[..., Document]) -> None:
    step = ('[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 2\n'
            'sampling = { scheme = "poisson", probability = "1/2" }\n')
    document = with_formal(certify_text("add-or-remove", step, "1", "0.1", digits=3))
    assert len(document["formal"]) == 2 and not complaints(document)
    part = document["formal"][0]
    for change in ({"bits": 0}, {"side": "left"}, {"bound": 7}, {"products": [[1, 2, "3"]]}, {"more": 1},
                   {"kinds": [{**part["kinds"][0], "masses": ["1", "-2", "3"]}]}):
        assert complaints({**document, "formal": [{**part, **change}]}), change

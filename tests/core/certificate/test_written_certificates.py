"""What `certify` writes is valid, whatever was run: every kind, scheme and relation, counts and draws at their ends."""

from __future__ import annotations

from itertools import product

import pytest
from written import ALL, CLAIMS, COUNTS, DRAWS, GAUSSIAN, RELEASES, scheme, stated

from verified_dp import certify, verify
from verified_dp.core.kernel.certificate.evaluation import budget_text, is_budget_for
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent


def check(text: str, seconds: float = 0.2) -> bool:
    """Whether anything was certified: by both checkers, then, or one of them has no time for it."""
    try:
        found = certify(parse_spec(text), digits=2, max_seconds=seconds)
    except Unsupported:
        return False
    data = found.to_bytes()
    assert verify(data).valid, text
    try:
        other = independent.verify(data, 3.0)
    except (independent.TooMuch, independent.OutOfTime):
        return True
    assert (other.valid, other.verdict) == (True, found.verdict), (text, other)
    return True


@pytest.mark.parametrize(("i", "step"), list(enumerate(ALL)), ids=range(len(ALL)))
def test_one_of_each(i: int, step: str) -> None:
    """Every step once, the rest by turns; where a relation has no theorem for it another one has."""
    turn = i % len(Relation)
    relations = [*Relation][turn:] + [*Relation][:turn]
    assert any(check(stated(step, relation, COUNTS[i % 4], CLAIMS[i % 3], 1)) for relation in relations)


@pytest.mark.parametrize(("draws", "size"), [*DRAWS[:-1], pytest.param(*DRAWS[-1], marks=pytest.mark.long)])
@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
def test_many_draws(draws: int, size: int, relation: str) -> None:
    """With more than five components the mixture's text is short: 256 of them took a megabyte that nothing reads."""
    step = scheme(GAUSSIAN, f'"with-replacement", draws = {draws}, population = {size}')
    assert check(stated(step, relation, 1, ("3", "1e-3"), 1))


def test_places_of_a_grid_that_are_too_long_to_write() -> None:
    """10^12 steps at eps 40: the windows of the grid lie beyond 10^15 of its steps."""
    check(stated(RELEASES[3], "replace", 10**12, CLAIMS[3], 1), 2.0)


@pytest.mark.long
@pytest.mark.parametrize("step", ALL, ids=range(len(ALL)))
def test_all_that_can_be_stated(step: str) -> None:
    """Every relation with every count, claims and groups by turns."""
    found = [check(stated(step, relation, count, CLAIMS[i % 4], (1, 1, 7)[i % 3]))
             for i, (relation, count) in enumerate(product(Relation, COUNTS))]
    assert any(found)


def test_shares_of_the_budget_below_all_written_powers_are_stated_larger() -> None:
    """Noise 1e-160: delta is 1 - e^-10^319, and its rounding has a power of 39 digits."""
    assert budget_text(Dyadic(1, -(2**200))) == f"9.999e-{10**30}"
    assert is_budget_for(f"9.999e-{10**30}", Dyadic(1, -(2**200)))
    assert not is_budget_for(f"9.998e-{10**30}", Dyadic(1, -(2**200)))
    spec = parse_spec('relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "1e-160"\n'
                      '[claim]\nepsilon = "1"\ndelta = "1e-5"\n')
    found = certify(spec)
    assert found.verdict == found.verify().verdict == "refuted"

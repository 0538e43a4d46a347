"""delta next to the largest loss: a lattice over the gap alone."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from verified_dp.core.families.finite.mechanism import RandomizedResponse
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball, lower_dyadic
from verified_dp.core.kernel.composition import Mechanism, compose
from verified_dp.profile import PrivacyProfile, privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.next_to_end import gap_to_end, plan_next_to_end
from verified_dp.search.one_direction import OneDirection

SAMPLED = compose((PoissonSampled(Laplace("1/2", 1), "1/5"), 3))


def next_to_end(profile: PrivacyProfile, gap: Fraction) -> Fraction:
    end = profile.losses[0].enclose_largest_loss()
    assert end is not None
    return (lower_dyadic(end).as_fraction() - gap).limit_denominator(10**25)


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("gap", ["1/10000", "4/1000000", "1/10000000000000"])
def test_three_sampled_steps(gap: str) -> None:
    """delta is nearly P(every loss is the largest) (1 - e^{-gap}), and more; three atoms and a density of f beside."""
    profile = privacy_profile(SAMPLED, "remove")
    epsilon = next_to_end(profile, Fraction(gap))
    found = OneDirection(profile.losses[0]).enclose(epsilon, 20.0, "auto", Budget(60.0)).bounds
    law, count = profile.losses[0].parts[0]
    with ctx.workprec(250):
        largest = law.enclose_largest_loss()
        assert largest is not None
        room = count * largest - ball(epsilon)
        atom, near = (law.enclose_tails(largest - back)[0] for back in (arb(2) ** -100, room))
        assert found.upper / found.lower < 1 + arb("1e-6")
        assert found.upper > atom**3 * -(-room).expm1()
        assert found.lower < near**3 * -(-room).expm1()
        second = atom**3 * -(-room).expm1() + 3 * atom * atom * (near - atom) * room / 2
        assert found.lower < second * (1 + room) and second * (1 - room) < found.upper


@pytest.mark.theorem("T222-lattice-on-a-circle", "T45-pieces")
@pytest.mark.parametrize("gap", ["1/1000000", "1/50", "1/19"])
@pytest.mark.parametrize("parts", [
    ((Laplace(19, 1), 8),), ((Laplace(3, 1), 2), (RandomizedResponse(3, "1/2"), 1)), ((Exponential("3/2"), 3),),
    ((Laplace(2, 1), 30),)])
def test_plain_steps_are_those_of_the_closed_form(parts: tuple[tuple[Mechanism, int], ...], gap: str) -> None:
    profile = privacy_profile(compose(*parts), "replace")
    epsilon = next_to_end(profile, Fraction(gap))
    exact, found = (profile.delta(epsilon, method=method) for method in ("closed-form", "lattice"))
    assert exact.lower <= found.upper and found.lower <= exact.upper
    assert found.upper.as_fraction() < found.lower.as_fraction() * Fraction("1.001")


def test_no_cell_is_finer_than_the_gap_asks() -> None:
    """As many cells however near the end; none where many steps share the gap."""
    loss = privacy_profile(SAMPLED, "remove").losses[0]
    sizes = []
    for gap in (Fraction(1, 10**3), Fraction(1, 10**30)):
        witness = plan_next_to_end(loss, gap, 1e-6, None).witness
        assert witness is not None and witness.applies(loss)
        sizes.append(witness.grids[0].size)
    assert sizes[0] < sizes[1] < 500
    many = privacy_profile(compose((Exponential("1/2"), 60)), "replace").losses[0]
    assert gap_to_end(many, Fraction(29)) is None

"""One step on a grid: the discrete laws lie above and below the law's own profile, everywhere and tightly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from flint import arb, ctx

from verified_dp.core.engines.grid import (
    LawGrid,
    bound_cells,
    bound_start,
    connect_the_dots,
    enclose_step,
    is_below,
    join_cells,
    kink_masses,
    total_shift,
)
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law

STEP = Fraction(1, 20)
GRID = LawGrid(-60, ((20, 2), (80, 1), (20, 3)))
LAWS = [GaussianLoss(Fraction(1, 4)), *(SampledGaussianLoss(Fraction(1, 5), Fraction(1), order)
                                        for order in ("remove", "add", "symmetric"))]


@dataclass(frozen=True)
class TwoPoint:
    """P = (1 - p - m, p, m), Q = (1 - q, q, 0): two atoms and an infinity mass, exactly."""

    p: Fraction
    q: Fraction
    m: Fraction

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        atoms = [(1 - self.p - self.m, 1 - self.q), (self.p, self.q), (self.m, Fraction(0))]
        return sum(((ball(p) - epsilon.exp() * ball(q)).max(arb(0)) for p, q in atoms), arb(0))

    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """At no atom."""
        atoms = [(1 - self.p - self.m, 1 - self.q), (self.p, self.q)]
        above = [(ball(p), ball(q)) for p, q in atoms if (ball(p) / ball(q)).log() > x]
        return sum((p for p, _ in above), ball(self.m)), sum((q for _, q in above), arb(0))

    def enclose_infinity_mass(self) -> arb:
        return ball(self.m)

    def enclose_masses(self, first: Fraction, gap: Fraction, many: int) -> None:
        """By differences of the curve."""


ALL: list[Law] = [*LAWS, TwoPoint(Fraction(1, 2), Fraction(1, 3), Fraction(1, 9))]  # type: ignore[list-item]


def profile(vertices: list[int], masses: list[arb], x: Fraction) -> arb:
    """sum p_j (1 - e^{x - x_j})_+ summed directly."""
    terms = [mass * (1 - ball(x - STEP * i).exp()) for i, mass in zip(vertices, masses, strict=True) if STEP * i > x]
    return sum(terms, arb(0))


def places() -> list[Fraction]:
    """On the grid, between grid points, and outside."""
    return [STEP * Fraction(n, 3) for n in range(-220, 260, 7)] + [STEP * n for n in (-60, -20, 0, 1, 60)]


@pytest.mark.theorem("T26-connect-the-dots")
@pytest.mark.parametrize("law", ALL, ids=repr)
def test_upper_law_dominates(law: Law) -> None:
    with ctx.workprec(256):
        masses = enclose_step(law, GRID, STEP, 100)
        for x in places():
            upper = masses.infinity_above + profile(masses.vertices, masses.above, x)
            assert upper > law.enclose_hockey_stick(ball(x)) - arb("1e-60")
        total = sum(masses.above, arb(0)) + masses.infinity_above
        assert abs(total - 1) < arb("1e-60")


@pytest.mark.theorem("T26-connect-the-dots")
@pytest.mark.parametrize("prec", [12, 20, 40])
@pytest.mark.parametrize("law", ALL, ids=repr)
def test_masses_of_few_bits_are_at_least_the_exact_ones(law: Law, prec: int) -> None:
    """A mass a little too small is a law that does not dominate."""
    with ctx.workprec(300):
        alphas = [ball(STEP * i).exp() for i in GRID.vertices()]
        sticks = [law.enclose_hockey_stick(ball(STEP * i)) for i in GRID.vertices()]
        exact = kink_masses(alphas, sticks, arb(1))
    with ctx.workprec(prec):
        alphas = [ball(STEP * i).exp() for i in GRID.vertices()]
        found = connect_the_dots(alphas, [law.enclose_hockey_stick(ball(STEP * i)) for i in GRID.vertices()])
    with ctx.workprec(300):
        assert all(mass.is_exact() and mass >= least - arb("1e-80") for mass, least in zip(found, exact, strict=True))


@pytest.mark.theorem("T26-connect-the-dots")
@pytest.mark.parametrize("law", ALL, ids=repr)
def test_upper_law_meets_the_profile_on_the_grid(law: Law) -> None:
    with ctx.workprec(256):
        masses = enclose_step(law, GRID, STEP, 100)
        for i in masses.vertices:
            x = STEP * i
            upper = masses.infinity_above + profile(masses.vertices, masses.above, x)
            assert abs(upper - law.enclose_hockey_stick(ball(x))) < arb("1e-60")


@pytest.mark.theorem("T27-convex-minorant")
@pytest.mark.parametrize("law", ALL, ids=repr)
def test_lower_law_is_dominated_and_close(law: Law) -> None:
    with ctx.workprec(256):
        masses = enclose_step(law, GRID, STEP, 100)
        assert all(mass >= 0 for mass in masses.below)
        for x in places():
            exact = law.enclose_hockey_stick(ball(x)) - law.enclose_infinity_mass()
            lower = profile(masses.vertices, masses.below, x)
            assert lower < exact + arb("1e-60")
            if isinstance(law, GaussianLoss) and abs(x) < 1:
                assert exact - lower < arb("0.0005")


@pytest.mark.theorem("T27-convex-minorant")
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_both_gaps_shrink_like_the_squared_step(law: Law) -> None:
    gaps = []
    for parts in (20, 80):
        step = Fraction(1, parts)
        with ctx.workprec(256):
            masses = enclose_step(law, LawGrid(-3 * parts, ((7 * parts, 1),)), step, 100)
            upper, lower = (sum((m * ball(step * i).exp() for i, m in zip(masses.vertices, side, strict=True)), arb(0))
                            for side in (masses.above, masses.below))
            gaps.append(float(upper - lower))
    assert 12 < gaps[0] / gaps[1] < 30, "16, and more where the coarse grid meets the end of the support"


@pytest.mark.theorem("T27-convex-minorant")
@pytest.mark.parametrize("index", [20, 60, 100])
def test_larger_masses_fail_the_check(index: int) -> None:
    law = LAWS[0]
    with ctx.workprec(256):
        masses = enclose_step(law, GRID, STEP, 100)
        alphas = [ball(STEP * i).exp() for i in masses.vertices]
        values = [law.enclose_hockey_stick(ball(STEP * i)) for i in masses.vertices]
        lines = bound_cells(law, [ball(STEP * i) for i in masses.vertices], alphas, values, arb(0))
        limits = join_cells(bound_start(law, ball(STEP * GRID.first), alphas[0], arb(0))[1], lines)
        assert is_below(alphas, masses.below, limits, arb(1))
        larger = list(masses.below)
        larger[index] = larger[index] * (1 + arb("1e-3"))
        assert not is_below(alphas, larger, limits, arb(1))
        assert not is_below(alphas, masses.below, limits, arb("0.99"))
        moved = list(masses.below)
        moved[index], moved[index + 8] = arb(0), moved[index + 8] + moved[index]
        assert not is_below(alphas, moved, limits, arb(1)), "the same total, but further to the right"


@pytest.mark.theorem("T27-convex-minorant")
def test_too_few_bits_for_the_lower_law_are_refused() -> None:
    """No margin of 2^-10 is seen with 8 bits."""
    with ctx.workprec(8), pytest.raises(InvalidInput, match="enough bits for the lower lattice law"):
        enclose_step(LAWS[0], GRID, STEP, 10)


@pytest.mark.theorem("T27-convex-minorant")
@pytest.mark.parametrize("law", ALL, ids=repr)
def test_cell_lines_are_below_on_the_whole_cell(law: Law) -> None:
    with ctx.workprec(256):
        vertices = GRID.vertices()
        alphas = [ball(STEP * i).exp() for i in vertices]
        infinity = law.enclose_infinity_mass()
        values = [law.enclose_hockey_stick(ball(STEP * i)) - infinity for i in vertices]
        lines = bound_cells(law, [ball(STEP * i) for i in vertices], alphas, values, infinity)
        for n, (left, right) in enumerate(lines):
            for share in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)):
                alpha = alphas[n] + (alphas[n + 1] - alphas[n]) * ball(share)
                line = left + (right - left) * ball(share)
                assert line < law.enclose_hockey_stick(alpha.log()) - infinity + arb("1e-60")
            assert left >= right >= 0


def test_grids() -> None:
    assert LawGrid(-4, ((2, 1), (3, 2))).vertices() == [-4, -3, -2, 0, 2, 4]
    assert not LawGrid(0, ((5, 1),)).is_proper()
    assert not LawGrid(-3, ((5, 0),)).is_proper()
    assert not LawGrid(-3, ((1, 4),)).is_proper()


@pytest.mark.theorem("T27-convex-minorant")
@pytest.mark.parametrize("first", [-2, -20, -60])
def test_grids_may_start_anywhere(first: int) -> None:
    """What is left of the grid is given up below; alpha_0 > 1 - m does no harm, and no mass of Q needs to be finite."""
    for law in (TwoPoint(Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)), *ALL):
        with ctx.workprec(256):
            masses = enclose_step(law, LawGrid(first, ((80, 1),)), STEP, 100)  # type: ignore[arg-type]
            infinity = law.enclose_infinity_mass()
            for x in places():
                assert profile(masses.vertices, masses.below, x) < (
                    law.enclose_hockey_stick(ball(x)) - infinity + arb("1e-60"))


@pytest.mark.theorem("T26-connect-the-dots", "T27-convex-minorant")
def test_atoms_on_a_shifted_grid_are_kept_exactly() -> None:
    """Losses -1/10 and 1/10 just right of the grid (i + 1/2) / 5, with mass at infinity under P and under Q."""
    law = OddsLoss(Fraction(1, 10), Fraction(1, 100), 0)
    with ctx.workprec(256):
        grid = LawGrid(-3, ((5, 1),), shift=Fraction(1, 2) - Fraction(1, 2**60))
        masses = enclose_step(law, grid, Fraction(1, 5), 120)
        exact = [atom for _, atom in sorted((int(loss > 0), mass) for loss, mass in law.enclose_loss_atoms() or [])]
        for side in (masses.above, masses.below):
            assert abs(side[2] - exact[0]) < arb("1e-15") and abs(side[3] - exact[1]) < arb("1e-15")
            assert all(mass < arb("1e-15") for n, mass in enumerate(side) if n not in (2, 3))
        assert abs(masses.infinity_above - arb("0.01")) < arb("1e-30")


def test_the_grid_of_a_sum_is_shifted_once_for_every_step() -> None:
    grids = [LawGrid(-1, ((2, 1),), shift=Fraction(1, 3)), LawGrid(-1, ((2, 1),), shift=Fraction(1, 4))]
    assert total_shift(grids, [3, 2]) == Fraction(3, 2)

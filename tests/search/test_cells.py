"""One polynomial between two places, for all eps of a list, against the sums of each eps."""

from fractions import Fraction

import pytest
from flint import arb_poly

from verified_dp import Exponential, Laplace, compose, privacy_profile
from verified_dp.core.engines.closed import ClosedFormValues, ClosedFormWitness
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search import cells
from verified_dp.search.answer import width_bits
from verified_dp.search.cells import Cells, has_cells, share_powers

pytestmark = pytest.mark.theorem("T169-cells")
CASES = {"few": (Laplace(1, 1), 20, 12), "small": (Laplace(20, 1), 200, 4), "smaller": (Laplace(100, 1), 700, 3),
         "range": (Exponential("0.5"), 12, 5), "large": (Laplace("0.2", 1), 3, 14), "two": (Laplace(3, 1), 2, "0.66")}


def own_values(case: str) -> ClosedFormValues:
    step, count, _ = CASES[case]
    loss = privacy_profile(compose((step, count)), "replace").losses[0]
    return ClosedFormValues(ClosedFormWitness(130), loss)


def shared(case: str, low: Fraction = Fraction(1, 9), bits: float = 40.0) -> Cells:
    found = share_powers(own_values(case), low, Fraction(CASES[case][2]), bits)
    assert isinstance(found, Cells)
    return found


def places_between(found: Cells) -> list[Fraction]:
    """Eps on places, next to them and between."""
    (law, count), = found.values.loss.parts
    at = [(2 * j - count) * law.largest_loss() for j in sorted(found.series)][:-1]
    near = [one + gap for one in at[:: max(len(at) // 6, 1)] for gap in (0, Fraction(1, 10**30), -Fraction(1, 10**9))]
    ends = [found.low, found.high, (found.low + 2 * found.high) / 3]
    return [one for one in near + ends if found.low <= one <= found.high]


@pytest.mark.parametrize("case", CASES)
def test_cells_agree_with_the_sums_of_each_eps(case):
    found = shared(case)
    for at in places_between(found):
        one, own = found.delta(at), found.values.delta(at)
        assert one.lower <= own.upper and own.lower <= one.upper and width_bits(one) > 39, at
        assert one.lower >= 0 and one.upper <= 1


def test_elsewhere_the_values_themselves_answer():
    found = shared("small", Fraction(1))
    for at in (Fraction(1, 2), Fraction(9, 2), Fraction(11)):
        assert found.delta(at).lower == found.values.delta(at).lower


def test_past_the_largest_loss_nothing_is_shared():
    own = own_values("two")
    assert share_powers(own, Fraction(2), Fraction(3), 40.0) is own
    assert share_powers(own, Fraction(1, 3), Fraction(3), 20.0).delta(Fraction(5, 2)).upper == 0


def misses(found: Cells) -> bool:
    """Whether some enclosure excludes the truth."""
    pairs = [(found.delta(at), found.values.delta(at)) for at in places_between(found)]
    return any(one.lower > own.upper or own.lower > one.upper for one, own in pairs)


@pytest.mark.parametrize("case", ["few", "large", "range"])
def test_without_its_remainder_a_short_series_misses(case, monkeypatch):
    """A series cut at the last weights: the remainder holds all the rest, and is needed."""
    rows = cells._enclose_rows

    def cut(columns, reaches):
        whole, _ = rows(columns, reaches)
        return [row[-len(columns):] for row in whole], cells.arb(0)

    monkeypatch.setattr(cells, "_enclose_rows", cut)
    low, high = Fraction(1, 9), Fraction(CASES[case][2])
    with cells.ctx.workprec(400):
        assert misses(cells._shared(own_values(case), low, high))


@pytest.mark.parametrize("case", ["few", "range", "large"])
def test_a_remainder_of_few_terms_covers_what_they_miss(case, monkeypatch):
    """At 4 bits the series is as short as its bound allows: wide, and right."""
    rows = cells._enclose_rows

    def short(columns, reaches):
        with cells.ctx.workprec(4):
            length = len(rows(columns, reaches)[0][0])
            error = rows(columns, reaches)[1]
        return [row[-length:] for row in rows(columns, reaches)[0]], error

    monkeypatch.setattr(cells, "_enclose_rows", short)
    low, high = Fraction(1, 9), Fraction(CASES[case][2])
    with cells.ctx.workprec(400):
        found = cells._shared(own_values(case), low, high)
    assert found.error > 1e-30 and not misses(found)


def test_without_the_rest_few_kept_orders_miss(monkeypatch):
    monkeypatch.setattr(cells, "choose_kept", lambda *_: (4, None))
    low, high = Fraction(1, 9), Fraction(3)
    with cells.ctx.workprec(200):
        found = cells._shared(own_values("small"), low, high)
        assert found.kept == 4 and not misses(found)
        monkeypatch.setattr(cells, "bound_rest", lambda *_: cells.arb(0))
        assert misses(cells._shared(own_values("small"), low, high))


def test_a_wrong_shift_misses(monkeypatch):
    series = cells._exponential
    monkeypatch.setattr(cells, "_exponential", lambda gap, length: series(gap * (1 + cells.arb(2) ** -30), length))
    with cells.ctx.workprec(200):
        assert misses(cells._shared(own_values("few"), Fraction(1, 9), Fraction(12)))


def test_the_shift_is_taylors():
    """(b): of a polynomial of order 3, its coefficients times factorials in reverse."""
    shift = cells._exponential(cells.arb(3), 4)
    moved = (arb_poly([7, 5, 3, 1]) * shift).truncate(4)  # 1 + 3 t + 5 t^2/2 + 7 t^3/6
    assert [moved[3 - i] for i in range(4)] == [64, 49.5, 26, 7]


def test_lists_of_eps_and_of_deltas_are_those_of_single_questions():
    composition = compose((Laplace(20, 1), 150))
    profile = privacy_profile(composition, "replace")
    epsilons = [Fraction(i, 10) for i in range(1, 41)]
    for at, one in list(zip(epsilons, profile.delta(epsilons), strict=True))[::8]:
        alone = profile.delta(at)
        assert one.status == "certified" and one.lower <= alone.upper and alone.lower <= one.upper
    targets = [Fraction(1, 2**i) for i in range(3, 28)]
    for at, one in list(zip(targets, profile.epsilon(targets), strict=True))[::6]:
        alone = profile.epsilon(at)
        assert one.status == "certified" and one.lower <= alone.upper and alone.lower <= one.upper


@pytest.mark.parametrize(("steps", "wanted"), [(((Laplace(20, 1), 9),), True), (((Laplace(20, 1), 1),), False),
                                              (((Laplace(20, 1), 9), (Laplace(10, 1), 9)), False)])
def test_only_steps_of_one_kind_have_cells(steps, wanted):
    loss = privacy_profile(compose(*steps), "replace").losses[0]
    assert isinstance(loss, ComposedLoss) and has_cells(loss) is wanted

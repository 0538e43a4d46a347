"""Shuffled epochs as a scheme: upper ends of the dominating Gaussians, lower ends of an attack, and what is refused."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import ctx

from verified_dp import Gaussian, Laplace, certify, compose, privacy_profile, verify
from verified_dp.core.families.batches.mechanism import Shuffled
from verified_dp.core.families.batches.shuffled import ShuffledEpoch, is_concave
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.papers import accountant
from verified_dp.search.attack import choose_corners, hull
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent

F = Fraction
shuffled = pytest.mark.theorem("T144-shuffled-epochs")


def spec(epsilon: str, relation: str = "zero-out", noise: str = "0.4", rounds: int = 1000, more: str = "") -> Any:
    return parse_spec(f'relation = "{relation}"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\n'
                      f'sampling = {{ scheme = "shuffled", rounds = {rounds} }}\n{more}'
                      f'[claim]\nepsilon = "{epsilon}"\ndelta = "1e-5"\n')


@shuffled
@pytest.mark.parametrize(("relation", "epsilon", "verdict"), [
    ("zero-out", "4", "refuted"), ("zero-out", "13.2", "undecided"), ("zero-out", "14", "proved"),
    ("remove", "4", "refuted"), ("add-or-remove", "20", "undecided"), ("add-or-remove", "39", "proved"),
    ("replace", "20", "refuted"), ("replace", "30", "undecided"), ("replace", "34", "proved")])
def test_verdicts_of_shuffled_epochs_by_both_checkers(relation: str, epsilon: str, verdict: str) -> None:
    found = certify(spec(epsilon, relation))
    assert found.verdict == found.verify().verdict == verdict
    assert independent.verify(found.to_bytes()).verdict == verdict
    assert not any(pair["tight"] for pair in found["pairs"])


@shuffled
def test_several_epochs_and_another_step_are_refuted_too() -> None:
    more = 'count = 2\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "4"\n'
    found = certify(spec("3", noise="0.9", rounds=20, more=more), digits=2)
    assert found.verdict == "refuted" and found.verify().valid and independent.verify(found.to_bytes()).valid


def changed(document: dict[str, Any], change: Any) -> bytes:
    altered = copy.deepcopy({key: value for key, value in document.items() if key not in ("hashes", "sha256")})
    change(altered)
    return canonical(sealed(altered))


def entry(document: dict[str, Any]) -> dict[str, Any]:
    witness: dict[str, Any] = document["evaluations"][0]["witness"]
    assert witness["kind"] == "attack"
    return witness


def more_often(document: dict[str, Any]) -> None:
    """A p that the attack does not have."""
    for corner in entry(document)["attacks"][0]:
        corner[2] = corner[1]
    entry(document)["attacks"][0] = [[entry(document)["attacks"][0][0][0], "1*2^-60", "1*2^-1"]]


def less_false(document: dict[str, Any]) -> None:
    """A q that is a little too small."""
    corner = entry(document)["attacks"][0][len(entry(document)["attacks"][0]) // 2]
    mantissa, power = corner[1].split("*2^")
    corner[1] = f"{int(mantissa) - 2**12 | 1}*2^{power}"


def bent(document: dict[str, Any]) -> None:
    corners = entry(document)["attacks"][0]
    corners[0], corners[1] = corners[1], corners[0]


def without_attack(document: dict[str, Any]) -> None:
    """The Gaussian's own lower end, which is no lower end of the training."""
    one = document["evaluations"][1]
    assert one["side"] == "upper"
    one["enclosure"] = {**one["enclosure"], "lower": one["enclosure"]["upper"]}


def nested(document: dict[str, Any]) -> None:
    entry(document)["inner"] = copy.deepcopy(entry(document))


def two(document: dict[str, Any]) -> None:
    entry(document)["attacks"] *= 2


@shuffled
@pytest.mark.parametrize("change", [more_often, less_false, bent, without_attack, nested, two])
def test_altered_attacks_prove_nothing(change: Any) -> None:
    altered = changed(dict(certify(spec("4")).document), change)
    check = verify(altered)
    assert not check.valid and "evaluations" in str(check.field)
    assert not independent.verify(altered).valid


@shuffled
def test_hulls_are_concave_and_over_their_points() -> None:
    points = [(F(1, 4), F(1, 2)), (F(1, 2), F(5, 8)), (F(3, 4), F(15, 16)), (F(1, 3), F(1, 3))]
    corners = hull([(F(n), *point) for n, point in enumerate(points)])
    assert corners == ((0, F(1, 4), F(1, 2)), (2, F(3, 4), F(15, 16))) and is_concave(corners)
    assert not is_concave(corners[::-1]) and not is_concave(((F(0), F(1, 2), F(1, 4)),))


@shuffled
def test_rates_of_real_orders_where_a_record_is_replaced() -> None:
    """12 records in batches of 5, 4, 3, all others -1, x = 1 or -1: Monte Carlo within five deviations."""
    rng, cuts, s, runs = np.random.default_rng(4), (0, 5, 9), 0.8, 40_000
    for x, index in ((1, 1), (-1, 0)):
        order = rng.permuted(np.tile([x, *[-1] * 11], (runs, 1)), axis=1)
        sums = np.add.reduceat(order, cuts, axis=1) + np.array([5, 4, 3]) + s * rng.standard_normal((runs, 3))
        for threshold in (F(1, 2), F(3, 2), F(5, 2)):
            share = (sums.max(axis=1) > float(threshold)).mean()
            found = float(ShuffledEpoch(F(4, 5), 3, 0).enclose_rates(threshold)[index])
            assert abs(share - found) < 5 * math.sqrt(share * (1 - share) / runs)


@shuffled
@pytest.mark.parametrize("relation", ["zero-out", "remove", "add", "replace"])
def test_small_data_sets_lie_between_the_ends(relation: str) -> None:
    """Two records in two batches: every pair of neighbours stays below, the worst one above, by quadrature."""
    s, y = 0.7, np.linspace(-6, 6, 801)
    cell = (y[1] - y[0]) ** 2

    def law(*orders: tuple[float, float]) -> np.ndarray:
        density = sum(np.outer(*(np.exp(-(y - m) ** 2 / (2 * s * s)) for m in means)) for means in orders)
        return np.asarray(density / (2 * math.pi * s * s * len(orders)))

    profile = privacy_profile(compose(Shuffled(Gaussian("0.7"), 2)), relation=relation)
    ends = {alpha: profile.delta(str(alpha)) for alpha in ("0", "1", "3")}
    worst = dict.fromkeys(ends, 0.0)
    for x, u, other in product((-1.0, 0.0, 1.0), repeat=3):
        with_it = law((x, u), (u, x))
        fixed = {"zero-out": law((0.0, u), (u, 0.0)), "replace": law((other, u), (u, other))}
        rest = fixed.get(relation, law((u, 0.0)))
        p, q = (rest, with_it) if relation == "add" else (with_it, rest)
        for epsilon in ends:
            for a, b in ((p, q), (q, p)) if relation in ("zero-out", "replace") else ((p, q),):
                found = float(np.maximum(a - math.exp(float(epsilon)) * b, 0).sum() * cell)
                worst[epsilon] = max(worst[epsilon], found)
    for epsilon, found in worst.items():
        assert float(ends[epsilon].lower) <= found + 1e-6 and found <= float(ends[epsilon].upper) + 1e-6


@shuffled
def test_one_batch_is_a_plain_gaussian_from_above() -> None:
    plain = privacy_profile(compose(Gaussian("1")), relation="add-or-remove")
    one = privacy_profile(compose(Shuffled(Gaussian("1"), 1)), relation="add-or-remove").delta("1")
    assert one.overlaps(plain.delta("1")) and one.upper_float - plain.delta("1").upper_float < 1e-12
    assert float(one.lower) > 0.9 * plain.delta("1").lower_float


def mixed() -> Composition:
    return compose((Shuffled(Gaussian("0.8"), 10), 2), Laplace(2, 1))


@shuffled
def test_beside_other_steps_the_ends_are_ordered_and_curves_agree() -> None:
    profile, alone = (privacy_profile(what, relation="remove") for what in (mixed(), Shuffled(Gaussian("0.8"), 10)))
    both, one = profile.delta("1", digits=2), alone.delta("1", digits=2)
    assert one.lower < both.lower < both.upper and one.upper < both.upper and both.tight
    assert profile.curve(epsilons=["1", "2"], digits=2)[0].overlaps(both)
    assert profile.delta("-1/2", digits=2).lower > profile.delta("1", digits=2).lower


def test_what_is_not_bounded_from_both_sides_is_refused() -> None:
    profile = privacy_profile(mixed(), relation="zero-out")
    for ask in (lambda: profile.renyi(2), profile.gdp, lambda: profile.privacy_loss_distribution("1/8", 4),
                lambda: accountant(profile, "prv"), lambda: privacy_profile(mixed(), "zero-out", group_size=2)):
        with pytest.raises(Unsupported):
            ask()


def test_corners_are_kept_within_their_rates() -> None:
    epoch = ShuffledEpoch(F(1, 2), 10**6, 1)
    corners = choose_corners(epoch)
    with ctx.workprec(128):
        assert len(corners) > 5 and is_concave(corners) and all(map(epoch.is_certain, corners))

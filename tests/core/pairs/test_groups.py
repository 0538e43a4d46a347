"""Neighbours that differ in a group of records (T72): each row against chains and brute force."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from fractions import Fraction
from types import ModuleType

import mpmath
import numpy as np
import pytest
from flint import ctx

from verified_dp.certificate import build_certificate
from verified_dp.core.families.batches.mechanism import WithReplacement
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.finite.mechanism import ApproximateDP, RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import GaussianDP
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.laplace.mechanism import Exponential
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Relation, compose
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.losses import describe_pairs, privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.words import convention
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec

F = Fraction
ALPHAS = [0.05, 0.3, 0.8, 1.0, 1.3, 2.0, 5.0, 30.0]


def law_of(mechanism: object, size: int, relation: str = "remove") -> Law:
    return privacy_losses(compose(mechanism).for_groups(size), Relation.of(relation))[0].laws[0][0]


def stick(law: Law, alpha: float) -> float:
    with ctx.workprec(80):
        return float(law.enclose_hockey_stick(ball(F(alpha)).log()))


def curve(p: list[float], q: list[float], alpha: float) -> float:
    return float(sum(max(a - alpha * b, 0) for a, b in zip(p, q, strict=True)))


def chain(rng: random.Random, size: int, length: int) -> list[list[float]]:
    """Random distributions, each near the last: now and then each moves mass in the same direction."""
    tilt = [rng.random() - 0.5 for _ in range(size)]
    found, weights = [], [rng.random() + 0.05 for _ in range(size)]
    for _ in range(length + 1):
        found.append([float(w / sum(weights)) for w in weights])
        weights = [w * float(mpmath.exp(t + 0.1 * rng.random())) for w, t in zip(weights, tilt, strict=True)]
    return found


@pytest.mark.theorem("T72-groups")
@pytest.mark.parametrize("size", [2, 3])
def test_chains_lie_below_what_their_steps_guarantee(size: int) -> None:
    """(eps, delta), range and Renyi divergence of the worst step of a random chain bound its two ends."""
    rng = random.Random(size)
    closest = {"odds": 1.0, "range": 1.0, "renyi": 1.0}
    for _ in range(60):
        laws = chain(rng, rng.randint(2, 4), size)
        steps = [pair for a, b in itertools.pairwise(laws) for pair in ((a, b), (b, a))]
        epsilon = rng.choice([0.05, 0.2, 0.5])
        delta = max(curve(p, q, float(mpmath.exp(epsilon))) for p, q in steps) + 1e-12
        logs = [[float(mpmath.log(a / b)) for a, b in zip(p, q, strict=True)] for p, q in steps]
        spread = max(max(row) - min(row) for row in logs) + 1e-12
        ranged, first, last = law_of(Exponential(F(spread)), size), laws[0], laws[-1]
        generic = None
        if delta * size * float(mpmath.exp(size * epsilon)) < 1:
            generic = law_of(ApproximateDP(F(epsilon), F(delta)), size)
        for alpha, (p, q) in itertools.product(ALPHAS, ((first, last), (last, first))):
            own = curve(p, q, alpha)
            gaps = {"range": stick(ranged, alpha) - own}
            if generic is not None:
                gaps["odds"] = stick(generic, alpha) - own
            for name, gap in gaps.items():
                assert gap > -1e-11, (name, alpha)
                closest[name] = min(closest[name], gap if own > 0.05 and alpha >= 1 else 1.0)
        renyi = [max(renyi_divergence(p, q, a) / a for p, q in steps) for a in np.linspace(1.01, 60, 60)]
        for a in (1.5, 2.0, 5.0):
            whole = renyi_divergence(first, last, a)
            assert whole <= size**2 * max(renyi) * a * (1 + 1e-9)
            closest["renyi"] = min(closest["renyi"], 1 - whole / (size**2 * max(renyi) * a))
    assert closest["odds"] < 0.05 and closest["range"] < 0.05 and closest["renyi"] < 0.5, closest


def renyi_divergence(p: list[float], q: list[float], order: float) -> float:
    total = sum(a * (a / b) ** (order - 1) for a, b in zip(p, q, strict=True))
    return float(mpmath.log(total)) / (order - 1)


@pytest.mark.theorem("T72-groups")
def test_the_constants_of_the_table() -> None:
    size, relation = 3, Relation.REPLACE
    stated = Gaussian(sigma=4, sensitivity=1)
    for mechanism, distance in ((Gaussian(2), 3), (stated, F(3, 4)), (GaussianDP("1/2"), F(3, 2)),
                                (Gaussian(sigma=4, sensitivity=2), F(3, 2))):
        loss = privacy_losses(compose(mechanism).for_groups(size), relation)[0]
        assert loss.mean_shift_squared == distance**2
    assert law_of(Exponential("1/2"), size).bounded_range == F(3, 2)
    assert law_of(DiscreteGaussian(9, 2), size).sensitivity == 6
    assert law_of(ZCDP("1/100"), size).rho == F(9, 100)
    odds = law_of(ApproximateDP("1/2", "1/1000"), size)
    with ctx.workprec(100):
        expected = sum(mpmath.exp(mpmath.mpf(i) / 2) for i in range(size)) / 1000
        assert float(odds.enclose_infinity_mass()) == pytest.approx(float(expected), rel=1e-14)
        assert stick(odds, float(mpmath.exp(1.5))) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.theorem("T72-groups", "T23-pair-gaussian")
def test_a_groups_sensitivity_is_as_many_times_that_of_one(oracle: ModuleType) -> None:
    """Three records, sigma 4, sensitivity 2, five steps: one Gaussian of distance sqrt(5) 3 2/4; 0.850 at 1."""
    found = privacy_profile(compose((Gaussian(sigma=4, sensitivity=2), 5)), "replace", group_size=3).delta(1)
    true = oracle.gaussian_delta(oracle.mp.sqrt(5) * 3 / 2, 1)
    assert oracle.inside(found, true, F(1, 10**30)) and oracle.width(found) < F(1, 10**11)


@pytest.mark.theorem("T72-groups")
def test_two_persons_answers_are_a_product() -> None:
    """All 9 pairs of answers, exactly."""
    response = RandomizedResponse(3, "1/2")
    true, false = F(2, 3), F(1, 6)
    rows = [[true if answer == truth else false for answer in range(3)] for truth in (0, 1)]
    p, q = ([a * b for a, b in itertools.product(row, row)] for row in rows)
    profile = privacy_profile(response, "replace", group_size=2)
    for alpha in (F(1, 2), F(1), F(3), F(7)):
        own = sum(max(a - alpha * b, F(0)) for a, b in zip(p, q, strict=True))
        with ctx.workprec(100):
            epsilon = F(str(mpmath.log(mpmath.mpf(alpha.numerator) / alpha.denominator)))
        if epsilon >= 0:
            assert float(profile.delta(epsilon).lower) == pytest.approx(float(own), abs=1e-12)
    twice = privacy_profile(compose((response, 2)), "replace")
    assert profile.delta("1").lower_decimal == twice.delta("1").lower_decimal


def mixture_divergence(p: list[tuple[float, float]], q: list[tuple[float, float]], s: float, alpha: float) -> float:
    """H of mixtures of Gaussians on a line, components (mean, weight), by a plain sum (error about 1e-8)."""
    t = np.linspace(-9 * s - 6, 9 * s + 6, 20_001)
    one, other = (sum(w * np.exp(-(((t - m) / s) ** 2) / 2) for m, w in mixture) / (s * np.sqrt(2 * np.pi))
                  for mixture in (p, q))
    return float(np.maximum(one - alpha * other, 0).sum() * (t[1] - t[0]))


@pytest.mark.theorem("T72-groups")
@pytest.mark.parametrize("size", [2, 3])
def test_groups_on_samples_are_dominated(size: int) -> None:
    q, s, rng = 0.3, 1.25, random.Random(size)
    sampled = PoissonSampled(Gaussian("5/4"), "3/10")
    remove, replace, smaller = law_of(sampled, size), law_of(sampled, size, "replace"), law_of(sampled, size - 1)
    subsets = list(itertools.product((0, 1), repeat=size))
    weights = [q ** sum(subset) * (1 - q) ** (size - sum(subset)) for subset in subsets]

    def output(group: list[float]) -> list[tuple[float, float]]:
        return [(sum(g for g, drawn in zip(group, subset, strict=True) if drawn), w)
                for subset, w in zip(subsets, weights, strict=True)]

    groups = [[1.0] * size, [-1.0] * size, *([rng.uniform(-1, 1) for _ in range(size)] for _ in range(4))]
    closest, broken = 1.0, False
    for there, here in itertools.product(groups, groups):
        for alpha in (0.5, 1.0, 1.7, 4.0):
            gap = stick(replace, alpha) - mixture_divergence(output(there), output(here), s, alpha)
            assert gap > -1e-6
            closest = min(closest, abs(gap))
            own = mixture_divergence(output(there), [(0.0, 1.0)], s, alpha)
            assert own <= stick(remove, alpha) + 1e-6
            back = mixture_divergence([(0.0, 1.0)], output(there), s, alpha)
            assert back <= stick(remove.in_order("add"), alpha) + 1e-6
            broken |= own > stick(smaller, alpha) + 1e-3
    assert closest < 1e-6 and broken


@pytest.mark.theorem("T72-groups")
def test_groups_in_batches_with_replacement() -> None:
    m, n, s, rng = 2, 4, 1.0, random.Random(5)
    law, single = law_of(WithReplacement(Gaussian(1), m, n), 2, "replace"), law_of(
        WithReplacement(Gaussian(1), m, n), 1, "replace")
    broken = False
    for _ in range(4):
        others = [rng.choice([-1.0, 1.0]) for _ in range(n - 2)]
        outputs = [[(sum(draw), 1 / n**m) for draw in itertools.product([*others, *group], repeat=m)]
                   for group in ((1.0, 1.0), (-1.0, rng.uniform(-1, 0)))]
        for alpha in (0.5, 1.0, 2.0):
            own = mixture_divergence(*outputs, s, alpha)
            assert own <= stick(law, alpha) + 1e-6
            broken |= own > stick(single, alpha)
    assert broken
    with pytest.raises(Unsupported, match="only 4 records"):
        law_of(WithReplacement(Gaussian(1), m, n), 5, "replace")


@pytest.mark.parametrize("relation", ["add", "remove"])
@pytest.mark.parametrize("size", [2, 3])
def test_no_group_is_added_to_draws_with_replacement(relation: str, size: int) -> None:
    """The number of records that each draw chooses from would change by more than one."""
    with pytest.raises(Unsupported, match="no theorem covers a change of their number"):
        law_of(WithReplacement(Gaussian(1), 2, 9), size, relation)


@pytest.mark.parametrize(("relation", "distance"), [("remove", 3), ("add", 3), ("replace", 6)])
def test_a_group_on_a_sample_of_all_moves_the_mean_once_each(relation: str, distance: int) -> None:
    loss, = privacy_losses(compose(PoissonSampled(Gaussian(2), 1)).for_groups(3), Relation.of(relation))
    assert loss.mean_shift_squared == F(distance**2, 4)


def test_a_guarantee_that_states_nothing_for_the_group() -> None:
    with pytest.raises(Unsupported, match=r"group_size.*delta >= 1"):
        law_of(ApproximateDP("1", "1/10"), 10)
    with pytest.raises(Unsupported, match="4096"):
        law_of(DiscreteGaussian(1, 2000), 3)
    with pytest.raises(Unsupported, match="512"):
        law_of(PoissonSampled(Gaussian(1), "1/2"), 513)


def test_group_size_is_checked_and_shown() -> None:
    steps = compose((Gaussian(10), 5))
    grouped = privacy_profile(steps, "remove", group_size=3)
    assert grouped.delta(1).contains(privacy_profile(compose((Gaussian("10/3"), 5)), "remove").delta(1).lower)
    words = grouped.delta(1).convention
    assert words.startswith("group_size 3: up to that many records are removed") and "one record" in words
    assert privacy_profile(steps.for_groups(3), "remove").delta(1).convention == words
    assert steps.for_groups(3).for_groups(1) == steps and steps.for_groups(1).group_size == 1
    for bad in (0, -1, "1.5", True, None, "x", 10**13):
        with pytest.raises(InvalidInput, match="group_size must be"):
            steps.for_groups(bad)
    with pytest.raises(InvalidInput, match="one for the whole composition"):
        compose(steps.for_groups(3), Gaussian(1))
    spec = parse_spec('relation = "remove"\ngroup_size = 3\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 10')
    assert privacy_profile(spec, group_size=3).delta(1).convention == words
    with pytest.raises(InvalidInput, match="3 as in the specification"):
        privacy_profile(spec, group_size=2)


SPEC = """
relation = "{relation}"
group_size = 3
[[mechanism]]
{mechanism}
[claim]
epsilon = 1
delta = "{delta}"
"""
CLAIMS = [
    ("add-or-remove", 'kind = "gaussian"\nnoise_multiplier = 10', "0.01", "proved", "refuted"),
    ("remove", 'kind = "approximate-dp"\nepsilon = "0.1"\ndelta = "1e-6"', "1e-5", "proved", "undecided"),
    ("replace",
     'kind = "randomized-response"\ncategories = 3\nnoise_probability = "1/2"', "0.9", "proved", "refuted"),
]  # fmt: skip


@pytest.mark.parametrize(("relation", "mechanism", "delta", "verdict", "when_small"), CLAIMS)
def test_certificates_carry_the_group(
        relation: str, mechanism: str, delta: str, verdict: str, when_small: str) -> None:
    for stated, expected in ((delta, verdict), ("1e-9", when_small)):
        spec = parse_spec(SPEC.format(relation=relation, mechanism=mechanism, delta=stated))
        assert spec.claim is not None
        profile = privacy_profile(spec)
        document = build_certificate(spec, profile.solve_delta(1, 8), profile.solve_epsilon(spec.claim.delta, 8))
        assert document["input"]["group_size"] == 3 and "T72-groups" in document["theorems"]
        assert any("group_size 3" in words for words in document["assumptions"])
        checked = verify(document)
        assert checked.valid and checked.verdict == expected, checked
        for change in (1, 2, 4, "3", True, None):
            altered = {**document, "input": {**document["input"], "group_size": change}}
            if change is None:
                del altered["input"]["group_size"]
            assert not verify(altered).valid, change


def test_the_words_of_the_group_follow_the_relation() -> None:
    texts = {convention(compose(Gaussian(1)).for_groups(2), relation) for relation in Relation}
    norms = {relation: "two such norms" in convention(compose(Gaussian(1)).for_groups(2), relation)
             for relation in Relation}
    assert [relation for relation, two in norms.items() if two] == [Relation.REPLACE]
    assert len(texts) == len(Relation)
    pairs = describe_pairs(compose(Gaussian(1)).for_groups(2), Relation.ADD)
    assert [pair.theorems[-1] for pair in pairs] == ["T72-groups"]


@pytest.mark.theorem("T72-groups")
def test_a_group_is_known_where_nothing_else_is_loaded() -> None:
    """Of a plain Gaussian, in a process that has loaded the kernel alone."""
    code = ("from verified_dp.core.kernel.composition import Relation, compose\n"
            "from verified_dp.core.kernel.losses import describe_pairs\n"
            "from verified_dp.core.kernel.mechanisms import Gaussian\n"
            "print(*describe_pairs(compose(Gaussian(4)).for_groups(2), Relation.ADD)[0].theorems)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["T23-pair-gaussian", "T72-groups"], done.stderr

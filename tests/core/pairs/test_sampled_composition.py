"""Several releases of one Poisson sample (T73), and every kind x relation x sampling x group size."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp.certificate import build_certificate
from verified_dp.core.families.batches.mechanism import WithoutReplacement, WithReplacement
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian, DiscreteLaplace
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss
from verified_dp.core.families.finite.closed_law import ClosedFormLaw, finite_product
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import GaussianDP, MixtureOfGaussians
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.guarantees.mechanism import ZCDP, Renyi
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.table import ALL_RELEASES
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import canonical
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Mechanism, Relation, compose
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.losses import describe_pairs, privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian, Release
from verified_dp.core.kernel.words import convention
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent import verify as verify_independently

F = Fraction
COIN, DIE = Finite(("1/2", "1/2"), ("1/4", "3/4")), Finite(("1/6", "1/3", "1/2"), ("1/2", "1/3", "1/6"))
ALPHAS = [F(1, 5), F(7, 10), F(9, 10), F(1), F(11, 10), F(3, 2), F(2), F(5)]


def law_of(mechanism: Mechanism, relation: str = "remove") -> Law:
    return privacy_losses(compose(mechanism), Relation.of(relation))[0].laws[0][0]


@pytest.mark.theorem("T73-sampled-composition")
@pytest.mark.parametrize("relation", ["remove", "add", "replace"])
def test_gaussians_on_one_sample_are_one_gaussian(relation: str) -> None:
    four, one = (law_of(PoissonSampled(m, "1/100"), relation) for m in (compose((Gaussian(2), 4)), Gaussian(1)))
    assert four == one
    mixed = law_of(PoissonSampled(compose(Gaussian(2), (Gaussian(3), 2)), "1/100"), relation)
    assert isinstance(mixed, SampledGaussianLoss)
    assert float(mixed.noise_multiplier) == pytest.approx((1 / 4 + 2 / 9) ** -0.5)


@pytest.mark.theorem("T73-sampled-composition")
def test_two_gaussians_on_one_sample_in_the_plane() -> None:
    """H by a plain sum over both releases, for contributions within the norms: below, and attained at the norms."""
    q, t = 0.3, np.linspace(-9, 10, 381)
    x, y = np.meshgrid(t, t)
    law = law_of(PoissonSampled(compose(Gaussian(1), Gaussian(2)), "3/10"))

    def density(a: float, b: float) -> np.ndarray:
        return np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2) / (2 * np.pi)

    for a, b in ((1, 0.5), (-1, 0.5), (0.3, -0.5)):  # in units of the noises 1 and 2
        p, r = (1 - q) * density(0, 0) + q * density(a, b), density(0, 0)
        for alpha in ALPHAS:
            with ctx.workprec(80):
                bound = float(law.enclose_hockey_stick(ball(alpha).log()))
            own = float(np.maximum(p - float(alpha) * r, 0).sum() * (t[1] - t[0]) ** 2)
            assert own <= bound + 1e-4
            assert abs(own - bound) < 1e-4 or abs(a) < 1


@pytest.mark.theorem("T73-sampled-composition")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_finite_releases_of_one_sample_exactly(order: str) -> None:
    """All joint outcomes, in fractions; sampled afresh for each release the curve is another one."""
    q = F(1, 10)
    pairs = [list(zip(m.P, m.Q, strict=True)) for m in (COIN, COIN, DIE)]
    joint = [(np.prod([p for p, _ in row]), np.prod([r for _, r in row])) for row in itertools.product(*pairs)]
    both = [((1 - q) * r + q * p, r) for p, r in joint]
    law = law_of(PoissonSampled(compose((COIN, 2), DIE), q), order)
    fresh = privacy_profile(compose((PoissonSampled(COIN, q), 2), PoissonSampled(DIE, q)), order)
    differs = False
    for alpha in ALPHAS:
        rows = both if order == "remove" else [(r, p) for p, r in both]
        own = sum(max(p - alpha * r, F(0)) for p, r in rows)
        with ctx.workprec(100):
            epsilon = ball(alpha).log()
            value = law.enclose_hockey_stick(epsilon)
            assert value.overlaps(ball(own)) and value.rad() < 1e-25
            if alpha > 1:
                other = fresh.delta(str(float(epsilon)))
                differs |= abs(float(other.lower) - float(own)) > 1e-3
    assert differs


def base(*parts: tuple[Law, int]) -> ClosedFormLaw:
    return ClosedFormLaw(ComposedLoss("remove", parts, F(0)))


PIECES = [
    (base((LaplaceLoss(F(1, 2)), 2)), 2), (base((LaplaceLoss(F(1)), 1), (DiscreteLaplaceLoss(F(2), 1), 1)), 2),
    (base((OddsLoss(F(1, 2), F(1, 50), 0), 2)), 2), (base((BoundedRangeLoss(F(1)), 1), (LaplaceLoss(F(1, 3)), 2)), 3),
    (base((FiniteLoss(((F(1, 2), F(1, 4)), (F(1, 2), F(3, 4))), "remove"), 2), (LaplaceLoss(F(1)), 1)), 3),
]  # fmt: skip
POINTS = [F(-2), F(-7, 10), F(-3, 10), F(1, 50), F(1, 4), F(3, 5), F(13, 10), F(3)]


@pytest.mark.theorem("T73-sampled-composition")
@pytest.mark.parametrize("law", [law for law, _ in PIECES] + [law.in_order("add") for law, _ in PIECES], ids=str)
def test_tails_density_and_moments_of_a_composition(law: ClosedFormLaw) -> None:
    """The tails make the curve and its slope, the density is their slope, the moment at 1 is E_Q of (P/Q)^2."""
    with ctx.workprec(200):
        for x in map(ball, POINTS):
            above, below = law.enclose_tails(x)
            assert law.enclose_hockey_stick(x).overlaps(above - x.exp() * below) and above.rad() < 1e-30
            step = arb(2) ** -80
            fall = law.enclose_hockey_stick(x + step) - law.enclose_hockey_stick(x)
            assert abs(float(fall / ((x + step).exp() - x.exp()) + below)) < 1e-15
            density = (above - law.enclose_tails(x + step)[0]) / step
            assert abs(float(law.enclose_density(x) - density)) < 1e-15
        atoms = law.enclose_loss_atoms()
        assert atoms is not None
        low = law.enclose_smallest_loss()
        grid = np.linspace(float(low), float(law.enclose_largest_loss()), 2001)
        inner = np.array([float(law.enclose_density(arb(point))) for point in (grid[1:] + grid[:-1]) / 2])
        width = grid[1] - grid[0]
        whole = inner.sum() * width + sum(float(mass) for _, mass in atoms) + float(law.enclose_infinity_mass())
        assert whole == pytest.approx(1, abs=1e-3)
        own = (inner * np.exp((grid[1:] + grid[:-1]) / 2)).sum() * width
        own += sum(float(mass * place.exp()) for place, mass in atoms)
        assert float(law.enclose_moment(arb(1))) == pytest.approx(own, rel=1e-3)


@pytest.mark.theorem("T73-sampled-composition")
def test_products_of_finite_laws_merge_equal_ratios() -> None:
    coin = FiniteLoss(((F(1, 2), F(1, 4)), (F(1, 2), F(3, 4))), "remove")
    product = finite_product([(coin, 5)])
    assert product is not None and len(product.masses) == 6 and sum(p for p, _ in product.masses) == 1
    assert finite_product([(coin, 10**4)]) is None and finite_product([(LaplaceLoss(F(1)), 1)]) is None


@pytest.mark.theorem("T73-sampled-composition")
@pytest.mark.theorem("T47-enumeration")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_multiples_that_no_outcome_has_are_no_atoms(order: str) -> None:
    """Losses 3, 1 and 0 times log 2, none of twice, beside odds of e^(1/3), all on one sample of 1/3."""
    gap = Finite(("1/2", "1/8", "3/8", "0"), ("1/16", "1/16", "3/8", "1/2"))
    law, unit = law_of(PoissonSampled(compose(gap, ApproximateDP("1/3", 0)), "1/3"), order), np.exp(1 / 3)
    with_it, without = (np.outer(own, odds).ravel() / (1 + unit) for own, odds in
                        (((1 / 2, 1 / 8, 3 / 8, 0), (unit, 1)), ((1 / 16, 1 / 16, 3 / 8, 1 / 2), (1, unit))))
    pair = (2 * without + with_it) / 3, without
    first, second = pair if order == "remove" else pair[::-1]
    for alpha in ALPHAS:
        with ctx.workprec(80):
            found, tails = (ask(ball(alpha).log()) for ask in (law.enclose_hockey_stick, law.enclose_tails))
        assert float(found) == pytest.approx(float(np.maximum(first - float(alpha) * second, 0).sum()))
        own = float(first[first > float(alpha) * second].sum())
        assert tails[0].lower() - 1e-12 < own < tails[0].upper() + 1e-12  # both ways at the largest loss, log(3/2)


@pytest.mark.theorem("T73-sampled-composition")
def test_laplace_releases_of_one_sample_by_quadrature() -> None:
    """Two Laplace numbers (scale 2) on one sample, q = 1/4: the joint density summed over a grid."""
    q, t = 0.25, np.arange(-400, 441) / 10.0
    one, zero = (np.exp(-np.abs(t - d) / 2) / 4 for d in (1, 0))
    p, r = (1 - q) * np.outer(zero, zero) + q * np.outer(one, one), np.outer(zero, zero)
    for order, (first, second) in (("remove", (p, r)), ("add", (r, p))):
        law = law_of(PoissonSampled(compose((Laplace(2, 1), 2)), "1/4"), order)
        for alpha in ALPHAS:
            own = float(np.maximum(first - float(alpha) * second, 0).sum() * 0.01)
            with ctx.workprec(80):
                assert float(law.enclose_hockey_stick(ball(alpha).log())) == pytest.approx(own, abs=1e-3)


SPEC = """
relation = "add-or-remove"
[[mechanism]]
kind = "composition"
sampling = { scheme = "poisson", probability = "1/10" }
count = 3
%s
[claim]
epsilon = 1
delta = "%s"
"""
TWO = """
[[mechanism.releases]]
kind = "gaussian"
noise_multiplier = 4
count = 2
"""
FINITE = """
[[mechanism.releases]]
kind = "finite"
P = ["3/5", "2/5"]
Q = ["2/5", "3/5"]
count = 2
[[mechanism.releases]]
kind = "approximate-dp"
epsilon = "1/10"
delta = "1e-9"
"""


@pytest.mark.parametrize("releases", [TWO, FINITE], ids=["gaussian", "finite"])
def test_certificates_of_sampled_compositions(releases: str) -> None:
    spec = parse_spec(SPEC % (releases, "0.1"))
    profile = privacy_profile(spec)
    assert spec.claim is not None
    document = build_certificate(spec, profile.solve_delta(1, 3), profile.solve_epsilon(spec.claim.delta, 3))
    checked = verify(document)
    assert checked.valid and checked.verdict == "proved", checked
    assert "T73-sampled-composition" in document["theorems"]
    entry = document["input"]["mechanisms"][0]
    assert entry["kind"] == "composition" and entry["releases"][0]["count"] == 2
    assert verify_independently(canonical(document)).verdict == "proved"
    for change in ({"kind": "gaussian"}, {"releases": []}, {"releases": [{**entry["releases"][0], "count": 1}]},
                   {"releases": [entry]}, {"sampling": None}, {"releases": "x"}):
        altered = {**document["input"], "mechanisms": [{**entry, **change}]}
        assert not verify({**document, "input": altered}).valid, change
    del entry["sampling"]
    assert not verify(document).valid


KINDS: list[Gaussian | Release] = [
    Gaussian("3/2"), Gaussian(sigma=2, sensitivity=1), Laplace(2, 1), DiscreteLaplace(2, 2), DiscreteGaussian(2, 2),
    RandomizedResponse(3, "1/2"), COIN, DIE, ApproximateDP("1/2", "1/1000"), GaussianDP("1/2"),
    MixtureOfGaussians(1, (0, 1), ("1/2", "1/2")), Exponential(1), ZCDP("1/10"), Renyi(["2"], ["1/10"]),
]  # fmt: skip
SAMPLES = [
    compose((Gaussian(2), 2)), compose(Laplace(2, 1), (DiscreteLaplace(2, 1), 2)), compose(Laplace(2, 1), Gaussian(2)),
    compose(COIN, (DIE, 2)), compose((ApproximateDP(1, "1e-5"), 3)), compose(GaussianDP("1/2"), Gaussian(3)),
    compose((DiscreteGaussian(2, 1), 2)), compose((Laplace(2, 1), 1000)),
]  # fmt: skip
SCHEMES = {
    "none": lambda kind: kind,
    "poisson": lambda kind: PoissonSampled(kind, "1/10"),
    "poisson of all": lambda kind: PoissonSampled(kind, 1),
    "poisson of none": lambda kind: PoissonSampled(kind, 0),
    "without": lambda kind: WithoutReplacement(kind, "1/10"),
    "with": lambda kind: WithReplacement(kind, 2, 20),
}
STATED = re.compile("sensitivity|guarantee|norm|stated|range|bound|answers|law with the record|NOT dominating|draw")


@pytest.mark.parametrize("releases", [[GaussianDP(1)], [Gaussian(1), GaussianDP(1)]])
def test_gaussian_dp_on_a_sample_says_nothing_of_a_replaced_record(releases: list[Gaussian | Release]) -> None:
    """Its guarantee compares with and without the record."""
    with pytest.raises(Unsupported, match="gaussian-dp on a Poisson sample under replace"):
        privacy_losses(compose(PoissonSampled(compose(*releases), "1/2")), Relation.REPLACE)


@pytest.mark.parametrize("kind", [DiscreteGaussian(2, 2), Laplace(2, 1), COIN], ids=str)
def test_one_release_of_a_sample_is_the_sample_of_that_release(kind: Release) -> None:
    together, alone = (privacy_losses(compose(PoissonSampled(what, "1/10")), Relation.REMOVE)[0].laws
                       for what in (compose(kind), kind))
    assert together == alone


def test_every_kind_is_in_the_table() -> None:
    assert {kind.stated.name for kind in KINDS if isinstance(kind, Release)} == set(ALL_RELEASES) - {
        "laplace-vector", "discrete-laplace-vector", "discrete-gaussian-vector", "tree-aggregation", "matrix-gaussian",
        "shuffled-local", "noisy-max", "sparse-vector", "partition-selection", "gnmax",
        "gnmax-votes"}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", [*KINDS, *SAMPLES], ids=str)
def test_the_table_has_a_law_and_its_words_or_a_reason(kind: Gaussian | Release | Composition, scheme: str) -> None:
    """Never a crash, never a silent answer: pairs with theorems and words on sensitivity, or Unsupported with why."""
    try:
        step = SCHEMES[scheme](kind)
    except Unsupported as error:
        assert error.key == "sampling" and len(error.reason) > 30
        return
    except InvalidInput as error:
        assert isinstance(kind, Gaussian) and error.key == "sigma" and "noise_multiplier" in str(error)
        return
    for relation, size in itertools.product(Relation, (1, 3)):
        composition = compose(step).for_groups(size)
        try:
            losses, pairs = privacy_losses(composition, relation), describe_pairs(composition, relation)
        except Unsupported as error:
            assert error.key in ("relation", "group_size") and str(relation) in str(error) and len(error.reason) > 40
            continue
        assert [loss.order for loss in losses] == [*dict.fromkeys(pair.order for pair in pairs)]
        assert all(pair.theorems and pair.P and pair.Q for pair in pairs)
        assert ("T72-groups" in pairs[0].theorems or "T74-sampled-shifts" in pairs[0].theorems) or size == 1
        words = convention(composition, relation)
        assert STATED.search(words) and ("group_size 3" in words) is (size == 3), words
        with ctx.workprec(80):
            for loss in losses:
                for law, _ in loss.laws:
                    if not law.only_moments:
                        assert law.enclose_hockey_stick(arb(0)) >= 0 and law.enclose_hockey_stick(arb(0)) < 1


def test_conventions_differ_where_the_meaning_does() -> None:
    """Relation by relation, and with or without sampling, the words for a count with Laplace noise are other ones."""
    for kind in (Laplace(2, 1), Gaussian("3/2"), GaussianDP("1/2"), COIN):
        relations = [r for r in Relation if r is not Relation.REPLACE or isinstance(kind, Laplace | Gaussian)]
        for build in (lambda m: m, lambda m: PoissonSampled(m, "1/10")):
            texts = {convention(compose(build(kind)).for_groups(size), relation)
                     for relation in relations for size in (1, 2)}
            assert len(texts) == 2 * len(relations)
        words = [convention(compose(step), Relation.ADD) for step in (kind, PoissonSampled(kind, "1/10"))]
        assert words[0] != words[1]
    replaced = convention(compose(PoissonSampled(Laplace(2, 1), "1/10")), Relation.REPLACE)
    assert "with the record and without it" in replaced and "twice" in replaced


TOP = 'relation = "replace"\n'
GAUSS = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 1\n'
INNER = '[[mechanism]]\nkind = "composition"\nsampling = { scheme = "poisson", probability = "1/10" }\n'
ONE = '[[mechanism.releases]]\nkind = "gaussian"\nnoise_multiplier = 4\n'
WRONG = [
    *((TOP + f"group_size = {bad}\n" + GAUSS, "group_size", "an integer from 1 to 10^12")
      for bad in ("0", "-1", "1.5", "true", '"x"', "[]", "1000000000001", '""', "{}")),
    (TOP + "group_siez = 3\n" + GAUSS, "group_siez", "did you mean group_size?"),
    (TOP + GAUSS + "group_size = 3\n", "mechanism[1].group_size", "known are kind, noise_multiplier"),
    (TOP + INNER, "mechanism[1].releases", "[[mechanism.releases]]"),
    (TOP + INNER + "releases = []\n", "mechanism[1].releases", "got []"),
    (TOP + INNER + "releases = 3\n", "mechanism[1].releases", "got 3"),
    (TOP + INNER + "[mechanism.releases]\nkind = 'gaussian'\n", "mechanism[1].releases", "[[mechanism.releases]]"),
    (TOP + INNER + "relaeses = 3\n" + ONE, "mechanism[1].relaeses", "did you mean releases?"),
    (TOP + INNER + ONE.replace("4", "0"), "mechanism[1].releases[1].noise_multiplier", "positive"),
    (TOP + INNER + ONE + ONE.replace("gaussian", "gausian"), "mechanism[1].releases[2].kind", "did you mean gaussian?"),
    (TOP + INNER + ONE.replace("gaussian", "composition"), "mechanism[1].releases[1].kind", "a known kind"),
    (TOP + INNER + ONE + "count = 0\n", "mechanism[1].releases[1].count", "integer"),
    (TOP + INNER + ONE + 'sampling = { scheme = "poisson", probability = 1 }\n', "mechanism[1].releases[1].sampling",
     "share one sample"),
    (TOP + INNER + ONE + "noise_multipler = 3\n", "mechanism[1].releases[1].noise_multipler",
     "did you mean noise_multiplier?"),
    (TOP + INNER.replace("scheme", "shceme") + ONE, "mechanism[1].sampling.scheme", "poisson"),
    (TOP + INNER.replace('"1/10"', "2") + ONE, "mechanism[1].sampling.probability", "[0, 1]"),
    (TOP + '[[mechanism]]\nkind = "composition"\n' + ONE, "mechanism[1].sampling", "tables of their own"),
    (TOP + INNER + '[[mechanism.releases]]\nkind = "gaussian"\nsigma = 1\nsensitivity = 1\n',
     "mechanism[1].sigma", "noise_multiplier"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "key", "words"), WRONG, ids=[f"{i}-{case[1]}" for i, case in enumerate(WRONG)])
def test_a_mistake_is_one_line(text: str, key: str, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_spec(text)
    assert error.value.key == key and words in str(error.value)
    assert len(str(error.value).splitlines()) == 1 and len(str(error.value)) < 470  # all kinds are named


REFUSED = [
    (TOP + INNER.replace("poisson", "without-replacement") + ONE, "mechanism[1].sampling.scheme", "Gaussian only"),
    (TOP + '[[mechanism]]\nkind = "randomized-response"\ncategories = 2\nepsilon = 1\n'
     'sampling = { scheme = "poisson", probability = "1/2" }', "mechanism[1].sampling", "leave sampling out"),
    (TOP + '[[mechanism]]\nkind = "tree-aggregation"\nnoise_multiplier = 1\nsteps = 2\n'
     'sampling = { scheme = "poisson", probability = "1/2" }', "mechanism[1].sampling", "no theorem"),
    (TOP + INNER + ONE.replace("gaussian", "renyi").replace(
        "noise_multiplier = ", 'epsilons = ["1"]\nrenyi_orders = ["2"] #'),
     "mechanism[1].sampling", "renyi"),
]


@pytest.mark.parametrize(("text", "key", "words"), REFUSED)
def test_what_has_no_theorem_is_refused_with_the_reason(text: str, key: str, words: str) -> None:
    with pytest.raises(Unsupported) as error:
        parse_spec(text, file="a.toml")
    assert error.value.key == key and words in str(error.value) and error.value.file == "a.toml"

"""Single items of the five papers by computation, and the list of all their numbered items against docs/papers.md."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import exp, expm1, log, log1p, pi, sqrt
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpc, mpf
from scipy.integrate import quad
from scipy.stats import expon, norm

from verified_dp import ApproximateDP, Gaussian, Laplace, PoissonSampled, RandomizedResponse, compose, privacy_profile
from verified_dp.core.engines.expansion_cells import Steps
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers import accountant
from verified_dp.papers.prv.bounds_curve import dominating_masses
from verified_dp.papers.prv.curves import loss_of_curve, mechanism_of_guarantees
from verified_dp.papers.saddlepoint.bounds import enclose_normal_part

ROOT = Path(__file__).resolve().parents[2]
BOTH = "add-or-remove"


# the list of items


def items_named(section: str) -> set[str]:
    """ "Theorem 6", ... from the first cells of a section's table; "Definitions 1 to 4" counts for all of them."""
    cells = " ; ".join(line.split("|")[1] for line in section.splitlines() if line.startswith("|"))
    found = set[str]()
    for kind, numbers in re.findall(r"(Definition|Theorem|Lemma|Proposition|Corollar|Remark|Algorithm|Figure|Table|"
                                    r"Fact|Assumption|[Ss]ection)(?:y|ies|s)? "
                                    r"((?:[A-D]?\.?\d[\d.]*(?:\([ab]\))?(?:, | to | and )?)+)", cells):
        kind = {"Corollar": "Corollary", "Section": "section"}.get(kind, kind)
        for low, high, one in re.findall(r"(\d+) to (\d+)|([A-D]?\.?\d[\d.]*)", numbers):
            found |= {f"{kind} {n}" for n in range(int(low), int(high) + 1)} if low else {f"{kind} {one.rstrip('.')}"}
    return found | {f"({number})" for number in re.findall(r"\((\d+(?:\.\d+)?)\)", cells)}


@pytest.mark.parametrize("paper", ["000", "001", "002", "003", "004"])
def test_every_item_of_a_paper_has_a_row(paper: str) -> None:
    """The numbered items of the papers' texts are data; cited results of other papers are not among them."""
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    section = page.partition(f"## {paper}:")[2].partition("\n## ")[0]
    items = json.loads((ROOT / "tests" / "data" / "paper_items.json").read_text(encoding="utf-8"))[paper]
    assert len(items) > 14 and not set(items) - items_named(section)


def test_ranges_and_lists_of_items_are_read() -> None:
    rows = "| Lemma 5, Theorem 6: x |\n| Figures 2, 6 to 8, Table 1 | \n| Corollary 3.7 and Definitions 1 to 3; (6) |"
    assert items_named(rows) == {"Lemma 5", "Theorem 6", "Figure 2", "Figure 6", "Figure 7", "Figure 8", "Table 1",
                                 "Corollary 3.7", "Definition 1", "Definition 2", "Definition 3", "(6)"}


# 000


def test_a_composition_of_varying_mechanisms() -> None:
    """Section 5.5, Theorem A.7: the product of two laws' transforms."""
    steps = compose((PoissonSampled(Gaussian(2), "0.02"), 30), (PoissonSampled(Gaussian(3), "0.05"), 20))
    profile = privacy_profile(steps, BOTH)
    found, true = accountant(profile, "fourier").delta("1/2").enclosure, profile.delta("1/2")
    assert found is not None and found.lower <= true.upper and true.lower <= found.upper
    assert float(found.upper) < 1.01 * float(true.upper)


def loss_density(s: np.ndarray, q: float, sigma: float) -> np.ndarray:
    """Of the sampled Gaussian in the remove order, section 6.1."""
    inside = s > log1p(-q)
    y = np.where(inside, s, 1.0)
    odds = np.exp(y) - (1 - q)
    t = sigma**2 * np.log(odds / q) + 0.5
    f = q * norm.pdf(t, 1, sigma) + (1 - q) * norm.pdf(t, 0, sigma)
    return np.where(inside, f * sigma**2 * np.exp(y) / odds, 0.0)


@pytest.mark.parametrize("n", [64, 256, 1024])
def test_the_discretisation_bound_of_7_3_needs_the_length_of_the_interval(n: int) -> None:
    """|int w - sum| <= dx w(L) + dx^2/12 max |w''| as printed; a rule of step dx on [-L, L] has 2L dx^2/12 max |w''|.

    For the densities meant both hold; for w = s^2, whose second derivative is constant, only the latter.
    """
    q, sigma, length = 0.3, 1.0, 3.0
    places, dx = np.linspace(-length, length, n + 1), 2 * length / n
    fine = np.linspace(-length, length, 400_001)
    second = np.abs(np.gradient(np.gradient(loss_density(fine, q, sigma), fine), fine))[5:-5].max()
    true = quad(lambda s: float(loss_density(np.array([s]), q, sigma)[0]), log1p(-q), length, limit=500)[0]
    error = abs(true - dx * loss_density(places[:-1], q, sigma).sum())
    assert error <= dx * float(loss_density(np.array([length]), q, sigma)[0]) + dx**2 / 12 * second
    squares = abs(2 * length**3 / 3 - dx * (places[:-1] ** 2).sum())
    assert squares > dx**2 / 12 * 2 and squares <= 2 * length * dx**2 / 12 * 2 * (1 + 1e-9)


def test_lemma_d_4_is_of_the_order_stated() -> None:
    """max |w''| = O(sigma^3/q^3), the constant like e^{9/(2 sigma^2)}: 470 at sigma = 1, below 3 from sigma = 2 on."""
    for sigma, least, most in ((1.0, 300, 500), (2.0, 1, 3), (8.0, 0.1, 1)):
        for q in (0.01, 0.1):
            s = np.linspace(log1p(-q) + 1e-7, 12 * q / sigma + 6 * q, 100_001)
            second = np.abs(np.gradient(np.gradient(loss_density(s, q, sigma), s), s))[5:-5].max()
            assert least < second * q**3 / sigma**3 < most


# 001


def test_simple_and_advanced_composition_bound_the_certified_delta() -> None:
    """Propositions 1.2 and 1.3 for 50 steps of (1/10, 1e-6): eps = 5 and 3.92 where 2.845 is true (delta 6e-5)."""
    step, k, slack = ApproximateDP("0.1", "1e-6"), 50, 1e-5
    profile = privacy_profile(compose((step, k)), BOTH)
    advanced = 0.1 * sqrt(2 * k * log(1 / slack)) + k * 0.1 * expm1(0.1)
    assert profile.delta(Fraction(5)).upper_float <= k * 1e-6
    assert profile.delta(Fraction(advanced).limit_denominator(10**6)).upper_float <= k * 1e-6 + slack
    true = profile.epsilon("6e-5").upper_float
    assert true < 0.8 * advanced < advanced < 5


def test_three_forms_of_a_curve_agree() -> None:
    """Theorems 3.2 and 3.3, (5), of a Gaussian: both tails; E (1 - e^{eps-Y})_+; P(Y >= eps + Z), Z exponential."""
    mu, eps = 0.7, 0.4
    y, x = norm(mu**2 / 2, mu), norm(-(mu**2) / 2, mu)
    tails = y.sf(eps) - exp(eps) * x.sf(eps)
    mean = quad(lambda t: -expm1(eps - t) * y.pdf(t), eps, 20)[0]
    beyond = quad(lambda z: y.sf(eps + z) * expon.pdf(z), 0, 40)[0]
    true = privacy_profile(Gaussian("10/7"), BOTH).delta("0.4").upper_float
    assert max(abs(value - true) for value in (tails, mean, beyond)) < 1e-9


@pytest.mark.theorem("T200-tails-of-a-curve")
def test_the_loss_of_a_curve() -> None:
    """Inversion (6): of a Gaussian both tails; of randomised response the jumps at its two losses."""
    mu = 0.5
    places = [Fraction(n, 50) for n in range(-40, 41)]
    for tail in loss_of_curve(privacy_profile(Gaussian(2), BOTH).delta, places):
        for ends, law in ((tail.under_p, norm(mu**2 / 2, mu)), (tail.under_q, norm(-(mu**2) / 2, mu))):
            low, high = (float(end.as_fraction()) for end in ends)
            assert low <= law.sf(float(tail.epsilon)) <= high and high - low < 0.06
    response = privacy_profile(RandomizedResponse(categories=2, epsilon=1), "replace")
    at = {tail.epsilon: tail for tail in loss_of_curve(response.delta, ["-1.1", "-1.05", "0", "1/2", "1.05", "1.1"])}
    for place, p, q in (("-1.05", 1, 1), ("0", exp(1) / (1 + exp(1)), 1 / (1 + exp(1))), ("1.05", 0, 0)):
        tail = at[Fraction(place)]
        assert all(float(low.as_fraction()) - 1e-9 <= true <= float(high.as_fraction()) + 1e-9
                   for (low, high), true in ((tail.under_p, p), (tail.under_q, q)))


def test_the_loss_of_a_curve_asks_for_increasing_places() -> None:
    for places in (["0", "1"], ["0", "2", "1"]):
        with pytest.raises(InvalidInput, match="increasing"):
            loss_of_curve(privacy_profile(Gaussian(2), BOTH).delta, places)


@pytest.mark.theorem("T201-pair-of-a-curve")
def test_one_guarantee_composes_as_its_own_mechanism() -> None:
    pair = privacy_profile(compose((mechanism_of_guarantees([("0.1", "1e-6")]), 10)), BOTH)
    true = privacy_profile(compose((ApproximateDP("0.1", "1e-6"), 10)), BOTH)
    for epsilon in ("0", "0.3", "0.75"):
        one, other = pair.delta(epsilon), true.delta(epsilon)
        assert other.lower <= one.upper and one.upper_float < other.upper_float * (1 + 1e-9)


@pytest.mark.theorem("T201-pair-of-a-curve")
def test_guarantees_of_a_gaussian_compose_to_little_more() -> None:
    steps, curve = 8, privacy_profile(Gaussian(4), BOTH)
    points = [(Fraction(n, 10), curve.delta(Fraction(n, 10)).upper_decimal) for n in range(14)]
    pair = mechanism_of_guarantees(points)
    assert sum(pair.P) == sum(pair.Q) == 1
    for epsilon, delta in points:
        curve_there = sum(max(p - Fraction(exp(epsilon)) * q, Fraction(0)) for p, q in pair.masses())
        assert float(curve_there) <= float(delta) * (1 + 1e-9)
    found = privacy_profile(compose((pair, steps)), BOTH).delta("1", digits=4).upper_float
    true = privacy_profile(compose((Gaussian(4), steps)), BOTH).delta("1").lower_float
    assert true < found < 1.5 * true


@pytest.mark.theorem("T201-pair-of-a-curve")
def test_the_hull_by_enumeration_and_what_no_mechanism_meets() -> None:
    """H(x) = sum max(p - x q, 0) of the masses is the largest of all lines that lie below the points."""
    points = [(Fraction(1, 5), Fraction(3, 10)), (Fraction(1, 2), Fraction(29, 100)), (Fraction(1), Fraction(1, 10))]
    masses = dominating_masses(points, False)
    corners = [(0.0, 1.0), *((exp(e) * (1 + 1e-15), float(d)) for e, d in points)]
    for x in np.linspace(0, 4, 81):
        chords = [a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]) for a in corners for b in corners
                  if a[0] <= x <= b[0] and a[0] < b[0]] + [d for place, d in corners if place <= x]
        assert abs(sum(max(float(p) - x * float(q), 0) for p, q in masses) - min(chords)) < 1e-9
    assert sum(p for p, _ in masses) == sum(q for _, q in masses) == 1
    with pytest.raises(InvalidInput, match="some mechanism"):
        dominating_masses([(Fraction(-1), Fraction(1, 10))], False)


def test_lemma_5_2_on_a_shifted_loss() -> None:
    """|Y - Y~| <= h but with probability e: delta~(eps + h) - e <= delta(eps) <= delta~(eps - h) + e."""
    y, h, e = norm(0.125, 0.5), 0.1, 0.01

    def delta(eps: float, shift: float, lost: float) -> float:
        """Of Y + shift, and -10 with probability lost."""
        return (1 - lost) * quad(lambda t: -expm1(eps - t - shift) * y.pdf(t), eps - shift, 12)[0]

    for eps in (0.0, 0.5, 1.0):
        for shift in (-h, h / 2, h):
            assert delta(eps + h, shift, e) - e <= delta(eps, 0, 0) <= delta(eps - h, shift, e) + e
    assert delta(0.5 - h / 2, -h, 0) < delta(0.5, 0, 0)  # a smaller shift does not do


# 003


@pytest.mark.parametrize("tilt", [0.4, 1.7])
def test_propositions_4_and_6(tilt: float) -> None:
    """SP-CLT is the integral with both poles kept, (67), and a difference of two normal tails, (79)."""
    mean, variance, eps = 1.3, 2.1, 0.9
    with ctx.workprec(100):
        state = Steps(arb(tilt), arb(0), arb(0), [arb(0), arb(mean), arb(variance)], [])
        closed = mpf(enclose_normal_part(state, arb(eps)).mid().str(25, radius=False))

    def integrand(u: mpf) -> mpf:
        z = mpc(tilt, u)
        return mp.re(mp.exp(1j * u * (mean - eps) - u * u * variance / 2) / (z * (1 + z)))

    assert abs(mpmath.quad(integrand, [0, 1, 3, 8]) / pi - closed) < mpf("1e-12")


# 004


def test_section_4_4_laplace_steps() -> None:
    """Laplace steps, whose losses are bounded: every order without a tilt holds the truth."""
    profile = privacy_profile(compose((Laplace(10, 1), 4000)), BOTH)
    true = profile.delta("7")
    for order in (1, 3):
        found = accountant(profile, "edgeworth", form="proved", order=order).delta("7").enclosure
        assert found is not None and found.lower <= true.upper and true.lower <= found.upper

"""The independent checker: its arithmetic, its bounds against quadrature, certificates it confirms and refuses."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_dp.core.certificate.document import sealed
from verified_dp.core.certificate.evaluation import enclosure_record
from verified_dp.core.dyadic import Dyadic
from verified_dp.core.errors import Unsupported
from verified_dp.verifiers import first_independent as independent
from verified_dp.verifiers import intervals
from verified_dp.verifiers.first_independent_closed import enclose_closed, normal_tail
from verified_dp.verifiers.first_independent_line import (
    Nodes,
    chernoff_mass,
    evaluate,
    power,
)
from verified_dp.verifiers.first_independent_parameters import Law, Line, NotCovered, Rule, mass_rule, refined

Document = dict[str, Any]
BITS = 80


def sampled(noise: str, probability: str, count: int) -> str:
    return (f'[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\ncount = {count}\n'
            f'sampling = {{ scheme = "poisson", probability = "{probability}" }}\n')


PLAIN = '[[mechanism]]\nkind = "gaussian"\nsigma = "15"\nsensitivity = "2"\ncount = 3\n'
SPECS: dict[str, tuple[str, str, str, str]] = {
    "both orders": ("add-or-remove", sampled("2", "1/100", 10000), "1.0", "0.01"),
    "tiny": ("remove", sampled("2", "256/60000", 30000), "6", "1e-20"),
    "mixed": ("replace", sampled("1.5", "0.01", 2000) + PLAIN, "1.25", "1e-5"),
    "two laws": ("add", sampled("2", "0.01", 4000) + sampled("3", "0.02", 1000), "0.5", "1e-3"),
    "Gaussian": ("zero-out", PLAIN, "12", "1e-6"),
    "one step": ("replace", sampled("1", "0.01", 1), "0.5", "1e-3"),
    "past the support": ("add", sampled("1", "0.01", 3), "0.5", "1e-2"),
    "ends of q": ("add-or-remove", sampled("1", "1", 2) + sampled("1", "0", 5), "0.5", "1e-6"),
    "Chernoff": ("add-or-remove", sampled("0.7", "0.01", 3000), "8.5", "1e-5"),
}


@pytest.fixture(scope="module")
def certificates(certify_text: Callable[..., Document]) -> dict[str, Document]:
    return {name: certify_text(*spec, digits=5) for name, spec in SPECS.items()}


@pytest.mark.parametrize("name", SPECS)
def test_certificates_are_confirmed(name: str, certificates: dict[str, Document]) -> None:
    check = independent.verify(certificates[name])
    assert check.valid, check
    assert check.verdict == certificates[name]["verdict"]
    kinds = {entry["witness"]["kind"] for entry in certificates[name]["evaluations"]}
    assert ("chernoff" in kinds) or name != "Chernoff"


def moved(document: Document, index: int, shift: Fraction) -> Document:
    """The certificate with one recorded interval moved by a multiple of its width, and hashes to fit."""
    new = copy.deepcopy(document)
    enclosure = new["evaluations"][index]["enclosure"]
    lower, upper = (Dyadic.parse(enclosure[key]).as_fraction() for key in ("lower", "upper"))
    ends = (Dyadic.of_fraction(end + shift * (upper - lower)) for end in (lower, upper))
    new["evaluations"][index]["enclosure"] = enclosure_record(*ends)
    return sealed(new)


@pytest.mark.parametrize("name", ["both orders", "mixed", "Gaussian"])
@pytest.mark.parametrize("shift", [Fraction(1), Fraction(-1), Fraction(3, 2)])
def test_a_recorded_interval_beside_the_truth_is_refused(
    name: str, shift: Fraction, certificates: dict[str, Document]
) -> None:
    index = next(i for i, e in enumerate(certificates[name]["evaluations"]) if e["quantity"] == "epsilon")
    check = independent.verify(moved(certificates[name], index, shift))
    assert not check.valid
    assert check.field == f"evaluations[{index}].enclosure.{'lower' if shift > 0 else 'upper'}"


def test_altered_certificates_are_refused(certificates: dict[str, Document]) -> None:
    document = copy.deepcopy(certificates["both orders"])
    document["verdict"] = "refuted" if document["verdict"] == "proved" else "proved"
    assert independent.verify(document).field == "verdict"
    assert independent.verify(sealed(document)).field == "verdict"
    document = copy.deepcopy(certificates["both orders"])
    document["input"]["mechanisms"][0]["count"] += 1
    check = independent.verify(sealed(document))
    assert not check.valid and check.field is not None and check.field.startswith("evaluations[")


@pytest.mark.parametrize("change", [
    {"kind": 7}, {"tilt": "x"}, {"tilt": 5}, {"count": "many"}, {"nodes": 3}, {"nodes": []}, {"prec": 10**9},
    {"step": "0*2^0"}, {"tilt": "1*2^-40000"}, {"tilt": "1*2^40000"}, {"right": "0*2^0"}, {"step": "1*2^-900"}])
def test_unusable_witnesses_end_cleanly(change: Document, certificates: dict[str, Document]) -> None:
    document = copy.deepcopy(certificates["both orders"])
    document["evaluations"][0]["witness"].update(change)
    try:
        assert not independent.verify(sealed(document)).valid
    except Unsupported as error:
        assert "evaluations[0]" in str(error)


def test_bent_paths_are_not_covered(certify_text: Callable[..., Document]) -> None:
    document = certify_text("remove", sampled("2", "0.01", 2), "0.5", "1e-4", digits=5)
    assert document["evaluations"][0]["witness"]["kind"] == "panels"
    with pytest.raises(Unsupported, match="panels"):
        independent.verify(document)


def test_the_kernel_is_not_loaded() -> None:
    code = "import sys, verified_dp.verifiers.first_independent; print(*(n for n in sys.modules if 'verified_dp' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = done.stdout.split()
    assert "verified_dp.core.mechanisms" in loaded
    assert not [name for name in loaded if name.startswith(("verified_dp.core.engines", "verified_dp.core.laws"))]


def contains(x: intervals.Interval, value: Any) -> bool:
    """Whether an interval holds a number known to many more digits."""
    found = intervals.ends(x)
    assert found is not None
    with mpmath.workprec(800):
        low, high = (mpmath.ldexp(mpmath.mpf(end.mantissa), end.exponent) for end in found)
        return bool(low <= value <= high)


def width(x: intervals.Interval) -> float:
    low, high = intervals.ends(x) or (Dyadic(0), Dyadic.infinity())
    return float(high) - float(low)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "exp": (intervals.exp, mpmath.exp),
    "log": (lambda x: intervals.log(x * x + 1), lambda x: mpmath.log(x * x + 1)),
    "sqrt": (lambda x: intervals.sqrt(x * x + 1), lambda x: mpmath.sqrt(x * x + 1)),
    "cos": (lambda x: intervals.cos_sin(x)[0], mpmath.cos),
    "sin": (lambda x: intervals.cos_sin(x)[1], mpmath.sin),
    "argument": (lambda x: intervals.argument((x, 1 + x)), lambda x: mpmath.atan2(1 + x, x)),
    "tail": (normal_tail, lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(value=st.fractions(-30, 30, max_denominator=10**6))
def test_functions_enclose(name: str, value: Fraction) -> None:
    ours, theirs = FUNCTIONS[name]
    with intervals.precision(BITS), mpmath.workprec(400):
        x = mpmath.mpf(value.numerator) / value.denominator
        found = ours(intervals.exact(value))
        assert contains(found, theirs(x))
        assert width(found) <= 2.0 ** (24 - BITS) * max(1.0, abs(float(theirs(x))))


@pytest.mark.parametrize("value", [Fraction(n) for n in (0, 1, 5, 8, 9, 40, 300)] + [Fraction(799, 100)])
def test_normal_tails_are_relatively_sharp(value: Fraction) -> None:
    with intervals.precision(200), mpmath.workprec(700):
        found = normal_tail(intervals.exact(value))
        true = mpmath.erfc(mpmath.mpf(value.numerator) / value.denominator / mpmath.sqrt(2)) / 2
        assert contains(found, true)
        scaled = found / intervals.lower(found)
        assert width(scaled) < 2.0**-120


def test_wide_intervals_are_enclosed_at_all_points() -> None:
    wide = intervals.hull(intervals.exact(2), intervals.exact(3))
    with intervals.precision(BITS), mpmath.workprec(400):
        for ours, theirs in FUNCTIONS.values():
            assert all(contains(ours(wide), theirs(mpmath.mpf(n) / 8)) for n in range(16, 25))


@given(x=st.fractions(-2, 2, max_denominator=99), y=st.fractions(-2, 2, max_denominator=99),
       radius=st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 100), Fraction(1)]),
       count=st.sampled_from([1, 2, 7, 1000]))
def test_powers_enclose(x: Fraction, y: Fraction, radius: Fraction, count: int) -> None:
    with intervals.precision(BITS), mpmath.workprec(300):
        error = intervals.plus_minus(intervals.exact(radius))
        found = power((intervals.exact(x) + error, intervals.exact(y) + error), count)
        for corner in (-1, 0, 1):
            point = [mpmath.mpf((v + corner * radius).numerator) / (v + corner * radius).denominator for v in (x, y)]
            true = mpmath.mpc(*point) ** count
            assert contains(found[0], true.real) and contains(found[1], true.imag)


def transform(law: Law, z: Any) -> Any:
    """M(z) by mpmath's quadrature on the real line."""
    q, s = (mpmath.mpf(v.numerator) / v.denominator for v in (law.q, law.s))

    def log_m(t: Any) -> Any:
        return mpmath.log(1 - q + q * mpmath.exp((2 * t - 1) / (2 * s * s)))

    def integrand(t: Any) -> Any:
        exponent = {"remove": lambda: (z + 1) * log_m(t), "add": lambda: -z * log_m(t),
                    "symmetric": lambda: (z + 1) * log_m(t) - z * log_m(-t)}[law.order]()
        return mpmath.npdf(t, 0, s) * mpmath.exp(exponent)

    return mpmath.quad(integrand, [-14 * s, -4 * s, 0, 2 * s, 6 * s, 16 * s])


LAWS = [Law(Fraction(1, 100), Fraction(3, 2), 100, order) for order in ("remove", "add", "symmetric")]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.order)
def test_masses_bound_the_transform(law: Law) -> None:
    with intervals.precision(BITS):
        bound = Nodes(law, mass_rule(law, Fraction(3)), Fraction(3)).mass()
        true = transform(law, mpmath.mpf(3)).real
        _, high = intervals.ends(bound) or (Dyadic(0), Dyadic(0))
        assert true <= float(high) <= float(true) * (1 + 1e-4)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.order)
def test_node_sums_and_errors_hold_the_transform(law: Law) -> None:
    """(1) and (4) at several frequencies, with few nodes so that the errors are seen."""
    variance = float(law.s) ** 2
    rule = Rule(Fraction(variance / 2), Fraction(variance / 2), Fraction(1), -9, 14)
    with intervals.precision(BITS):
        nodes = Nodes(law, rule, Fraction(2))
        error = nodes.kappa() * nodes.mass() + nodes.dropped()
        modulus_error = nodes.modulus_kappa() * nodes.mass() + nodes.dropped()
        for w in (0, 1, 5, 20):
            weights = [intervals.complex_exp(z) for z in nodes.log_weights(nodes.c, intervals.exact(w))]
            real = sum((z[0] for z in weights), intervals.exact(0)) + intervals.plus_minus(intervals.upper(error))
            true = transform(law, mpmath.mpc(2, w))
            assert contains(real, true.real)
            bound = nodes.absolute_sum(intervals.exact(w)) + modulus_error
            assert abs(true) <= float(intervals.ends(bound)[1])  # type: ignore[index]


def test_lines_overlap_closed_forms(certify_text: Callable[..., Document]) -> None:
    """Two independent routes to one Gaussian delta."""
    document = certify_text("remove", PLAIN, "1.5", "1e-3")
    shift_squared, epsilon = Fraction(3 * 4, 225), Fraction(3, 2)
    assert document["evaluations"][0]["method"] == "closed-form"
    line = Line(Fraction(20), Fraction(1), 60, (), (), Fraction(60), Fraction(2), 120)
    with intervals.precision(200):
        closed = enclose_closed((), shift_squared, epsilon)
        contour = evaluate(line, (), shift_squared).delta(epsilon)
        low, high = intervals.ends(contour) or (Dyadic(1), Dyadic(0))
        truth = intervals.ends(closed) or (Dyadic(0), Dyadic(1))
        assert low <= truth[0] <= truth[1] <= high
        assert float(high) - float(low) < 1e-6 * float(high)


def test_chernoff_bounds_what_it_bounds() -> None:
    with intervals.precision(BITS):
        exponent, epsilon = Fraction(10), Fraction(3, 2)
        mass = chernoff_mass((), exponent, intervals.exact(Fraction(12, 225)))
        bound = mass * intervals.exp(-intervals.exact(exponent * epsilon))
        delta = enclose_closed((), Fraction(12, 225), epsilon)
        assert intervals.certain(bound > delta)


def test_refinement_is_bounded() -> None:
    law = Law(Fraction(1, 10), Fraction(1), 5, "remove")
    rule = Rule(Fraction(1), Fraction(1), Fraction(1, 4), -40, 60)
    line = Line(Fraction(2), Fraction(1, 10), 10**6, (rule,), (rule,), Fraction(4), Fraction(0), 100)
    with pytest.raises(NotCovered, match="many"):
        refined(line, (law,), 1.25)

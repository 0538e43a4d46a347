"""Dyadic numbers against Fraction, decimals against exact arithmetic and mpmath, enclosures and estimates."""

import math
import pickle
import re
import sys
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.core.kernel import dyadic
from verified_dp.core.kernel.dyadic import Dyadic, decimal_down, decimal_up
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput, Undecided
from verified_dp.core.kernel.evaluation import larger
from verified_dp.enclosure import Enclosure, Estimate

DECIMAL = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
mantissas = st.integers(-(10**30), 10**30)
dyadics = st.builds(Dyadic, mantissas, st.integers(-200, 200))
significants = st.integers(1, 40)


def enclosure(lower, upper, **changes):
    ends = (Dyadic.of_fraction(Fraction(lower)), Dyadic.of_fraction(Fraction(upper)))
    stated = {
        "quantity": "delta",
        "method": "contour",
        "order": "remove",
        "relation": "add-or-remove",
        "digits": 3,
    }
    return Enclosure(*ends, **(stated | changes))


def digits_of(text):
    """Significant digits of a decimal's text."""
    return len(text.partition("e")[0].lstrip("-0.").replace(".", ""))


@settings(max_examples=30)
@given(dyadics, dyadics)
def test_dyadics_compare_and_hash_as_fractions_do(a, b):
    x, y = a.as_fraction(), b.as_fraction()
    assert (a < b, a <= b, a == b, a > b, a >= b) == (x < y, x <= y, x == y, x > y, x >= y)
    assert (a < y, a == y, x > b, x == b) == (x < y, x == y, x > y, x == y)
    assert hash(a) == hash(x)
    assert Dyadic.of_fraction(x) == a
    assert float(a) == float(x)


@given(mantissas, st.integers(-(10**14), 10**14))
def test_dyadics_survive_their_text_and_are_normal(mantissa, exponent):
    number = Dyadic(mantissa, exponent)
    assert Dyadic.parse(str(number)) == number == Dyadic(mantissa * 8, exponent - 3)
    assert number.mantissa % 2 or (number.mantissa, number.exponent) == (0, 0)
    assert hash(number) == hash(Dyadic(mantissa * 8, exponent - 3))
    assert pickle.loads(pickle.dumps(number)) == number


def test_gigantic_exponents_compare_without_being_written_out():
    tiny, huge = Dyadic(3, -(10**12)), Dyadic(-3, 10**12)
    assert 0 < tiny < Dyadic(5, -(10**12)) < Fraction(1, 10**1000) < Dyadic.infinity()
    assert huge < -(10**1000) < Dyadic(0) < tiny
    assert (float(tiny), float(huge), float(Dyadic.infinity())) == (0.0, float("-inf"), float("inf"))
    with pytest.raises(InvalidInput, match="10\\^6"):
        tiny.as_fraction()
    with pytest.raises(InvalidInput):
        Dyadic.infinity().as_fraction()


def test_infinity():
    assert str(Dyadic.infinity()) == "inf"
    assert Dyadic.parse("inf") == Dyadic.infinity() != Dyadic(1)
    assert Dyadic.infinity() > Dyadic(1, 10**20)
    assert not Dyadic.infinity() < Dyadic.infinity()


@pytest.mark.parametrize(
    "text",
    ["2*2^0", "0*2^1", "1*2^+1", "01*2^0", "1*2^-0", "1", "-0*2^0", "1*2^1.5", "-inf", "", " 1*2^0", None, 1],
)
def test_only_the_lowest_form_is_read(text):
    with pytest.raises(InvalidInput):
        Dyadic.parse(text)


def test_only_dyadic_fractions():
    with pytest.raises(InvalidInput):
        Dyadic.of_fraction(Fraction(1, 3))


@given(dyadics, significants)
def test_decimals_are_the_nearest_on_their_side(number, significant):
    exact = number.as_fraction()
    low, high = decimal_down(number, significant), decimal_up(number, significant)
    assert Fraction(low) <= exact <= Fraction(high)
    for text in (low, high):
        assert DECIMAL.fullmatch(text)
    if exact:
        unit = Fraction(10) ** dyadic.outward_decimal(number, significant, up=exact < 0).power
        assert Fraction(high) - Fraction(low) == (0 if Fraction(low) == exact else unit)
        assert abs(exact) >= 10 ** (significant - 1) * unit


@given(mantissas.filter(bool), st.integers(-3000, 3000), significants)
def test_decimals_carry_the_digits_asked_for(mantissa, exponent, significant):
    for up in (False, True):
        text, digits, power = dyadic.outward_decimal(Dyadic(mantissa, exponent), significant, up=up)
        assert len(str(abs(digits))) == significant
        assert Fraction(text) == digits * Fraction(10) ** power


@given(mantissas.filter(bool), st.integers(-30_000, 30_000), st.integers(1, 30))
def test_gigantic_and_moderate_exponents_round_alike(mantissa, exponent, significant):
    number = Dyadic(mantissa, exponent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dyadic, "EXACT_EXPONENT", 10**9)
        exact = decimal_down(number, significant), decimal_up(number, significant)
        patch.setattr(dyadic, "EXACT_EXPONENT", -1)
        balls = decimal_down(number, significant), decimal_up(number, significant)
    if (
        number.exponent < -200
    ):  # otherwise the number may be a decimal itself, and balls round it outward by a digit
        assert balls == exact
    assert Fraction(balls[0]) <= Fraction(exact[0])
    assert Fraction(balls[1]) >= Fraction(exact[1])


@pytest.mark.parametrize("exponent", [-(10**6), 10**6, -144269504089, 144269504089, -(10**15)])
@pytest.mark.parametrize("sign", [1, -1])
def test_gigantic_exponents_against_mpmath(exponent, sign):
    low, high = decimal_down(Dyadic(3 * sign, exponent), 20), decimal_up(Dyadic(3 * sign, exponent), 20)
    with mpmath.workdps(80):
        value = sign * mpmath.mpf(3) * mpmath.mpf(2) ** exponent
        parsed = [
            mpmath.mpf(t.partition("e")[0]) * mpmath.mpf(10) ** int(t.partition("e")[2]) for t in (low, high)
        ]
        assert parsed[0] < value < parsed[1]
        assert (parsed[1] - parsed[0]) / abs(value) < mpmath.mpf(10) ** -18
    assert digits_of(low) == digits_of(high) == 20


@pytest.mark.parametrize("largest", [10**9, -1], ids=["integers", "balls"])
@pytest.mark.parametrize("bits", [200, 500, 900])
def test_just_beside_a_short_decimal(monkeypatch, largest, bits):
    """A ball wider than the distance to the decimal must not be rounded to the wrong side of it."""
    monkeypatch.setattr(dyadic, "EXACT_EXPONENT", largest)
    below = Dyadic(2**bits // 10, -bits)
    above = Dyadic(2**bits // 10 + 1, -bits)
    assert (decimal_down(below, 5), decimal_up(above, 5)) == ("0.099999", "0.10001")
    assert Fraction(decimal_down(above, 5)) <= Fraction(1, 10) <= Fraction(decimal_up(below, 5))


def test_decimals_by_hand():
    eighth, nearly_one = Dyadic(1, -3), Dyadic(2**100 - 1, -100)
    assert (decimal_down(eighth, 2), decimal_up(eighth, 2), decimal_up(eighth, 5)) == (
        "0.12",
        "0.13",
        "0.12500",
    )
    assert (decimal_down(nearly_one, 4), decimal_up(nearly_one, 4)) == ("0.9999", "1.000")
    assert (decimal_down(Dyadic(-1, -3), 2), decimal_up(Dyadic(-1, -3), 2)) == ("-0.13", "-0.12")
    assert (decimal_down(Dyadic(0), 9), decimal_up(Dyadic.infinity(), 9)) == ("0", "inf")
    assert decimal_down(Dyadic(123456), 3) == "123000"
    assert decimal_up(Dyadic(10**15 + 1), 3) == "1.01e15"
    assert decimal_down(Dyadic(1, -20), 3) == "9.53e-7"
    assert decimal_down(Dyadic(1, -13), 3) == "0.000122"
    assert decimal_down(Dyadic(1, -3500), 4) == "2.483e-1054"


@given(st.fractions(min_value=Fraction(1, 10**60), max_value=10**60), st.integers(1, 30), st.integers(2, 200))
def test_an_enclosure_narrow_enough_with_margin_prints_narrow_enough(number, digits, slack):
    scale = 2**400
    width = Fraction(number * (slack - 1), slack * 10**digits)
    lower, upper = -(-number * scale // 1), (number + width) * scale // 1
    got = enclosure(Fraction(lower, scale), Fraction(upper, scale), digits=digits)
    low, high = Fraction(got.lower_decimal), Fraction(got.upper_decimal)
    assert got.status == "certified"
    assert low <= got.lower.as_fraction() <= got.upper.as_fraction() <= high
    assert (high - low) * 10**digits <= low
    assert min(digits_of(got.lower_decimal), digits_of(got.upper_decimal)) >= digits + 3


@given(st.integers(1, 10**9), st.integers(0, 10**6), st.integers(1, 6))
def test_status_is_decided_on_the_printed_decimals(mantissa, width, digits):
    got = enclosure(Fraction(mantissa, 2**20), Fraction(mantissa + width, 2**20), digits=digits)
    low, high = Fraction(got.lower_decimal), Fraction(got.upper_decimal)
    assert (got.status == "certified") == (width == 0 or (high - low) * 10**digits <= low)
    assert got.relative_width.as_fraction() >= Fraction(width, mantissa)
    assert got.relative_width.as_fraction() <= Fraction(width, mantissa) * (1 + Fraction(1, 2**50))


def test_ends_without_relative_width():
    zero, from_zero = enclosure(0, 0), enclosure(0, Fraction(1, 2**90))
    assert (zero.relative_width, zero.status, str(zero)) == (None, "certified", "0")
    assert (from_zero.relative_width, from_zero.status, from_zero.lower_decimal) == (None, "wide", "0")
    assert enclosure(-1, 1).status == "wide"
    assert enclosure(-2, -1).relative_width == 1
    endless = Enclosure(
        Dyadic(1), Dyadic.infinity(), quantity="epsilon", method="a", order="add", relation="add"
    )
    assert (endless.status, endless.upper_decimal, str(endless)) == ("wide", "inf", "[1.000, inf]")


def test_gigantic_enclosures_print_and_certify():
    ends = Dyadic(2**60 + 1, -(10**11)), Dyadic(2**60 + 3, -(10**11))
    tiny = Enclosure(*ends, quantity="delta", method="contour", order="add", relation="add", digits=12)
    assert tiny.status == "certified"
    assert re.fullmatch(r"\d\.\d+e-\d+", tiny.certain_digits)
    assert tiny.relative_width < Fraction(1, 10**17)


def test_certain_digits_and_text():
    shown = enclosure(Fraction(4441, 4096), Fraction(4442, 4096))
    assert (shown.certain_digits, str(shown)) == ("1.084", "1.084[2, 5]")
    assert (shown.lower_decimal, shown.upper_decimal) == ("1.084228", "1.084473")
    small = enclosure(Fraction(4441, 2**90), Fraction(4442, 2**90))
    assert (small.certain_digits, str(small)) == ("3.58e-24", "3.58[7, 9]e-24")
    assert enclosure(Fraction(99, 128), Fraction(129, 128)).certain_digits == ""
    assert enclosure(8, 16).certain_digits == ""
    assert str(enclosure(Fraction(1, 2), Fraction(1, 2))) == "0.5"
    assert enclosure(-1, Fraction(1, 4)).certain_digits == ""


@given(dyadics, st.integers(0, 10**6), st.integers(1, 12))
def test_both_ends_begin_with_the_certain_digits(lower, width, digits):
    upper = lower.as_fraction() + abs(lower.as_fraction()) * Fraction(width, 2**40)
    got = enclosure(lower.as_fraction(), upper, digits=digits)
    if got.certain_digits:
        head, _, exponent = got.certain_digits.partition("e")
        for text in (got.lower_decimal, got.upper_decimal):
            start, _, power = text.partition("e")
            assert start.startswith(head) and power == exponent
    pattern = re.fullmatch(r"(-?[\d.]*)(?:\[(\S+), (\S+)\](?:e(-?\d+))?)?(e-?\d+)?", str(got))
    if pattern[2]:
        scale = Fraction(10) ** int(pattern[4] or 0)
        assert Fraction(pattern[1] + pattern[2]) * scale <= got.lower.as_fraction()
        assert Fraction(pattern[1] + pattern[3]) * scale >= got.upper.as_fraction()


def test_enclosures_refuse_nonsense():
    with pytest.raises(InvalidInput, match="lower"):
        enclosure(2, 1)
    with pytest.raises(InvalidInput, match="order"):
        enclosure(1, 2, order="left")
    with pytest.raises(InvalidInput, match="quantity"):
        enclosure(1, 2, quantity="eps")


def test_contains_and_overlaps():
    one_two = enclosure(1, 2)
    assert one_two.contains("1.5") and one_two.contains(1) and one_two.contains(Dyadic(1, 1))
    assert not one_two.contains("2.0000001") and not one_two.contains(Fraction(1, 2))
    assert one_two.overlaps(enclosure(2, 3)) and not one_two.overlaps(enclosure(3, 4))
    assert pickle.loads(pickle.dumps(one_two)) == one_two


def test_intersection_keeps_the_best_of_both():
    a = enclosure(1, 2, method="contour", seconds=1.0, budget={"rounding": Dyadic(1)})
    b = enclosure(Fraction(3, 2), Fraction(5, 2), method="closed-form", seconds=2.0)
    both = a.intersect(b)
    assert (both.lower, both.upper) == (Fraction(3, 2), 2)
    assert set(both.methods) == {"contour", "closed-form"}
    assert (both.method, both.budget, both.seconds) == ("closed-form", {}, 3.0)
    with pytest.raises(InconsistentEnclosures, match="contour"):
        a.intersect(enclosure(3, 4))
    with pytest.raises(InvalidInput):
        a.intersect(enclosure(1, 2, quantity="epsilon"))


def test_the_larger_order_is_named_only_when_proved():
    def named(remove, add):
        return larger({"remove": [Dyadic.of_fraction(Fraction(end)) for end in remove],
                       "add": [Dyadic.of_fraction(Fraction(end)) for end in add]})

    assert named((3, 4), (1, 2)) == ((3, 4), "remove") and named((1, 2), (3, 4)) == ((3, 4), "add")
    assert named((3, 4), (2, 3)) == ((3, 4), "remove")
    assert named((3, 4), (Fraction(7, 2), Fraction(15, 4))) == ((Fraction(7, 2), 4), "both")
    assert named((1, 1), (1, 1)) == ((1, 1), "both")
    assert larger({"symmetric": (Dyadic(1), Dyadic(2))}) == ((1, 2), "symmetric")


def test_an_estimate_is_no_bound():
    about = Estimate("0.05", "saddlepoint", "no error bound")
    assert about == Estimate("0.05", "saddlepoint", "no error bound") and "not a bound" in str(about)
    assert not hasattr(about, "lower") and not hasattr(about, "upper")
    for use in (bool, float, lambda e: e == enclosure(1, 2), lambda e: enclosure(1, 2) == e, lambda e: e < 1,
                lambda e: enclosure(1, 2) < e, lambda e: e == 0.05):  # fmt: skip
        with pytest.raises(TypeError):
            use(about)


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 5e-324, -5e-324, 2.0**-1022])),
       mantissas, st.integers(-1500, 1200))
def test_float_ends_are_the_nearest_doubles_outside(x, mantissa, exponent):
    near = Dyadic.of_fraction(Fraction(x) + Fraction(mantissa) * Fraction(2) ** exponent)
    for end in (near, Dyadic(mantissa, exponent), Dyadic.of_fraction(Fraction(x))):
        got = Enclosure(end, end, quantity="epsilon", method="a", order="add", relation="add")
        assert got.lower_float <= end <= got.upper_float
        between = math.nextafter(got.lower_float, math.inf)
        assert between == got.upper_float or got.lower_float == end == got.upper_float


def test_float_ends_of_all_sizes():
    biggest, least = sys.float_info.max, math.ulp(0.0)
    huge, tiny = Dyadic(1, 10**30), Dyadic(1, -(10**30))
    for low, high, shown in [(tiny, huge, (0.0, math.inf)), (huge, Dyadic.infinity(), (biggest, math.inf)),
                             (Dyadic(-1, 10**30), Dyadic(-1, -(10**30)), (-math.inf, -0.0)),
                             (Dyadic(0), tiny, (0.0, least)), (Dyadic(1, -1075), Dyadic(3, -1076), (0.0, least)),
                             (Dyadic(2**54 - 1, 970), Dyadic(2**54 - 1, 970), (biggest, math.inf))]:
        got = Enclosure(low, high, quantity="epsilon", method="a", order="add", relation="add")
        assert (got.lower_float, got.upper_float) == shown


@pytest.mark.parametrize(("lower", "upper", "most", "shown"), [
    (Fraction(4441, 4096), Fraction(4442, 4096), 60, "1.084[2, 5]"),
    (Fraction(4441, 4096), Fraction(4442, 4096), 3, "1.0[8, 9]"),
    (Fraction(4441, 2**90), Fraction(4442, 2**90), 60, "3.58[7, 9]e-24"),
    (Fraction(1, 2), Fraction(1, 2), 60, "0.5"), (0, 0, 60, "0"), (8, 16, 60, "[8.000, 16.00]"),
    (Fraction(2**30 - 1, 2**30), Fraction(2**30 + 1, 2**30), 60, "[0.9999, 1.001]"),
    (-1, Fraction(1, 4), 60, "[-1.000, 0.2500]")])
def test_one_notation(lower, upper, most, shown):
    assert enclosure(lower, upper).notation(most) == shown
    assert most < 60 or str(enclosure(lower, upper)) == shown


def test_short_lines_and_small_tables():
    got = enclosure(Fraction(4441, 4096), Fraction(4442, 4096), quantity="epsilon", budget={"rounding": Dyadic(1, -9)})
    assert repr(got) == "Enclosure(epsilon = 1.084[2, 5], certified, contour, add-or-remove)"
    guest = replace(got, method="fourier", methods=("fourier",), certifiable=False)
    assert repr(guest) == "Enclosure(epsilon = 1.084[2, 5], enclosed by fourier, add-or-remove)"
    assert guest.status == "certified" and "<td>enclosed by fourier</td>" in guest._repr_html_()
    wide = replace(guest, digits=9)
    assert wide.standing == "wide, enclosed by fourier" and got.intersect(guest).certifiable is False
    assert replace(guest, proven=False).standing == "estimate"
    assert repr(enclosure(0, 1)) == "Enclosure(delta in [0, 1.000], wide, contour, add-or-remove)"
    for text in ("<table>", "epsilon", "1.084[2, 5]", got.lower_decimal, got.upper_decimal, "certified", "contour"):
        assert text in got._repr_html_()
    assert "&lt;b&gt;" in enclosure(0, 1, relation="<b>")._repr_html_()
    about = Estimate("0.05", "saddlepoint", "no error bound is known for this expansion of the tilted law")
    assert repr(about) == "Estimate(about 0.05, saddlepoint)"
    assert "0.05" in about._repr_html_() and "no error bound" in about._repr_html_()


# an enclosure as a number


@pytest.mark.parametrize(("spec", "shown"), [
    (".3f", "1.085"), (".2e", "1.09e+00"), (".4g", "1.085"), (".0%", "109%"), ("8.2f", "    1.09"),
    ("", "1.084[2, 5]")])
def test_formats_round_the_upper_end_up(spec: str, shown: str) -> None:
    got = enclosure(Fraction(4441, 4096), Fraction(4442, 4096), quantity="epsilon", digits=3)
    assert format(got, spec) == shown


@given(dyadics, st.sampled_from([".3f", ".2e", ".5g", ".1%"]))
def test_a_formatted_number_is_never_below(end: Fraction, spec: str) -> None:
    got = enclosure(end, end)
    text = format(got, spec)
    assert Fraction(text.rstrip("%")) / (100 if "%" in text else 1) >= end
    assert Fraction(float(got)) >= end


def test_comparisons_say_what_is_proved() -> None:
    got, other = enclosure("0.25", "0.5"), enclosure("0.5", "0.75")
    assert got < 0.6 and got <= "0.5" and got <= 0.5 and not got < 0.25 and got >= 0.25 and not got > 0.5
    assert got > Fraction(1, 5) and got < math.inf and not got > math.inf and got <= other and not got > other
    for ask in (lambda: got < 0.3, lambda: got <= 0.25, lambda: got > 0.25, lambda: got >= 0.5, lambda: got < other,
                lambda: other > got, lambda: got < 0.5):
        with pytest.raises(Undecided):
            ask()
    for wrong in (math.nan, "x", None):
        with pytest.raises(InvalidInput):
            assert got < wrong


def test_ends_that_hold_for_the_pairs_alone_decide_nothing_of_the_mechanism() -> None:
    bound, guess = enclosure("0.25", "0.5", tight=False), enclosure("0.25", "0.5", proven=False)
    assert bound < 0.6 and not bound > 0.5
    for ask in (lambda: bound > 0.2, lambda: bound < 0.2, lambda: guess < 0.6, lambda: guess > 0.2):
        with pytest.raises(Undecided):
            ask()
    assert enclosure("0.25", "0.5", tight=False, method="attack") > 0.2

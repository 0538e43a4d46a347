"""The exact ends of an enclosure behave as Python's own numbers do: against Fraction, Decimal and float."""

# ruff: noqa: SIM300 (both orders of the operands are what is tested)

import copy
import decimal
import math
import numbers
import pickle
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidInput, VerifiedDPError
from verified_dp.core.kernel.exact import exact
from verified_dp.ends import readable

INFINITY, TINY, HUGE = Dyadic.infinity(), Dyadic(3, -(10**30)), Dyadic(-3, 10**30)
mantissas = st.integers(-(2**70), 2**70)
dyadics = st.builds(Dyadic, mantissas, st.integers(-1200, 1200))
others = st.one_of(st.integers(), st.fractions(), st.floats(), st.decimals(allow_nan=False), dyadics)
COMPARE = (lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a > b,
           lambda a, b: a >= b)


@given(dyadics, others)
def test_comparisons_are_those_of_the_equal_fraction(a, b):
    for compare in COMPARE:
        assert compare(a, b) == compare(Fraction(a), b)
        assert compare(b, a) == compare(b, Fraction(a))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_equal_to_its_own_float_decimal_and_fraction(x):
    number = Dyadic.from_float(x)
    for same in (x, Decimal(x), Fraction(x), np.float64(x)):
        assert number == same and same == number and number <= same <= number and hash(number) == hash(same)


@pytest.mark.parametrize("number", [Dyadic(0), Dyadic(1, -3), TINY, HUGE, INFINITY], ids=str)
def test_nan_is_never_equal_nor_ordered(number):
    nan = float("nan")
    assert [compare(number, nan) for compare in COMPARE] == [compare(nan, number) for compare in COMPARE]
    assert [compare(number, nan) for compare in COMPARE] == [False, False, False, True, False, False]
    assert number != Decimal("nan")


@given(others.filter(lambda x: not isinstance(x, Decimal) and x == x))
def test_infinite_and_gigantic_numbers_are_compared_without_being_written_out(x):
    if x != math.inf:
        assert x < INFINITY and INFINITY > x and x != INFINITY and not INFINITY <= x
        assert (x < TINY, TINY > x) == (x <= 0, x <= 0)
    if x != -math.inf:
        assert HUGE < x and x > HUGE and x != HUGE


def test_infinity_beside_the_infinities_of_others():
    for plus in (math.inf, Decimal("inf")):
        assert INFINITY == plus and INFINITY <= plus and not INFINITY < plus and hash(INFINITY) == hash(plus)
        assert INFINITY > -plus and Dyadic(5) < plus and Dyadic(5) > -plus and HUGE > -plus
    assert math.inf == INFINITY and -math.inf != INFINITY and sorted([INFINITY, 0.5, Dyadic(1)])[-1] is INFINITY


@pytest.mark.parametrize("number", [TINY, HUGE, INFINITY], ids=str)
def test_decimals_stand_right_of_what_has_no_numerator(number):
    assert TINY < Decimal("0.1") and HUGE < Decimal(-1) and INFINITY > Decimal(5)
    with pytest.raises(OverflowError, match="decimal_down"):
        _ = Decimal(5) < number


def test_what_is_no_number_is_neither_equal_nor_ordered():
    assert Dyadic(1) != "1" and Dyadic(1) != None and Dyadic(1) != [1]  # noqa: E711
    for other in ("1", None, [1], 1j):
        with pytest.raises(TypeError):
            _ = Dyadic(1) < other


@given(dyadics, st.one_of(st.integers(), st.fractions(), dyadics))
def test_arithmetic_gives_fractions(a, b):
    x, y = Fraction(a), Fraction(b)
    found = [a + b, b + a, a - b, b - a, a * b, b * a, -a, abs(a), +a, *([a / b, a // b, a % b] if b else [])]
    assert found == [x + y, y + x, x - y, y - x, x * y, y * x, -x, abs(x), x, *([x / y, x // y, x % y] if y else [])]
    assert {type(value) for value in found} <= {Fraction, int}


@given(dyadics)
def test_rounding_is_that_of_the_fraction(a):
    x = Fraction(a)
    assert isinstance(a, numbers.Rational) and (x.numerator, x.denominator) == (a.numerator, a.denominator)
    assert (math.floor(a), math.ceil(a), math.trunc(a), int(a)) == (math.floor(x), math.ceil(x), math.trunc(x), int(x))
    assert (round(a), round(a, 3), round(a, -2), bool(a)) == (round(x), round(x, 3), round(x, -2), bool(x))
    assert a.as_integer_ratio() == (x.numerator, x.denominator)


@pytest.mark.parametrize("number", [TINY, HUGE, INFINITY], ids=str)
def test_what_would_not_fit_is_refused_with_advice(number):
    for use in (lambda x: x + 1, lambda x: 2 * x, lambda x: x - x, lambda x: 1 / x, Fraction, math.floor, int, round,
                lambda x: x.numerator, lambda x: x.denominator, Dyadic.as_integer_ratio):
        with pytest.raises(OverflowError, match="decimal_down"):
            use(number)
        with pytest.raises(InvalidInput):
            use(number)
    assert bool(number)


@given(st.one_of(dyadics, st.builds(Dyadic, mantissas, st.integers(-30_000, 30_000))), st.integers(1, 40),
       st.sampled_from([ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING]))
def test_to_decimal_is_correctly_rounded(number, digits, rounding):
    x = Fraction(number)
    context = Context(prec=digits, rounding=rounding)
    assert readable(number).to_decimal(digits, rounding) == context.divide(Decimal(x.numerator), Decimal(x.denominator))


def test_to_decimal_of_gigantic_numbers():
    assert readable(INFINITY).to_decimal() == Decimal("inf")
    low, high = (readable(Dyadic(1, -(10**12))).to_decimal(20, rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
    assert low < high and high.next_minus(Context(prec=20, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)) == low
    assert f"{readable(Dyadic(1, -(10**12))):.3e}" == "1.044e-301029995664"  # 10^12 log10(2) = 301029995663.98119...
    with pytest.raises(OverflowError, match="decimal_down"):
        readable(TINY).to_decimal()


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 30), st.sampled_from("eEfF"))
@example(0.0, 3, "e")
@example(0.0, 0, "f")
@example(5e-324, 2, "f")
def test_formats_are_those_of_the_equal_float(x, places, kind):
    x += 0.0  # there is one zero only
    assert f"{readable(Dyadic.from_float(x)):.{places}{kind}}" == f"{x:.{places}{kind}}"


@given(dyadics, st.integers(0, 12))
def test_formats_round_correctly_to_nearest(number, places):
    x = Fraction(number)
    assert Fraction(f"{readable(number):.{places}f}") == Fraction(round(x * 10**places), 10**places)
    assert Fraction(f"{readable(number):.{places}%}"[:-1]) == Fraction(round(x * 10 ** (places + 2)), 10**places)


@pytest.mark.parametrize(("number", "spec", "text"), [
    (Dyadic(3, -1), "", "3*2^-1"), (Dyadic(3, -1), ">8", "  3*2^-1"), (Dyadic(3, -1), ".2f", "1.50"),
    (Dyadic(3, -1), "e", "1.500000e+00"), (Dyadic(3, -1), "*>+12.3e", "**+1.500e+00"), (Dyadic(5, -1), ".0f", "2"),
    (Dyadic(7, -1), ".0f", "4"), (Dyadic(10**7), ",.1f", "10,000,000.0"), (Dyadic(1, -3), ".1%", "12.5%"),
    (INFINITY, ".3f", "inf"), (INFINITY, ">6.1e", "   inf"), (TINY, "", str(TINY)), (Dyadic(0), ".2e", "0.00e+00"),
    (Dyadic(1, -3), ".3", "0.125"), (Dyadic(1, -3), "10.2f", "      0.12"), (Dyadic(1, -3), "<8.3f", "0.125   ")])
def test_formats_by_hand(number, spec, text):
    assert format(readable(number), spec) == text


def test_formats_that_are_refused():
    with pytest.raises(ValueError):
        format(readable(Dyadic(1)), "d")
    with pytest.raises(OverflowError, match="write it with e"):
        format(readable(Dyadic(1, 10**9)), ".2f")
    assert f"{readable(Dyadic(1, -(10**12))):.5f}" == "0.00000"


@pytest.mark.parametrize("number", [Dyadic(0), Dyadic(-3, -7), TINY, HUGE, INFINITY], ids=str)
def test_copies_and_pickles(number):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(number, protocol))
        assert type(again) is Dyadic and again == number and repr(again) == repr(number)
    assert copy.copy(number) is number and copy.deepcopy([number])[0] == number
    with pytest.raises(AttributeError):
        number.mantissa = 5


def test_made_from_other_numbers_exactly():
    found = Dyadic.from_float(0.75), Dyadic.from_decimal(Decimal("0.75")), Dyadic.of_fraction(Fraction(3, 4))
    assert {repr(number) for number in found} == {"Dyadic(3, -2)"}
    with pytest.raises(InvalidInput, match="power of two"):
        Dyadic.from_decimal(Decimal("0.1"))


@given(st.lists(dyadics, min_size=1, max_size=8))
def test_object_arrays(values):
    array, fractions = np.array(values), [Fraction(value) for value in values]
    assert array.dtype == object
    assert list(np.sort(array)) == sorted(fractions) and array.sum() == sum(fractions) == sum(values)
    assert (array.min(), array.max()) == (min(fractions), max(fractions))
    assert list(array < Fraction(1, 3)) == [x < Fraction(1, 3) for x in fractions]
    assert list(array * 2) == [2 * x for x in fractions]


def test_errors_are_of_this_package():
    with pytest.raises(VerifiedDPError):
        Fraction(INFINITY)


def test_ends_are_read_again_as_numbers():
    assert exact(Dyadic(3, -1), "epsilon") == Fraction(3, 2) and type(exact(Dyadic(3, -1))) is Fraction
    with pytest.raises(InvalidInput, match=r"^epsilon must be finite"):
        exact(INFINITY, "epsilon")

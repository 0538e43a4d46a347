"""Users' numbers: read exactly or refused by name."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput, Unsupported

READ = {
    "0.1": Fraction(1, 10),
    "256/60000": Fraction(8, 1875),
    " 256 / 60000 ": Fraction(8, 1875),
    "1e-500": Fraction(1, 10**500),
    "-1e-3": Fraction(-1, 1000),
    "+2.50E+1": Fraction(25),
    ".5": Fraction(1, 2),
    "5.": Fraction(5),
    "-1/2": Fraction(-1, 2),
    "0": Fraction(0),
    7: Fraction(7),
    Fraction(1, 3): Fraction(1, 3),
    Decimal("1.10"): Fraction(11, 10),
    np.int64(3): Fraction(3),
}
REFUSED = ["", " ", "1_000", "1/0", "1/000", "1.5/2", "1/-2", "0x10", "inf", "-inf", "nan", "1e", "e5", "1,5",
           "٣", True, False, None, [], b"1", 1j, np.bool_(True), float("nan"), float("inf"),
           np.float64("nan"), Decimal("nan"), Decimal("inf"),
           "1e100001", "1e-100001", "1e99999999999999999999"]  # fmt: skip


@pytest.mark.parametrize(("value", "number"), READ.items())
def test_numbers_are_read_exactly(value, number):
    assert exact.exact(value) == number
    assert type(exact.exact(value)) is Fraction


@pytest.mark.parametrize("value", REFUSED, ids=repr)
def test_what_states_no_number_is_refused(value):
    with pytest.raises(InvalidInput) as error:
        exact.exact(value, "a.b")
    assert error.value.key == "a.b"
    assert str(error.value).startswith("a.b must be ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("value", "number"), [
    (0.1, "1/10"), (np.float32(0.1), "1/10"), (np.float64(1.1), "11/10"), (np.float16(0.1), "1/10"), (1e-300, "1e-300"),
    (3.0, 3), (-0.0, 0), (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e308"),
    (0.1 + 0.2, "0.30000000000000004"), (1e22, 10**22), (np.int64(7), 7), (np.longdouble("0.1"), "1/10")])
def test_floats_are_the_decimals_they_print_as(value, number):
    assert exact.exact(value) == exact.exact(number) and type(exact.exact(value)) is Fraction


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_shortest_decimal_that_prints_it(value):
    number = exact.exact(value)
    assert float(number) == value and number == Fraction(repr(value))
    assert exact.exact(np.float64(value)) == number


def test_a_float_without_decimals_may_be_a_count():
    assert exact.count(5000.0) == exact.count(np.float64(5000)) == 5000
    for wrong in (5000.5, float("nan"), float("inf"), "5.0"):
        with pytest.raises(InvalidInput, match="an integer from 1"):
            exact.count(wrong)


@given(st.fractions())
def test_fractions_survive_their_text(number):
    assert exact.exact(exact.fraction_text(number)) == number


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_are_read_as_python_reads_them(number):
    assert exact.exact(number) == exact.exact(str(number)) == Fraction(number)


def test_numbers_longer_than_python_prints():
    tiny = exact.exact("3e-100000")
    assert tiny == Fraction(3, 10**100000)
    assert exact.exact(exact.fraction_text(tiny)) == tiny
    with pytest.raises(InvalidInput):
        exact.exact("1" * 500_000)


def test_domains():
    assert exact.probability("0") == 0
    assert exact.probability("1") == 1
    assert exact.non_negative(0) == 0
    for read, value in [(exact.probability, "1.5"), (exact.probability, -1), (exact.positive, 0),
                        (exact.non_negative, "-1e-9"), (exact.open_unit, "-0.5")]:  # fmt: skip
        with pytest.raises(InvalidInput):
            read(value)


def test_the_message_names_key_domain_and_value():
    with pytest.raises(InvalidInput) as error:
        exact.probability("1.5", "sampling.probability")
    assert str(error.value) == "sampling.probability must be a rational number in [0, 1], got '1.5'"
    assert pickle.loads(pickle.dumps(error.value)).value == "1.5"


@pytest.mark.parametrize(
    ("value", "meaning"), [("0", "pure"), (0, "pure"), ("1", "every mechanism"), ("2", "every")]
)
def test_delta_at_the_ends_says_what_it_would_mean(value, meaning):
    with pytest.raises(InvalidInput, match=meaning):
        exact.open_unit(value)


@pytest.mark.parametrize("value", [1, "14063", 10**12, Fraction(5, 1), np.int32(4)])
def test_counts(value):
    assert exact.count(value) == int(value)


@pytest.mark.parametrize(
    "value",
    [0, -1, 10**12 + 1, "0", "1.5", "14063.0", "1e3", 5.5, 1.5, True, None, Decimal(5), Fraction(3, 2), "٣"],
)
def test_what_is_no_count(value):
    with pytest.raises(InvalidInput, match=r"count must be an integer from 1 to 10\^12"):
        exact.count(value)


def test_messages_stay_on_one_short_line():
    for error in (
        InvalidInput("a\nb", "x\ny", "z\nw"),
        InvalidInput("a", 10**10000, "b"),
        InvalidInput("a", [10**10000], "b"),
        InvalidInput("a", Fraction(1, 10**10000), "b"),
        InvalidInput("a", "x" * 10000, "b"),
        Unsupported("reason\nmore", "key"),
    ):
        assert "\n" not in str(error)
        assert len(str(error)) < 200


@pytest.mark.parametrize("value", [0, -1, 1001, 10**30, True, 2.5, 12.0, "12", None, np.float64(3)], ids=repr)
def test_digits_are_refused(value):
    with pytest.raises(InvalidInput, match=r"^digits must be an integer from 1 to 1000, got ") as error:
        exact.digits(value)
    assert error.value.key == "digits" and error.value.value is value


def test_digits_are_kept():
    assert [exact.digits(value) for value in (1, 12, 1000)] == [1, 12, 1000]

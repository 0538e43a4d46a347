"""Curves: every point encloses what a question of its own encloses, as sharply, and many cost little more than one."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest
from flint import arb, ctx

from verified_dp import (
    Composition,
    DiscreteGaussian,
    Gaussian,
    InvalidInput,
    Laplace,
    MixtureOfGaussians,
    PoissonSampled,
    compose,
    privacy_profile,
)
from verified_dp.cli import main
from verified_dp.cli.tables import FORMS, table
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.questions import curve as module
from verified_dp.questions.curve import Curve, log10_ends, middle_first, read_points
from verified_dp.questions.many import Above, Many, Point, Points
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import Budget
from verified_dp.search.following import Following

TRAINING = compose((PoissonSampled(Gaussian("1.1"), "256/60000"), 14063))
CASES = [(TRAINING, "add-or-remove"), (TRAINING, "add"), (compose(Gaussian("1")), "add-or-remove"),
         (compose((Laplace("10", 1), 30)), "replace"), (compose((DiscreteGaussian("9", 1), 5)), "add-or-remove")]
SPEC = 'relation = "add-or-remove"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\n'


def test_few_lines_serve_all_points_and_are_asked_about_once_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, at = list[tuple[int, Fraction]](), Answer.at

    def noted(answer: Answer, epsilon: Fraction) -> Answer:
        asked.append((id(answer.values), epsilon))
        return at(answer, epsilon)

    monkeypatch.setattr(Answer, "at", noted)
    curve = privacy_profile(TRAINING, "add-or-remove").curve(epsilons=[Fraction(i, 10) for i in range(81)])
    lines = {one for one, _ in asked}
    assert len(lines) <= 3 and len(asked) <= 2 * len(curve)


@pytest.mark.parametrize(("composition", "relation"), CASES)
def test_points_enclose_as_questions_of_their_own(composition: Composition, relation: str) -> None:
    profile = privacy_profile(composition, relation)
    epsilons = [Fraction(i, 3) for i in range(-2, 10)]
    for eps, one in zip(epsilons, profile.curve(epsilons=epsilons, digits=5), strict=True):
        alone = profile.delta(eps, digits=5)
        assert one.overlaps(alone) and one.status == alone.status == "certified" and one.order == alone.order
    deltas = ["0.2", "1e-3", "1e-7"]
    for delta, one in zip(deltas, profile.curve(deltas=deltas, digits=4), strict=True):
        assert one.overlaps(profile.epsilon(delta, digits=4)) and one.status == "certified"


def test_many_points_cost_little_more_than_one(work: Callable[[Callable[[], object]], int]) -> None:
    """What remains for a point is its own sum and its decimals: less than a tenth of an evaluation."""
    def fresh() -> Any:
        return privacy_profile(TRAINING, "add-or-remove")

    fresh().delta(1)  # what is computed once in a process
    one = work(lambda: fresh().delta(3, digits=6))
    many = work(lambda: fresh().curve(epsilons=[Fraction(i, 50) for i in range(200)], digits=6))
    apart = work(lambda: [fresh().delta(Fraction(i, 50), digits=6) for i in range(100, 104)])
    assert many < 200 * one / 10 and many < 20 * apart / 4


@pytest.mark.parametrize(("composition", "most"), [
    (compose((PoissonSampled(Gaussian("1"), "1/100"), 5)), 3),  # two rays
    (compose((PoissonSampled(Gaussian("1"), "1/1000"), 2000)), 2),
    (compose((MixtureOfGaussians("2", ["0", "1", "2"], ["1/2", "1/4", "1/4"]), 20)), 8)])
def test_a_stretch_is_enclosed_as_its_points(composition: Composition, most: int) -> None:
    """At 12 digits by few evaluations, the ends of the stretch included."""
    profile = privacy_profile(composition, "add-or-remove")
    epsilons = [Fraction(most * i, 39) for i in range(40)]
    found = profile.delta(epsilons)
    assert all(one.status == "certified" for one in found)
    for i in (0, 1, 20, 39):
        assert found[i].overlaps(profile.delta(epsilons[i])) and found[i].order == profile.delta(epsilons[i]).order


@pytest.mark.theorem("T03-chernoff")
@pytest.mark.theorem("T44-infinity-mass")
def test_moments_show_an_order_smaller() -> None:
    """What they show holds, and near eps = 0, where the orders agree, they show nothing."""
    orders = [Following(loss) for loss in privacy_profile(TRAINING, "add-or-remove").losses]
    many, epsilons = Many(orders, 6, "auto"), [Fraction(i, 10) for i in range(81)]
    many.serve(epsilons, Budget(None), many.bits)
    many.deltas(epsilons, range(len(epsilons)), Budget(None))
    above, shown = many._above[orders[1]], list[Fraction]()
    for eps in epsilons[::8]:
        least = orders[0].enclose(eps, 20.0, "auto", Budget(None)).bounds.lower
        if above.is_below(eps, least):
            assert orders[1].enclose(eps, 20.0, "auto", Budget(None)).bounds.upper <= least
            shown.append(eps)
    assert Fraction(0) not in shown and len(shown) >= 5


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.theorem("T16-reversal")
def test_deltas_that_are_met_at_zero() -> None:
    """Many of them: eps is 0 by one value of delta(0); just below it is positive."""
    profile = privacy_profile(compose((PoissonSampled(Gaussian("1"), "1/1000"), 2000)), "add-or-remove")
    top = profile.delta(0, digits=9)
    deltas = [top.upper.as_fraction() * (1 + Fraction(i, 10)) for i in range(30)] + [
        top.lower.as_fraction() * (1 - Fraction(i, 40)) for i in range(1, 20)]
    found = profile.epsilon(deltas, digits=5)
    assert [one.upper == 0 for one in found] == [True] * 30 + [False] * 19
    assert all(one.status == "certified" for one in found) and found[40].overlaps(profile.epsilon(deltas[40], digits=5))


DELTAS = [Fraction(1, 10**4) / Fraction(11, 10)**i for i in range(60)]
LINES = [(TRAINING, "add-or-remove"), (TRAINING, "replace"), (compose(Gaussian("1")), "add-or-remove"),
         (compose((DiscreteGaussian("9", 1), 5)), "add-or-remove"), (compose((Laplace("10", 1), 30)), "add")]


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.parametrize(("composition", "relation"), LINES)
def test_lists_enclose_as_questions_of_their_own(composition: Composition, relation: str) -> None:
    """Above all where a guess between the outermost deltas is proved by two evaluations, in every order."""
    profile = privacy_profile(composition, relation)
    found = profile.epsilon(DELTAS)
    assert found.points == tuple(DELTAS) and found.quantity == "epsilon"
    for i in (0, 31, 58):
        alone = profile.epsilon(DELTAS[i])
        assert found[i].overlaps(alone) and found[i].digits == alone.digits
        assert found[i].status == alone.status == "certified" and found[i].order == alone.order


def test_deltas_in_any_order_with_those_that_no_guess_reaches() -> None:
    """0, 1, the delta of eps = 0, the same twice, and far out."""
    profile = privacy_profile(TRAINING, "add-or-remove")
    deltas = ["1e-5", 0, 1, "1e-300", "1/2", *DELTAS[:12], "1e-5"]
    found = profile.epsilon(deltas, digits=5)
    assert [one.upper.is_infinite for one in found[:5]] == [False, True, False, False, False]
    assert found[2].upper == found[4].upper == 0 and found[0].overlaps(found[-1])
    assert found[3].overlaps(profile.epsilon("1e-300", digits=5)) and found[3].status == "certified"


@pytest.mark.parametrize("digits", [3, 15, 30])
def test_lists_to_any_digits(digits: int) -> None:
    found = privacy_profile(TRAINING, "add-or-remove").epsilon(DELTAS[:20], digits=digits)
    assert all(one.status == "certified" and one.digits == digits for one in found)
    assert all(low.lower < high.upper for low, high in pairwise(found))


@pytest.mark.theorem("T26-connect-the-dots")
@pytest.mark.theorem("T16-reversal")
def test_the_other_order_is_bounded_by_chords() -> None:
    """Sharper than the larger end, never below the order's own delta; before what is known nothing is said."""
    orders = [Following(loss) for loss in privacy_profile(TRAINING, "add-or-remove").losses]
    above, budget = Above(), Budget(None)
    known = {eps: orders[1].enclose(Fraction(eps), 30.0, "auto", budget) for eps in (1, 2)}
    for eps, answer in known.items():
        above.add(Fraction(eps), answer)
    for eps in (Fraction(101, 100), Fraction(3, 2), Fraction(199, 100)):
        true = orders[1].enclose(eps, 30.0, "auto", budget).bounds
        assert true.lower <= above.bound(eps) < known[1].bounds.upper
    assert above.bound(Fraction(9, 10)) == 1
    assert above.bound(Fraction(21, 10)) == known[2].bounds.upper
    orders[0].enclose(Fraction(1), 30.0, "auto", budget)
    many = Many(orders, 6, "auto")
    found = many.deltas([Fraction(0), Fraction(3, 2), Fraction(-1)], range(3), budget)
    assert {i: one.order for i, one in found.items()} == {0: "both", 1: "remove"}


@pytest.mark.theorem("T237-between-chords")
@pytest.mark.parametrize("off", [Fraction(0), Fraction(1, 10**15), Fraction(-1, 10**9), Fraction(1, 10**4)])
def test_roots_between_chords(off: Fraction) -> None:
    """delta = e^-eps: chords over e^eps from both sides of log 10, or from it; other lines exclude it."""
    with ctx.workprec(200):
        root = arb(10).log()
        at = Fraction(str(float(root.mid()))) + off
        places = [at - Fraction(1, 9), at, at + Fraction(1, 8)]
        left, own, right = (Point.of(one, Bounds(*(
            (-ball(one)).exp() * (1 + side * arb(2) ** -180) for side in (-1, 1)), {}), "contour") for one in places)
        points = Points([right, left, own])
        ends = points.crossing(own, 1 / arb(10))
        assert ends is not None and ends[0] <= root <= ends[1] and ends[1] - ends[0] <= abs(ball(off)) + arb(2) ** -40
        assert points.crossing(own, arb(1)) is points.crossing(own, arb(1) / 1000) is None
        low = arb(1005) / 10**4  # a delta that is too small on the left side
        far = Points([own, right, Point.of(places[0], Bounds(low, low, {}), "")])
        if off > Fraction(1, 10**5):
            wrong = far.crossing(own, 1 / arb(10))
            assert wrong is not None and wrong[1] < root


def test_tiny_deltas_keep_their_logarithm() -> None:
    curve = privacy_profile(Gaussian("1"), "add-or-remove").curve(epsilons=[20, 40, 100])
    ends = [log10_ends((one.lower, one.upper)) for one in curve]
    assert all(low < high < low + 1e-6 for low, high in ends)
    assert [round(low) for low, _ in ends] == [-86, -342, -2154]  # 3.9089e-343, by bisection in mpmath


def test_logarithm_of_zero_and_of_a_given_delta() -> None:
    assert log10_ends((Fraction(0), Fraction(1, 1000))) == (-math.inf, pytest.approx(-3))


def test_rows_and_columns() -> None:
    curve = privacy_profile(Gaussian("2"), "add").curve(deltas=["1e-5", Fraction(1, 3)])
    assert curve.columns == ("delta", "epsilon_lower", "epsilon_upper", "status")
    assert [row[0] for row in curve.rows()] == ["1e-5", "1/3"] and len(curve[:1]) == 1
    assert curve.quantity == "epsilon" and repr(curve) == "Curve(2 enclosures of epsilon)"


def test_frame_is_made_by_pandas_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas:
        DataFrame = dict

    curve = privacy_profile(Gaussian("1"), "add").curve(epsilons=[1, 40])
    monkeypatch.setattr(module, "optional", lambda name, package: Pandas)
    frame = curve.to_frame()
    assert frame["epsilon"] == [1.0, 40.0] and frame["status"] == ["certified"] * 2
    assert frame["delta_lower"][0] <= 0.12693673750664394 <= frame["delta_upper"][0]
    assert frame["delta_lower"][1] == 0 < frame["delta_upper"][1] and frame["log10_delta_lower"][1] > -343


def test_missing_package_says_how_to_get_it() -> None:
    with pytest.raises(InvalidInput, match="pip install nothing_of_that_name"):
        module.optional("nothing_of_that_name", "nothing_of_that_name")


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_pictures(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    profile = privacy_profile(Gaussian("1"), "add")
    for number, curve in enumerate((profile.curve(epsilons=[1, 40, 60]), profile.curve(deltas=["1e-3", "1e-400"]))):
        path = tmp_path / f"{number}.{suffix}"
        axes = curve.plot(path=path, title="One release", claim=("1/3", "1e-350"))
        assert path.stat().st_size > 1000 and axes.get_ylim()[0] < -300
        assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("One release", "ε", "δ")
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["proved bound", "claim (1/3, 1e-350)"]
        assert axes.yaxis.get_major_formatter()(-300, 0) == "$10^{-300}$"


def test_the_command_draws_the_claim(run: Any) -> None:
    pytest.importorskip("matplotlib")
    Path("a.toml").write_text(f'{SPEC}\n[claim]\ntitle = "A title"\nsource = ""\nepsilon = "1.5"\ndelta = "1e-3"\n')
    assert run("--epsilon", "0:3:4", "--plot", "a.svg")[0] == 0
    shown = re.findall("<!-- (.*) -->", Path("a.svg").read_text(encoding="utf-8"))
    assert {"A title", "claim (1.5, 1e-3)", "proved bound"} <= set(shown)


@pytest.mark.parametrize(("arguments", "key"), [
    ({}, "epsilons"), ({"epsilons": [1], "deltas": ["0.1"]}, "epsilons"), ({"epsilons": [float("inf")]}, "epsilon"),
    ({"deltas": ["2"]}, "delta"), ({"epsilons": ["x"]}, "epsilon"), ({"epsilons": [1], "digits": 0}, "digits"),
    ({"epsilons": [1], "method": "prv"}, "method")])
def test_wrong_points(arguments: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        privacy_profile(Gaussian("1"), "add").curve(**arguments)
    assert caught.value.key == key


def test_no_points_are_a_curve() -> None:
    assert list(privacy_profile(Gaussian("1"), "add").curve(epsilons=[])) == []


def test_orders_are_complete() -> None:
    assert all(sorted(middle_first(n)) == list(range(n)) for n in range(40))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call `curve` on a.toml."""
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(SPEC, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["curve", "a.toml", *arguments])
        return code, *capsys.readouterr()

    return call


def test_json_and_csv(run: Any) -> None:
    code, out, err = run("--epsilon", "-1:1:3", "--csv", "a.csv", "--json")
    row = json.loads(out)
    assert (code, err, row["schema"], row["relation"]) == (0, "", "verified-dp/curve/1", "add-or-remove")
    assert [point["epsilon"] for point in row["points"]] == ["-1", "0", "1"]
    lines = list(csv.DictReader(Path("a.csv").read_text(encoding="utf-8").splitlines()))
    assert [(line["delta_lower"], line["delta_upper"], line["status"]) for line in lines] == [
        (point["delta"]["lower"], point["delta"]["upper"], point["status"]) for point in row["points"]]
    row = json.loads(run("--delta", "1e-5,1/3", "--json")[1])
    assert [set(point) for point in row["points"]] == [{"delta", "epsilon", "status"}] * 2


@pytest.mark.parametrize("form", FORMS)
def test_tables(run: Any, form: str) -> None:
    code, out, _ = run("--epsilon", "1,2", "--table", form)
    assert code == 0 and out.count("certified") == 2


def test_cells_are_escaped() -> None:
    assert table(["a"], [["x|y"]], "markdown")[-1] == "| x\\|y |"
    assert r"\$5\_\textbackslash{} \\" in table(["a"], [["$5_\\"]], "latex")
    assert table(["a"], [["x,y"]], "csv")[-1] == '"x,y"'


@pytest.mark.parametrize(("arguments", "key"), [
    (["--epsilon", "0:8"], "epsilon"), (["--epsilon", "0:8:1"], "epsilon (how many)"), (["--epsilon", "x"], "epsilon"),
    (["--epsilon", "1,"], "epsilon"), (["--delta", "2"], "delta"), ([], "--epsilon"),
    (["--epsilon", "1", "--plot", "x.gif"], "plot"),
    (["--epsilon", "1", "--table", "html"], "table"), (["--epsilon", "1", "--csv", "none/x.csv"], "csv"),
    (["--epsilon", "1", "--plot", "none/x.svg"], "plot"), (["b.toml", "--epsilon", "1", "--csv", "x"], "csv"),
    (["--epsilon", "1", "--method", "prv"], "method"), (["--epsilon", "1", "--digits", "x"], "digits")])
def test_wrong_input_is_one_line(run: Any, arguments: list[str], key: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2 and err.count("\n") == 1 and f"{key} " in err


def test_points_are_exact() -> None:
    assert read_points("0:1:4", "epsilon") == ["0", "1/3", "2/3", "1"]
    assert isinstance(Curve("epsilon", ["1/3"], []).points[0], Fraction)


ARRAYS = {"integers": numpy.array([1, 2]), "small ones": numpy.arange(3, dtype=numpy.uint8), "one": numpy.array([1]),
          "none": numpy.array([], dtype=int), "texts": numpy.array(["1", "1/2"]),
          "fractions": numpy.array([Fraction(1, 3), "1e-3"], dtype=object)}


class Column(list[object]):
    """As a column of a data frame: iterable, with neither a truth value nor one of its comparisons."""

    def __bool__(self) -> bool:
        raise ValueError("The truth value of a Series is ambiguous.")

    def __eq__(self, other: object) -> bool:
        raise ValueError("The truth value of a Series is ambiguous.")


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_asked_like_lists(name: str) -> None:
    profile, array = privacy_profile(compose(Gaussian("1")), "remove"), ARRAYS[name]
    listed = profile.curve(epsilons=list(array))
    for found in (profile.curve(epsilons=array), profile.curve(epsilons=Column(array))):
        assert found.points == listed.points == tuple(map(Fraction, array.tolist()))
        assert [(one.lower, one.upper) for one in found] == [(one.lower, one.upper) for one in listed]
    assert len(profile.delta(array)) == len(array)


@pytest.mark.parametrize("array", [
    numpy.linspace(0, 1, 3), numpy.array([0.1], dtype=numpy.float32), Column([1, 0.5]), Column([0.5])],
    ids=["doubles", "floats", "a column", "one"])
def test_floats_of_arrays_are_the_decimals_they_print_as(array: Any) -> None:
    profile = privacy_profile(compose(Gaussian("1")), "remove")
    texts = [str(one) for one in array]
    assert profile.curve(epsilons=array).points == tuple(map(Fraction, texts)) == profile.delta(array).points
    assert profile.epsilon(array).points == profile.curve(deltas=texts, digits=3).points
    assert profile.curve(epsilons=array).texts == tuple(texts)


@pytest.mark.parametrize("points", [
    numpy.array(1), numpy.ones((2, 2), dtype=int), numpy.array([True]), numpy.array([numpy.nan]), 3, "1,2", b"12"],
    ids=["no dimension", "two", "booleans", "nan", "a number", "a text", "bytes"])
def test_what_is_no_list_of_numbers_is_told_in_one_line(points: Any) -> None:
    profile = privacy_profile(compose(Gaussian("1")), "remove")
    for ask in (lambda: profile.curve(epsilons=points), lambda: profile.curve(deltas=points),
                lambda: profile.tradeoff().beta(numpy.array([0.5]))):
        with pytest.raises(InvalidInput, match=r"^(epsilon|delta|alpha) must be .*, got"):
            ask()

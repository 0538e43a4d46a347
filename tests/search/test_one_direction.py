"""The loop over plans: the quickest that promises enough, more bits after a miss, the files that a question enters."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import FrameType

import pytest
from flint import arb

import verified_dp
from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import COARSE, OneDirection
from verified_dp.search.planners.plan import Asked, Plan, Planner
from verified_dp.search.planners.table import Candidate, Row

PLAIN = ComposedLoss("symmetric", (), Fraction(1))


class Fake(Planner):
    """A planner that gives so many bits fewer than it promises, up to some, in so many seconds."""

    def __init__(self, loses: float = 0.0, seconds: float = 0.0, most: float = 1000.0) -> None:
        self.loses, self.seconds, self.most = loses, seconds, most
        self.asked: list[Asked] = []

    def plan(self, asked: Asked) -> Plan | None:
        self.asked.append(asked)
        bits = min(asked.bits, self.most)
        witness = ClosedFormWitness(max(int(10 * (bits - self.loses)), 2))  # its bits say how wide the answer shall be
        return Plan(bits, self.seconds, lambda: witness)


class Faked(OneDirection):
    """A direction of some fake planners, whose evaluation is as wide as its witness says."""

    def __init__(self, planners: Sequence[tuple[int, float, Planner]]) -> None:
        super().__init__(PLAIN)
        self.used: list[int] = []
        found = []
        for i, (rank, planning, planner) in enumerate(planners):
            one = Candidate(Row(str(i), "Fake", "contour", rank, planning, lambda loss: True), self)
            one.__dict__["planner"] = planner
            found.append(one)
        self.__dict__["candidates"] = tuple(found)

    def evaluate(self, epsilon: Fraction, witness: Witness, *_: object) -> Answer:
        self.used.append(witness.prec)
        width = Fraction(1, 2 ** (witness.prec // 10))
        return Answer(epsilon, witness, ExactWitness(64).evaluate(PLAIN), Bounds(ball(1 - width), arb(1), {}))


def ask(direction: OneDirection, bits: float, seconds: float | None = 10.0) -> float:
    return width_bits(direction.enclose(Fraction(1), bits, "auto", Budget(seconds)).bounds)


def test_the_quickest_plan_is_evaluated() -> None:
    slow, quick = Fake(seconds=3.0), Fake(seconds=1.0)
    direction = Faked([(0, 0.0, slow), (0, 0.0, quick)])
    assert ask(direction, 20.0) >= 20 and len(direction.used) == 1
    assert len(slow.asked) == len(quick.asked) == 1


def test_no_plan_is_made_that_takes_longer_than_the_quickest_one() -> None:
    quick, late = Fake(seconds=0.05), Fake()
    assert ask(Faked([(0, 0.0, quick), (0, 0.1, late)]), 20.0) >= 20 and not late.asked
    slow = Fake(seconds=0.5)
    assert ask(Faked([(0, 0.0, slow), (0, 0.1, late)]), 20.0) >= 20 and late.asked


@pytest.mark.parametrize("loses", [3.0, 17.0])
def test_a_miss_is_asked_for_again(loses: float) -> None:
    planner = Fake(loses)
    direction = Faked([(0, 0.0, planner)])
    assert ask(direction, 20.0) >= 20 and len(direction.used) == 2
    assert ask(direction, 20.0) >= 20 and len(direction.used) == 3  # the next question knows what was missed


def test_a_blunt_method_is_asked_where_sharp_ones_give_little() -> None:
    sharp, blunt = Fake(most=5.0), Fake()
    assert ask(Faked([(0, 0.0, sharp), (2, 0.0, blunt)]), 40.0) >= COARSE
    assert [asked.bits for asked in blunt.asked] == [COARSE + blunt.spare]
    sharp, blunt = Fake(most=20.0), Fake()
    assert ask(Faked([(0, 0.0, sharp), (2, 0.0, blunt)]), 40.0) == pytest.approx(20, abs=0.2) and not blunt.asked


def test_what_promises_less_is_not_repeated() -> None:
    direction = Faked([(0, 0.0, Fake(most=9.0))])
    ask(direction, 40.0)
    assert len(direction.used) == 1


class Overflowing(Fake):
    """A planner whose choices are out of floating point."""

    def plan(self, asked: Asked) -> Plan | None:
        return Plan(math.log(asked.bits - asked.bits), 0.0, lambda: ClosedFormWitness(2))


def test_a_planner_out_of_floats_leaves_the_question_to_others() -> None:
    assert ask(Faked([(0, 0.0, Overflowing()), (0, 0.0, Fake())]), 20.0) >= 20


def test_the_method_is_named_where_none_applies() -> None:
    with pytest.raises(Unsupported, match="no closed form"):
        Faked([(0, 0.0, Fake())]).enclose(Fraction(1), 10.0, "closed-form", Budget(1.0))


def test_an_epsilon_of_dp_sgd_enters_no_file_that_only_declines() -> None:
    """Files entered: 48 before there were planners."""
    steps = compose((PoissonSampled(Gaussian("1.1"), "256/60000"), 14063))
    privacy_profile(steps, relation="add-or-remove").epsilon("1e-5")  # everything is loaded
    profile = privacy_profile(steps, relation="add-or-remove")
    root, seen = Path(verified_dp.__file__).parent, set[str]()

    def enter(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{root}/"):
            seen.add(str(Path(frame.f_code.co_filename).relative_to(root)))

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        profile.epsilon("1e-5")
    finally:
        sys.setprofile(before)
    assert {file for file in seen if file.startswith("search/planners")} == {
        f"search/planners/{name}.py" for name in ("line", "plan", "table")}
    engines = {Path(file).stem for file in seen if file.startswith("core/engines")}
    assert engines <= {"contour", "direct", "lines", "mixture_lines", "nodes", "powers", "rules", "shared"}
    assert not any(file.startswith("questions/") for file in seen)
    assert len(seen) <= 43, sorted(seen)  # 39 before what only some engines use left the kernel


def test_planners_are_filtered_by_what_laws_offer() -> None:
    loss = privacy_profile(compose((PoissonSampled(Gaussian(1), "1/10"), 100)), "remove").losses[0]
    found = [one.row.name for one in OneDirection(loss).candidates if one.planner]
    assert found[0] == "Line" and not {"Exact", "Closed", "Halves", "Epochs", "Outcomes", "Moment"} & set(found)
    plain = [one.row.file for one in OneDirection(PLAIN).candidates if one.planner]
    assert "closed" in plain and not {"halves", "epochs", "rays"} & set(plain)

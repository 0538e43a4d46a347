"""Write InstanceData.v: the problems that Instances.v decides inside Coq.

    python proofs/coq/write_instance_data.py

The laws come from the package; nothing here is trusted, for Instances.v checks or states what it uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import Above
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.verifiers.formal import FormalPart, Kind
from verified_dp.verifiers.record_formal import Arithmetic, Composed, build_part

HEAD = """\
(* 18a. Data of Instances.v, written by write_instance_data.py: nothing is proved or assumed here. *)
Require Import ZArith List.
From VerifiedDP Require Import Checker.
Import ListNotations.
Open Scope Z_scope.
"""


def response() -> FormalPart:
    """16-fold randomised response with odds e^(1/2) : 1, at eps = 2, from above."""
    bits, count, step, epsilon = 60, 16, Fraction(1, 2), Fraction(2)
    with ctx.workprec(200):
        truth = 1 / (1 + (-arb(1) / 2).exp())
        masses = [Above.integer(mass * arb((1, bits))) for mass in (1 - truth, arb(0), truth)]
    arithmetic = Arithmetic("above", bits, 0)
    composed, products = arithmetic.power(Composed(-1, masses, 0), count)
    return FormalPart("remove", "above", epsilon, step, bits, 200, (Kind(count, -1, 0, tuple(masses)),),
                      tuple(products), arithmetic.delta(composed, epsilon, step))


def gaussian(side: str) -> FormalPart:
    """16 Gaussian steps of noise 4 on 1024 points, at eps = 1."""
    law, grid = GaussianLoss(Fraction(1, 16), "remove"), LawGrid(-496, ((1023, 1),))
    return build_part([(law, 16)], "remove", side, Fraction(1), Fraction(1, 8), Fraction(1, 256), grid)


def listed(words: Iterable[object]) -> str:
    """A Coq list, in lines of bearable length."""
    lines, line = [], ""
    for word in words:
        if len(line) > 100:
            lines.append(line)
            line = ""
        line += f"{word}; "
    return "[" + "\n   ".join([*lines, line]).strip().removesuffix(";") + "]"


def coq(name: str, part: FormalPart) -> str:
    """The definition of a problem."""
    side, (kind,) = part.side.capitalize(), part.kinds
    hints = listed(f"{{| first_index := {p.first}; last_index := {p.last}; sum := {p.sum}; infinity := {p.infinity}; "
                   f"coarser := {p.coarser} |}}" for p in part.products)
    return f"""
Definition {name} : problem := {{|
  direction := {side}; bits := {part.bits};
  eps_num := {part.epsilon.numerator}; eps_den := {part.epsilon.denominator};
  h_num := {part.step.numerator}; h_den := {part.step.denominator};
  kinds := [{{| count := {kind.count}; step_law := {{| low := {kind.low}; inf := {kind.infinity}; mass :=
  {listed(kind.masses)} |}} |}}];
  hints := {hints};
  bound := {part.bound} |}}.
"""


def main() -> None:
    """Write the file, and print the bounds."""
    parts = {"response": response(), "gaussian_above": gaussian("above"), "gaussian_below": gaussian("below")}
    text = HEAD + "".join(coq(name, part) for name, part in parts.items())
    (Path(__file__).parent / "InstanceData.v").write_text(text.replace(":= -", ":= - "), encoding="utf-8")
    for name, part in parts.items():
        print(name, part.points, part.bits, part.bound, part.delta.numerator / part.delta.denominator)


if __name__ == "__main__":
    main()

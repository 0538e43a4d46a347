"""verified-dp curve: many points of one profile, as table, JSON, CSV or picture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from verified_dp.cli.inputs import load_spec
from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import Limits
from verified_dp.cli.output import ANSWERED, Output, Row, for_each, schema, store
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.reading import reason
from verified_dp.terminal import Progress, escaped

if TYPE_CHECKING:
    from verified_dp.core.kernel.composition import Claim
    from verified_dp.questions.curve import Curve

EXAMPLES = """\
examples:
  verified-dp curve claim.toml --epsilon 0:8:81 --plot curve.svg
  verified-dp curve claim.toml --delta 1e-5,1e-50,1e-200 --digits 8 --table markdown"""


def add(command: ArgumentParser) -> None:
    """The options of curve, without those that say how long to compute."""
    command.set_defaults(run=run_curve, set=[])
    at = command.add_mutually_exclusive_group(required=True)
    at.add_argument("--epsilon", metavar="E,...", help="enclose delta at these; 0:8:81 is from 0 to 8, 81 of them")
    at.add_argument("--delta", metavar="D,...", help="enclose epsilon at these, between 0 and 1")
    command.add_argument("--digits", metavar="N", help="significant digits to prove (6; 4 on a lattice)")
    command.add_argument("--method", default="auto", metavar="M", help="auto, closed-form, contour, lattice (auto)")
    command.add_argument("--table", default="text", metavar="FORM", help="text, markdown, latex or csv (text)")
    command.add_argument("--csv", metavar="FILE", help="write the points there too")
    command.add_argument("--plot", metavar="FILE", help="draw delta over epsilon and the claim: .svg, .pdf or .png")


def run_curve(args: Namespace, out: Output) -> int:
    """verified-dp curve SPEC... (--epsilon 0:8:81 | --delta 1e-5,1e-50)"""
    from verified_dp.cli.tables import table
    from verified_dp.questions.curve import read_points

    limits, given = Limits.of(args), "epsilon" if args.delta is None else "delta"
    texts = read_points(getattr(args, given), given)
    table([], [], args.table)  # the form is known, before anything is computed
    check_places(args, ("csv", "plot"))

    def work(file: str) -> int:
        curve, claim = _curve(file, given, texts, limits)
        out.result(curve_row(curve), lambda: table(curve.columns, curve.rows(), args.table))
        if args.csv is not None:
            rows = table(curve.columns, curve.rows(), "csv")
            store(args.csv, "".join(f"{line}\n" for line in rows).encode(), "csv")
        if args.plot is not None:
            draw(curve, args.plot, claim)
        return ANSWERED

    return for_each(args.files, work, out)


def check_places(args: Namespace, keys: tuple[str, ...]) -> None:
    """A file that is written holds one answer."""
    from verified_dp.questions.curve import PICTURES

    for key in keys:
        if (place := getattr(args, key)) is not None and len(args.files) > 1:
            raise InvalidInput(key, place, "left out with several specifications")
    if args.plot is not None and Path(args.plot).suffix.lower() not in PICTURES:
        raise InvalidInput("plot", args.plot, "a file name that ends with " + ", ".join(PICTURES))


def draw(curve: Curve, place: str, claim: Claim | None) -> None:
    """The picture, in a file, with the specification's claim."""
    title, stated = (claim.title, (claim.epsilon_text, claim.delta_text)) if claim is not None else ("", None)
    try:
        curve.plot(path=place, title=escaped(title), claim=stated)
    except OSError as error:
        raise InvalidInput("plot", place, f"a file that can be written ({reason(error)})") from None


def _curve(file: str, given: str, texts: list[str], limits: Limits) -> tuple[Curve, Claim | None]:
    from verified_dp.profile import privacy_profile

    with Progress(file) as progress, best_so_far():
        spec = load_spec(file)
        profile = privacy_profile(spec, progress=progress)
        return profile.curve(**{f"{given}s": texts}, digits=limits.digits, method=limits.method,
                             max_seconds=limits.max_seconds), spec.claim


def curve_row(curve: Curve) -> Row:
    """The object of curve."""
    points = [{curve.given: at, curve.quantity: {"lower": low, "upper": high}, "status": status}
              for at, low, high, status in curve.rows()]
    return {"schema": schema("curve"), "relation": curve.relation, "points": points}

"""verified-dp calibrate: the parameter that just meets (epsilon, delta), proved from both sides."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from verified_dp.cli.inputs import load_spec
from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import Limits
from verified_dp.cli.output import ANSWERED, Output, Row, for_each, schema
from verified_dp.terminal import Progress

if TYPE_CHECKING:
    from verified_dp.calibration import Calibration

_SEARCH_SHARE = 0.6
"""Of the stated seconds, where certificates are to be written after the search."""
EXAMPLES = """\
examples:
  verified-dp calibrate claim.toml --solve noise_multiplier --epsilon 3 --delta 1e-5
  verified-dp calibrate claim.toml --solve count --epsilon 3 --delta 1e-5 --digits 6 --out certificates"""


def add(command: ArgumentParser) -> None:
    """The options of calibrate."""
    command.set_defaults(run=run_calibrate, method="auto", set=[])
    command.add_argument("--solve", required=True, metavar="KEY",
                         help="noise_multiplier, count, sampling_probability, sigma or scale, of exactly one mechanism")
    command.add_argument("--epsilon", required=True, metavar="E", help="the target's")
    command.add_argument("--delta", required=True, metavar="D", help="the target's, between 0 and 1")
    command.add_argument("--digits", metavar="N", help="significant digits of the value (4)")
    command.add_argument("--out", metavar="DIR", help="write certificates of the value (proved) and its neighbour "
                         "(refuted) to DIR/NAME-met.json and DIR/NAME-missed.json")


def run_calibrate(args: Namespace, out: Output) -> int:
    """verified-dp calibrate SPEC... --solve KEY --epsilon E --delta D"""
    from verified_dp.cli.commands import certificate_paths
    from verified_dp.core.kernel import exact

    exact.non_negative(args.epsilon, "epsilon")
    exact.open_unit(args.delta, "delta")
    limits, places = Limits.of(args), certificate_paths(args.files, args.out)

    def work(file: str) -> int:
        place = next(places)
        start = time.monotonic()
        found = _calibrated(file, args, limits if place is None else limits.share(_SEARCH_SHARE))
        kept = {} if place is None else _certified(found, file, place, limits.after(start))
        out.result({**calibration_row(found), **kept}, lambda: calibration_lines(found, list(kept.values()), limits))
        return ANSWERED

    return for_each(args.files, work, out)


def _calibrated(file: str, args: Namespace, limits: Limits) -> Calibration:
    from verified_dp.calibration import calibrate

    with Progress(file, limits.max_seconds) as progress, best_so_far():
        return calibrate(load_spec(file), solve=args.solve, epsilon=args.epsilon, delta=args.delta,
                         digits=limits.digits or 4, progress=progress, max_seconds=limits.max_seconds)


def _certified(found: Calibration, file: str, place: str, limits: Limits) -> dict[str, str]:
    """Certificates of both claims: one proved, one refuted, if there is one."""
    from verified_dp.cli.commands import certify_spec

    stem, limits = place.removesuffix(".json"), replace(limits.share(0.5), digits=None)
    certify_spec(found.met, file, limits, f"{stem}-met.json")
    if found.missed is None:
        return {"certificate": f"{stem}-met.json"}
    certify_spec(found.missed, file, limits, f"{stem}-missed.json")
    return {"certificate": f"{stem}-met.json", "neighbour_certificate": f"{stem}-missed.json"}


def calibration_row(found: Calibration) -> Row:
    """The object of calibrate."""
    from verified_dp.calibration import plain
    from verified_dp.cli.answers import ends

    return {"schema": schema("calibration"), "solve": found.solve, "value": plain(found.value),
            "neighbour": None if found.neighbour is None else plain(found.neighbour),
            "target": {"epsilon": found.target.epsilon_text, "delta": found.target.delta_text},
            "at_value": ends(found.at_value),
            "at_neighbour": None if found.at_neighbour is None else ends(found.at_neighbour), "status": found.status,
            "relation": found.at_value.relation, "tight": found.at_value.tight}


def calibration_lines(found: Calibration, certificates: list[str], limits: Limits) -> list[str]:
    """The value and its neighbour for people."""
    from verified_dp.calibration import plain
    from verified_dp.cli.text import assumed, field, number_words, standing_lines
    from verified_dp.core.kernel.dyadic import decimal_down

    at = f"at delta = {found.target.delta_text}"
    meets, misses = number_words(found.at_value), "no value is proved to miss the target"
    if found.at_neighbour is not None and found.neighbour is not None:
        low = found.at_neighbour.lower_decimal if limits.verbose else decimal_down(found.at_neighbour.lower, 5)
        misses = f"{plain(found.neighbour)} gives at least {low}"
    lines = [
        f"{found.solve} = {plain(found.value)} meets epsilon = {found.target.epsilon_text} {at}, proved",
        *(["  the search stopped before the last such value; more --max-seconds may find a better one"]
          if found.status == "wide" else []),
        *field("gives", f"{meets[0]}; {misses}, above the target" if found.at_neighbour else f"{meets[0]}; {misses}")]
    if not limits.verbose:
        lines.append(assumed(found.at_value.convention))
    else:
        lines += [*field("between", f"{found.at_value.lower_decimal} and {found.at_value.upper_decimal}"),
                  *standing_lines(found.at_value), *field("relation", found.at_value.relation),
                  *field("convention", found.at_value.convention)]
    return lines + [line for place in certificates for line in field("certificate", place)]

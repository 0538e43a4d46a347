"""verified-dp calibrate: the parameter that just meets (epsilon, delta), proved from both sides."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from verified_dp.cli.output import ANSWERED, Output, Row, for_each, schema

if TYPE_CHECKING:
    from verified_dp.calibration import Calibration

EXAMPLES = """\
examples:
  verified-dp calibrate claim.toml --solve noise_multiplier --epsilon 3 --delta 1e-5
  verified-dp calibrate claim.toml --solve count --epsilon 3 --delta 1e-5 --digits 6 --out certificates"""


def add_calibrate(command: ArgumentParser) -> None:
    """The options of calibrate."""
    command.set_defaults(run=run_calibrate, suffix=".toml", method="auto", set=[], max_seconds=None)
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
    from verified_dp.cli.limits import read_digits
    from verified_dp.core import exact

    exact.non_negative(args.epsilon, "epsilon")
    exact.open_unit(args.delta, "delta")
    digits, places = read_digits(args.digits) or 4, certificate_paths(args.files, args.out)

    def work(file: str) -> int:
        place = next(places)
        found = _calibrated(file, args, digits)
        kept = {} if place is None else _certified(found, file, place, args)
        out.result({**calibration_row(found), **kept}, lambda: _lines(found, list(kept.values())))
        return ANSWERED

    return for_each(args.files, work, out)


def _calibrated(file: str, args: Namespace, digits: int) -> Calibration:
    from verified_dp.calibration import calibrate
    from verified_dp.cli.inputs import load_spec
    from verified_dp.terminal import Progress

    with Progress(file) as progress:
        return calibrate(load_spec(file), solve=args.solve, epsilon=args.epsilon, delta=args.delta, digits=digits,
                         progress=progress)


def _certified(found: Calibration, file: str, place: str, args: Namespace) -> dict[str, str]:
    """Certificates of both claims: one proved, one refuted."""
    from verified_dp.cli.commands import certify_spec
    from verified_dp.cli.limits import Limits

    limits, stem = Limits(None, "auto", None, {}), place.removesuffix(".json")
    places = {"certificate": f"{stem}-met.json", "neighbour_certificate": f"{stem}-missed.json"}
    for where, spec in zip(places.values(), (found.met, found.missed), strict=True):
        certify_spec(spec, file, limits, where)
    return places


def calibration_row(found: Calibration) -> Row:
    """The object of calibrate."""
    from verified_dp.calibration import plain
    from verified_dp.cli.answers import ends

    return {"schema": schema("calibration"), "solve": found.solve, "value": plain(found.value),
            "neighbour": plain(found.neighbour),
            "target": {"epsilon": found.target.epsilon_text, "delta": found.target.delta_text},
            "at_value": ends(found.at_value), "at_neighbour": ends(found.at_neighbour),
            "relation": found.at_value.relation, "tight": found.at_value.tight}


def _lines(found: Calibration, certificates: list[str]) -> list[str]:
    from verified_dp.calibration import plain
    from verified_dp.cli.text import field, standing_lines

    at = f"at delta = {found.target.delta_text}"
    return [
        f"{found.solve} = {plain(found.value)} is proved to meet epsilon = {found.target.epsilon_text} {at}",
        *field("value", f"{plain(found.value)}: epsilon = {found.at_value} {at}"),
        *field("neighbour", f"{plain(found.neighbour)}: epsilon = {found.at_neighbour} {at}, above the target"),
        *standing_lines(found.at_value), *field("relation", found.at_value.relation),
        *field("convention", found.at_value.convention),
        *(line for place in certificates for line in field("certificate", place))]

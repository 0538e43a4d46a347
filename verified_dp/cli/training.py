"""verified-dp dpsgd: one line in, the answer of `epsilon`, `delta` or `certify` out, or the specification."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import Limits, read_claim
from verified_dp.cli.output import ANSWERED, VERDICTS, Output, Row
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.terminal import Progress

if TYPE_CHECKING:
    from fractions import Fraction

    from verified_dp.cli.pages import Pages
    from verified_dp.core.kernel.composition import Claim
    from verified_dp.enclosure import Enclosure
    from verified_dp.questions.training import Training

EXAMPLES = """\
examples:
  verified-dp dpsgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60 \\
      --sampling poisson --delta 1e-5
  verified-dp dpsgd --noise-multiplier 1.1 --sampling-probability 8/1875 --steps 14063 \\
      --sampling poisson --claim 3.01,1e-5 --out certificates
  verified-dp dpsgd --batch-size 256 --dataset-size 50000 --epochs 30 --sampling poisson \\
      --target-epsilon 1 --delta 1e-5
  verified-dp dpsgd --noise-multiplier 1.1 --sampling-probability 0.01 --epochs 10 --sampling poisson --toml"""

NAME = "dpsgd"
"""What stands for a file's name."""


def add(command: ArgumentParser) -> None:
    """The options of dpsgd."""
    command.set_defaults(run=run_dpsgd, method="auto", set=[])
    command.add_argument("--noise-multiplier", metavar="S", help="sigma / largest norm of one record's gradient")
    command.add_argument("--sampling", default="poisson", metavar="SCHEME",
                         help="how batches are drawn: poisson (where none is stated), random-allocation, shuffled, "
                              "cyclic-poisson, truncated-poisson, without-replacement (a fixed size), with-replacement")
    command.add_argument("--sampling-probability", metavar="Q", help="with which each record enters each batch")
    command.add_argument("--batch-size", metavar="B", help="the expected one; with --dataset-size instead of Q")
    command.add_argument("--groups", metavar="G", help="that take turns (cyclic-poisson)")
    command.add_argument("--largest-batch", metavar="M", help="beyond which a batch is cut (truncated-poisson)")
    command.add_argument("--dataset-size", metavar="N", help="number of records")
    command.add_argument("--steps", metavar="K", help="number of batches")
    command.add_argument("--epochs", metavar="E", help="instead of steps: ceil(E * N / B) of them")
    command.add_argument("--relation", default="add-or-remove", metavar="R",
                         help="add, remove, zero-out or replace (add-or-remove)")
    asked = command.add_mutually_exclusive_group()
    asked.add_argument("--delta", metavar="D", help="enclose epsilon at this delta")
    asked.add_argument("--epsilon", metavar="E", help="enclose delta at this epsilon")
    asked.add_argument("--claim", metavar="E,D", help="prove or refute (epsilon, delta)")
    command.add_argument("--target-epsilon", metavar="E", help="with --delta: find what just meets (E, delta)")
    command.add_argument("--solve", default="noise-multiplier", metavar="WHAT",
                         help="what to find: noise-multiplier, steps or batch-size (noise-multiplier)")
    command.add_argument("--toml", action="store_true", help="print the specification instead, with the claim if given")
    command.add_argument("--out", metavar="DIR", help="write the claim's certificate to DIR/dpsgd.json")
    command.add_argument("--html", metavar="FILE", help="write the claim's page there")
    command.add_argument("--digits", metavar="N", help="significant digits to prove (12)")


def run_dpsgd(args: Namespace, out: Output) -> int:
    """verified-dp dpsgd --noise-multiplier S --sampling SCHEME ... (--delta D | --epsilon E | --claim E,D | --toml)

    Or --target-epsilon E --delta D, without what is solved for.
    """
    from verified_dp.cli.pages import pages_or_none
    from verified_dp.questions.training import Training

    if args.target_epsilon is not None:
        return _solved(args, Limits.of(args), out)
    if args.noise_multiplier is None:
        raise InvalidInput("noise-multiplier", None, "given, or --target-epsilon E to find the least noise for it")
    training = Training(args.noise_multiplier, args.sampling, args.sampling_probability, args.batch_size,
                        args.dataset_size, args.steps, args.epochs, args.relation, args.groups, args.largest_batch)
    claim, limits = _claim(args.claim, training), Limits.of(args)
    for key, written in (("out", "certificate"), ("html", "page")):
        if claim is None and (place := getattr(args, key)) is not None:
            raise InvalidInput(key, place, f"left out: only --claim has a {written}")
    if args.toml:
        out.write(training.toml(claim).splitlines())
        return ANSWERED
    if claim is None and args.delta is None and args.epsilon is None:
        raise InvalidInput("delta", None, "given (or epsilon, claim or toml instead)")
    pages = pages_or_none(args.html, [NAME], limits)
    return (_certified(training, claim, limits, args.out, pages, out) if claim
            else _answered(training, args, limits, out))


def _solved(args: Namespace, limits: Limits, out: Output) -> int:
    """The least noise, the most steps or the largest batch that meet the target."""
    from verified_dp.cli.calibrating import calibration_lines, calibration_row
    from verified_dp.core.kernel.exact import open_unit
    from verified_dp.training import solve_training

    for key in ("epsilon", "claim", "out", "html"):
        if (given := getattr(args, key)) is not None:
            raise InvalidInput(key, given, "left out with --target-epsilon")
    if args.delta is None:
        raise InvalidInput("delta", None, "given with --target-epsilon")
    open_unit(args.delta, "delta")
    stated = {key: getattr(args, key) for key in ("noise_multiplier", "sampling", "sampling_probability", "batch_size",
                                                  "dataset_size", "steps", "epochs", "relation", "groups",
                                                  "largest_batch")}
    with Progress(NAME, limits.max_seconds) as progress, best_so_far():
        found = solve_training(args.solve, args.target_epsilon, args.delta, digits=limits.digits,
                               max_seconds=limits.max_seconds, progress=progress, **stated)
    if args.toml:
        from verified_dp.interop.writing import spec_toml

        out.write(spec_toml(found.met).splitlines())
        return ANSWERED
    out.result(calibration_row(found), lambda: calibration_lines(found, [], limits))
    return ANSWERED


def _claim(text: str | None, training: Training) -> Claim | None:
    """EPSILON,DELTA as a claim, whose source says what the specification does not."""
    from verified_dp.core.kernel import exact
    from verified_dp.core.kernel.composition import Claim

    if (texts := read_claim(text)) is None:
        return None
    numbers = exact.non_negative(texts[0], "claim.epsilon"), exact.open_unit(texts[1], "claim.delta")
    return Claim("DP-SGD", f"the command line: {training.stated()}", *numbers, *texts)


def _answered(training: Training, args: Namespace, limits: Limits, out: Output) -> int:
    from verified_dp.cli.answers import result_row
    from verified_dp.cli.commands import answer_text, enclose
    from verified_dp.cli.text import field
    from verified_dp.core.kernel import exact

    quantity, given = ("epsilon", "delta") if args.epsilon is None else ("delta", "epsilon")
    typed = getattr(args, given)
    at = exact.exact(typed, given) if given == "epsilon" else exact.open_unit(typed, given)
    spec = training.spec()
    found = enclose(spec, NAME, quantity, at, limits)
    out.result({**result_row(found, given, typed), **_beside(training)}, lambda: answer_text(
        found, f"{given} = {typed}", spec, limits,
        [*field("sampling", training.derived()), *_instead(training, found, quantity, at)]))
    return ANSWERED


def _certified(training: Training, claim: Claim, limits: Limits, folder: str | None, pages: Pages | None,
               out: Output) -> int:
    from verified_dp.cli.commands import certificate_paths, certify_spec, verdict_row, verdict_text
    from verified_dp.cli.text import field

    spec, (place,) = training.spec(claim), certificate_paths([NAME], folder)
    judged = certify_spec(spec, NAME, limits, place)
    page = None if pages is None else pages.add(NAME, judged.document)
    out.result({**verdict_row(judged, page), **_beside(training)}, lambda: [
        *verdict_text(judged, limits, page), *field("sampling", training.derived())])
    return VERDICTS[judged.verdict] if pages is None else pages.code(VERDICTS[judged.verdict])


SECONDS_INSTEAD = 20.0
"""For each way to draw batches that would have a narrow answer."""


def _instead(training: Training, found: Enclosure, quantity: str, at: Fraction) -> list[str]:
    """Of shuffled batches: what the same training would have under two schemes of which the number itself is known."""
    from dataclasses import replace

    from verified_dp.cli.commands import enclose
    from verified_dp.cli.text import SHOWN, field, number_words
    from verified_dp.core.kernel.errors import VerifiedDPError

    if training.sampling != "shuffled" or found.status != "wide":
        return []
    drawn = {"poisson": (training, "every record in each batch by a coin of its own"),
             "random-allocation": (replace(training, batch_size=None, dataset_size=None,
                                           sampling_probability=f"1/{training.batches}"),
                                   f"every record in one of the {training.batches} batches of an epoch, by lot")}
    lines: list[str] = []
    for scheme, (other, words) in drawn.items():
        try:
            spec = replace(other, sampling=scheme).spec()
            answer = enclose(spec, scheme, quantity, at, Limits(SHOWN + 1, "auto", SECONDS_INSTEAD, {}))
        except VerifiedDPError:
            continue
        head, tail = number_words(answer)
        told = f"{head}; {tail}" if tail else head
        lines += field("" if lines else "instead", f"--sampling {scheme}: {told} ({words})")
    return lines


def _beside(training: Training) -> Row:
    from verified_dp.core.kernel.exact import fraction_text

    return {"sampling": {"scheme": training.sampling, "probability": fraction_text(training.probability)},
            "steps": training.count}

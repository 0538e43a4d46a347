"""`convert` and `certify --history`: other libraries' files as specifications, and claims that hold for them."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verified_dp.cli.commands import (
    VERDICTS,
    certificate_paths,
    certify_spec,
    enclose,
    run_certify,
    verdict_row,
    verdict_text,
)
from verified_dp.cli.output import ANSWERED, Output
from verified_dp.core.kernel.errors import InvalidInput, Unsupported, with_file

if TYPE_CHECKING:
    from verified_dp.cli.limits import Limits
    from verified_dp.cli.text import Judged
    from verified_dp.core.kernel.composition import Spec
    from verified_dp.interop.reading import Converted

REGISTRY = "registry"
SOURCES = ("opacus", "dp-accounting", "tf-privacy")
_CLAIMED_DIGITS = 6


def run_convert(args: Namespace, out: Output) -> int:
    """verified-dp convert FILE --from opacus|dp-accounting|tf-privacy|registry, or SPEC --to registry"""
    from verified_dp.interop.writing import spec_toml

    if REGISTRY in (args.source, args.target):
        out.write((_of_entry if args.source else _as_entry)(args.file).splitlines())
        return ANSWERED
    out.write(spec_toml(read_history(args.file, args)).splitlines())
    return ANSWERED


def _of_entry(file: str) -> str:
    """The first reading of a registry's entry, with what the entry leaves out in comments."""
    from verified_dp.registry.entry import check_stated, load_entry

    entry = load_entry(file)
    check_stated(entry, file)
    missing = [f"# missing in the entry: {path} ({field.words})\n" for path, field in entry.missing]
    others = [f"# another reading: {one.words}\n" for one in entry.readings[1:]]
    return "".join([f"# registry entry {entry.slug}: {entry.readings[0].words}\n", *missing, *others,
                    entry.readings[0].text])


def _as_entry(file: str) -> str:
    """An entry of the registry that states a specification; comments name the fields that are not known."""
    from verified_dp.reading import MAX_SPECIFICATION, decoded, read_file
    from verified_dp.registry.writing import entry_yaml

    return entry_yaml([decoded(read_file(file, MAX_SPECIFICATION), file)], {})


def read_history(file: str, args: Namespace) -> Converted:
    """The specification of a file in the JSON form of one of SOURCES; errors name the file."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES
    from verified_dp.interop.events import from_dp_event
    from verified_dp.interop.histories import from_opacus, from_tf_privacy
    from verified_dp.reading import parse_history, read_file

    source, floats, relation = args.source, args.floats, args.relation
    if args.sampling is not None and source != "opacus":
        raise InvalidInput("sampling", args.sampling, f"left out with --from {source}")
    try:
        data = parse_history(read_file(file, MAX_BYTES), file)
        if source == "dp-accounting":
            return from_dp_event(data, floats=floats, relation=relation)
        if source == "opacus":
            return from_opacus(data, floats=floats, relation=relation, sampling=args.sampling)
        if relation != "add-or-remove":
            raise InvalidInput("relation", relation, "add-or-remove, which TensorFlow Privacy's statements are about")
        return from_tf_privacy(data, floats=floats)
    except (InvalidInput, Unsupported) as error:
        raise with_file(error, file) from None


def run_claims(args: Namespace, out: Output) -> int:
    """verified-dp certify, of claims in files or of a history."""
    if args.history is not None:
        return run_history(args, out)
    if not args.files:
        args.refuse("the following arguments are required: CLAIM")
    if args.delta is not None:
        raise InvalidInput("history", None, "given with --delta")
    return run_certify(args, out)


def run_history(args: Namespace, out: Output) -> int:
    """verified-dp certify --history FILE --delta D [--from opacus] [--out DIR]"""
    from verified_dp.cli.limits import Limits
    from verified_dp.cli.pages import pages_or_none

    if args.files:
        raise InvalidInput("CLAIM", args.files[0], "left out where --history is given")
    if args.delta is None:
        raise InvalidInput("delta", None, "given with --history")
    place, limits = next(certificate_paths([args.history], args.out)), Limits.of(args)
    pages = pages_or_none(args.html, [args.history], limits)
    spec = read_history(args.history, args)
    judged = certify_history(args.history, spec, args.delta, limits, place)
    page = None if pages is None else pages.add(args.history, judged.document)
    out.result(verdict_row(judged, page), lambda: verdict_text(judged, limits, page))
    return VERDICTS[judged.verdict] if pages is None else pages.code(VERDICTS[judged.verdict])


def certify_history(file: str, spec: Converted, delta: str, limits: Limits, place: str | None) -> Judged:
    """Claim the epsilon that is proved, rounded up to six digits, and write its certificate."""
    from verified_dp.core.kernel.exact import probability

    found = enclose(spec, file, "epsilon", probability(delta, "delta"), limits)
    if found.upper.is_infinite:
        raise Unsupported(f"no finite epsilon is proved at delta = {delta}", "history", file)
    judged = certify_spec(claimed_spec(spec, file, found.upper, delta), file, limits, place)
    return replace(judged, read=tuple(spec.assumptions))


def claimed_spec(spec: Converted, file: str, upper: Any, delta: str) -> Spec:
    """The specification with the claim that its epsilon at delta is at most `upper`, rounded up."""
    from verified_dp.core.kernel.composition import Claim, Spec
    from verified_dp.core.kernel.dyadic import decimal_up

    epsilon = decimal_up(upper, _CLAIMED_DIGITS)
    claim = Claim(Path(file).stem, spec.words, epsilon, delta, epsilon, delta)
    return Spec(spec.relation, spec.composition, claim)

"""`convert`: other libraries' files as specifications, with a claim that holds where a delta is given."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verified_dp.cli.output import ANSWERED, Output
from verified_dp.core.kernel.errors import InvalidInput, Unsupported, with_file

if TYPE_CHECKING:
    from verified_dp.interop.reading import Converted

SOURCES = ("opacus", "dp-accounting", "tf-privacy")
_CLAIMED_DIGITS = 6


def run_convert(args: Namespace, out: Output) -> int:
    """verified-dp convert FILE --from opacus|dp-accounting|tf-privacy [--delta D]"""
    from verified_dp.core.kernel.exact import open_unit
    from verified_dp.interop.writing import spec_toml

    if args.delta is not None:
        open_unit(args.delta, "delta")
    spec = read_history(args.file, args)
    out.write(spec_toml(spec if args.delta is None else claimed(spec, args.file, args.delta)).splitlines())
    return ANSWERED


def read_history(file: str, args: Namespace) -> Converted:
    """The specification of a file in the JSON form of one of SOURCES; errors name the file."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES
    from verified_dp.interop.events import from_dp_event
    from verified_dp.interop.histories import from_opacus, from_tf_privacy
    from verified_dp.reading import parse_history, read_file

    source, relation = args.source, args.relation
    if args.sampling is not None and source != "opacus":
        raise InvalidInput("sampling", args.sampling, f"left out with --from {source}")
    try:
        data = parse_history(read_file(file, MAX_BYTES), file)
        if source == "dp-accounting":
            return from_dp_event(data, relation=relation)
        if source == "opacus":
            return from_opacus(data, relation=relation, sampling=args.sampling)
        if relation != "add-or-remove":
            raise InvalidInput("relation", relation, "add-or-remove, which TensorFlow Privacy's statements are about")
        return from_tf_privacy(data)
    except (InvalidInput, Unsupported) as error:
        raise with_file(error, file) from None


def claimed(spec: Converted, file: str, delta: str) -> Converted:
    """The specification with the claim that its epsilon at delta is what is proved, rounded up to six digits."""
    from verified_dp.cli.commands import enclose
    from verified_dp.cli.limits import Limits
    from verified_dp.core.kernel.composition import Claim
    from verified_dp.core.kernel.dyadic import decimal_up
    from verified_dp.core.kernel.exact import exact

    found = enclose(spec, file, "epsilon", exact(delta, "delta"), Limits(None, "auto", None, {}))
    if found.upper.is_infinite:
        raise Unsupported(f"no finite epsilon is proved at delta = {delta}", "delta", file)
    epsilon = decimal_up(found.upper, _CLAIMED_DIGITS)
    return replace(spec, claim=Claim(Path(file).stem, spec.words, epsilon, delta, epsilon, delta))

"""`convert`: other libraries' files as specifications, with a claim that holds where a delta is given."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verified_dp.cli.limits import Limits
from verified_dp.cli.output import ANSWERED, Output
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.reading import MAX_SPECIFICATION, decoded, parse_history, read_file, with_file

if TYPE_CHECKING:
    from verified_dp.interop.reading import Converted

REGISTRY = "registry"
SOURCES = ("opacus", "dp-accounting", "tf-privacy")
_CLAIMED_DIGITS = 6


def run_convert(args: Namespace, out: Output) -> int:
    """verified-dp convert FILE --from opacus|dp-accounting|tf-privacy [--delta D], --from registry, or --to registry"""
    from verified_dp.core.kernel.exact import open_unit
    from verified_dp.interop.writing import spec_toml

    if args.delta is not None:
        open_unit(args.delta, "delta")
    if REGISTRY in (args.source, args.target):
        if args.delta is not None:
            raise InvalidInput("delta", args.delta, "left out: an entry has a claim, or none")
        out.write((_of_entry if args.source else _as_entry)(args.file).splitlines())
        return ANSWERED
    spec = read_history(args.file, args)
    out.write(spec_toml(spec if args.delta is None else claimed(spec, args.file, args.delta)).splitlines())
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
    from verified_dp.registry.writing import entry_yaml

    return entry_yaml([decoded(read_file(file, MAX_SPECIFICATION), file)], {})


def read_history(file: str, args: Namespace) -> Converted:
    """The specification of a file in the JSON form of one of SOURCES; errors name the file."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES
    from verified_dp.interop.events import from_dp_event
    from verified_dp.interop.histories import from_opacus, from_tf_privacy

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
    from verified_dp.core.kernel.composition import Claim
    from verified_dp.core.kernel.dyadic import decimal_up
    from verified_dp.core.kernel.exact import exact

    found = enclose(spec, file, "epsilon", exact(delta, "delta"), Limits(None, "auto", None, {}))
    if found.upper.is_infinite:
        raise Unsupported(f"no finite epsilon is proved at delta = {delta}", "delta", file)
    epsilon = decimal_up(found.upper, _CLAIMED_DIGITS)
    return replace(spec, claim=Claim(Path(file).stem, spec.words, epsilon, delta, epsilon, delta))

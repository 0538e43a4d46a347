"""Golden certificates: what was certified once stays valid, and every witness gives the same ends to the last bit.

    python tests/golden.py                  check them all, and print what differs
    python tests/golden.py --record FOLDER  write them anew: the certificates of a folder (`make audit` leaves those of
                                            the example claims in build/audit/certificates), and one for each further
                                            kind, scheme, relation, group size and kind of witness
    python tests/golden.py --again KIND...  record the ends of those with a witness of these kinds anew: only of such as
                                            are still valid, or which only an earlier version checks
    python tests/golden.py --add FILE...    add certificates, named as their files are

They lie in data/golden.jsonl.xz: on each line a name, the certificate, and the sha256 of the exact ends of all its
evaluations, in order ("unsupported" where only an earlier version checks it). Recording prints what has another
verdict, other ends, or is there no more. Certificates are stored as of another version than this one, so that their
lists of theorems decide nothing. After a conflict take either file, and run `--again` and `--add` once more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from flint import ctx
from regimes import FAMILIES, regime
from written import ALL, CLAIMS, COUNTS, stated

from verified_dp import Relation, certify
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import sealed
from verified_dp.core.kernel.certificate.evaluation import read_evaluations
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.losses import pairs_and_losses
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.spec import parse_spec

PLACE = Path(__file__).parent / "data" / "golden.jsonl.xz"
UNSUPPORTED = "unsupported"
VERSION = "golden"
SECONDS = 2.0
"""A certificate of the further ones may take so long to find; what takes longer is not among them."""
TRIES = 5
"""Specifications of each hard regime."""
Table = dict[str, Any]


def golden() -> list[Table]:
    """All lines."""
    return [json.loads(line) for line in lzma.decompress(PLACE.read_bytes()).splitlines()]


def ends_of(certificate: Table) -> str:
    """sha256 of the ends that the recorded witnesses give, exact and not widened."""
    spec = read_spec(certificate)
    losses = {loss.order: loss for loss in pairs_and_losses(spec.composition, spec.relation)[1]}
    found = []
    for entry in read_evaluations(certificate["evaluations"]):
        with ctx.workprec(entry.witness.prec + 64):
            found.append(" ".join(map(str, evaluate(losses[entry.order], entry.witness).delta(entry.at).ends())))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def names_in(value: Any) -> Iterator[tuple[str, str]]:
    """(key, name) of every kind of mechanism or witness, scheme and relation that a certificate names."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("kind", "scheme", "relation") and isinstance(item, str):
                yield key, item
            if key == "group_size":
                yield key, "1" if item == 1 else "more"
            yield from names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)


def differs(line: Table) -> str:
    """What a certificate of the set does not do as it did, in words; empty where it does."""
    try:
        check = verify(line["certificate"])
    except Unsupported as error:
        return "" if line["ends"] == UNSUPPORTED else str(error)
    if not check.valid:
        return f"invalid: {check.field}: {check.reason}"
    return "" if ends_of(line["certificate"]) == line["ends"] else "other ends"


def toml_of(value: Any) -> str:
    """A value of a specification as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_of(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def further() -> Iterator[tuple[str, str]]:
    """(name, specification): every step of the tests of written certificates, then the hard regimes, seeded."""
    for i, step in enumerate(ALL):
        for j, relation in enumerate(Relation):
            for group in (1, 3):
                yield f"step {i} {relation} {group}", stated(step, relation, COUNTS[(i + j) % 4], CLAIMS[i % 4], group)
    release = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 3\n'
    atoms = '[[mechanism]]\nkind = "approximate-dp"\nepsilon = "1/10"\ndelta = "1e-6"\n'
    claim = '[claim]\nepsilon = "3"\ndelta = "1e-6"\n'
    yield "delta of the mass at infinity", f'relation = "remove"\n{release}{atoms}{claim}'
    sample = 'sampling = { scheme = "poisson", probability = "1/10" }\n'
    parts = release.replace("mechanism", "mechanism.releases") * 2
    yield "composition on a sample", f'relation = "remove"\n[[mechanism]]\nkind = "composition"\n{sample}{parts}{claim}'
    for family in FAMILIES:
        for seed in range(TRIES):
            relation, steps, claim = regime(random.Random(f"{family} {seed}"), family)
            head = f'relation = "{relation}"\n'
            body = "".join("[[mechanism]]\n" + "".join(f"{key} = {toml_of(item)}\n" for key, item in step.items())
                           for step in steps)
            yield f"{family} {seed}", head + body + "[claim]\n" + "".join(
                f"{key} = {toml_of(item)}\n" for key, item in claim.items() if item)


def certified(text: str) -> Table | None:
    """The certificate, written by the program; None where nothing is proven of what is stated."""
    try:
        return json.loads(certify(parse_spec(text), digits=4, max_seconds=SECONDS).to_bytes())  # type: ignore[no-any-return]
    except Unsupported:
        return None


def record(folder: Path) -> None:
    """Write the set: what brings a pair of names that no earlier certificate has, and all of the folder."""
    lines, seen, tries = [], set[tuple[Any, ...]](), Counter[str]()
    for path in sorted(folder.glob("*.json")):
        certificate = json.loads(path.read_bytes())
        lines.append({"name": path.stem, "certificate": certificate})
        seen |= _new(certificate)
    for name, text in further():
        family = name.split()[0]
        stated = tomllib.loads(text)
        if (_new({**stated, "evaluations": []}) <= seen) if family == "step" else tries[family] >= TRIES:
            continue
        tries[family] += 1
        certificate = certified(text)
        if certificate is not None and len(json.dumps(certificate)) < 40_000:
            lines.append({"name": name, "certificate": certificate})
            seen |= _new(certificate)
            print(f"{len(lines)}: {name}", flush=True)
    old = {line["name"]: line for line in golden()} if PLACE.exists() else {}
    for line in lines:
        line["certificate"] = stored(line["certificate"])
        line["ends"] = ends_of(line["certificate"])
        before = old.pop(line["name"], line)
        for what, one, other in (("verdict", before["certificate"]["verdict"], line["certificate"]["verdict"]),
                                 ("ends", before["ends"], line["ends"])):
            if one != other:
                print(f"{line['name']}: other {what}")
    for name in old:
        print(f"{name}: is there no more")
    write(lines)


def again(kinds: Sequence[str]) -> None:
    """Record the ends of what has a witness of these kinds, after a change of what evaluates it."""
    lines = golden()
    for line in lines:
        if {("kind", kind) for kind in kinds} & set(names_in(line["certificate"]["evaluations"])):
            try:
                check = verify(line["certificate"])
            except Unsupported as error:
                print(f"{line['name']}: {error}")
                line["ends"] = UNSUPPORTED
                continue
            if not check.valid:
                raise SystemExit(f"{line['name']}: {check.field}: {check.reason}")
            ends = ends_of(line["certificate"])
            print(f"{line['name']}: {'as before' if ends == line['ends'] else 'other ends'}")
            line["ends"] = ends
    write(lines)


def add(files: Sequence[Path]) -> None:
    """Add certificates, or put them in the place of those of the same name."""
    lines = {line["name"]: line for line in golden()}
    for file in files:
        certificate = stored(json.loads(file.read_bytes()))
        lines[file.stem] = {"name": file.stem, "certificate": certificate, "ends": ends_of(certificate)}
    write(list(lines.values()))


def stored(certificate: Table) -> Table:
    """The certificate as of another version: its list of theorems decides nothing."""
    return sealed({**certificate, "versions": {**certificate["versions"], "verified-dp": VERSION}})


def write(lines: Sequence[Table]) -> None:
    """Store the set."""
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)
    PLACE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _new(certificate: Table) -> set[tuple[Any, ...]]:
    """What a certificate is an example of: each witness with each kind and scheme, each of these with the relation."""
    names = set(names_in(certificate))
    witnesses = {entry["witness"]["kind"] for entry in certificate["evaluations"]}
    steps = {name for key, name in names if key in ("kind", "scheme")} - witnesses
    of = {name for key, name in names if key in ("relation", "group_size")}
    return {("witness", kind) for kind in witnesses} | {(step, one) for step in steps for one in of}


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, or record; 0 if nothing differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    parser.add_argument("--again", nargs="+", metavar="KIND")
    parser.add_argument("--add", nargs="+", type=Path, metavar="FILE")
    found = parser.parse_args(arguments)
    if found.record:
        record(found.record)
    if found.again:
        again(found.again)
    if found.add:
        add(found.add)
    if found.record or found.again or found.add:
        return 0
    wrong = {line["name"]: what for line in golden() if (what := differs(line))}
    for name, what in wrong.items():
        print(f"{name}: {what}")
    print(f"{len(golden())} golden certificates, {len(wrong)} differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

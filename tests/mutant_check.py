"""Certificates with altered witnesses, enclosures and inputs, sealed afresh: does a checker accept a false one?

    python tests/mutant_check.py --count 500 --seed 1

For every kind of witness a small certificate is written and altered `count` times: its witness, and where both
checkers would accept that all the same, the recorded enclosure too, so that it no longer holds the true delta. Result
and verdict are those that follow. Formal parts are altered too, most of them composed again, so that only one step's
law is wrong; they need the program of `make proofs`. Rows go to build/mutant-check.jsonl, so a run goes on where it
stopped; a table of what each checker accepted and refused, and why, goes to build/mutant-check.md. Exit code 1 if a
false enclosure was accepted.

A second series alters what is near: the ends by a few widths, inward too, the count of a mechanism, the order, with the
pairs that follow. Whether that is false says delta to 50 bits, as the search finds it for what is altered.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from cross_check import RELATIONS, processor_time, rows_of
from flint import ctx
from mutants import mutated

from verified_dp.certificate import build_certificate
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.certificate.check import verify, with_facts
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.certificate.evaluation import enclosure_record, read_evaluations
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.certificate.theorems import pairs_record, theorems_record
from verified_dp.core.kernel.certificate.verdict import judge
from verified_dp.core.kernel.certificate.witness import read_witness, witness_record
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import read_end
from verified_dp.core.kernel.errors import InvalidCertificate, Unsupported
from verified_dp.core.kernel.losses import ORDERS, pairs_and_losses
from verified_dp.core.kernel.words import assumptions
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.exactly import FAR_OUT
from verified_dp.search.orders import order_of
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent
from verified_dp.verifiers.formal import CHECKER, FormalPart, part_record, read_parts, verify_formal
from verified_dp.verifiers.record_formal import Arithmetic, Composed, with_formal

ROOT = Path(__file__).resolve().parents[1]
Document = dict[str, Any]
CHECKERS = ("trusted", "independent")
VERDICT_ALONE = "verdict alone"
"""The independent checker confirms a true verdict, and replays no witness of what is recorded besides."""
CHECK_SECONDS = 20.0
"""Of processor time, for one mutant and one checker."""


def _step(text: str, sampling: str = "") -> str:
    return f"[[mechanism]]\n{text}\n" + (f"sampling = {{ {sampling} }}\n" if sampling else "")


_POISSON = 'scheme = "poisson", probability = "0.01"'
_SHUFFLED = 'scheme = "shuffled", rounds = 3'
ENGINES: dict[str, tuple[str, str, str, str]] = {
    "line": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "1.1"\ncount = 100', _POISSON), "0.5", "1e-3"),
    "rays": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "2"\ncount = 2', _POISSON), "0.5", "1e-4"),
    "rays beside plain steps": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "2"\ncount = 2', _POISSON)
               + _step('kind = "gaussian"\nnoise_multiplier = "20000"'), "0.5", "1e-4"),
    "node-moment of a line": (
        "add-or-remove", _step('kind = "gaussian"\nnoise_multiplier = "2"\ncount = 1000', _POISSON), "1", "1e-5"),
    "lattice": ("remove", _step('kind = "discrete-gaussian"\nsigma_squared = "4"\nsensitivity = 1\ncount = 3', (
        'scheme = "poisson", probability = "0.1"')), "0.2", "1e-2"),
    "sparse": ("add", _step('kind = "laplace"\nscale = "10"\nsensitivity = "1"\ncount = 3000', (
        'scheme = "poisson", probability = "1/50"')), "0.5", "1e-3"),
    "closed-form": ("remove", _step('kind = "laplace"\nscale = "3"\nsensitivity = "1"\ncount = 5'), "0.5", "1e-3"),
    "node-moment": ("remove", _step('kind = "renyi"\nrenyi_orders = ["2", "8"]\nepsilons = ["0.01", "0.05"]')
              + _step('kind = "gaussian"\nnoise_multiplier = "2"\ncount = 10', _POISSON), "0.5", "1e-3"),
    "moment": ("remove", _step('kind = "zcdp"\nrho = "0.1"'), "0.1", "1e-2"),
    "support": ("add", _step('kind = "gaussian"\nnoise_multiplier = "1"\ncount = 3', _POISSON), "0.5", "1e-2"),
    "exact": ("remove", _step('kind = "approximate-dp"\nepsilon = "1/10"\ndelta = "1e-7"\ncount = 4'), "0.5", "1e-3"),
    "end": ("replace", _step('kind = "laplace"\nscale = "20"\nsensitivity = "1"'), "0.04", "0"),
    "endless": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "1"'), "5", "0"),
    "formal": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "1.1"\ncount = 20', _POISSON), "0.1", "1.6e-3"),
    "line of atoms": ("add", _step('kind = "discrete-gaussian"\nsigma_squared = "4"\nsensitivity = 1\ncount = 100000', (
        'scheme = "poisson", probability = "1/1000"')), "1", "1e-4"),
    "marked": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "3/10"\ncount = 100', (
        'scheme = "poisson", probability = "1/1000"')), "3", "1e-3"),
    "halves": ("remove", _step('kind = "approximate-dp"\nepsilon = "1/10"\ndelta = "1e-7"\ncount = 20')
               + _step('kind = "finite"\nP = ["1/2", "1/3", "1/6"]\nQ = ["1/6", "1/3", "1/2"]\ncount = 10')
               + _step('kind = "approximate-dp"\nepsilon = "1/7"\ndelta = "1e-7"\ncount = 20'), "0.5", "1e-3"),
    "shortened": ("remove", _step('kind = "gaussian"\nnoise_multiplier = "2"\ncount = 20', (
        'scheme = "with-replacement", draws = 10, population = 200')), "0.5", "1e-3"),
    "attack": ("zero-out", _step('kind = "gaussian"\nnoise_multiplier = "2"\ncount = 1', _SHUFFLED), "0.5", "1e-3"),
}
METHODS = {"lattice": "lattice", "sparse": "lattice"}


def original(kind: str) -> Document:
    """A certificate with a witness of this kind, and no other evaluation but of delta."""
    relation, text, epsilon, delta = ENGINES[kind]
    spec = parse_spec(f'relation = "{relation}"\n{text}[claim]\nepsilon = "{epsilon}"\ndelta = "{delta}"\n')
    assert spec.claim is not None
    found = privacy_profile(spec).solve_claim(spec.claim, 2 if kind == "sparse" else 3, METHODS.get(kind, "auto"))
    document = build_certificate(spec, *found)
    if kind == "formal":
        return with_formal(document)
    return _judged({**document, "evaluations": [
        entry for n, entry in enumerate(document["evaluations"])
        if entry["quantity"] == "delta" or n == _entries(document, kind)[0]]})


_EXACT = ("support", "end", "endless")
"""Past the largest loss, at it, and where there is none: the witness is an exact one."""


def _entries(document: Document, kind: str) -> list[int]:
    """Of evaluations by this kind; "line of atoms" is a line."""
    name = "exact" if kind in _EXACT else kind.split(" ")[0]
    return [n for n, entry in enumerate(document["evaluations"]) if entry["witness"]["kind"] == name]


def mutant(document: Document, kind: str, rng: random.Random) -> tuple[Document | None, str, bool]:
    """(the altered certificate, what was altered, whether what it says is false); None where it has no form."""
    changed, index = copy.deepcopy(document), rng.choice(_entries(document, kind))
    entry, what = changed["evaluations"][index], []
    if rng.random() < 0.8:
        what.append("witness")
    if not what or rng.random() < 0.5:
        what.append("enclosure")
    if rng.random() < 0.1:
        what.append("input")
    try:
        if "witness" in what:
            witness = mutated(rng, read_witness(entry["witness"], "witness"))
            entry["witness"] = witness_record(witness)
        false = "enclosure" in what and _move(entry, rng) and "input" not in what
        if "input" in what:
            changed["input"]["relation"] = rng.choice([one for one in RELATIONS if one != changed["input"]["relation"]])
        return _judged(changed), "+".join(what), false
    except (InvalidCertificate, ArithmeticError, LookupError, ValueError, TypeError):
        return None, "+".join(what), False


def beside(document: Document, kind: str, rng: random.Random) -> tuple[Document | None, str, bool]:
    """The same for what is near: ends, the count of a mechanism, the other order."""
    changed, what = copy.deepcopy(document), rng.choice(["ends", "ends", "ends", "count", "order"])
    entry = changed["evaluations"][index := rng.choice(_entries(document, kind))]
    if what == "ends":
        _nudge(entry, rng)
    elif what == "count":
        step = rng.choice(changed["input"]["mechanisms"])
        step["count"] = max(1, rng.choice([step["count"] - 1, step["count"] + 1, step["count"] + 2, 2 * step["count"]]))
    else:
        order = changed["input"]["relation"] = "add" if changed["input"]["relation"] == "remove" else "remove"
        for one in changed["evaluations"]:
            one["order"] = order
    try:
        found = _judged(_paired(changed))
    except (InvalidCertificate, Unsupported, ArithmeticError, LookupError, ValueError, TypeError):
        return None, what, False
    return found, what, _is_false(changed["input"], found["evaluations"][index])


def _paired(document: Document) -> Document:
    """With the pairs and the assumptions that follow from its input."""
    spec = read_spec(document)
    pairs, _ = pairs_and_losses(spec.composition, spec.relation)
    return {**document, "pairs": pairs_record(pairs), "assumptions": assumptions(spec.composition, spec.relation)}


def _ends(entry: Document) -> list[Fraction]:
    ends = (read_end(entry["enclosure"][key]) for key in ("lower", "upper"))
    return [end.as_fraction() if isinstance(end, Dyadic) else end for end in ends]


def _nudge(entry: Document, rng: random.Random) -> None:
    """Both ends or one by a few widths, or by a part of one."""
    lower, upper = _ends(entry)
    width = upper - lower or Fraction(1, 2**80)
    moved = [end + width * Fraction(rng.randint(-400, 400), 100) / 2 ** rng.choice([0, 0, 1, 3, 8]) for end in (
        lower, upper)]
    kept = rng.choice([moved, [lower, moved[1]], [moved[0], upper]])
    entry["enclosure"] = enclosure_record(*(_near(min(max(end, Fraction(0)), Fraction(1)), up=False)
                                            for end in sorted(kept)))


def _is_false(stated: Document, entry: Document) -> bool:
    lower, upper = _ends(entry)
    low, high = _truth(json.dumps(stated), entry["order"], entry["at"])
    return upper < low or high < lower


@lru_cache(maxsize=1000)
def _truth(stated: str, order: str, at: str) -> tuple[Fraction, Fraction]:
    """delta of an order to 50 bits."""
    spec = read_spec({"input": json.loads(stated), "claim": {"title": "", "source": "", "epsilon": "1", "delta": "0"}})
    loss = next(one for one in pairs_and_losses(spec.composition, spec.relation)[1] if one.order == order)
    with ctx.workprec(256):
        found = order_of(loss).enclose(Fraction(at), 50.0, "auto", Budget(20.0)).bounds
        return lower_dyadic(found.lower).as_fraction(), upper_dyadic(found.upper).as_fraction()


def _move(entry: Document, rng: random.Random) -> bool:
    """Another enclosure beside the recorded one, which holds the true delta: then what it says is false.

    Beyond the largest loss delta does not fall; where there is none, it falls below every bound.
    """
    if entry["witness"]["kind"] == "exact" and (entry["quantity"], entry["side"]) == ("epsilon", "lower"):
        if Fraction(entry["at"]) == FAR_OUT:
            entry["enclosure"] = enclosure_record(Dyadic(1, -rng.randint(1, 200)), Dyadic(1, 0))
        else:
            entry["at"] = str(Fraction(entry["at"]) * (1 + Fraction(1, 2 ** rng.randint(0, 60))))
        return True
    lower, upper = _ends(entry)
    width = (upper - lower) * Fraction(1, 2 ** rng.randint(0, 30)) or Fraction(1, 2**80)
    below = rng.random() < 0.5
    start = lower - width - (upper - lower) if below else upper + width
    inside = [_near(min(max(end, Fraction(0)), Fraction(1)), up=not below) for end in (start, start + upper - lower)]
    entry["enclosure"] = enclosure_record(*inside)
    return inside[1].as_fraction() < lower or inside[0].as_fraction() > upper


def _near(number: Fraction, *, up: bool) -> Dyadic:
    """A dyadic number beside it, on the side away from the truth."""
    scaled = number * 2**300
    return Dyadic(-(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator, -300)


def _judged(document: Document) -> Document:
    """With the result, the verdict and the theorems that follow, sealed."""
    spec = read_spec(document)
    assert spec.claim is not None
    pairs, found = pairs_and_losses(spec.composition, spec.relation)
    losses = {loss.order: loss for loss in found}
    evaluations = [with_facts(one, losses) for one in read_evaluations(document["evaluations"])]
    judged = judge(spec.claim, ORDERS[spec.relation], all(pair.is_attained for pair in pairs), evaluations)
    theorems = theorems_record(pairs, [(losses[one.order], one.witness) for one in evaluations])
    return sealed({**document, **judged, "theorems": theorems})


def row(document: Document, kind: str, seed: int, index: int, program: Path = CHECKER, series: str = "") -> Document:
    """What the checkers say of one mutant."""
    key = f"{kind}.{seed}.{index}{series}"
    rng = random.Random(key)
    found, what, false = formal_mutant(document, rng) if kind == "formal" else (
        beside if series else mutant)(document, kind, rng)
    names = ("formal",) if kind == "formal" else CHECKERS
    results = dict.fromkeys(names, "without form") if found is None else {
        name: _result(name, found, program) for name in names}
    return {"key": key, "kind": kind, "what": what, "false": false, "results": results}


def formal_mutant(document: Document, rng: random.Random) -> tuple[Document | None, str, bool]:
    """The same of a formal part, composed again or with a bound below the true delta."""
    (part,), what = read_parts(document["formal"]), "part"
    lower = read_end(document["evaluations"][0]["enclosure"]["lower"])
    least = lower.as_fraction() if isinstance(lower, Dyadic) else lower
    try:
        changed = mutated(rng, part)
        read_parts([part_record(changed)])
        if rng.random() < 0.6:
            what, changed = "part, composed again", _composed(changed)
        elif rng.random() < 0.5:
            what, changed = "part+bound", replace(changed, bound=int(least * rng.randint(1, 999) / 1000 * 2**part.bits))
        false = changed.delta < least and (changed.side, changed.epsilon) == (part.side, part.epsilon)
        return sealed({**document, "formal": [part_record(changed)]}), what, false
    except (InvalidCertificate, Unsupported, ArithmeticError, LookupError, ValueError, TypeError, MemoryError):
        return None, what, False


def _composed(part: FormalPart) -> FormalPart:
    """With the products and the bound that follow from its laws, where these are small."""
    if any(abs(kind.low) > 4096 or kind.count > 4096 for kind in part.kinds):
        raise ValueError("large laws")
    arithmetic = Arithmetic(part.side, part.bits, 1 << part.bits)
    law, products = arithmetic.series([(Composed(k.low, list(k.masses), k.infinity), k.count) for k in part.kinds])
    return replace(part, products=tuple(products), bound=arithmetic.delta(law, part.epsilon, part.step))


def _result(name: str, document: Document, program: Path) -> str:
    try:
        with processor_time(CHECK_SECONDS):
            found: Any = _CALLS[name](document, program)
    except InvalidCertificate as error:
        return f"refused: {error}"[:160]
    except (independent.TooMuch, independent.OutOfTime, Unsupported, TimeoutError) as error:
        return f"not covered: {error}"[:160]
    if not found.valid:
        return f"refused: {found.field}: {found.reason}"[:160]
    return VERDICT_ALONE if getattr(found, "compared", 0) and not _wrong_verdict(document) else "accepted"


def _wrong_verdict(document: Document) -> bool:
    """Whether delta, found anew, is on the other side of the claim."""
    if document["verdict"] == "undecided":
        return False
    epsilon, delta = (Fraction(document["claim"][key]) for key in ("epsilon", "delta"))
    orders = {one["order"] for one in document["evaluations"]}
    ends = [_truth(json.dumps(document["input"]), order, str(epsilon)) for order in orders]
    if document["verdict"] == "refuted":
        return all(high <= delta for _, high in ends)
    return any(low > delta for low, _ in ends)


_CALLS: dict[str, Callable[[Document, Path], Any]] = {
    "trusted": lambda document, _: verify(canonical(document)),
    "independent": lambda document, _: independent.verify(canonical(document)),
    "formal": lambda document, program: verify_formal(document, str(program))}


def is_unsound(one: Document) -> bool:
    return one["false"] and "accepted" in one["results"].values()


def report(rows: list[Document]) -> Iterator[str]:
    """A table per kind of witness, and the reasons for which the checkers differ."""
    yield "| witness | mutants | false | false accepted | accepted by both | trusted alone | independent alone |"
    yield "|---|---|---|---|---|---|---|"
    for kind in ENGINES:
        mine = [one for one in rows if one["kind"] == kind]
        both = Counter(tuple(result == "accepted" for result in one["results"].values()) for one in mine)
        cells = f"{both[(True,)]} | |" if kind == "formal" else (
            f"{both[True, True]} | {both[True, False]} | {both[False, True]} |")
        yield f"| {kind} | {len(mine)} | {sum(one['false'] for one in mine)} | {sum(map(is_unsound, mine))} | {cells}"
    yield ""
    differ = Counter(
        (one["kind"], name, one["results"][name].partition(":")[2].strip()) for one in rows for name in one["results"]
        if one["results"][name].startswith("refused") and "accepted" in one["results"].values())
    yield from (f"* {kind}: {count} refused by the {name} checker alone: {reason}"
                for (kind, name, reason), count in differ.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="of each engine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "mutant-check.jsonl")
    parser.add_argument("--formal-checker", type=Path, default=CHECKER, help="the program of `make proofs`")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    known = rows_of(given.rows)
    with given.rows.open("a", encoding="utf-8") as out:
        for kind in given.engines:
            if kind == "formal" and not given.formal_checker.exists():
                continue
            todo = [(n, series) for n in range(given.count) for series in ("", ".beside")[:1 if kind == "formal" else 2]
                    if f"{kind}.{given.seed}.{n}{series}" not in known]
            document = original(kind) if todo else {}
            for n, series in todo:
                one = row(document, kind, given.seed, n, given.formal_checker, series)
                known[one["key"]] = one
                print(json.dumps(one), file=out, flush=True)
    text = "\n".join(report(list(known.values())))
    given.rows.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if any(map(is_unsound, known.values())) else 0


if __name__ == "__main__":
    sys.exit(main())

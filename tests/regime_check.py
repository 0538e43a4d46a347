"""Random specifications of hard regimes: do all verifiers agree, and all ways to the same delta meet?

    python tests/regime_check.py --count 40 --seed 1

A certificate is written for each as the package writes it; then every delta in it is asked of all kinds of witness that
can be chosen, whether a search would choose them or not, and of sums over all outcomes and quadrature where these are
short: all enclosures must meet. Each of the newest kinds of witness that enclosed something takes the place of the
certificate's own, and both checkers read that too. Rows go to build/regime-check.jsonl, so a run goes on
where it stopped. Exit code 1 if two enclosures are disjoint, or a checker refuses what was written.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import cross_check
from cross_check import ROOT, Row, _certify, _is_supported, _toml, checked, disagrees, processor_time, rows_of
from mutant_check import _judged
from regimes import FAMILIES, regime
from second_routes import Route, all_routes

from verified_dp.certificate import _roomy
from verified_dp.core.kernel.certificate.document import canonical, read_document
from verified_dp.core.kernel.certificate.evaluation import evaluation_record
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.ends import read_end
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.losses import pairs_and_losses

NEWEST = ("rays", "marked", "outcomes", "halves", "shortened")
WRITE_SECONDS, ROUTE_SECONDS, CHECK_SECONDS, DIGITS = 4.0, 0.8, 20.0, 3
"""Of processor time, for a certificate, for one route and for one checker; digits asked."""


def specification(family: str, seed: int, index: int) -> str:
    """The TOML of a random specification of a family, the same for the same three."""
    rng = random.Random(f"{family}.{seed}.{index}")
    return next(text for text in iter(lambda: _text(rng, family), "") if _is_supported(text))


def _text(rng: random.Random, family: str) -> str:
    relation, steps, claim = regime(rng, family)
    return (f'relation = "{relation}"\n' + "".join(f"[[mechanism]]\n{_toml(step)}" for step in steps)
            + f"[claim]\n{_toml(claim)}")


def row(family: str, seed: int, index: int) -> Row:
    """All that is said of one specification; `error` or `crash` without a certificate."""
    text = specification(family, seed, index)
    found: Row = {"key": f"{family}.{seed}.{index}", "spec": text}
    try:
        with processor_time(WRITE_SECONDS):
            data = _certify(text, "auto", DIGITS)
    except (Unsupported, Undecided, InvalidInput, TimeoutError) as error:
        return {**found, "error": str(error)[:200]}
    except Exception as error:
        return {**found, "crash": repr(error)[:300]}
    found.update(checked(data, None))
    routes, notes = _routes(document := read_document(data))
    meetings = {name: [] for name in ("met", "missed")}
    for at, named in routes.items():
        for one, other in combinations(named, 2):
            meetings["met" if one.meets(other) else "missed"].append(f"{at}: {one.name}, {other.name}")
    placed = {kind: _said(document, at, route) for at, named in routes.items() for route in named
              if (kind := route.name) in NEWEST and kind not in found["witnesses"]}
    return {**found, **meetings, "notes": notes, "placed": {kind: said for kind, said in placed.items() if said}}


def _routes(document: dict[str, Any]) -> tuple[dict[str, list[Route]], list[str]]:
    """By order and eps, the certificate's own enclosures and those of other routes; what went wrong on the way."""
    spec = read_spec(document)
    losses = {loss.order: loss for loss in pairs_and_losses(spec.composition, spec.relation)[1]}
    found, notes = dict[str, list[Route]](), list[str]()

    def timed(task: Callable[[], None]) -> None:
        try:
            with processor_time(ROUTE_SECONDS):
                task()
        except TimeoutError:
            notes.append("slow")
        except Exception as error:
            notes.append(repr(error)[:160])

    for entry in document["evaluations"]:
        own = Route(f"certificate {entry['side']}", tuple(  # type: ignore[arg-type]
            read_end(entry["enclosure"][end]) for end in ("lower", "upper")))
        place = f"{entry['order']} {entry['at']}"
        if entry["witness"]["kind"] == "exact" and (entry["quantity"], entry["side"]) == ("epsilon", "lower"):
            continue
        if place not in found and entry["quantity"] == "delta":
            found[place] = [one for one in all_routes(losses[entry["order"]], Fraction(entry["at"]), timed)
                            if not one.is_empty]
        found.setdefault(place, []).append(own)
    return found, notes


def _said(document: dict[str, Any], place: str, route: Route) -> dict[str, str]:
    """What the checkers say of the certificate with this witness for delta at that place."""
    if route.answer is None:
        return {}
    order, _, at = place.partition(" ")
    own = evaluation_record(_roomy(route.answer.evaluation("delta", order, "both"), Fraction(0), DIGITS))
    entries = [entry for entry in document["evaluations"]
               if (entry["quantity"], entry["order"], entry["at"]) != ("delta", order, at)]
    first = next(n for n, entry in enumerate(document["evaluations"]) if entry["order"] == order)
    entries.insert(first, own)
    try:
        changed = _judged({**document, "evaluations": entries})
    except InvalidInput as error:
        return {"form": str(error)[:160]}
    return checked(canonical(changed), None)["results"]


def is_wrong(one: Row) -> bool:
    """Whether enclosures are disjoint, a checker refuses what was written, or a route crashes."""
    said = [result for results in one.get("placed", {}).values() for result in results.values()]
    crashed = [note for note in one.get("notes", ()) if note != "slow"]
    return disagrees(one) or bool(one.get("missed") or crashed) or any(result.startswith("invalid") for result in said)


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Tables: by family, and by kind of witness."""
    yield "| family | specifications | certificates | pairs of enclosures that meet | disjoint | witnesses |"
    yield "|---|---|---|---|---|---|"
    for family in FAMILIES:
        mine = [one for one in rows if one["key"].startswith(f"{family}.")]
        written = [one for one in mine if "results" in one]
        kinds = Counter(kind for one in written for kind in one["witnesses"])
        yield (f"| {family} | {len(mine)} | {len(written)} | {sum(len(one['met']) for one in written)} | "
               f"{sum(len(one['missed']) for one in written)} | "
               f"{', '.join(f'{kind} {count}' for kind, count in kinds.most_common())} |")
    yield ""
    heads = " | ".join(f"{name}: confirmed / not covered / refused" for name in ("trusted", "independent"))
    yield f"| witness | chosen by the search | put in its place | {heads} |"
    yield "|---|---|---|---|---|"
    for kind in NEWEST:
        said = [one["results"] for one in rows if kind in one.get("witnesses", ())]
        put = [one["placed"][kind] for one in rows if kind in one.get("placed", {})]
        cells = (" / ".join(str(sum(results.get(name, "").startswith(word) for results in [*said, *put]))
                            for word in ("valid", "not covered", "invalid")) for name in ("trusted", "independent"))
        yield f"| {kind} | {len(said)} | {len(put)} | " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="of each family")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "regime-check.jsonl")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    known, cross_check.CHECK_SECONDS = rows_of(given.rows), CHECK_SECONDS
    with given.rows.open("a", encoding="utf-8") as out:
        for n in range(given.first, given.first + given.count):
            for family in given.families:
                if f"{family}.{given.seed}.{n}" in known:
                    continue
                start = time.process_time()
                one = row(family, given.seed, n)
                one["cost"] = round(time.process_time() - start, 1)
                known[one["key"]] = one
                print(json.dumps(one), file=out, flush=True)
                if is_wrong(one):
                    print("DISAGREEMENT", {name: found for name, found in one.items() if name not in ("spec", "met")},
                          flush=True)
    print("\n".join(report(list(known.values()))))
    return 1 if any(map(is_wrong, known.values())) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Random lists of eps, and of delta, answered together: does each answer meet that of a question of its own?

    python tests/list_check.py --count 60 --seed 1

Lists of 20 to 200 places, with ties, out of order, negative and past the last loss, of 1 to 10^4 steps. Each enclosure
must hold a number in common with a single question's at 14 digits, asked at 20 to 40 of the places. Rows go to
build/list-check.jsonl, so a run goes on where it stopped. Exit code 1 if two enclosures are disjoint.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from cross_check import RELATIONS, ROOT, Row, processor_time, rows_of

from verified_dp import (
    DiscreteGaussian,
    DiscreteLaplace,
    Finite,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    compose,
    privacy_profile,
)
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported

ATOMS = (Laplace("1/2", 1), Laplace(3, 1), Laplace(20, 1), DiscreteLaplace(2, 1), DiscreteLaplace(20, 1),
         DiscreteGaussian(1, 1), DiscreteGaussian(30, 1), RandomizedResponse(2, "3/4"), RandomizedResponse(5, "9/10"),
         PoissonSampled(DiscreteLaplace(3, 1), "1/10"), Finite(["1/2", "1/3", "1/6"], ["1/4", "1/4", "1/2"]))
SINGLE_DIGITS, SECONDS, LIST_SECONDS, COMPARED = 14, 1.5, 40.0, 20


def _step(rng: random.Random) -> Any:
    if rng.random() < 0.4:
        return rng.choice(ATOMS)
    if rng.random() < 0.2:
        size = rng.randint(2, 4)
        return MixtureOfGaussians(rng.choice(["1", "5/2", "8"]), [str(n) for n in range(size)],
                                  [str(Fraction(2 ** (size - n - 1), 2**size - 1)) for n in range(size)])
    gaussian = Gaussian(rng.choice(["1/2", "4/5", "1", "2", "8"]))
    if rng.random() < 0.1:
        return gaussian
    return PoissonSampled(gaussian, rng.choice(["1e-4", "1/1000", "1/100", "1/10", "1/2", "1"]))


def drawn(seed: int, index: int) -> tuple[Composition, str, str, list[str], int]:
    """(what was run, relation, "epsilon" or "delta", the list, digits)."""
    rng = random.Random(f"{seed}.{index}.list")
    steps = [(_step(rng), rng.choice([1, 1, 2, 3, 5, 10, 30, 300, 10**4])) for _ in range(rng.choice([1, 1, 1, 2]))]
    given, number = rng.choice(["epsilon", "epsilon", "epsilon", "delta"]), rng.randint(20, 200)
    if given == "delta":
        sizes = [rng.uniform(0.5, 60) for _ in range(number)]
        places = [f"{10 ** -(size % 1):.6f}e-{int(size)}" for size in sizes]
    else:
        low, high = rng.choice([(0, 1), (0, 4), (-1, 2), (2, 2.1), (0, 40)])
        places = [f"{rng.uniform(low, high):.{rng.choice([2, 4, 12])}f}" for _ in range(number)]
        places += rng.choice([[], ["0"], ["0", "1e-30"], places[:3]])
        places = sorted(places, key=Fraction) if rng.random() < 0.5 else places
    return compose(*steps), rng.choice(RELATIONS), given, places, rng.choice([3, 6, 12])


def row(seed: int, index: int) -> Row:
    """How many answers of one list meet, and which do not."""
    composition, relation, given, places, digits = drawn(seed, index)
    found: Row = {"key": f"{seed}.{index}", "spec": f"{composition!r} {relation}"[:600], "given": given,
                  "digits": digits, "places": len(places), "met": 0, "missed": [], "narrow": 0, "slow": 0}
    try:
        with processor_time(LIST_SECONDS):
            profile = privacy_profile(composition, relation)
            many = profile.delta(places, digits) if given == "epsilon" else profile.epsilon(places, digits)
    except (Unsupported, Undecided, InvalidInput, TimeoutError) as error:
        return {**found, "error": str(error)[:200]}
    except Exception as error:
        return {**found, "crash": repr(error)[:300]}
    for place, one in list(zip(places, many, strict=True))[::max(len(places) // COMPARED, 1)]:
        try:
            with processor_time(SECONDS):
                fresh = privacy_profile(composition, relation)
                own = (fresh.delta if given == "epsilon" else fresh.epsilon)(place, SINGLE_DIGITS)
        except (Unsupported, Undecided, TimeoutError):
            found["slow"] += 1
            continue
        except Exception as error:
            return {**found, "crash": f"{place}: {error!r}"[:300]}
        found["narrow"] += one.status == "certified"
        if one.lower <= own.upper and own.lower <= one.upper:
            found["met"] += 1
        else:
            found["missed"].append(f"{place}: {one!r}, {own!r}")
    return found


def is_wrong(one: Row) -> bool:
    """Whether an answer is disjoint from another, or there was a crash."""
    return "crash" in one or bool(one["missed"])


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of a table."""
    yield "| list of | lists | places | met | disjoint | single question over its time |"
    yield "|---|---|---|---|---|---|"
    for given in ("epsilon", "delta"):
        mine = [one for one in rows if one["given"] == given and "error" not in one]
        sums = (sum(one[key] for one in mine) for key in ("places", "met"))
        yield (f"| {given} | {len(mine)} | " + " | ".join(map(str, sums))
               + f" | {sum(len(one['missed']) for one in mine)} | {sum(one['slow'] for one in mine)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "list-check.jsonl")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    known = rows_of(given.rows)
    with given.rows.open("a", encoding="utf-8") as out:
        for n in range(given.count):
            if f"{given.seed}.{n}" not in known:
                one = row(given.seed, n)
                known[one["key"]] = one
                print(json.dumps(one), file=out, flush=True)
                if is_wrong(one):
                    print(f"DISAGREEMENT {one}", flush=True)
    print("\n".join(report(list(known.values()))))
    return 1 if any(map(is_wrong, known.values())) else 0


if __name__ == "__main__":
    sys.exit(main())

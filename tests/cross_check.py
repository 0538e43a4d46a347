"""Do all verifiers say the same? On the certificates of the example claims, and on those of random specifications.

    python tests/cross_check.py --count 1000 --seed 1      (`make cross-check`)

Every certificate is written by this package and checked by the trusted checker, the independent one, and, where the
program of `make proofs` is there and a formal part can be written, the formal one. Not covered is no disagreement. Rows
are kept as JSON lines in build/, so that a run goes on where it stopped; tables go to build/cross-check.md.
Exit code 1 if and only if two verifiers disagree, or one refuses a certificate that was just written.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from verified_dp.certificate import build_certificate, certificate_bytes
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import read_document
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.profile import privacy_profile
from verified_dp.spec import load_spec, parse_spec
from verified_dp.verifiers import formal, independent
from verified_dp.verifiers.formal import CHECKER, verify_formal
from verified_dp.verifiers.record_formal import with_formal

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = ROOT / "examples" / "claims"
VERIFIERS = ("trusted", "independent", "formal")
SECONDS = 8.0
"""Of processor time, for writing a random certificate; what needs longer is left out."""
CHECK_SECONDS, FORMAL_SECONDS = 300.0, 20.0
"""For a checker, and for writing a formal part and for its program: what takes longer is not covered."""

Row = dict[str, Any]

# ---------- random specifications ----------

RELATIONS = ("add-or-remove", "add", "remove", "zero-out", "replace")
METHODS = ("auto", "auto", "contour", "lattice", "lattice", "closed-form", "renyi")
Table = dict[str, Any]


def _ratio(rng: random.Random, low: int, high: int, of: int) -> str:
    return str(Fraction(rng.randint(low, high), of))


def _shares(rng: random.Random, size: int) -> list[str]:
    parts = [rng.randint(0 if rng.random() < 0.2 else 1, 20) for _ in range(size - 1)] + [rng.randint(1, 20)]
    return [str(Fraction(part, sum(parts))) for part in parts]


def _finite(rng: random.Random) -> Table:
    size = rng.randint(2, 4)
    masses = _shares(rng, size)
    return {"P": masses, "Q": masses[::-1] if rng.random() < 0.5 else _shares(rng, size)}


def _mixture(rng: random.Random) -> Table:
    norms = sorted(rng.sample(range(8), rng.randint(1, 3)))
    weights = [rng.randint(1, 9) for _ in norms]
    return {"sigma": _ratio(rng, 2, 40, 4), "sensitivities": [str(Fraction(n, 4)) for n in norms],
            "probabilities": [str(Fraction(w, sum(weights))) for w in weights]}


def _renyi(rng: random.Random) -> Table:
    orders = sorted(rng.sample(range(3, 40), rng.randint(1, 4)))
    return {"renyi_orders": [str(Fraction(a, 2)) for a in orders],
            "epsilons": [str(Fraction(a * rng.randint(1, 9), 400)) for a in orders]}


def _matrix(rng: random.Random) -> Table:
    column = sorted((rng.randint(0, 8) for _ in range(rng.randint(0, 4))), reverse=True)
    return {"noise_multiplier": _ratio(rng, 4, 60, 4), "column": ["1", *(str(Fraction(n, 8)) for n in column)],
            "rounds": rng.randint(1, 40), **({"separation": rng.randint(1, 9)} if rng.random() < 0.5 else {}),
            **({"participations": rng.randint(1, 6)} if rng.random() < 0.5 else {})}


def _monotone(rng: random.Random) -> Table:
    return rng.choice([{}, {"monotone": True}])


KINDS: dict[str, Callable[[random.Random], Table]] = {
    "gaussian": lambda rng: rng.choice([
        *[{"noise_multiplier": _ratio(rng, 3, 40, 4)}] * 4,
        {"sigma": _ratio(rng, 3, 40, 4), "sensitivity": _ratio(rng, 1, 6, 2)}]),
    "laplace": lambda rng: {"scale": _ratio(rng, 2, 60, 2), "sensitivity": _ratio(rng, 1, 4, 2)},
    "discrete-laplace": lambda rng: {"scale": _ratio(rng, 2, 40, 2), "sensitivity": rng.randint(1, 4)},
    "discrete-gaussian": lambda rng: {"sigma_squared": _ratio(rng, 2, 80, 2), "sensitivity": rng.randint(1, 3)},
    "randomized-response": lambda rng: {"categories": rng.randint(2, 6), **rng.choice([
        {"noise_probability": _ratio(rng, 1, 9, 10)}, {"epsilon": _ratio(rng, 1, 12, 4)}])},
    "finite": _finite,
    "approximate-dp": lambda rng: {"epsilon": _ratio(rng, 0, 12, 8), "delta": _ratio(rng, 0, 9, 10**6)},
    "gaussian-dp": lambda rng: {"mu": _ratio(rng, 1, 12, 8)},
    "mixture-of-gaussians": _mixture,
    "exponential": lambda rng: {"bounded_range": _ratio(rng, 1, 20, 8)},
    "zcdp": lambda rng: {"rho": _ratio(rng, 0, 20, 100), **rng.choice([{}, {}, {"xi": _ratio(rng, 1, 9, 50)}])},
    "renyi": _renyi,
    "laplace-vector": lambda rng: {"scale": _ratio(rng, 2, 60, 2), "sensitivity": _ratio(rng, 1, 4, 2)},
    "discrete-laplace-vector": lambda rng: {"scale": _ratio(rng, 2, 40, 2), "sensitivity": rng.randint(1, 4)},
    "discrete-gaussian-vector": lambda rng: {
        "sigma_squared": _ratio(rng, 2, 80, 2), "sensitivity": _ratio(rng, 1, 6, 2)},
    "tree-aggregation": lambda rng: {"noise_multiplier": _ratio(rng, 3, 60, 4), "steps": rng.randint(1, 300)},
    "matrix-gaussian": _matrix,
    "shuffled-local": lambda rng: {
        "users": rng.choice([1, 2, rng.randint(3, 40), rng.randint(41, 20000)]), **rng.choice([
            {"epsilon0": _ratio(rng, 0, 12, 4)}, {"epsilon0": "log(3)"}, {"odds": _ratio(rng, 4, 40, 4)}])},
    "noisy-max": lambda rng: {"scale": _ratio(rng, 2, 60, 2), "sensitivity": _ratio(rng, 1, 4, 2), **_monotone(rng)},
    "sparse-vector": lambda rng: {
        "threshold_scale": _ratio(rng, 2, 60, 2), "query_scale": _ratio(rng, 2, 60, 2), "answers": rng.randint(1, 5),
        "sensitivity": _ratio(rng, 1, 4, 2), **_monotone(rng)},
}
SELECTIONS = ("noisy-max", "sparse-vector")
NOT_SAMPLED = ("randomized-response", "zcdp", "renyi", "discrete-gaussian-vector", "tree-aggregation",
               "matrix-gaussian")
RELEASES = ("laplace", "discrete-laplace", "finite", "approximate-dp", "gaussian-dp", "exponential",
            "discrete-gaussian")


def _sampling(rng: random.Random, kind: str, table: Table, relation: str) -> Table:
    """A scheme that may be there for this kind; {} for none."""
    poisson = {"scheme": "poisson", "probability": _ratio(rng, 1, 30, 100)}
    if kind != "gaussian" or "sigma" in table:
        return {} if kind in NOT_SAMPLED or kind == "gaussian" else poisson
    rounds = rng.randint(1, 6)
    others = [{"scheme": "without-replacement", "probability": _ratio(rng, 1, 30, 100)},
              {"scheme": "with-replacement", "draws": rng.randint(1, 6), "population": rng.randint(20, 200)},
              {"scheme": "truncated-poisson", "probability": _ratio(rng, 1, 30, 100), "population": rng.randint(2, 200),
               "largest_batch": rng.randint(1, 40)}]
    if relation != "replace":
        others += [{"scheme": "random-allocation", "rounds": rounds, "picks": rng.randint(1, rounds),
                    "fixed": rng.random() < 0.5},
                   {"scheme": "shuffled", "rounds": rng.randint(1, 30)},
                   {"scheme": "cyclic-poisson", "groups": rng.randint(1, 4), "rounds": rng.randint(1, 9),
                    "probability": _ratio(rng, 1, 30, 100)}]
    return poisson if rng.random() < 0.3 else rng.choice(others)


_EVERYWHERE = [kind for kind in KINDS if kind not in ("shuffled-local", *SELECTIONS)]
_ONLY_UNDER = {"replace": "randomized-response", "zero-out": "tree-aggregation"}


def _step(rng: random.Random, relation: str) -> Table:
    if rng.random() < 0.06:
        kinds = [rng.choice(RELEASES) for _ in range(rng.randint(1, 2))]
        return {"kind": "composition", "count": rng.randint(1, 3), "releases": [
            {"kind": kind, **KINDS[kind](rng), "count": rng.randint(1, 2)} for kind in kinds],
            "sampling": {"scheme": "poisson", "probability": _ratio(rng, 1, 30, 100)}}
    kind = rng.choice([*_EVERYWHERE, *["gaussian"] * 7, *[_ONLY_UNDER.get(relation, "gaussian")] * 3])
    table = KINDS[kind](rng)
    sampling = _sampling(rng, kind, table, relation) if rng.random() < 0.55 else {}
    count = rng.choice([1, 1, 2, 3, rng.randint(4, 60), rng.randint(60, 3000) if sampling else rng.randint(4, 200)])
    return {"kind": kind, **table, "count": count, **({"sampling": sampling} if sampling else {})}


def specification(seed: int, index: int) -> str:
    """The TOML of a random specification that this package has a theorem for, the same for the same two numbers."""
    rng = random.Random(f"{seed}.{index}")
    return next(text for text in iter(lambda: _any_specification(rng, f"{seed}.{index}"), "") if _is_supported(text))


def _any_specification(rng: random.Random, title: str) -> str:
    relation = rng.choice(RELATIONS)
    steps = [_step(rng, relation) for _ in range(rng.choice([1, 1, 1, 2, 2, 3]))]
    local = random.Random(f"{title}.local")
    if relation == "replace" and local.random() < 0.2:
        steps = [{"kind": "shuffled-local", **KINDS["shuffled-local"](local)}]
    elif local.random() < 0.08:
        kind = local.choice(SELECTIONS)
        steps[0] = {"kind": kind, **KINDS[kind](local), "count": local.randint(1, 20)}
    group = f"group_size = {rng.randint(2, 3)}\n" if rng.random() < 0.2 else ""
    claim = {"title": f"random {title}", "source": "",
             "epsilon": rng.choice(["0", "0.1", "0.5", "1", "2.5", "8"]),
             "delta": rng.choice(["1e-2", "1e-4", "1e-6", "1e-9", "0.3"])}
    if random.Random(f"{title}.delta").random() < 0.06:
        claim["delta"] = "0"
    return (f'relation = "{relation}"\n{group}' + "".join(f"[[mechanism]]\n{_toml(step)}" for step in steps)
            + f"[claim]\n{_toml(claim)}")


def selections(seed: int, index: int) -> str:
    """The same where the best of a random number of runs is released."""
    rng = random.Random(f"{seed}.{index}.selection")
    return next(text for text in iter(lambda: _any_selection(rng, f"{seed}.{index}"), "") if _is_supported(text))


def _any_selection(rng: random.Random, title: str) -> str:
    relation = rng.choice(RELATIONS)

    def run(most: int) -> Table:
        kind = rng.choice([*_EVERYWHERE, *SELECTIONS, *["gaussian"] * 6])
        table = KINDS[kind](rng)
        sampled = kind not in (*NOT_SAMPLED, *SELECTIONS) and "sigma" not in table and rng.random() < 0.4
        poisson = {"sampling": {"scheme": "poisson", "probability": _ratio(rng, 1, 30, 100)}}
        count = rng.choice([1, 2, rng.randint(1, most)])
        return {"kind": kind, **table, "count": count, **(poisson if sampled else {})}

    step = run(5) if rng.random() < 0.5 else {
        "kind": "composition", "count": rng.choice([1, 1, 3]), "releases": [run(200) for _ in range(rng.randint(1, 2))]}
    step["selection"] = rng.choice([
        {"scheme": "poisson-runs", "mean": _ratio(rng, 1, 80, 4)},
        {"scheme": "negative-binomial-runs", "mean": _ratio(rng, 5, 80, 4),
         "shape": rng.choice(["0", "1", "1/2", _ratio(rng, 1, 40, 8)])}])
    claim = {"title": f"best of {title}", "source": "", "epsilon": rng.choice(["0.5", "1", "2.5", "8", "20"]),
             "delta": rng.choice(["1e-2", "1e-4", "1e-6", "1e-9"])}
    return (f'relation = "{relation}"\n' + "".join(f"[[mechanism]]\n{_toml(one)}" for one in (
        [step, run(1)] if rng.random() < 0.3 else [step])) + f"[claim]\n{_toml(claim)}")


def _is_supported(text: str) -> bool:
    """Whether there is a theorem, other than T217, which the second checker does not cover."""
    try:
        losses = privacy_profile(parse_spec(text)).losses
    except Unsupported:
        return False
    return not any(type(law).__name__ == "SampledMomentsLoss" for loss in losses for law, _ in loss.parts)


def _toml(table: Table) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


# ---------- one certificate, all verifiers ----------


def random_row(seed: int, index: int, seconds: float = SECONDS, formal: Path = CHECKER,
               make: Callable[[int, int], str] = specification) -> Row:
    """Write and check the certificate of a random specification; `error` or `crash` in place of results without one."""
    rng, text = random.Random(f"{seed}.{index}.method"), make(seed, index)
    row: Row = {"key": f"{seed}.{index}", "spec": text}
    try:
        with processor_time(seconds):
            data = _certify(text, rng.choice(METHODS), rng.choice([2, 3, 5]))
    except (Unsupported, Undecided, InvalidInput, TimeoutError) as error:
        return {**row, "error": str(error)[:200]}
    except Exception as error:
        return {**row, "crash": repr(error)[:300]}
    return {**row, **checked(data, formal if rng.random() < 0.25 else None)}


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """TimeoutError inside after so many seconds of work, however busy the machine is."""
    def stop(signum: int, frame: object) -> None:
        raise TimeoutError("it takes too long")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _certify(text: str, method: str, digits: int) -> bytes:
    spec = parse_spec(text)
    assert spec.claim is not None
    profile = privacy_profile(spec)
    try:
        found = profile.solve_claim(spec.claim, digits, method, SECONDS)
    except (Unsupported, Undecided, InvalidInput):
        found = profile.solve_claim(spec.claim, digits, "auto", SECONDS)
    return certificate_bytes(build_certificate(spec, *found))


def claim_row(path: Path, formal: Path = CHECKER) -> Row:
    """The same for an example claim, as `certify` writes it."""
    spec = load_spec(path)
    assert spec.claim is not None
    data = certificate_bytes(build_certificate(spec, *privacy_profile(spec).solve_claim(spec.claim)))
    return {"key": f"claim:{path.stem}", **checked(data, formal)}


def checked(data: bytes, formal: Path | None) -> Row:
    """What every verifier says, in how many seconds; for the formal one a part is added to a copy."""
    document = read_document(data)
    results, seconds = {}, {}
    for name in VERIFIERS if formal and formal.exists() else VERIFIERS[:2]:
        start = _processor()
        results[name] = _result(name, data, formal)
        seconds[name] = round(_processor() - start, 3)
    return {"verdict": document["verdict"], "witnesses": sorted({
        entry["witness"]["kind"] for entry in document["evaluations"]}), "bytes": len(data), "results": results,
        "seconds": seconds}


def _processor() -> float:
    """Seconds of work of this process and of those that it started."""
    return sum(os.times()[:4])


def _result(name: str, data: bytes, formal: Path | None) -> str:
    """"valid", "invalid: why", or "not covered: why"."""
    try:
        with processor_time(FORMAL_SECONDS if name == "formal" else CHECK_SECONDS):
            found = _CALLS[name](data, formal)
    except (Unsupported, Undecided, InvalidInput, independent.TooMuch, independent.OutOfTime, TimeoutError) as error:
        return f"not covered: {error}"[:200]
    except Exception as error:
        return f"invalid: crashed: {error!r}"[:300]
    return "valid" if found.valid else f"invalid: {found.field}: {found.reason}"[:300]


_CALLS: dict[str, Callable[[bytes, Any], Any]] = {
    "trusted": lambda data, _: verify(data),
    "independent": lambda data, _: independent.verify(data),
    "formal": lambda data, program: verify_formal(with_formal(read_document(data)), str(program))}


def disagrees(row: Row) -> bool:
    """Whether a verifier refuses what this package has written and another one accepts, or all refuse it, or crash."""
    return "crash" in row or any(result.startswith("invalid") for result in row.get("results", {}).values())


# ---------- the whole run ----------


def rows_of(file: Path) -> dict[str, Row]:
    """The rows of earlier runs."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {row["key"]: row for row in map(json.loads, lines)}


def run(file: Path, tasks: Iterable[tuple[str, Callable[..., Row], tuple[Any, ...]]], jobs: int) -> dict[str, Row]:
    """Do what is not done yet; every row is kept when it is there."""
    known = rows_of(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, file.open("a", encoding="utf-8") as out:
        todo = [pool.submit(function, *given) for key, function, given in tasks if key not in known]
        for number, done in enumerate(as_completed(todo), 1):
            row = done.result()
            known[row["key"]] = row
            print(json.dumps(row), file=out, flush=True)
            if disagrees(row):
                print(f"DISAGREEMENT {row['key']}: {row.get('crash') or row['results']}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(todo)}", end="", file=sys.stderr, flush=True)
    return known


def counts(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of a table: every verifier's results, by kind of witness."""
    heads = (f"{name}: confirmed / not covered / refused" for name in VERIFIERS)
    yield "| witnesses | certificates | " + " | ".join(heads) + " |"
    yield "|---|---|" + "---|" * len(VERIFIERS)
    kinds = sorted({kind for row in rows for kind in row["witnesses"]})
    for kind in [*kinds, "all"]:
        chosen = [row for row in rows if kind == "all" or kind in row["witnesses"]]
        found = [Counter(row["results"][name].partition(":")[0] for row in chosen if name in row["results"])
                 for name in VERIFIERS]
        cells = (f"{one['valid']} / {one['not covered']} / {one['invalid']}" for one in found)
        yield f"| {kind} | {len(chosen)} | " + " | ".join(cells) + " |"


def reached(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of a table: in how many certificates of random specifications each word stands."""
    yield "| key | certificates |"
    yield "|---|---|"
    for key in ("relation", "kind", "scheme"):
        found = Counter(word for row in rows for word in set(re.findall(rf'\b{key} = "([a-z-]+)"', row["spec"])))
        yield f"| {key} | {', '.join(f'{word} {count}' for word, count in found.most_common())} |"


def corpus(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of a table: certificates x verifiers, with seconds of processor time."""
    yield "| claim | verdict | witnesses | " + " | ".join(VERIFIERS) + " |"
    yield "|---|---|---|" + "---|" * len(VERIFIERS)
    for row in rows:
        cells = (f"{row['results'][name].partition(':')[0]} ({row['seconds'][name]:.2f} s)"
                 if name in row["results"] else "" for name in VERIFIERS)
        yield (f"| {row['key'].partition(':')[2]} | {row['verdict']} | {', '.join(row['witnesses'])} | "
               + " | ".join(cells) + " |")


def report(rows: dict[str, Row]) -> str:
    """Both tables, and what was not written."""
    claims = sorted((row for key, row in rows.items() if key.startswith("claim:")), key=lambda row: row["key"])
    others = [row for key, row in rows.items() if not key.startswith("claim:")]
    written = [row for row in others if "results" in row]
    wrong = [row["key"] for row in rows.values() if disagrees(row)]
    head = (f"{len(claims)} example claims and {len(others)} random specifications, {len(claims) + len(written)} "
            f"certificates; disagreements: {', '.join(wrong) or 'none'}")
    lines = ["# Agreement of the verifiers", "", head, "", *counts([*claims, *written]), "", *reached(written), "",
             *corpus(claims), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for writing a random certificate")
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "cross-check.jsonl")
    parser.add_argument("--no-claims", action="store_true")
    parser.add_argument("--formal-checker", type=Path, default=CHECKER, help="the program of `make proofs`")
    given = parser.parse_args()
    formal.MAX_SECONDS = int(FORMAL_SECONDS)
    claims = [] if given.no_claims else sorted(CLAIMS.glob("*.toml"))
    tasks = chain(((f"claim:{path.stem}", claim_row, (path, given.formal_checker)) for path in claims),
                  ((f"{given.seed}.{n}", random_row, (given.seed, n, given.seconds, given.formal_checker))
                   for n in range(given.count)))
    rows = run(given.rows, tasks, given.jobs)
    text = report(rows)
    given.rows.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if any(map(disagrees, rows.values())) else 0


if __name__ == "__main__":
    sys.exit(main())

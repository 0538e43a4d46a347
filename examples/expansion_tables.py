"""How narrow are the expansions with a proved remainder, how fast do they narrow with the steps, are they ever wrong?

    python examples/expansion_tables.py                    the tables, as text
    python examples/expansion_tables.py --record PAGE      writes them into the page (docs/expansions.md; half an hour)

1. Relative widths of the intervals of order 0 to 6 over the number k of steps, q proportional to 1/sqrt k.
2. The plain Berry-Esseen bound beside that of the tilted loss.
3. Random compositions: every method's interval against 12 digits of the contour.
4. The claims of examples/claims: how many an expansion alone decides, and how narrow delta at the claimed eps is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import pairwise
from math import isqrt, log10
from pathlib import Path
from random import Random

from verified_dp import (
    Enclosure,
    Gaussian,
    InvalidInput,
    PoissonSampled,
    PrivacyProfile,
    Unsupported,
    compose,
    load_spec,
    privacy_profile,
)
from verified_dp.core.kernel.errors import OutOfRange
from verified_dp.papers import accountant

DELTAS, COUNTS, ORDERS = ("1e-5", "1e-10"), (10**2, 10**3, 10**4, 10**5, 10**6), range(7)
FAMILIES = {"equal steps": ((1, "1.5"),), "two laws": ((1, "1.5"), (2, "2"))}
"""Name -> (q sqrt k, noise) of each half of the steps."""
METHODS: dict[str, tuple[str, dict[str, object], Sequence[int | None]]] = {
    "tilted expansion (T141)": ("saddlepoint", {}, (0, 1, 2, 3, 4)),
    "untilted expansion (T141)": ("edgeworth", {}, (1, 2, 3, 4)),
    "SP-CLT, cited (T99)": ("berry-esseen", {"form": "cited"}, (None,)),
    "plain CLT, cited (T172)": ("berry-esseen", {"form": "plain-cited"}, (None,)),
}
"""Name -> method, parameters, orders that are asked in turn."""
CASES = 300
CLAIMS, EXPANSIONS = Path(__file__).parent / "claims", ("saddlepoint", "edgeworth", "berry-esseen")
Table = list[list[str]]


def family(name: str, count: int) -> PrivacyProfile:
    """Sampled Gaussian steps in the remove order."""
    laws = FAMILIES[name]
    root = isqrt(count)
    steps = [(PoissonSampled(Gaussian(noise), Fraction(part, root)), count // len(laws)) for part, noise in laws]
    return privacy_profile(compose(*steps), "remove")


def epsilon_at(profile: PrivacyProfile, delta: str) -> Fraction:
    """About epsilon(delta), to three decimals."""
    return Fraction(round(float(profile.guess_epsilon(Fraction(delta))), 3)).limit_denominator(1000)


def width(found: Enclosure | None, truth: Enclosure) -> float:
    """The interval's width over the truth. Raises ArithmeticError where it does not contain the truth."""
    if found is None or found.lower > truth.upper or truth.lower > found.upper:
        raise ArithmeticError(f"{found} does not contain {truth}")
    return float(found.upper.as_fraction() - found.lower.as_fraction()) / float(truth.upper)


def rates(names: Iterable[str] = FAMILIES, deltas: Iterable[str] = DELTAS,
          counts: Sequence[int] = COUNTS) -> Iterator[list[str]]:
    """Rows: family, delta, k, the relative width of each order."""
    for name in names:
        for delta in deltas:
            for count in counts:
                profile = family(name, count)
                epsilon = epsilon_at(profile, delta)
                truth = profile.delta(epsilon, 16)
                widths = [width(accountant(profile, "saddlepoint", order=n).delta(epsilon, 16).enclosure, truth)
                          for n in ORDERS]
                yield [name, delta, f"{count:.0e}".replace("e+0", "e"), *(f"{value:.1e}" for value in widths)]


def slopes(rows: Table) -> Iterator[list[str]]:
    """Rows: family, delta, by which power of k each order's width fell over the last decade."""
    for before, after in pairwise(rows):
        if before[:2] == after[:2] and int(float(after[2])) == COUNTS[-1]:
            fell = [log10(float(x) / float(y)) for x, y in zip(before[3:], after[3:], strict=True)]
            yield [*after[:2], *(f"{value:.2f}" for value in fell)]


def normal_bounds(delta: str = "1e-5", counts: Sequence[int] = (10**3, 10**5, 10**7)) -> Iterator[list[str]]:
    """Rows: k, the relative widths of the plain and of the tilted normal approximation, and their ratio."""
    for count in counts:
        profile = family("equal steps", count)
        epsilon = epsilon_at(profile, delta)
        truth = profile.delta(epsilon, 8)
        plain, tilted = (width(accountant(profile, "berry-esseen", form=form).delta(epsilon, 8).enclosure, truth)
                         for form in ("plain-cited", "cited"))
        yield [f"{count:.0e}".replace("e+0", "e"), f"{plain:.2g}", f"{tilted:.2g}", f"{tilted / plain:.1e}"]


def random_case(random: Random) -> tuple[PrivacyProfile, Fraction]:
    """One to three laws, few or many steps, with and without a plain Gaussian; eps where delta is 1e-1 to 1e-12."""
    steps = [(PoissonSampled(Gaussian(Fraction(random.randint(8, 40), 10)), Fraction(random.randint(2, 100), 1000)),
              int(10 ** random.uniform(1.5, 4.5))) for _ in range(random.randint(1, 3))]
    if random.random() < 0.3:
        steps.append((Gaussian(random.randint(20, 90)), random.randint(1, 40)))  # type: ignore[arg-type]
    profile = privacy_profile(compose(*steps), random.choice(("remove", "add", "add-or-remove")))
    return profile, epsilon_at(profile, f"1e-{random.randint(1, 12)}")


def measure(case: int) -> dict[str, float | None]:
    """Method -> relative width on the composition of that number, None where it is refused. Raises ArithmeticError."""
    profile, epsilon = random_case(Random(f"expansions {case}"))
    truth, found = profile.delta(epsilon, 12), {}
    for name, (method, parameters, orders) in METHODS.items():
        order = orders[case % len(orders)]
        more = {} if order is None else {"order": order}
        try:
            found[name] = width(accountant(profile, method, **parameters, **more).delta(epsilon, 12).enclosure, truth)
        except Unsupported:
            found[name] = None
    return found


def containment(cases: Iterable[int] = range(CASES)) -> Iterator[list[str]]:
    """Rows: method, how many intervals contain the contour's 12 digits, median width, how many below 0.1, refused.

    Raises ArithmeticError at the first interval that does not.
    """
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(measure, cases))
    for name in METHODS:
        widths = sorted(size for one in found if (size := one[name]) is not None)
        yield [name, str(len(widths)), f"{widths[len(widths) // 2]:.1e}", str(sum(size < 0.1 for size in widths)),
               str(len(found) - len(widths))]


def decide(file: Path, method: str, seconds: float = 60) -> tuple[str, float]:
    """What the method alone says of a claim, and the relative width of delta at its epsilon."""
    spec = load_spec(file)
    assert spec.claim is not None
    try:
        found = privacy_profile(spec).delta(spec.claim.epsilon, method=method, max_seconds=seconds)
    except (Unsupported, InvalidInput):
        return "refused", 1.0
    claimed = spec.claim.delta
    verdict = "decided" if found.upper <= claimed or found.lower > claimed else "undecided"
    try:
        low, high = found.lower.as_fraction(), found.upper.as_fraction()
    except OutOfRange:  # a delta like 2^-1500000
        return verdict, 1.0
    return verdict, float((high - low) / high) if high else 0.0


def corpus(methods: Sequence[str] = EXPANSIONS) -> Iterator[list[str]]:
    """Rows: method, claims it decides alone, leaves open, refuses; those 1 % and 1e-6 wide at most; median width."""
    files = sorted(CLAIMS.glob("*.toml"))
    for method in methods:
        found = [decide(file, method) for file in files]
        widths = sorted(width for verdict, width in found if verdict != "refused")
        counts = [sum(verdict == word for verdict, _ in found) for word in ("decided", "undecided", "refused")]
        yield [method, *(str(count) for count in counts), *(str(sum(size <= most for size in widths))
               for most in (1e-2, 1e-6)), f"{widths[len(widths) // 2]:.1e}"]


def markdown(head: Sequence[str], rows: Table) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in ([*head], ["---"] * len(head), *rows))


def sections() -> dict[str, str]:
    """Name of each part of the page -> its text."""
    found = list(rates())
    orders = [f"n = {n}" for n in ORDERS]
    return {
        "widths": markdown(["steps", "delta", "k", *orders], found),
        "slopes": markdown(["steps", "delta", *orders], list(slopes(found))),
        "normal": markdown(["k", "plain", "tilted", "tilted / plain"], list(normal_bounds())),
        "containment": markdown(["method", "contain it", "median width", "narrower than 10 %", "refused"],
                                list(containment())),
        "corpus": markdown(["method", "decides", "leaves open", "refuses", "1 % wide", "1e-6 wide", "median width"],
                           list(corpus())),
    }


def record(page: Path) -> None:
    """Put every part between its two marks."""
    text = page.read_text(encoding="utf-8")
    for name, body in sections().items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n\n{body}\n\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", type=Path, metavar="PAGE")
    if (asked := parser.parse_args().record) is not None:
        record(asked)
    else:
        for title, shown in sections().items():
            print(f"{title}\n{shown}\n", flush=True)

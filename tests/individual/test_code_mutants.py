"""The individual losses broken on purpose, one change at a time: the tests have to notice (see CONTRIBUTING.md).

The long test runs them all in copies of the package (an hour); `python tests/individual/test_code_mutants.py WORD` runs
those whose file or text holds the word. The short one keeps the list current.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutation import copy_checkout, run_tests  # noqa: E402

FOLDER = Path("verified_dp") / "individual"
TESTS = ["tests/individual/test_audit_interpolation.py", "tests/individual/test_audit_integers.py",
         "tests/individual/test_audit_losses.py", "tests/individual/test_individual_losses.py",
         "tests/individual/test_alone.py",
         "tests/individual/test_full_batch.py", "tests/individual/test_input.py", "tests/individual/test_end_to_end.py"]
NEAREST = {"squares.py": "integers", "statements.py": "integers", "input.py": "integers", "counts.py": "integers",
           "../search/doubles.py": "test_individual", "interpolation.py": "interpolation", "alone.py": "alone",
           "refine.py": "alone", "widths.py": "alone", "full_batch.py": "full_batch"}
"""Which tests are run first; elsewhere those of whole records."""
MUTANTS: dict[str, list[tuple[str, str]]] = {
    "squares.py": [
        ("WIDEN = 1 + 2.0**-49", "WIDEN = 1 - 2.0**-49"),
        ("SQUARE_SLACK = Fraction(1, 2**47)", "SQUARE_SLACK = Fraction(1, 2**52)"),
        ("HULL_SLACK = Fraction(1, 2**45)", "HULL_SLACK = Fraction(1, 2**62)"),
        ("+ (norms > 0)", "+ 0"),
        ("return np.minimum(scaled, 2**UNIT_BITS)", "return scaled"),
        (", 1) + (HALVINGS - 1)", ", 1) + (HALVINGS - 2)"),
        ("bucket -= ratio * float(parts * 2**k) <= 1", "bucket -= ratio * float(parts * 2**k) < 1"),
        ("CASE WHEN norm > 0 THEN 1", "CASE WHEN norm > 0 THEN 0"),
        ('return f"(LEAST(CAST(norm AS DOUBLE), {constant})', 'return f"(LEAST(CAST(norm AS FLOAT), {constant})'),
    ],
    "statements.py": [
        ("* CAST(repeats AS DECIMAL(10,0))) AS squares", ") AS squares"),
    ],
    "input.py": [
        ("np.add.at(target, at, values * repeats)", "np.add.at(target, at, values)"),
        ("(1, square >> SPLIT_BITS, square & (2**SPLIT_BITS - 1))", "(1, square >> SPLIT_BITS, 0 * square)"),
        ("return counts.take(np.argsort(order))", "return counts"),
        ("return counts.take(np.argsort(order))", "return counts.take(order)"),
        ("        if len(counts.records) != len(records):", "        if False:"),
        ('if records.dtype.kind == "f" and', "if False and"),
        ("count_steps(rows, self.training, self.norms, parts, self.repeats)",
         "count_steps(rows, self.training, self.norms, parts)"),
        ("found[float(self.array[i][record])] += times", "found[float(self.array[i][record])] = times"),
        ("found[float(self.array[i][record])] += times", "found[float(self.array[i][record])] += 1"),
        ("np.asarray(self.array[i])[records]", "np.asarray(self.array[i])[:len(records)]"),
        ("SUM(repeats) FROM readings", "COUNT(*) FROM readings"),
        ("WHERE record IN (SELECT record FROM picked)", "WHERE record >= (SELECT MIN(record) FROM picked)"),
    ],
    "counts.py": [
        ("self.high - self.steps * ends[:-1]", "self.high - self.steps * ends[1:]"),
        ("+ self.low * 2.0**-SPLIT_BITS", "+ 0 * self.low"),
        ("weights[:, :-1] += steps - above", "weights[:, :-1] += steps"),
        ("weights[:, 1:] = above", "weights[:, 1:] = 0.999 * above"),
        ("ends = self._ends[1:] if up else self._ends[:-1]", "ends = self._ends[:-1] if up else self._ends[1:]"),
        ("low & (2**SPLIT_BITS - 1)", "low & (2**SPLIT_BITS - 2)"),
        ("np.searchsorted(self._ends, square_ends(self.training, parts)[:-1])",
         "np.searchsorted(self._ends, square_ends(self.training, parts)[:-1]) + 1"),
        ("np.searchsorted(self._ends, square_ends(self.training, parts)[:-1])",
         "np.maximum(np.searchsorted(self._ends, square_ends(self.training, parts)[:-1]) - 1, 0)"),
        ("        high, low = split_sum(high, low)\n", ""),
        ("return (first, inverse) if same else (every, every)", "return first, inverse"),
        ("records=self.records[rows], steps=self.steps[rows]",
         "records=self.records[:len(rows)], steps=self.steps[rows]"),
        ("high=self.high[rows],", "high=self.high[:len(rows)],"),
        ("if len(rows) == len(self.records) and np.array_equal(rows, np.arange(len(rows))):",
         "if len(rows) == len(self.records):"),
        ("(self.steps, other.steps), (self.high, other.high)", "(self.steps, other.steps)"),
        ("if share < self.share:", "if False:"),
    ],
    "../search/doubles.py": [
        ("for n in range(14)]", "for n in range(11)]"),
        ("for n in range(9)]", "for n in range(7)]"),
        ("for n in range(10)]", "for n in range(8)]"),
        ("0x1.a39ef35793c76p-33", "0x1.a39ef357p-33"),
        ("0x1.13198a2e03707p-65", "0x1.13198a2e03707p-60"),
        ("(quarter == 1) | (quarter == 2)", "quarter == 2"),
        ("odd = (quarter & 1)", "odd = (quarter & 2)"),
        ("    while not arb(guess) >= end:", "    while False:"),
        ("return -double_above(-lower_end(x))", "return double_above(lower_end(x))"),
    ],
    "interpolation.py": [
        ('return z + 1 if self.order == "remove" else -z', 'return z if self.order == "remove" else -z'),
        ("self.moments[0] / 2)", "self.moments[0] / 8)"),
        ("inner = 2 * two + 4 * shifted", "inner = 0 * two + 4 * shifted"),
        ("+ 4 * shifted * three", "+ 0 * shifted * three"),
        ("+ shifted * twice * four", "+ 0 * shifted * twice * four"),
        ("product * two / 2 * ROUND_UP", "product * two / 4 * ROUND_UP"),
        ("product * inner / 4 * ROUND_UP", "product * inner / 8 * ROUND_UP"),
        ("rows = [z * (z + 1) for z in points]", "rows = [z * z for z in points]"),
        ("[beta - 2 for beta in powers]", "[beta - 4 for beta in powers]"),
        ("[beta - 3 for beta in powers]", "[beta - 5 for beta in powers]"),
        ("(self._low * t).max(self._high * t) - self._low * self._low / 2", "self._low * t - self._high * self._high"),
        ("(self._low * t).max(self._high * t) -", "(self._low * t).min(self._high * t) -"),
        ("(self._low * t).min(self._high * t) - self._high * self._high / 2", "(self._high * t).max(self._low * t)"),
        ("step.rest + (odds if order", "step.rest + (odds if True or order"),
        ("before, left, last = tail, step.least_odds(t), t", "before, left, last = tail, step.largest_odds(t), t"),
        ("else before * ((step.rest + left).log() * -c).exp()", "else arb(0)"),
        ("value * share ** (j + 2)", "value * share ** (j + 3)"),
        ("(c + 1 if order", "(c if order"),
        ("upper_end(total + right) for total in totals", "upper_end(total) / 2 for total in totals"),
        ("right = _bound_right_of(last, c, ball(top)) if", "right = arb(0) if"),
        ("return (c * (c + 1) * v / 2).exp() * normal_tail(t - (c + 1) * root)", "return normal_tail(t)"),
        ("    if not t >= root / 2:\n", "    if False:\n"),
        ("return self.high + self.slack", "return self.low"),
        ("double_above(width * width / 8", "double_above(width * width / 16"),
        ("+ 2 * width * room)", "+ 0 * width * room)"),
        ("reach, whole = double_above(width / 2 + room)", "reach, whole = double_above(width / 2)"),
        ("least = ((low + high) / 2 - first * reach * ROUND_UP)", "least = ((low + high) / 2)"),
        ("least = ((low + high) / 2 -", "least = (np.maximum(low, high) -"),
        ("+ slope * slope\n", "\n"),
        ("bend * curve + slope * shift", "bend * curve"),
        ("sure = (least > 0)", "sure = (least > -9)"),
        ("most = ((low + high) / 2 + first * reach)", "most = ((low + high) / 2)"),
        ("most = ((low + high) / 2 + first", "most = (np.minimum(low, high) + first"),
        ("excess = (rise * rise / 8)", "excess = (rise * rise / 16)"),
        ('.min(rise) if shares.order == "remove" else rise', ".min(rise)"),
        ("most = (point * (point + 1)).real / 2", "most = (point * (point + 1)).real / 4"),
        ("room = ball(hull.slack) * (2 * rise", "room = 0 * ball(hull.slack) * (2 * rise"),
        ("(excess + room + ball(slack) * most)", "(excess + room)"),
        ("half, turned = angle * angle / 2", "half, turned = angle * angle / 4"),
        ("turned = angle * angle / 2, z.imag * angle.sin()", "turned = angle * angle / 2, 0 * angle.sin()"),
        ("* cosine**-2 *", "*"),
        ("(slope * slope + abs(tilt) + 2 * turned) / 2", "(abs(tilt) + 2 * turned) / 2"),
        ("(slope * slope + abs(tilt) + 2 * turned) / 2", "(slope * slope) / 2"),
        ("(slope * slope + abs(tilt) + 2 * turned) / 2", "(slope * slope + abs(tilt) + 2 * turned) / 16"),
        ("rate = (half / least).exp() * loss", "rate = loss"),
        ("lost = (half / least).exp() * loss * (beta * beta + beta) / 2", "lost = arb(0)"),
        ("start = at_low * (half * (1 / least - 1 / low)).exp()", "start = at_low"),
        ("return start.log() + room * rate / start + ", "return start.log() + "),
        ("(1 + half).log() - half / (1 + half), 2 * half", "-half / (1 + half), 2 * half"),
        ("- half / (1 + half), 2 * half / (1 + half)", "- half / (1 + half), half / (1 + half)"),
        ("    if hull.low == 0:\n", "    if angle == 0:\n"),
    ],
    "tables.py": [
        ("if not 0 <= self.left < self.tilt < self.right:", "if not self.left <= self.tilt:"),
        ("if not (self.step > 0 and 1 <= self.count <= MOST_FREQUENCIES):", "if False:"),
        ("(2 if m else 1) / (z * (z + 1))", "1 / (z * (z + 1))"),
        ("(2 if m else 1) / (z * (z + 1))", "(2 if m else 1) / (z * z)"),
        ("with ctx.workprec(BOUND_BITS):\n        return np.array([complex", "with ctx.workprec(witness.prec):\n"
         "        return np.array([complex"),
        ("logs = [(square * ball(v).expm1()).log1p()", "logs = [(square * ball(v).expm1()).log1p() / 2"),
        ("variance_edges(parts), HULL_SLACK / training", "variance_edges(parts), 0 * HULL_SLACK / training"),
        ("np.full((len(self.ends) - 1, count), UNKNOWN)", "np.full((len(self.ends) - 1, count), 0.0)"),
        ("if shares is None or hull.bottom < shares.least:", "if shares is None:"),
        ("return [value + error for value in", "return [value for value in"),
        ("+ error).real)]", ").real)]"),
        ("total = (errors + own + PRODUCT_ERROR * size)", "total = (errors + PRODUCT_ERROR * size)"),
        ("total = (errors + own + PRODUCT_ERROR * size)", "total = (own + PRODUCT_ERROR * size)"),
        ("np.maximum(radius[1:], radius[:-1])", "np.minimum(radius[1:], radius[:-1])"),
        ("if not b or 0 < frequency <= witness.step * witness.count:", "if True:"),
        ("period, tilt = 2 * arb.pi() / ball(witness.step)", "period, tilt = 4 * arb.pi() / ball(witness.step)"),
        ("/ ((right - tilt) * period).expm1()", "/ (right * period).expm1()"),
        ("/ ((tilt - left) * period).expm1()", "/ (tilt * period).expm1()"),
        ("constant = bound_chernoff_factor(left) if witness.left else arb(1)", "constant = arb(1) / 9"),
        ("double_above(bound_chernoff_factor(tilt))", "double_above(bound_chernoff_factor(tilt) / 2)"),
    ],
    "evaluate.py": [
        ("upper = scale * np.maximum(total + error, 0)", "upper = scale * np.maximum(total, 0)"),
        ("lower = scale * np.maximum(total - error, 0)", "lower = scale * np.maximum(total, 0)"),
        (" / UP - self._aliases(epsilon)", " / UP"),
        ("self._step / (2 * np.pi)\n        error", "self._step / (2.0001 * np.pi)\n        error"),
        ("np.where(turned & (np", "np.where(True | turned & (np"),
        ("np.minimum(chernoff, self.variation))", "np.minimum(chernoff, self.variation) / 2)"),
        ("turn = cosine - 1j * sine", "turn = cosine + 1j * sine"),
        ("return (right + left) * UP", "return right * UP"),
        ("return (right + left) * UP", "return left * UP"),
        ("(np.abs(exponent) < 2.0**12) & (log < UNKNOWN)", "np.abs(exponent) < 2.0**12"),
        ("spread = exponential(table.errors.T @ steps.T * UP)", "spread = exponential(0 * table.errors.T @ steps.T)"),
        ("* (cosine + 1j * sine)", "* (cosine - 1j * sine)"),
        ("far = sizes * (1 + slack) + sure", "far = sizes * (1 + slack)"),
        ("far = sizes * (1 + slack) + sure", "far = sure"),
        ("sizes *= np.abs(table.kernel)[:, None]", "sizes *= 0.01 * np.abs(table.kernel)[:, None]"),
        ("size = steps @ table.moduli - scale[:, None]", "size = -scale[:, None] + 0 * steps @ table.moduli"),
        ("error + _bound_tail(table, steps, weights_above, scale)", "error"),
        ("own = scale + steps @ table.errors[:, 0] * UP", "own = scale - steps @ table.errors[:, 0] * UP"),
        ("+ steps @ column.errors * UP", "+ 0 * steps @ column.errors"),
        ("0.5 * np.sqrt(logs * (1 + logs))", "0.25 * np.sqrt(logs * (1 + logs))"),
        ("0.5 * np.sqrt(logs * (1 + logs))", "0.5 * np.sqrt(logs)"),
        ("+ above @ table.beyond_share - scale", "- scale"),
        ("factor = 2 / (float(witness.step)", "factor = 0.1 / (float(witness.step)"),
    ],
    "brackets.py": [
        ("below = near if Fraction(near) <= value", "below = near if Fraction(near) >= value"),
        ("zero = rows.delta(np.zeros(len(guess)))[1] <= below", "zero = rows.delta(np.zeros(len(guess)))[0] <= below"),
        ("(rows.delta(high)[1] <= below)", "(rows.delta(high)[0] <= below)"),
        ("(rows.delta(low)[0] > above)", "(rows.delta(low)[1] > above)"),
        ("(rows.delta(last)[1] <= below)", "(rows.delta(last)[0] <= below)"),
    ],
    "alone.py": [
        ("least = max(edges[bucket] - HULL_SLACK,", "least = max(edges[bucket + 1] - HULL_SLACK,"),
        ("least = max(edges[bucket] - HULL_SLACK,", "least = max(edges[bucket],"),
        ("total - SQUARE_SLACK if count == 1", "total + SQUARE_SLACK if count == 1"),
        ("total - SQUARE_SLACK if count == 1", "total if count == 1"),
        ("total - SQUARE_SLACK if count == 1", "total - SQUARE_SLACK if count >= 1"),
        ("min(edges[bucket + 1] + HULL_SLACK, total", "min(edges[bucket + 1], total"),
        ("min(edges[bucket + 1] + HULL_SLACK, total", "min(edges[bucket] + HULL_SLACK, total"),
        ("HULL_SLACK, total, Fraction(1))", "HULL_SLACK, total / count, Fraction(1))"),
        ("return [Steps(ratio * ratio, ratio * ratio, count)", "return [Steps(ratio * ratio, ratio * ratio, 1)"),
        ("(min(Fraction(norm), training.clipping) / training.clipping", "(Fraction(norm) / training.clipping"),
        ("lower, upper = ends[0][0], ends[-1][1]", "lower, upper = ends[0][0], ends[0][1]"),
        ("lower, upper = ends[0][0], ends[-1][1]", "lower, upper = ends[-1][0], ends[-1][1]"),
        ("max(0.0, doubles_around(lower)[0])", "max(0.0, doubles_around(lower)[1])"),
        ("max(0.0, doubles_around(upper)[1])", "max(0.0, doubles_around(upper)[0])"),
        ("double_below(bounds[0].lower)", "double_below(bounds[-1].lower)"),
        ("double_above(bounds[-1].upper)", "double_above(bounds[0].upper)"),
        ("composition[square] += part.count", "composition[square] = part.count"),
        ("composition[square] += part.count", "composition[square] += 1"),
        ("_in_range(part, training), strict=True)", "_in_range(part, training)[::-1], strict=True)"),
        ("part.least if part.least >= floor else Fraction(0)", "max(part.least, floor)"),
        ("max(part.most, floor) if part.most", "part.most if part.most >= floor"),
        ("compositions[: 1 + (compositions[0] != compositions[1])]", "compositions[:1]"),
        ("training.noise_multiplier**2 / square)", "training.noise_multiplier**2 / square**2)"),
    ],
    "refine.py": [
        ("np.maximum(self.lower[rows], lower[inverse])", "np.maximum(self.lower[rows], np.resize(lower, len(rows)))"),
        ("np.minimum(self.upper[rows], upper[inverse])", "np.minimum(self.upper[rows], np.resize(upper, len(rows)))"),
        ("np.maximum(self.lower[rows], lower[inverse])", "np.minimum(self.lower[rows], lower[inverse])"),
        ("np.minimum(self.upper[rows], upper[inverse])", "np.maximum(self.upper[rows], upper[inverse])"),
        ("max(self.lower[row], known[kind][0])", "max(self.lower[row], known[kind][1])"),
        ("min(self.upper[row], known[kind][1])", "min(self.upper[row], known[kind][0])"),
        ("    if not again.equals(before):", "    if False:"),
        ("        _check_same(again, self.counts.take(np.array([row])))\n", ""),
        ("        _check_same(finer.coarser(counts.parts), counts)\n", ""),
        ("kind = frozenset(Counter(steps).items())", "kind = frozenset((step, 1) for step in steps)"),
        ("kind = frozenset(Counter(steps).items())", "kind = frozenset()"),
        ("evaluate_rows(table, kinds.take(chunk))", "evaluate_rows(table, kinds.take(group[:len(chunk)]))"),
        ("lower[chunk], upper[chunk] = self.question", "upper[chunk], lower[chunk] = self.question"),
        ("rows = places[group]", "rows = group"),
        ("finer = counts.readings.count(counts.records, parts)",
         "finer = counts.readings.count(self.counts.records[:len(rows)], parts)"),
        ("kinds = counts.take(first)", "kinds = counts.take(np.arange(len(first)))"),
        (".of_record(self.counts.records[row])", ".of_record(self.counts.records[0])"),
        ("for half in (times - times // 2, times // 2) if half]", "for half in (times,)]"),
        ("if (self.lower > self.upper).any():", "if False:"),
        ("        self._tried[rows] = True\n", ""),
        ("np.argsort(self.lower[rows] - self.upper[rows]", "np.argsort(self.upper[rows] - self.lower[rows]"),
        ("np.where(self._totals > 0, np.inf, 0.0)", "np.zeros(count)"),
    ],
    "widths.py": [
        ("np.isfinite(upper) & (upper - lower", "(upper - lower"),
    ],
    "full_batch.py": [
        ("((low, lower, np.maximum), (high, upper, np.minimum))",
         "((high, lower, np.maximum), (low, upper, np.minimum))"),
        ("[int(bound is upper)][back]", "[int(bound is lower)][back]"),
        ("[int(bound is upper)][back]", "[int(bound is upper)][np.arange(len(back)) % len(own)]"),
        ("enclose_between(nodes, low)[0], enclose_between(nodes, high)[1]",
         "enclose_between(nodes, high)[0], enclose_between(nodes, low)[1]"),
        ("np.ceil(scaled) if up else np.floor(scaled)", "np.rint(scaled)"),
        ("np.where(distance > 0, slope, 0.0) * distance", "slope * distance"),
        ("- counts.steps.sum(axis=1) * float(SQUARE_SLACK)", ""),
        ("np.sqrt(least) / sigma * (1 - NEAR)", "np.sqrt(square) / sigma * (1 + NEAR)"),
        ("(np.sqrt(square) / sigma * (1 + NEAR)", "(np.sqrt(square) / sigma * (1 - NEAR)"),
        ("least = np.minimum(nodes.slope_lower[left], nodes.slope_lower[right])", "least = nodes.slope_lower[right]"),
        ("most = np.maximum(nodes.slope_upper[left], nodes.slope_upper[right])", "most = nodes.slope_upper[left]"),
        ("np.maximum(most, STEEPEST)", "most"),
        ("nodes.lower[right] - _rise(most, after)", "nodes.lower[right] - _rise(least, after)"),
        ("nodes.upper[left] + _rise(most, before)", "nodes.upper[left] + _rise(least, before)"),
        ("turn = sqrt(2 * min(value", "turn = sqrt(min(value"),
        ('return 0.0, float("inf"), 0.0, float("inf")', "return 0.0, 0.0, 0.0, 0.0"),
        ("return 0.0, most, 0.0, steepest", "return most, most, 0.0, steepest"),
        ("if enclose_delta(mu, Fraction(0))[1] <= delta", "if enclose_delta(mu, Fraction(0))[1] / 2 <= delta"),
        ("double_below(hazards[0]), double_above(hazards[1])",
         "double_below(hazards[0]), double_above(hazards[1]) / 2"),
        ("place = epsilon / ball(mu) + ball(mu / 2)", "place = epsilon / ball(mu) - ball(mu / 2)"),
    ],
}
ALL = [(name, old, new) for name, changes in MUTANTS.items() for old, new in changes]


def test_list_is_current() -> None:
    """Every text that is changed occurs exactly once."""
    for name, old, _ in ALL:
        assert (ROOT / FOLDER / name).read_text(encoding="utf-8").count(old) == 1, (name, old)
    assert len(ALL) >= 100


def survives(mutant: tuple[str, str, str]) -> bool:
    """Whether the tests pass on a copy of the package with this one change."""
    name, old, new = mutant
    with tempfile.TemporaryDirectory() as folder:
        copy_checkout(Path(folder))
        path = Path(folder) / FOLDER / name
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        tests = sorted(TESTS, key=lambda path: NEAREST.get(name, "audit_losses") not in path)
        verdict, by = run_tests(Path(folder), tests, gigabytes=16)
        print("SURVIVED" if verdict == "passed" else "caught", mutant, by, flush=True)
        return verdict == "passed"


def survivors(mutants: list[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from (mutant for mutant, alive in zip(mutants, pool.map(survives, mutants), strict=True) if alive)


@pytest.mark.long
def test_every_mutant_is_noticed() -> None:
    assert list(survivors(ALL)) == []


if __name__ == "__main__":
    words = sys.argv[1:]
    left = list(survivors([mutant for mutant in ALL if not words or any(word in " ".join(mutant) for word in words)]))
    print(f"{len(left)} survived", *left, sep="\n")

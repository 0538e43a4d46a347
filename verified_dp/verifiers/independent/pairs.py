"""From what was run to the dominating pairs, in words, and to the laws (CERTIFICATE.md, "Pairs")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, isqrt
from typing import Any, NoReturn

from .atoms import (
    AtomicLaw,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GroupOddsLoss,
    OddsLoss,
    SampledAtomicLoss,
    by_ratio,
    finite_product,
)
from .balls import ball, exp, expm1, larger, log1p, normal_tail, precision
from .clones import CloneLoss, CloneOddsLoss
from .document import Document, Invalid, TooMuch
from .document import fraction_text as shown
from .inputs import MAX_DRAWS, MAX_OUTCOMES, Input, Mechanism, Sampling, merged
from .laws import (
    BoundedRangeLoss,
    Component,
    FixedBatchLoss,
    LaplaceLoss,
    NoisyVotesLoss,
    RandomAllocationLoss,
    RenyiLoss,
    SampledGaussianLoss,
    SampledLaplaceLoss,
    SampledLoss,
    SquareRoot,
    TruncatedBatchLoss,
    ZCDPLoss,
    full_share,
    place,
    square_of,
)
from .losses import SWAPPED, ComposedLoss, ShuffledEpoch
from .pieces import MAX_BASE_WORK, AtomicProduct, ClosedFormLaw, count_pieces
from .selected import SelectedLoss
from .shifts import (
    DiscreteGaussianLoss,
    DiscreteGaussianMixtureLoss,
    DiscreteLaplaceMixtureLoss,
    LaplaceMixtureLoss,
    MixtureLoss,
)

ORDERS = {"add-or-remove": ("remove", "add"), "zero-out": ("remove", "add"), "remove": ("remove",), "add": ("add",),
          "replace": ("symmetric",)}
LARGEST_RATIO = 8
DISPLACED = "T142-displaced-records"


@dataclass(frozen=True)
class Step:
    """One step in one order: P and Q in words, theorems, whether data sets realise the pair; its law, or the squared
    distance of a Gaussian, or neither (nothing is revealed); how many copies of the law it is."""

    order: str
    P: str
    Q: str
    theorems: tuple[str, ...]
    tight: bool
    law: Any = None
    shift_squared: Fraction = Fraction(0)
    copies: int = 1
    epoch: ShuffledEpoch | None = None

    def record(self) -> Document:
        return {"order": self.order, "P": self.P, "Q": self.Q, "theorem": ", ".join(self.theorems), "tight": self.tight}


@dataclass(frozen=True)
class Setting:
    """In which order of which relation, and how many records change together."""

    order: str
    relation: str
    records: int = 1
    stated: str = ""
    """The texts of the certificate's pairs: a chance that is rounded up is taken from there, and checked."""

    @property
    def zero_out(self) -> tuple[str, ...]:
        return ("T24-pair-zero-out",) if self.relation == "zero-out" else ()

    @property
    def is_plain(self) -> bool:
        return self.order != "symmetric" and self.records == 1

    def pair(self, P: str, Q: str, *theorems: str, tight: bool = True, **what: Any) -> Step:
        """P and Q as of the remove order."""
        first, second = (Q, P) if self.order == "add" else (P, Q)
        return Step(self.order, first, second, theorems, tight, **what)


def refuse(what: str) -> NoReturn:
    raise Invalid("input", f"no theorem covers {what}")


def read_pairs(run: Input, stated: Any = "") -> tuple[list[Document], bool, dict[str, ComposedLoss]]:
    """(the list `pairs`, whether all are tight, the loss of every order)."""
    merged_steps = merged(run.steps)
    steps = {order: list(_all_steps(merged_steps, Setting(order, run.relation, run.group_size, str(stated))))
             for order in ORDERS[run.relation]}
    records: list[Document] = []
    for step in (step for found in steps.values() for step, _ in found):
        if step.record() not in records:
            records.append(step.record())
    tight = all(step.tight or step.epoch for found in steps.values() for step, _ in found)
    return records, tight, {order: compose(order, found) for order, found in steps.items()}


def _all_steps(steps: Sequence[tuple[Mechanism, int]], setting: Setting) -> Iterator[tuple[Step, int]]:
    for step, count in steps:
        if step.kind == "partition-selection" and not step.selection:
            yield from ((found, count) for found in _partitions(step, setting))
        elif step.selection or step.sampling is None or step.sampling.scheme != "random-allocation":
            yield step_of(step, setting), count
        else:
            yield from _allocated(step, step.sampling, count, setting)


def compose(order: str, steps: Sequence[tuple[Step, int]]) -> ComposedLoss:
    """Gaussians merge into one (T15); equal laws share a count; laws come in the order of `place`."""
    laws: dict[Any, int] = {}
    for step, count in steps:
        if step.law is not None:
            laws[step.law] = laws.get(step.law, 0) + count * step.copies
    shift = sum((count * step.shift_squared for step, count in steps), Fraction(0))
    epochs = tuple((step.epoch, count, count * step.shift_squared) for step, count in steps if step.epoch)
    return ComposedLoss(order, tuple(sorted(laws.items(), key=lambda item: place(item[0]))), shift, epochs)


def step_of(step: Mechanism, setting: Setting) -> Step:
    if step.selection:
        return _selected(step, step.selection, setting)
    if step.sampling is None:
        return _plain(step, setting) if setting.records == 1 else _group(step, setting)
    if step.sampling.scheme == "poisson":
        if setting.records > MAX_DRAWS:
            refuse(f"more than {MAX_DRAWS} records on a sample")
        return _sampled(step, step.sampling.probability, setting)
    if step.sampling.scheme == "cyclic-poisson":
        return _cyclic(step, step.sampling, setting)
    if step.sampling.scheme == "truncated-poisson":
        return _truncated(step, step.sampling, setting)
    if step.sampling.scheme == "shuffled":
        return _shuffled(step, step.sampling.rounds, setting)
    return (_without if step.sampling.scheme == "without-replacement" else _with)(step, setting)


def _selected(step: Mechanism, runs: Sampling, setting: Setting) -> Step:
    """The best of K runs: what is known of one run in both directions, whose moments are finite (T213)."""
    if setting.records > 1:
        refuse("groups where the best of several runs is selected")
    one_run = replace(step, selection=None)
    parts = one_run.releases if step.kind == "composition" and not step.sampling else ((one_run, 1),)
    both = "add-or-remove" if setting.relation in ("add", "remove") else setting.relation
    one, other = (compose(order, list(_all_steps(merged(parts), replace(setting, order=order, relation=both))))
                  for order in (setting.order, SWAPPED[setting.order]))
    if not (one.infinity().is_zero() and other.infinity().is_zero()):
        refuse("the best of several runs with a positive delta at every epsilon")
    law = "Poisson" if runs.shape is None else "truncated negative binomial"
    words = f"the best of K runs, K {law} of mean {shown(runs.mean)}"
    return Step(setting.order, words if runs.shape is None else f"{words} and shape {shown(runs.shape)}",
                "the same without the record, or the other way", ("T213-private-selection",), False,
                SelectedLoss(one, other, runs.mean, runs.shape) if one.laws or other.laws else None)


# ---------- without sampling ----------


def _plain(step: Mechanism, setting: Setting) -> Step:
    found: Step = _PLAIN[step.kind](step, setting)
    return found


def _gaussian(step: Mechanism, setting: Setting) -> Step:
    if step.get("noise_multiplier") is not None:
        shift = (2 if setting.relation == "replace" else 1) / step.number("noise_multiplier")
    else:
        shift = step.number("sensitivity") / step.number("sigma")
    theorems = "T23-pair-gaussian", *setting.zero_out
    return Step(setting.order, f"N({shown(shift)}, 1)", "N(0, 1)", theorems, True, shift_squared=shift**2)


def _gaussian_dp(step: Mechanism, setting: Setting) -> Step:
    mu = step.number("mu")
    return setting.pair(f"N({shown(mu)}, 1)", "N(0, 1)", "T57-gaussian-dp", tight=False, shift_squared=mu**2)


def _laplace(step: Mechanism, setting: Setting) -> Step:
    mu = step.number("sensitivity") / step.number("scale")
    return setting.pair(f"Laplace({shown(mu)}, 1)", "Laplace(0, 1)", "T42-pair-shift", law=LaplaceLoss(mu))


def _discrete_laplace(step: Mechanism, setting: Setting) -> Step:
    b, shift = step.number("scale"), step.get("sensitivity")
    return setting.pair(f"discrete Laplace({shift}, {shown(b)})", f"discrete Laplace(0, {shown(b)})", "T42-pair-shift",
                        law=DiscreteLaplaceLoss(b, shift))


def _discrete_gaussian(step: Mechanism, setting: Setting) -> Step:
    s2, shift = step.number("sigma_squared"), step.get("sensitivity")
    return setting.pair(f"discrete Gaussian({shift}, {shown(s2)})", f"discrete Gaussian(0, {shown(s2)})",
                        "T42-pair-shift", law=DiscreteGaussianLoss(s2, shift))


def _randomized_response(step: Mechanism, setting: Setting) -> Step:
    if setting.relation != "replace":
        refuse("randomised response where an answer may be missing")
    k = step.get("categories")
    law: Any = None
    if step.get("epsilon") is not None:
        law = OddsLoss(step.number("epsilon"), Fraction(0), k - 2)
    else:
        noise = step.number("noise_probability")
        true, false = 1 - noise + noise / k, noise / k
        if true != false:
            neutral = ((k - 2) * false,) * 2
            masses = [*sorted([(true, false), (false, true)]), *([neutral] if neutral[0] else [])]
            law = FiniteLoss(tuple(masses), "symmetric")
    return Step(setting.order, f"answers of category 1 of {k}", f"answers of category 2 of {k}",
                ("T54-randomized-response",), True, law)


def _finite(step: Mechanism, setting: Setting) -> Step:
    merged_masses = by_ratio(zip(step.get("P"), step.get("Q"), strict=True))
    masses = tuple(sorted(merged_masses, key=lambda pq: (not pq[1], pq[0] / pq[1] if pq[1] else 0)))
    symmetric = setting.order == "symmetric"
    if symmetric and {(q, p) for p, q in masses} != set(masses):
        refuse("a finite pair that is not its own mirror image under replace")
    law = FiniteLoss(masses, "symmetric" if symmetric else "remove").in_order(setting.order)
    return setting.pair("the stated P", "the stated Q", "T55-finite",
                        law=law if any(p != q for p, q in masses) else None)


def _approximate_dp(step: Mechanism, setting: Setting) -> Step:
    e, d = step.number("epsilon"), step.number("delta")
    odds = f"(1 + e^{shown(e)})"
    return setting.pair(
        f"{shown(d)} at 'surely P', {shown(1 - d)} (e^{shown(e)}, 1)/{odds}",
        f"{shown(d)} at 'surely Q', {shown(1 - d)} (1, e^{shown(e)})/{odds}",
        "T56-approximate-dp", tight=False, law=OddsLoss(e, d, 0) if e or d else None)


def _mixture_of_gaussians(step: Mechanism, setting: Setting) -> Step:
    if setting.order == "symmetric":
        refuse("a mixture of Gaussians under replace")
    s, above = step.number("sigma"), _components(step)
    short = f"sum over i of p_i N(c_i, ({shown(s)})^2), probabilities p and sensitivities c"
    words = _mixture_words(above, s, short)
    found = setting.pair(words, f"N(0, ({shown(s)})^2)", "T58-pair-mixture", *setting.zero_out)
    return _mixture_step(found, s, above)


def _components(step: Mechanism) -> tuple[Component, ...]:
    return tuple(zip(step.get("sensitivities"), step.get("probabilities"), strict=True))


def _mixture_step(found: Step, s: Fraction, above: tuple[Component, ...]) -> Step:
    """One norm is a Gaussian, 0 and one other a sampled Gaussian."""
    if all(norm == 0 for norm, _ in above):
        return found
    if len(above) == 1:
        return replace(found, shift_squared=(above[0][0] / s) ** 2)
    if len(above) == 2 and above[0][0] == 0:
        return replace(found, law=SampledGaussianLoss(above[1][1], s / above[1][0], found.order))
    law = MixtureLoss(s, above, ((Fraction(0), Fraction(1)),), "remove")
    return replace(found, law=law.in_order(found.order))


def _exponential(step: Mechanism, setting: Setting) -> Step:
    mu = step.number("bounded_range")
    curve = f"sup over all pairs of range {shown(mu)}"
    return setting.pair(curve, curve, "T43-bounded-range", tight=False, law=BoundedRangeLoss(mu))


def _zcdp(step: Mechanism, setting: Setting) -> Step:
    rho, xi = step.number("rho"), Fraction(step.get("xi") or 0)
    if xi and not rho:
        pure = _approximate_dp(Mechanism("approximate-dp", (("epsilon", xi), ("delta", Fraction(0)))), setting)
        return replace(pure, theorems=("T66-moment-laws", *pure.theorems))
    constant = f"{shown(xi)} + " if xi else ""
    return _unknown(setting, f"D_a <= {constant}{shown(rho)} a for all a > 1", ZCDPLoss(rho, xi=xi) if rho else None)


def _renyi(step: Mechanism, setting: Setting) -> Step:
    bounds = list(zip(step.get("renyi_orders"), step.get("epsilons"), strict=True))
    law = RenyiLoss.of_divergences(bounds) if all(e for _, e in bounds) else None
    return _unknown(setting, ", ".join(f"D_{shown(a)} <= {shown(e)}" for a, e in bounds), law)


def _unknown(setting: Setting, bounds: str, law: Any) -> Step:
    return Step(setting.order, f"any P with {bounds}", "any Q with the same bounds when P and Q are exchanged",
                ("T65-renyi-composition", "T66-moment-laws"), False, law)


def _by_norm(step: Mechanism, setting: Setting) -> Step:
    found: Step = _PLAIN[step.kind.removesuffix("-vector")](step, setting)
    return replace(found, theorems=(*found.theorems, "T150-shifts-by-norm"))


def _discrete_gaussian_vector(step: Mechanism, setting: Setting) -> Step:
    """Squared norms of integers are integers."""
    rho = Fraction(int(step.number("sensitivity") ** 2)) / (2 * step.number("sigma_squared"))
    found = _zcdp(Mechanism("zcdp", (("rho", rho),)), setting)
    return replace(found, theorems=(*found.theorems, "T151-discrete-gaussian-vectors"))


def _tree(step: Mechanism, setting: Setting) -> Step:
    """A leaf is below one node of each size 1, 2, 4, .. up to the number of leaves."""
    if setting.relation != "zero-out":
        refuse("trees where a record is added, removed or replaced")
    s, nodes = step.number("noise_multiplier"), sum(2**n <= step.get("steps") for n in range(64))
    theorems = ("T153-tree-aggregation", "T23-pair-gaussian", *setting.zero_out)
    return Step(setting.order, f"N(1, ({shown(s)})^2)^{nodes}", f"N(0, ({shown(s)})^2)^{nodes}", theorems, True,
                shift_squared=nodes / s**2)


def _matrix(step: Mechanism, setting: Setting) -> Step:
    """All columns that a record can use, each as early as possible, added up."""
    rows = [Fraction(0)] * step.get("rounds")
    for first in range(0, step.times() * (step.get("separation") or 1), step.get("separation") or 1):
        for row, entry in zip(range(first, len(rows)), step.get("column"), strict=False):
            rows[row] += entry
    square = sum((row**2 for row in rows), Fraction(0)) * (4 if setting.relation == "replace" else 1)
    s, theorems = step.number("noise_multiplier"), ("T134-toeplitz-columns", *setting.zero_out)
    return Step(setting.order, f"N(sqrt({shown(square)}), ({shown(s)})^2)", f"N(0, ({shown(s)})^2)", theorems, True,
                shift_squared=square / s**2)


def _shuffled_local(step: Mechanism, setting: Setting) -> Step:
    """One answer of odds e^E, among fair ones of others who answer with probability 2/(1 + e^E)."""
    if setting.relation != "replace":
        refuse("shuffled messages where their number may change")
    n, odds, law = step.get("users"), step.get("odds"), None
    text = shown(odds) if odds is not None else f"e^{shown(step.number('epsilon0'))}"
    if n == 1 and odds != 1 and (odds or step.get("epsilon0")):
        form = ("epsilon", step.get("epsilon0")) if odds is None else ("noise_probability", 2 / (1 + odds))
        law = _randomized_response(Mechanism("randomized-response", (("categories", 2), form)), setting).law
    elif odds is None and step.get("epsilon0"):
        law = CloneLoss(n, step.number("epsilon0"))
    elif odds is not None and odds > 1:
        law = CloneOddsLoss(n, odds)
    words = f"C fair answers and one with odds {text} for %d, C = Bin({n - 1}, 2/(1 + {text}))"
    return Step(setting.order, words % 1, words % 0, ("T137-shuffled-local",), False, law)


def _noisy_max(step: Mechanism, setting: Setting) -> Step:
    """Only differences of scores count: for each index twice the sensitivity, or once where all move one way."""
    epsilon = (1 if step.get("monotone") else 2) * step.number("sensitivity") / step.number("scale")
    if step.get("selected"):
        return _pure(epsilon * step.get("selected"), "T215-top-k", setting)
    return _pure(epsilon, "T210-noisy-max", setting)


def _sparse_vector(step: Mechanism, setting: Setting) -> Step:
    """The threshold moves once, every answer above it by as much as a noisy maximum."""
    of_answers = (1 if step.get("monotone") else 2) * step.get("answers") / step.number("query_scale")
    if step.get("threshold_sigma"):
        rho = (step.number("sensitivity") / step.number("threshold_sigma")) ** 2 / 2
        found = _zcdp(Mechanism("zcdp", (("rho", rho), ("xi", step.number("sensitivity") * of_answers))), setting)
        return replace(found, theorems=(*found.theorems, "T216-gaussian-threshold"))
    epsilon = step.number("sensitivity") * (1 / step.number("threshold_scale") + of_answers)
    return _pure(epsilon, "T211-sparse-vector", setting)


def _partitions(step: Mechanism, setting: Setting) -> Iterator[Step]:
    """As many counts as a record may be in, moved by 1; and whether one of its own partitions is released (T212)."""
    if not setting.is_plain or setting.relation == "zero-out":
        refuse("noisy partitions but of one record more or less")
    k, word = step.get("partitions"), "coordinates" if step.get("partitions") > 1 else "coordinate"
    excess, theorem = step.number("threshold") - 1, "T212-partition-selection"
    if step.get("sigma") is not None:
        s = step.number("sigma")
        yield setting.pair(f"N(1, ({shown(s)})^2), {k} {word}", f"N(0, ({shown(s)})^2), {k} {word}", theorem,
                           tight=False, shift_squared=k / s**2)
        beyond = normal_tail(ball(excess / s))
    else:
        ratio = 1 / step.number("scale")
        yield setting.pair(f"Laplace({shown(ratio)}, 1), {k} {word}", f"Laplace(0, 1), {k} {word}", theorem,
                           tight=False, law=LaplaceLoss(ratio), copies=k)
        half = exp(ball(-abs(excess) * ratio)).shifted(-1)
        beyond = half if excess >= 0 else 1 - half
    chance = larger(-expm1(log1p(-beyond) * k), Fraction(1, 2**4096))
    texts = re.findall(r"\(1 - d, d\), d = ([0-9]{1,2000}/[0-9]{1,2000})'", setting.stated)
    stated = [Fraction(text) for text in texts if int(text.partition("/")[2])]
    d = next((d for d in stated if d < 1 and chance <= d and d <= chance * (1 + Fraction(1, 2**50))), None)
    if d is None:
        raise Invalid("pairs", "states no chance of a new partition that is above the least one, and close to it")
    yield setting.pair(f"(1 - d, d), d = {shown(d)}", "(1, 0)", theorem, tight=False,
                       law=FiniteLoss(((1 - d, Fraction(1)), (d, Fraction(0))), "remove").in_order(setting.order))


def _gnmax(step: Mechanism, setting: Setting) -> Step:
    """Two counts move by 1, the largest by at most 1."""
    other = step.get("threshold_sigma")
    squared = 2 / step.number("sigma") ** 2 + (1 / other**2 if other else 0)
    root = Fraction(isqrt(squared.numerator), isqrt(squared.denominator))
    text = shown(root) if root**2 == squared else f"sqrt({shown(squared)})"
    return setting.pair(f"N({text}, 1)", "N(0, 1)", "T233-noisy-votes", tight=False, shift_squared=squared)


def _gnmax_votes(step: Mechanism, setting: Setting) -> Step:
    counts = sorted(step.get("votes"), reverse=True)
    excess = None if step.get("threshold") is None else counts[0] - step.number("threshold")
    gaps = tuple(counts[0] - count for count in counts[1:])
    return Step(setting.order, f"the noisy vote of the counts {', '.join(map(shown, step.get('votes')))}",
                "that of counts with one vote moved, or the other way", ("T233-noisy-votes",), False,
                NoisyVotesLoss(step.number("sigma"), gaps, excess, step.get("threshold_sigma")))


def _pure(epsilon: Fraction, theorem: str, setting: Setting) -> Step:
    stated = Mechanism("approximate-dp", (("epsilon", epsilon), ("delta", Fraction(0))))
    found = _approximate_dp(stated, setting)
    return replace(found, theorems=(*found.theorems, theorem))


_PLAIN: dict[str, Callable[[Mechanism, Setting], Step]] = {
    "gaussian": _gaussian, "gaussian-dp": _gaussian_dp, "laplace": _laplace, "discrete-laplace": _discrete_laplace,
    "discrete-gaussian": _discrete_gaussian, "randomized-response": _randomized_response, "finite": _finite,
    "approximate-dp": _approximate_dp, "mixture-of-gaussians": _mixture_of_gaussians, "exponential": _exponential,
    "zcdp": _zcdp, "renyi": _renyi, "laplace-vector": _by_norm, "discrete-laplace-vector": _by_norm,
    "discrete-gaussian-vector": _discrete_gaussian_vector, "tree-aggregation": _tree, "matrix-gaussian": _matrix,
    "shuffled-local": _shuffled_local, "noisy-max": _noisy_max,
    "sparse-vector": _sparse_vector, "gnmax": _gnmax, "gnmax-votes": _gnmax_votes}

# ---------- groups ----------

_ADDED = {"laplace": "sensitivity", "discrete-laplace": "sensitivity", "discrete-gaussian": "sensitivity",
          "exponential": "bounded_range", "gaussian-dp": "mu", "laplace-vector": "sensitivity",
          "discrete-laplace-vector": "sensitivity", "discrete-gaussian-vector": "sensitivity"}
"""What a group multiplies by its size."""


def _group(step: Mechanism, setting: Setting) -> Step:
    size, single = setting.records, replace(setting, records=1)
    if step.kind == "gaussian":
        if step.get("noise_multiplier") is not None:
            return _for_group(_plain(_with_value(step, "noise_multiplier", Fraction(1, size)), single), tight=True)
        return _for_group(_plain(_with_value(step, "sensitivity", size), single), tight=False)
    if step.kind in _ADDED:
        key = _ADDED[step.kind]
        small = step.kind.startswith("discrete") and step.kind != "discrete-gaussian-vector"
        if small and size * step.get(key) > MAX_OUTCOMES:
            refuse(f"more than {MAX_OUTCOMES} outcomes")
        return _for_group(_plain(_with_value(step, key, size), single), tight=False)
    if step.kind == "zcdp" and step.get("xi") is None:
        return _for_group(_plain(_with_value(step, "rho", size**2), single), tight=False)
    if step.kind == "randomized-response":
        found = _plain(step, single)
        words = f"{size} independent "
        return _for_group(replace(found, P=words + found.P, Q=words + found.Q, copies=size), tight=True)
    if step.kind == "approximate-dp":
        return _approximate_group(step, setting)
    refuse(f"groups with {step.kind}")


def _with_value(step: Mechanism, key: str, factor: Fraction | int) -> Mechanism:
    return replace(step, values=tuple((k, v * factor if k == key else v) for k, v in step.values))  # type: ignore[operator]


def _for_group(found: Step, *, tight: bool) -> Step:
    return replace(found, theorems=(*found.theorems, "T72-groups"), tight=found.tight and tight)


def _approximate_group(step: Mechanism, setting: Setting) -> Step:
    epsilon, delta, size = step.number("epsilon"), step.number("delta"), setting.records
    law = GroupOddsLoss(epsilon, delta, size)
    with precision(256):
        if not law.mass() < 1:
            refuse("a group whose guarantee has delta >= 1")
    e, d = shown(size * epsilon), f"d = {shown(delta)} sum over i < {size} of e^({shown(epsilon)} i)"
    return setting.pair(f"d at 'surely P', (1 - d) (e^{e}, 1)/(1 + e^{e}); {d}",
                        f"d at 'surely Q', (1 - d) (1, e^{e})/(1 + e^{e}); {d}", "T56-approximate-dp", "T72-groups",
                        tight=False, law=law if epsilon or delta else None)


# ---------- batches of fixed size, or of a largest one ----------


def _without(step: Mechanism, setting: Setting) -> Step:
    if setting.records > 1:
        refuse("groups on batches without replacement")
    q = step.sampling.probability if step.sampling else Fraction(0)
    return _subset(step.number("noise_multiplier"), q, setting)


def _subset(s: Fraction, q: Fraction, setting: Setting) -> Step:
    """A uniform subset of share q; a record that enters takes another's place."""
    if setting.relation in ("add-or-remove", "add", "remove"):
        above = (Fraction(0), 1 - q), (Fraction(2), q)
        return _displaced(s, tuple(item for item in above if item[1]), setting, "", tight=q < 1)
    mixed = f"{shown(1 - q)} N(0, ({shown(s)})^2) + {shown(q)} N(2, ({shown(s)})^2)"
    found = Step(setting.order, f"for alpha >= 1: {mixed}",
                 f"for alpha >= 1: N(0, ({shown(s)})^2); alpha < 1 by reversal", ("T52-without-replacement",), False)
    if q == 1:
        return replace(found, shift_squared=(2 / s) ** 2)
    return replace(found, law=FixedBatchLoss(q, s) if q else None)


def _with(step: Mechanism, setting: Setting) -> Step:
    sampling, s, size = step.sampling, step.number("noise_multiplier"), setting.records
    if sampling is None or size > sampling.population:
        refuse("a group of more records than there are")
    share = Fraction(size, sampling.population)
    above = _counted(sampling.draws, share, 2)
    law = f"n = Bin({sampling.draws}, {shown(share)})"
    moved = f"N(2n, ({shown(s)})^2), {law}"
    if setting.relation in ("add-or-remove", "add", "remove"):
        if size > 1:
            refuse("a group under sampling with replacement whose number changes")
        return _displaced(s, above, setting, moved, tight=sampling.population > 1)
    below = _mirrored(above)
    found = Step(setting.order, moved, f"N(-2n, ({shown(s)})^2), {law}",
                 ("T53-with-replacement",), False, MixtureLoss(s, above, below, "symmetric"))
    return _for_group(found, tight=False) if size > 1 else found


def _displaced(s: Fraction, above: tuple[Component, ...], setting: Setting, short: str, *, tight: bool) -> Step:
    found = setting.pair(_mixture_words(above, s, short), f"N(0, ({shown(s)})^2)", DISPLACED, tight=tight)
    return _mixture_step(found, s, above)


def _truncated(step: Mechanism, sampling: Sampling, setting: Setting) -> Step:
    """A visible bit: whether the others alone fill the batch. No batch can be too large, or all are, at the ends."""
    if setting.records > 1:
        refuse("groups under truncated Poisson sampling")
    q, n, most = sampling.probability, sampling.population, sampling.largest_batch
    free = _sampled(step, q, setting)
    if q == 0 or most >= n:
        return replace(free, theorems=_with_theorem(free))
    share = Fraction(most, n) if q == 1 else full_share(n, most, q)
    full = _subset(step.number("noise_multiplier"), share, setting)
    if q == 1:
        return replace(full, theorems=_with_theorem(full))
    which = f"[Bin({n - 1}, {shown(q)}) >= {most}]"
    return Step(setting.order, f"{which}, where 0: {free.P}; where 1: {full.P}",
                f"{which}, where 0: {free.Q}; where 1: {full.Q}", _with_theorem(free, full), False,
                TruncatedBatchLoss(n - 1, q, most, free.law, full.law, setting.order))


def _with_theorem(*found: Step) -> tuple[str, ...]:
    return tuple(dict.fromkeys((DISPLACED, *(theorem for step in found for theorem in step.theorems))))


def binomial(trials: int, p: Fraction) -> list[Fraction]:
    """P(Bin(trials, p) = n) for n = 0..trials."""
    if trials * trials * p.denominator.bit_length() > 2**26:
        raise TooMuch("very many components of long numbers")
    return [comb(trials, n) * p**n * (1 - p) ** (trials - n) for n in range(trials + 1)]


# ---------- batches that hang together ----------

PATTERNS = "T130-participation-patterns"
LEAST_VARIANCE, LARGEST_VARIANCE = Fraction(1, 400), 2**16
"""Beyond them the place is given away."""


def _cyclic(step: Mechanism, sampling: Sampling, setting: Setting) -> Step:
    """A record's group has its turn in ceil(rounds/groups) rounds, each a Poisson sample."""
    if setting.records > 1:
        refuse("groups under cyclic Poisson sampling")
    once, turns = _sampled(step, sampling.probability, setting), -(-sampling.rounds // sampling.groups)
    return replace(once, theorems=(PATTERNS, *once.theorems), copies=turns, shift_squared=turns * once.shift_squared)


def _shuffled(step: Mechanism, rounds: int, setting: Setting) -> Step:
    """In a known round the mean moves by one norm, replaced by two; a displaced record moves the last round besides."""
    if setting.records > 1:
        refuse("groups on shuffled batches")
    s, once = step.number("noise_multiplier"), setting.relation == "zero-out" or rounds == 1
    square = 4 if setting.relation == "replace" else 1 if once else 5
    return Step(setting.order, f"N(sqrt({square}), ({shown(s)})^2)", f"N(0, ({shown(s)})^2)",
                ("T144-shuffled-epochs",), False, shift_squared=square / s**2,
                epoch=ShuffledEpoch(s, rounds, 0 if setting.relation == "replace" else 1))


def _allocated(step: Mechanism, sampling: Sampling, count: int, setting: Setting) -> Iterator[tuple[Step, int]]:
    """A block of rounds per pick, in each of which the record is in one batch; kept batches are less noise."""
    if not setting.is_plain:
        refuse("random allocation for groups, or of two records that both contribute")
    variance = step.number("noise_multiplier") ** 2
    if sampling.fixed:
        variance, count = variance / count, 1
    rounds, longer = divmod(sampling.rounds, sampling.picks)
    tight = sampling.picks in (1, sampling.rounds)
    if longer:
        yield _block(rounds + 1, variance, setting, tight), longer * count
    yield _block(rounds, variance, setting, tight), (sampling.picks - longer) * count


def _block(rounds: int, variance: Fraction, setting: Setting, tight: bool) -> Step:
    """One of so many rounds, at random; a single round is a Gaussian, which bounds any number of them."""
    noise = f"({shown(variance)}) I"
    if rounds == 1 or not LEAST_VARIANCE <= variance <= LARGEST_VARIANCE:
        return setting.pair(f"N(1, {noise})", f"N(0, {noise})", PATTERNS, "T133-random-allocation",
                            tight=tight and rounds == 1, shift_squared=1 / variance)
    law = RandomAllocationLoss(rounds, square_root(variance), setting.order)
    return setting.pair(f"N(e_j, {noise}) with j uniform on 1..{rounds}", f"N(0, {noise})", PATTERNS,
                        "T133-random-allocation", tight=tight, law=law)


# ---------- Poisson samples ----------


def _sampled(step: Mechanism, q: Fraction, setting: Setting) -> Step:
    bare = replace(step, sampling=None)
    if step.kind == "composition":
        return _composition(step, q, setting)
    if step.kind == "gaussian":
        theorem = "T22-pair-poisson-replace" if setting.order == "symmetric" else "T21-pair-poisson"
        return _gaussian_sample(step.number("noise_multiplier"), q, setting, theorem)
    if step.kind == "gaussian-dp":
        if setting.order == "symmetric":
            refuse("gaussian-dp on a Poisson sample under replace")
        theorems = "T57-gaussian-dp", "T73-sampled-composition"
        return _gaussian_sample(1 / step.number("mu"), q, setting, *theorems, tight=False)
    if step.kind in ("laplace", "discrete-laplace", "discrete-gaussian") and not setting.is_plain:
        return _shift(bare, q, setting)
    if not setting.is_plain:
        refuse(f"{step.kind} on a Poisson sample for groups, or under replace")
    base = _plain(bare, replace(setting, order="remove"))
    found = _mixed_pair(base, q, setting, "T49-sampled")
    if step.kind == "mixture-of-gaussians":
        weights = {Fraction(0): 1 - q}
        for norm, weight in _components(step):
            weights[norm] = weights.get(norm, Fraction(0)) + q * weight
        above = tuple(sorted(item for item in weights.items() if item[1]))
        return _mixture_step(found, step.number("sigma"), above)
    return replace(found, law=_sample(base.law, q, setting.order))


def _mixed_pair(base: Step, q: Fraction, setting: Setting, *theorems: str) -> Step:
    mixed = f"{shown(1 - q)} Q0 + {shown(q)} P0 with P0 = {base.P}, Q0 = {base.Q}"
    return setting.pair(mixed, base.Q, *theorems, *base.theorems, *setting.zero_out, tight=base.tight)


def _sample(law: Any, q: Fraction, order: str) -> Any:
    """q = 0 reveals nothing, q = 1 is no sampling; finite laws stay finite."""
    if law is None or q in (0, 1):
        return law.in_order(order) if law and q else None
    if isinstance(law, FiniteLoss):
        masses = tuple((q * with_it + (1 - q) * without, without) for with_it, without in law.masses)
        return FiniteLoss(masses, "remove").in_order(order)
    narrow = isinstance(law, LaplaceLoss | BoundedRangeLoss) and law.largest() <= LARGEST_RATIO
    made = SampledAtomicLoss if isinstance(law, AtomicLaw) else SampledLaplaceLoss if narrow else SampledLoss
    return made(law, q, order)


def _mixtures(q: Fraction, setting: Setting, shift: Fraction | int) -> tuple[tuple[Component, ...], ...]:
    """Means and weights of P and Q where each sampled record of the group moves the mean by `shift`."""
    above = _counted(setting.records, q, shift)
    return above, _mirrored(above) if setting.order == "symmetric" else ((Fraction(0), Fraction(1)),)


def _counted(trials: int, p: Fraction, shift: Fraction | int) -> tuple[Component, ...]:
    """n shift with the weight P(Bin(trials, p) = n), where that is not 0."""
    return tuple((Fraction(n * shift), weight) for n, weight in enumerate(binomial(trials, p)) if weight)


def _mirrored(mixture: tuple[Component, ...]) -> tuple[Component, ...]:
    return tuple((-mean, weight) for mean, weight in reversed(mixture))


def _gaussian_sample(s: Fraction | SquareRoot, q: Fraction, setting: Setting, *theorems: str,
                     tight: bool = True) -> Step:
    above, below = _mixtures(q, setting, 1)
    named = [*theorems, *["T72-groups"] * (setting.records > 1),
             *(() if setting.order == "symmetric" else setting.zero_out)]
    found = setting.pair(_mixture_words(above, s, _binomial_words(above, s)),
                         _mixture_words(below, s, _binomial_words(below, s)), *named, tight=tight)
    if q in (0, 1):
        distance = above[-1][0] - below[0][0]
        return replace(found, shift_squared=distance**2 / square_of(s))
    law: Any = MixtureLoss(s, above, below, "remove").in_order(setting.order)
    return replace(found, law=SampledGaussianLoss(q, s, setting.order) if setting.records == 1 else law)


def _scale(s: Fraction | SquareRoot) -> str:
    return f"sqrt({shown(s.square)})" if isinstance(s, SquareRoot) else shown(s)


def _binomial_words(mixture: tuple[Component, ...], s: Fraction | SquareRoot) -> str:
    return f"sum over n of Bin(n) N(n, ({_scale(s)})^2) from {shown(mixture[0][0])} to {shown(mixture[-1][0])}"


def _mixture_words(mixture: tuple[Component, ...], s: Fraction | SquareRoot, short: str) -> str:
    """Written out up to five components."""
    if len(mixture) > 5:
        return short
    words = []
    for mean, weight in sorted(mixture, key=lambda component: abs(component[0])):
        normal = f"N({shown(mean)}, ({_scale(s)})^2)"
        words.append(normal if weight == 1 else f"{shown(weight)} {normal}")
    return " + ".join(words)


def _shift(step: Mechanism, q: Fraction, setting: Setting) -> Step:
    """One number with log-concave noise, records replaced or in groups: random shifts (T74)."""
    distance = step.number("sensitivity") / step.number("scale") if step.kind == "laplace" else step.get("sensitivity")
    if step.kind != "laplace" and setting.records * distance > MAX_OUTCOMES:
        refuse(f"more than {MAX_OUTCOMES} outcomes")
    symmetric, noise = setting.order == "symmetric", f"{step.kind} noise"
    n = f", n = {shown(distance)} Bin({setting.records}, {shown(q)})"
    found = setting.pair(f"n + {noise}{n}", f"-n + {noise}{n}" if symmetric else noise, "T74-sampled-shifts",
                         "T42-pair-shift", *(() if symmetric else setting.zero_out), tight=False)
    if q == 0:
        return found
    mixtures: Any = *_mixtures(q, setting, distance), "symmetric" if symmetric else "remove"
    if step.kind == "laplace":
        law: Any = LaplaceMixtureLoss(*mixtures)
    elif step.kind == "discrete-laplace":
        law = DiscreteLaplaceMixtureLoss(step.number("scale"), *mixtures)
    else:
        law = DiscreteGaussianMixtureLoss(square_root(step.number("sigma_squared")), *mixtures)
    return replace(found, law=law.in_order(setting.order))


def square_root(number: Fraction) -> Fraction | SquareRoot:
    root = Fraction(isqrt(number.numerator), isqrt(number.denominator))
    return root if root * root == number else SquareRoot(number)


def _composition(step: Mechanism, q: Fraction, setting: Setting) -> Step:
    """One sample, several releases: their composition as the step; Gaussians alone are one Gaussian (T73)."""
    found = [(_plain(release, Setting("remove", "remove")), count) for release, count in merged(step.releases)]
    shift_squared = sum((count * one.shift_squared for one, count in found), Fraction(0))
    laws = [(one.law, count) for one, count in found if one.law is not None]
    theorems = ("T73-sampled-composition", *dict.fromkeys(t for one, _ in found for t in one.theorems))
    tight = all(one.tight for one, _ in found)
    if not laws and shift_squared:
        if setting.order == "symmetric" and any(release.kind != "gaussian" for release, _ in step.releases):
            refuse("gaussian-dp on a Poisson sample under replace")
        return _gaussian_sample(square_root(1 / shift_squared), q, setting, *theorems, tight=tight)
    if not setting.is_plain:
        refuse("a composition that is not of Gaussians alone, for groups or under replace")
    P, Q = (" x ".join(f"({text})^{count}" for text, count in texts)
            for texts in ([(one.P, count) for one, count in found], [(one.Q, count) for one, count in found]))
    base = _mixed_pair(Step("remove", P, Q, theorems, tight), q, setting, "T49-sampled")
    return replace(base, law=_sample(_base_law(laws, shift_squared), q, setting.order))


def _base_law(laws: list[tuple[Any, int]], shift_squared: Fraction) -> Any:
    """The law of all releases of one sample, where its curve is known."""
    if not laws:
        return None
    if shift_squared:
        raise TooMuch("Gaussian and other noise on one sample (T217) are not covered here")
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    if (whole := finite_product(laws)) is not None:
        return whole
    counts: Counter[Any] = Counter()
    for law, count in laws:
        counts[law.in_order("remove")] += count
    loss = ComposedLoss("remove", tuple(counts.items()), Fraction(0))
    if not 0 <= (-1 if (work := count_pieces(loss)) is None else work) <= MAX_BASE_WORK:
        refuse("a composition of so many releases, or of this noise, on one sample")
    return AtomicProduct(loss) if all(isinstance(law, AtomicLaw) for law, _ in loss.parts) else ClosedFormLaw(loss)

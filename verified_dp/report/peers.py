"""What other accountants that are installed answer to the same question: floating point, shown beside, never used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Claim, Composition, Relation, Spec
from verified_dp.core.kernel.mechanisms import Gaussian

Step = tuple[float, float, int]
"""Sampling probability, noise multiplier, count."""


@dataclass(frozen=True)
class Peer:
    """An accountant's epsilon at the claimed delta, as it prints it, or why it gave none."""

    name: str
    epsilon: str
    remark: str


def steps_of(composition: Composition) -> list[Step] | None:
    """The steps where all are Gaussians, plain or on Poisson samples, stated by noise multipliers; else None."""
    found = []
    for mechanism, count in composition.parts:
        inner = mechanism.mechanism if isinstance(mechanism, PoissonSampled) else mechanism
        if not isinstance(inner, Gaussian) or inner.noise_multiplier is None:
            return None
        probability = float(mechanism.probability) if isinstance(mechanism, PoissonSampled) else 1.0
        found.append((probability, float(inner.noise_multiplier), count))
    return found


def ask_peers(spec: Spec, claim: Claim) -> Iterator[Peer]:
    """Every installed accountant that has this mechanism and this relation."""
    steps = steps_of(spec.composition)
    if steps is None:
        return
    for package, relations, ask, words in _PEERS:
        if spec.relation not in relations:
            continue
        try:
            name = f"{package} {version(package)}"
        except PackageNotFoundError:
            continue
        try:
            yield Peer(name, f"{ask(steps, float(claim.delta)):.10g}", words)
        except Exception as error:  # whatever another program does is a result here
            yield Peer(name, "none", f"{type(error).__name__}: {error}"[:120])


def _dp_accounting(steps: list[Step], delta: float) -> float:
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.privacy_accountant import NeighboringRelation

    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    for probability, noise, count in steps:
        event = dp_event.PoissonSampledDpEvent(probability, dp_event.GaussianDpEvent(noise))
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


def _prv_accountant(steps: list[Step], delta: float) -> float:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    laws = [PoissonSubsampledGaussianMechanism(probability, noise) for probability, noise, _ in steps]
    counts = [count for _, _, count in steps]
    if sum(counts) > 20_000:
        raise ValueError("not asked for more than 20000 steps: it would take minutes")
    accountant = PRVAccountant(laws, eps_error=0.01, delta_error=max(delta / 1000, 1e-12),
                               max_self_compositions=counts)
    return float(accountant.compute_epsilon(delta, counts)[2])


def _opacus(steps: list[Step], delta: float) -> float:
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(noise, probability, count) for probability, noise, count in steps]
    return float(accountant.get_epsilon(delta))


_Ask = Callable[[list[Step], float], float]
_PEERS: tuple[tuple[str, tuple[Relation, ...], _Ask, str], ...] = (
    ("dp-accounting", (Relation.ADD_OR_REMOVE,), _dp_accounting, "privacy loss distribution, its defaults"),
    ("prv-accountant", (Relation.ADD_OR_REMOVE, Relation.REMOVE), _prv_accountant,
     "its upper end at eps_error 0.01; the remove order alone"),
    ("opacus", (Relation.ADD_OR_REMOVE,), _opacus, "Renyi accountant, its defaults"),
)

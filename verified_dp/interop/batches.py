"""How a training drew its batches: what was seen, what is stated, what is taken for granted, and the words for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported

POISSON, SHUFFLED, OTHER, UNSEEN = "poisson", "shuffled", "other", "unseen"
STATED = (POISSON, SHUFFLED)
"""What may be stated: every record flips its own coin for every batch, or every epoch is shuffled and runs whole."""


@dataclass(frozen=True)
class Seen:
    """What a data loader shows of how it draws batches.

    scheme: POISSON, SHUFFLED, OTHER for what no theorem here covers, UNSEEN for what only its author knows.
    words: what was seen; of OTHER why it is refused, and what to do. caveat: a sentence that has to hold besides.
    """

    scheme: str = UNSEEN
    words: str = ""
    caveat: str = ""


@dataclass(frozen=True)
class Drawn:
    """How all batches were drawn: the scheme, who says so, and the sentences that an answer rests on."""

    scheme: str
    source: str
    assumptions: tuple[str, ...]

    @property
    def words(self) -> str:
        """The scheme and its source, for a claim's source."""
        return f"{_NAMES[self.scheme]} ({self.source})"


_NAMES = {POISSON: "Poisson batches", SHUFFLED: "shuffled epochs"}
_RUN = {
    POISSON: "Batches were Poisson samples: every record joined every batch by its own coin, with the recorded rate",
    SHUFFLED: "Epochs were shuffled: each put all records into a fresh uniform order, cut it into batches of fixed "
              "sizes, as many as the recorded rate says, and ran to its end",
}


_TAKEN_FOR_GRANTED = "taken for granted: neither seen nor stated"


def checked(stated: str | None) -> str | None:
    """What is stated of the batches, one of STATED, or None for nothing."""
    if stated is not None and stated not in STATED:
        raise InvalidInput("sampling", stated, f"one of {', '.join(STATED)}")
    return stated


def settle(seen: Iterable[Seen], stated: str | None = None, *, assume: bool = False) -> Drawn:
    """The one way in which all batches were drawn.

    Raises:
        InvalidInput: for a statement that contradicts what was seen.
        Unsupported: for what no theorem covers, for several ways in one training, and, unless `assume` says to take
            Poisson samples for granted, for what was neither seen to be Poisson nor stated.
    """
    looked = tuple(dict.fromkeys(seen)) or (Seen(),)
    schemes = {_scheme(each, checked(stated), assume) for each in looked}
    if len(schemes) > 1:
        raise Unsupported("some batches were Poisson samples and others shuffled: give each an accountant of its own",
                          "sampling")
    scheme = schemes.pop()
    who = tuple(dict.fromkeys(_who(each, stated) for each in looked))
    caveats = dict.fromkeys(each.caveat for each in looked if each.caveat)
    return Drawn(scheme, " and ".join(who), (f"{_RUN[scheme]} ({' and '.join(who)}).", *caveats))


def state_of(seen: Mapping[Seen, int], stated: str | None) -> dict[str, Any]:
    """What was seen, with the number of steps, and what is stated, as plain data for a checkpoint or JSON."""
    return {"stated": stated, "seen": [[each.scheme, each.words, each.caveat, steps] for each, steps in seen.items()]}


def read_state(state: Any) -> tuple[dict[Seen, int], str | None]:
    """What `state_of` wrote."""
    try:
        seen = {Seen(*map(str, words)): int(steps) for *words, steps in state["seen"]}
        stated = checked(state["stated"])
    except (TypeError, KeyError, ValueError):
        raise InvalidInput("sampling", state, "the record of the accountant's state_dict()") from None
    if any(each.scheme not in (*STATED, OTHER, UNSEEN) for each in seen):
        raise InvalidInput("sampling", state, "the record of the accountant's state_dict()")
    return seen, stated


def _scheme(seen: Seen, stated: str | None, assume: bool) -> str:
    if seen.scheme == OTHER:
        raise Unsupported(seen.words, "sampling")
    if seen.scheme == UNSEEN and stated is None and not assume:
        what = f" (there is {seen.words})" if seen.words else ""
        raise Unsupported(f'how batches were drawn was neither seen{what} nor stated: {_write(POISSON)} if every '
                          "record joined every batch by its own coin", "sampling")
    if seen.scheme == UNSEEN:
        return stated or POISSON
    if stated not in (None, seen.scheme):
        raise InvalidInput("sampling", stated, f"{seen.scheme}, which the data loader does ({seen.words})")
    if seen.scheme == SHUFFLED and stated is None:
        raise Unsupported(f"batches were not Poisson samples ({seen.words}): {_write(SHUFFLED)} if every epoch ran to "
                          "its end, or leave poisson_sampling at True", "sampling")
    return seen.scheme


def _write(scheme: str) -> str:
    return f'write accountant.sampling = "{scheme}", or sampling="{scheme}" where it is an argument,'


def _who(seen: Seen, stated: str | None) -> str:
    """Who says how batches were drawn."""
    if seen.scheme == POISSON:
        return f"seen at the data loader: {seen.words}"
    if seen.scheme == SHUFFLED:
        return f"stated by the caller; seen at the data loader: {seen.words}"
    return "stated by the caller, not seen" if stated else _TAKEN_FOR_GRANTED


_LOADER = "The training took every batch from that data loader."
_TAKEN = ("Nobody said that batches were Poisson samples; with poisson_sampling=False they are not, and this bound is "
          'then false: state sampling="poisson" or sampling="shuffled".')
_GIVEN = ("one over the number of batches of the loader that it is given: a sampler in that loader, such as a "
          "WeightedRandomSampler with few draws, changes the number without a word, and is then replaced (Opacus "
          "issue 813)")
_OWN_RATE = ("The rate is the one that the loader's sampler drew with. It need not be the one intended: make_private "
             f"sets it to {_GIVEN}.")
_RATE = f"Batches had the recorded rate. Opacus records {_GIVEN}."
_LENGTH = ("Opacus computes the rate, and the expected batch size by which it divides each noisy sum, from the number "
           "of records; both are taken as fixed beforehand, the same for neighbours that differ by a record. Where "
           "they are not, small data sets of neighbouring sizes can be told apart by the divisor (Opacus issues 571 "
           "and 819).")


def opacus_assumptions(drawn: Drawn, relation: Relation) -> tuple[str, ...]:
    """What an answer about an Opacus training rests on, beside what every certificate lists."""
    hidden = relation in (Relation.ADD_OR_REMOVE, Relation.ADD, Relation.REMOVE)
    seen = "seen at" in drawn.source
    holds = [(_TAKEN_FOR_GRANTED in drawn.source, _TAKEN), (seen, _LOADER),
             (seen and drawn.scheme == POISSON, _OWN_RATE), (not seen, _RATE), (hidden, _LENGTH)]
    return (*drawn.assumptions, *(words for applies, words in holds if applies))

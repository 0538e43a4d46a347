"""Specification files: TOML text -> `Spec`; a mistake is told in one line: key, value, what is expected.

    relation = "add-or-remove"          # add, remove, zero-out, replace
    [[mechanism]]
    kind = "gaussian"
    noise_multiplier = "1.1"            # or sigma and sensitivity
    sampling = { scheme = "poisson", probability = "256/60000" }   # optional; or without-, with-replacement
    count = 14063                       # optional, 1
    [claim]                             # optional: title, source, epsilon, delta

Other kinds, with their keys:

    laplace                   scale, sensitivity                                      (sampling)
    discrete-laplace          scale, sensitivity                                      (sampling)
    discrete-gaussian         sigma_squared, sensitivity                              (sampling)
    randomized-response       categories, [noise_probability], [epsilon]
    finite                    P = [..], Q = [..]                                      (sampling)
    approximate-dp            epsilon, delta                                          (sampling)
    gaussian-dp               mu                                                      (sampling)
    mixture-of-gaussians      sigma, sensitivities = [..], probabilities = [..]       (sampling)
    exponential               bounded_range                                           (sampling)
    zcdp                      rho, [xi]                                               (sampling)
    renyi                     renyi_orders = [..], epsilons = [..]
    laplace-vector            scale, sensitivity                                      (sampling)
    discrete-laplace-vector   scale, sensitivity                                      (sampling)
    discrete-gaussian-vector  sigma_squared, sensitivity
    tree-aggregation          noise_multiplier, steps
    matrix-gaussian           noise_multiplier, column = [..], rounds, [separation], [participations]
    shuffled-local            users, [epsilon0], [odds]
    noisy-max                 scale, sensitivity, [monotone], [selected]
    sparse-vector             [threshold_scale], query_scale, answers, sensitivity, [monotone], [threshold_sigma]
    partition-selection       threshold, partitions, [sigma], [scale]
    gnmax                     sigma, [threshold_sigma]
    gnmax-votes               sigma, votes = [..], [threshold], [threshold_sigma]
    composition               releases = [[mechanism.releases]] tables, and sampling: from one Poisson sample,
                              or selection

Sampling schemes: poisson (probability); and, for the Gaussian with noise_multiplier, without-replacement (probability
= batch size / number of records), with-replacement (draws, population), random-allocation (rounds; picks, 1; fixed,
false: one table is one epoch), cyclic-poisson (groups, probability, rounds), truncated-poisson (probability,
population, largest_batch) and shuffled (rounds: one table is one epoch, bounded from both sides). A
number or share of records is that of the larger data set where one is added or removed.

selection = { scheme = "poisson-runs", mean = "10" }, or negative-binomial-runs (mean, shape): the best of a random
number of runs of what the table states.

group_size = 3 at the top, before the tables: neighbours differ in that many records instead of one.

`certify`, `delta`, `epsilon` also take ranges (`ranges`): noise_multiplier = { rounded = "1.1" }
or { from = "1.05", to = "1.15" }.

Numbers may be quoted or not: TOML's own numbers are taken as the decimals that are written. Keys in messages
count from 1: `mechanism[2].sampling.probability` belongs to the second [[mechanism]].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any

from verified_dp.core.families.table import ALL_RELEASES, SCHEMES
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import SCHEME_KEYS, Claim, Composition, Mechanism, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.mechanisms import Gaussian, Release
from verified_dp.reading import MAX_SPECIFICATION, decoded, parse_toml, read_file, with_file

Releases = Mapping[str, type[Release]]
MAX_MECHANISMS = 10_000
"""[[mechanism]] tables of one specification."""


class Written(str):
    """A TOML float as the decimal that was written; not a quoted string, so no title and no count."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def load_spec(path: str | PathLike[str], releases: Releases = ALL_RELEASES) -> Spec:
    """Read the specification in a file; InvalidInput or Unsupported, with `.file`, for whatever is wrong.

    releases: kind -> class of every mechanism besides the Gaussian that may stand in it.
    """
    file = fsdecode(path)
    return parse_spec(decoded(read_file(Path(path), MAX_SPECIFICATION), file), file=file, releases=releases)


def parse_spec(text: str, *, file: str = "<text>", releases: Releases = ALL_RELEASES) -> Spec:
    """Read a specification from TOML text; `file` is where errors say it is from.

    >>> parse_spec('relation = "add"\\n[[mechanism]]\\nkind = "gaussian"\\nnoise_multiplier = 1.1').relation
    <Relation.ADD: 'add'>
    """
    try:
        return spec_of(read_tables(text, file), releases)
    except InvalidInput as error:
        if isinstance(error.value, dict) and not error.value.keys().isdisjoint(("rounded", "from", "to")):
            error = InvalidInput(error.key, error.value, "one number here: only certify, delta and epsilon take ranges")
        raise with_file(error, file) from None
    except Unsupported as error:
        raise with_file(error, file) from None


def read_tables(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text, its floats as they are written."""
    return parse_toml(text, file, lambda written: Written(written.replace("_", "")))


def spec_of(document: dict[str, Any], releases: Releases) -> Spec:
    """The specification that the tables of a file state; keys of errors are as in the file."""
    _check_keys(document, ("relation", "group_size", "mechanism", "claim"))
    relation = Relation.of(document.get("relation"))
    composition = _composition(document.get("mechanism"), releases).for_groups(document.get("group_size", 1))
    return Spec(relation, composition, _claim(document.get("claim")))


def _composition(tables: object, releases: Releases) -> Composition:
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput("mechanism", tables, "one or more [[mechanism]] tables")
    if len(tables) > MAX_MECHANISMS:
        raise InvalidInput("mechanism", f"{len(tables)} tables", f"at most {MAX_MECHANISMS} tables; equal ones are "
                           "one, with a count")
    kinds = {**_bare_kinds(releases), "composition": _composed}
    return compose(*(_part(table, f"mechanism[{i}].", kinds) for i, table in enumerate(tables, 1)))


def _part(table: dict[str, Any], prefix: str, kinds: Mapping[str, Reader]) -> tuple[Mechanism, int]:
    with _located(prefix):
        kind = table.get("kind")
        read = kinds.get(kind) if isinstance(kind, str) else None
        if read is None:
            nearest = _nearest(kind, tuple(kinds)) if isinstance(kind, str) else ""
            raise InvalidInput("kind", kind, f"a known kind ({nearest}known are {', '.join(kinds)})")
        return read(table), exact.count(table.get("count", 1))


def _bare(kind: type[Release] | type[Gaussian], table: dict[str, Any]) -> Mechanism:
    """A mechanism whose keys are those of its kind, and `sampling`."""
    keys = kind.stated.readers
    _check_keys(table, ("kind", *keys, *SCHEME_KEYS, "count"))
    mechanism: Gaussian | Release = kind(**{key: table.get(key) for key in keys})
    return _in_schemes(mechanism, table)


def _in_schemes(mechanism: Mechanism | Composition, table: dict[str, Any]) -> Any:
    """On samples, and the best of many runs, where the table says so."""
    for key in SCHEME_KEYS:
        mechanism = _in_scheme(mechanism, table[key], key) if key in table else mechanism
    return mechanism


def _composed(table: dict[str, Any]) -> Mechanism:
    """Several releases of one sample, or of one run of which the best of many is selected."""
    _check_keys(table, ("kind", "releases", *SCHEME_KEYS, "count"))
    tables = table.get("releases")
    if not isinstance(tables, list) or not tables or not all(isinstance(entry, dict) for entry in tables):
        raise InvalidInput("releases", tables, "one or more [[mechanism.releases]] tables")
    for i, entry in enumerate(tables, 1):
        if "sampling" in entry and "sampling" in table:
            raise InvalidInput(f"releases[{i}].sampling", entry["sampling"], "left out: all releases share one sample")
    parts = (_part(entry, f"releases[{i}].", _bare_kinds(ALL_RELEASES)) for i, entry in enumerate(tables, 1))
    if not any(key in table for key in SCHEME_KEYS):
        reason = "given; releases that share no sample are [[mechanism]] tables of their own"
        raise InvalidInput("sampling", None, reason)
    return _in_schemes(compose(*parts), table)


Reader = Callable[[dict[str, Any]], Mechanism]


def _bare_kinds(releases: Releases) -> dict[str, Reader]:
    def read(kind: str, table: dict[str, Any]) -> Mechanism:
        return _bare(releases[kind], table)

    return {**{kind: partial(read, kind) for kind in releases}, "gaussian": partial(_bare, Gaussian)}


_EXAMPLES = {
    "sampling": ('{ scheme = "poisson", probability = "0.1" }', '"poisson" (or "with-", "without-replacement")'),
    "selection": ('{ scheme = "poisson-runs", mean = "10" }', '"poisson-runs" or "negative-binomial-runs"')}


def _in_scheme(mechanism: Mechanism | Composition, sampling: object, key: str) -> Mechanism:
    if not isinstance(sampling, dict):
        raise InvalidInput(key, sampling, f"a table like {_EXAMPLES[key][0]}")
    with _located(f"{key}."):
        stated = sampling.get("scheme")
        if not _is_text(stated):
            raise InvalidInput("scheme", stated, f"the string {_EXAMPLES[key][1]}")
        scheme = str(stated)
        if scheme not in SCHEMES:
            raise _no_scheme(scheme)
        if SCHEMES[scheme].key != key:
            raise InvalidInput("scheme", scheme, f"stated under {SCHEMES[scheme].key}, where it belongs")
        build: Any = SCHEMES[scheme]
        readers = build.stated.readers
        _check_keys(sampling, ("scheme", *readers))
        numbers = [read(sampling.get(key), key) for key, read in readers.items()]
        if key == "sampling" and scheme != "poisson" and not isinstance(mechanism, Gaussian):
            raise Unsupported(f"{scheme!r} has a proof for the Gaussian only", "scheme")
    try:
        return build(mechanism, *numbers)
    except InvalidInput as error:  # of the table, as `picks`, or of the mechanism, as `sigma`
        raise (error.within(f"{key}.") if error.key in readers else error) from None


WITHOUT_PROOF = ("sequential", "fixed-size", "random-check-ins", "subset", "stratified")
"""Ways to sample that exist, and that no theorem here is about."""


def _no_scheme(scheme: str) -> InvalidInput | Unsupported:
    """Why a word is no scheme: it has no theorem, or there is no such way to sample."""
    word = scheme.lower().replace("_", "-").replace(" ", "-")
    if word in WITHOUT_PROOF:
        return Unsupported(f"{scheme!r} has no proof here, {_OTHERS}", "scheme")
    if word in OTHER_NAMES:
        return InvalidInput("scheme", scheme, f"{OTHER_NAMES[word]}, its name here")
    return InvalidInput("scheme", scheme, f"a sampling scheme ({_nearest(scheme, tuple(SCHEMES))}known are "
                        f"{', '.join(SCHEMES)})")


_OTHERS = f"only {', '.join(SCHEMES)} have"
OTHER_NAMES = {"balls-in-bins": "random-allocation", "cyclic": "cyclic-poisson", "shuffle": "shuffled",
               "shuffling": "shuffled", "fixed-size-shuffled": "shuffled"}
"""What some call a scheme -> its name here."""


def _claim(table: object) -> Claim | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise InvalidInput("claim", table, "a [claim] table")
    with _located("claim."):
        _check_keys(table, ("title", "source", "epsilon", "delta"))
        title, source = (_text(table.get(key, ""), key) for key in ("title", "source"))
        epsilon, delta = table.get("epsilon"), table.get("delta")
        numbers = exact.non_negative(epsilon, "epsilon"), exact.claimed_delta(delta, "delta")
        return Claim(title, source, *numbers, epsilon_text=str(epsilon), delta_text=str(delta))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Written)


def _text(value: object, key: str) -> str:
    if not _is_text(value):
        raise InvalidInput(key, value, "a string")
    return str(value)


def _check_keys(table: dict[str, Any], known: tuple[str, ...]) -> None:
    """InvalidInput for the first key that is not known, with the nearest one that is."""
    for key, value in table.items():
        if key not in known:
            key = key[:80]
            numbered = f"{key}0, its name here" if f"{key}0" in known else ""
            raise InvalidInput(key, value, numbered or _advice(key) or f"a known key ({_nearest(key, known)}known are "
                               f"{', '.join(known)})")


_SAMPLING = 'sampling = { scheme = "poisson", probability = "BATCH/RECORDS" }'
_ADVICE = {
    f"left out: write {_SAMPLING}, or use `verified-dp dpsgd --batch-size BATCH --dataset-size RECORDS`":
        "batch_size batchsize lot_size dataset_size num_examples number_of_examples n_samples records sample_size",
    "left out: write count = EPOCHS * RECORDS / BATCH, rounded up, or use `verified-dp dpsgd --epochs EPOCHS`":
        "epochs num_epochs",
    "left out: the number of steps is count": "steps num_steps iterations rounds repetitions compositions",
    f"left out: write {_SAMPLING}": "sampling_probability sampling_rate sample_rate subsampling",
    "left out: noise is noise_multiplier, the standard deviation over the clipping norm (or sigma, with sensitivity)":
        "noise noise_scale noise_level std stddev l2_norm_clip max_grad_norm clipping_norm clip",
    "left out here: claimed numbers stand in a [claim] table": "epsilon delta target_epsilon target_delta eps",
    "relation, at the top of the file": "neighbouring neighboring adjacency neighbours neighbors",
}
"""What to write instead of keys that other programs have."""


def _advice(key: str) -> str:
    """What to write instead of a key of other programs; "" for any other."""
    word = key.lower().replace("-", "_")
    return next((text for text, keys in _ADVICE.items() if word in keys.split()), "")


def _nearest(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # only when something is wrong

    return "".join(f"did you mean {name}? " for name in get_close_matches(key[:80], known, 1))


@contextmanager
def _located(prefix: str) -> Iterator[None]:
    """Put `prefix` before the key of an error raised inside."""
    try:
        yield
    except InvalidInput as error:
        raise error.within(prefix) from None
    except Unsupported as error:
        raise Unsupported(error.reason, prefix + error.key, error.file) from None

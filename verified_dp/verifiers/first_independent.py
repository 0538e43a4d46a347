"""The independent checker: a certificate's statement once more, without the kernel and without its arithmetic.

Claim, input and verdict are read by the same plain code as in the trusted checker; the numbers are not. From claim
and input alone it writes down the laws of the privacy loss, and encloses delta at every `at` in mpmath's interval
arithmetic by its own, simpler bounds, with parameters refined from those of the witness. The certificate is
confirmed if each of these enclosures lies inside the recorded one, and the recorded ones lead to the result and
the verdict. A recorded interval that misses the truth is refused, whatever made it.

Covered: lines, closed forms, Chernoff bounds (one-sided: the upper end) and the end of the support. Not covered,
and reported as unsupported: bent paths (panels), and lines with very many frequencies. Pairs, assumptions, theorems
and versions are left to the trusted checker; it runs first on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verified_dp.core.certificate.check import Check, refused
from verified_dp.core.certificate.document import Document, altered_keys, check_equal, check_keys, read_document
from verified_dp.core.certificate.statement import read_spec
from verified_dp.core.certificate.verdict import Recorded, decimals, judge
from verified_dp.core.composition import Composition, PoissonSampled, Relation
from verified_dp.core.dyadic import Dyadic
from verified_dp.core.ends import read_end
from verified_dp.core.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.core.exact import exact as read_exact
from verified_dp.core.mechanisms import Gaussian
from verified_dp.core.pairs.plain import mean_distance
from verified_dp.verifiers import first_independent_line as contour
from verified_dp.verifiers.first_independent_closed import enclose_closed
from verified_dp.verifiers.first_independent_line import Values
from verified_dp.verifiers.first_independent_parameters import Law, Line, NotCovered, Rule, refined
from verified_dp.verifiers.intervals import Interval, certain, ends, exact, exp, log, precision

FACTORS = (1.25, 1.6, 2.1)
"""How much finer than the witness's the parameters are made, one after the other until it is decided."""
MAX_PRECISION = 20_000
_BOTH = ("remove", "add")
_ORDERS = {
    Relation.ADD_OR_REMOVE: _BOTH,
    Relation.ZERO_OUT: _BOTH,
    Relation.REMOVE: ("remove",),
    Relation.ADD: ("add",),
    Relation.REPLACE: ("symmetric",),
}


@dataclass(frozen=True)
class Model:
    """The composition in one order: sampled laws with counts, and the Gaussian steps' mu^2."""

    order: str
    laws: tuple[Law, ...]
    shift_squared: Fraction


@dataclass(frozen=True)
class Entry:
    """One evaluation: what it states, and its witness as plain data."""

    statement: Recorded
    witness: Document
    path: str


def verify(certificate: bytes | str | Document) -> Check:
    """Confirm a certificate independently of the kernel.

    Ensures: if valid, every recorded enclosure holds the true delta, and the verdict follows from them.
    Raises: Unsupported where an evaluation is not covered and nothing else is wrong.
    """
    try:
        document = read_document(certificate)
        if altered := altered_keys(document):
            raise InvalidCertificate(altered[0], "does not match its hash")
        entries, missing = _check(document)
    except InvalidCertificate as error:
        return refused(error)
    if missing:
        reason = f"confirmed {len(entries) - len(missing)} of {len(entries)} enclosures; not covered: "
        raise Unsupported(reason + "; ".join(missing), "independent")
    return Check(True, document["verdict"], None, f"{len(entries)} enclosures confirmed without the kernel")


def _check(document: Document) -> tuple[list[Entry], list[str]]:
    """The entries, and those which are not covered, in words; InvalidCertificate where something is wrong."""
    try:
        spec = read_spec(document)
        entries = _read_entries(document["evaluations"])
    except (InvalidInput, Unsupported, TypeError, KeyError, ValueError) as error:
        raise InvalidCertificate("evaluations", f"cannot be read: {error}") from None
    if spec.claim is None:
        raise InvalidCertificate("claim", "is missing")
    models = {order: model_of(spec.composition, spec.relation, order) for order in _ORDERS[spec.relation]}
    judged = judge(spec.claim, tuple(models), True, [entry.statement for entry in entries])
    for key, expected in judged.items():
        check_equal(document[key], expected, key, "does not follow from the evaluations")
    evaluator = _Evaluator()
    missing = []
    for entry in entries:
        try:
            evaluator.confirm(entry, models[entry.statement.order])
        except NotCovered as error:
            missing.append(f"{entry.path} ({error})")
    return entries, missing


def model_of(composition: Composition, relation: Relation, order: str) -> Model:
    """Sampled steps with 0 < q < 1, equal ones together; all plain Gaussian steps as one; q = 0 does nothing.

    Raises: Unsupported for anything but Gaussians and Poisson samples of them.
    """
    counts: dict[tuple[Fraction, Fraction], int] = {}
    shift_squared = Fraction(0)
    for mechanism, count in composition.parts:
        plain = mechanism.mechanism if isinstance(mechanism, PoissonSampled) else mechanism
        if not isinstance(plain, Gaussian):
            raise Unsupported(f"{type(plain).__name__} is not covered", "independent")
        if isinstance(mechanism, PoissonSampled) and mechanism.probability < 1:
            key = mechanism.probability, Fraction(plain.noise_multiplier or 0)
            counts[key] = counts.get(key, 0) + count
        else:
            shift_squared += count * mean_distance(plain, relation) ** 2
    laws = tuple(Law(q, s, k, order) for (q, s), k in sorted(counts.items()) if q > 0)
    return Model(order, laws, shift_squared)


def _read_entries(found: Any) -> list[Entry]:
    if type(found) is not list or len(found) > 16:
        raise InvalidCertificate("evaluations", "must be a list of at most 16 evaluations")
    return [_read_entry(table, f"evaluations[{index}]") for index, table in enumerate(found)]


def _read_entry(table: Any, path: str) -> Entry:
    check_keys(table, ("quantity", "order", "at", "side", "method", "witness", "enclosure", "error_budget"), path)
    for key in ("quantity", "order", "at", "side"):
        check_equal(type(table[key]) is str, True, f"{path}.{key}", "must be text")
    check_equal(type(table["witness"]) is dict, True, f"{path}.witness", "must be an object")
    enclosure = table["enclosure"]
    check_keys(enclosure, ("lower", "upper", "lower_decimal", "upper_decimal"), f"{path}.enclosure")
    lower, upper = read_end(enclosure["lower"]), read_end(enclosure["upper"])
    texts = dict(zip(("lower_decimal", "upper_decimal"), decimals(lower, upper), strict=True))
    check_equal({key: enclosure[key] for key in texts}, texts, f"{path}.enclosure", "not the decimal of the dyadic")
    stated = Recorded(table["quantity"], table["order"], read_exact(table["at"]), table["side"], lower, upper,
                      falls=table["witness"].get("kind") == "end")
    return Entry(stated, table["witness"], path)


def _number(text: str) -> Fraction:
    return Dyadic.parse(text).as_fraction() if "*" in text else read_exact(text)


def _rules(tables: Sequence[Document]) -> tuple[Rule, ...]:
    return tuple(Rule(_number(table["height"]), _number(table["half_width"]), _number(table["step"]),
                      table["first"], table["last"]) for table in tables)


def read_line(witness: Document) -> Line:
    """A line from a witness's plain data."""
    numbers = {name: _number(witness[name]) for name in ("tilt", "step", "right", "left")}
    return Line(count=witness["count"], prec=witness["prec"], nodes=_rules(witness["nodes"]),
                tail_nodes=_rules(witness["tail_nodes"]), **numbers)


class _Evaluator:
    """Confirms entries one by one; keeps what entries with the same witness share."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, float], Values] = {}

    def confirm(self, entry: Entry, model: Model) -> None:
        """Return if the true delta is shown to be where the entry says, raise otherwise."""
        kind = entry.witness.get("kind")
        enclose = _ENCLOSE.get(str(kind))
        if enclose is None:
            raise NotCovered(f"a witness of kind {kind}")
        try:
            for factor in FACTORS:
                if _is_confirmed(entry, enclose(self, entry, model, factor)):
                    return
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, InvalidInput) as error:
            raise InvalidCertificate(f"{entry.path}.witness", f"cannot be used: {error!r}") from None
        raise NotCovered("an enclosure too narrow for the independent bounds")

    def line(self, entry: Entry, model: Model, factor: float) -> tuple[Dyadic, Dyadic] | None:
        line = refined(read_line(entry.witness), model.laws, factor)
        _require_precision(line.prec)
        with precision(line.prec):
            key = model.order, repr(line), factor
            if key not in self._values:
                self._values[key] = contour.evaluate(line, model.laws, model.shift_squared)
            return _ends(contour.enclose_on_line(self._values[key], entry.statement.at))

    def closed(self, entry: Entry, model: Model, factor: float) -> tuple[Dyadic, Dyadic] | None:
        bits = int(entry.witness["prec"] * factor) + 100
        _require_precision(bits)
        with precision(bits):
            return _ends(enclose_closed(model.laws, model.shift_squared, entry.statement.at))

    def chernoff(self, entry: Entry, model: Model, factor: float) -> tuple[Dyadic, Dyadic] | None:
        exponent, bits = _number(entry.witness["exponent"]), int(entry.witness["prec"] * factor) + 64
        _require_precision(bits)
        if exponent <= 0:
            raise NotCovered("a Chernoff bound with a negative exponent")
        with precision(bits):
            mass = contour.chernoff_mass(model.laws, exponent, exact(model.shift_squared))
            found = _ends(mass * exp(-exact(exponent * entry.statement.at)))
        return None if found is None else (Dyadic(0), found[1])

    def support(self, entry: Entry, model: Model, factor: float) -> tuple[Dyadic, Dyadic] | None:
        """delta = 0 from the largest loss on, -sum k log(1-q) in the add order."""
        if model.shift_squared or (model.laws and model.order != "add"):
            raise NotCovered("the end of a support that is infinite")
        with precision(256):
            largest = sum((-law.count * log(1 - exact(law.q)) for law in model.laws), exact(0))
            past = certain(exact(entry.statement.at) >= largest)
        return (Dyadic(0), Dyadic(0)) if past else None


Enclose = Callable[[_Evaluator, Entry, Model, float], tuple[Dyadic, Dyadic] | None]
_ENCLOSE: Mapping[str, Enclose] = {
    "line": _Evaluator.line,
    "closed-form": _Evaluator.closed,
    "chernoff": _Evaluator.chernoff,
    "support": _Evaluator.support,
}


def _require_precision(bits: int) -> None:
    if not 0 < bits <= MAX_PRECISION:
        raise NotCovered(f"more than {MAX_PRECISION} bits")


def _ends(x: Interval) -> tuple[Dyadic, Dyadic] | None:
    """The ends, cut to [0, 1], where delta lies."""
    found = ends(x)
    return None if found is None else (max(found[0], Dyadic(0)), min(found[1], Dyadic(1)))


def _is_confirmed(entry: Entry, found: tuple[Dyadic, Dyadic] | None) -> bool:
    """Whether the enclosure found lies inside the recorded one; InvalidCertificate where they do not meet."""
    if found is None:
        return False
    lower, upper = entry.statement.lower, entry.statement.upper
    if found[0] > upper:
        raise InvalidCertificate(f"{entry.path}.enclosure.upper", "is below the true value")
    if found[1] < lower:
        raise InvalidCertificate(f"{entry.path}.enclosure.lower", "is above the true value")
    return lower <= found[0] and found[1] <= upper

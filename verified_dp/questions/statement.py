"""The paragraph for a paper or a deployment page, from a certificate alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.dyadic import decimal_down, decimal_up
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.terminal import escaped

FORMATS = ("text", "markdown", "latex", "bibtex")
_UNITS = {
    "add-or-remove": "one record added or removed", "add": "one record added", "remove": "one record removed",
    "zero-out": "one record replaced by one that contributes nothing", "replace": "one record replaced by another"}
_VERDICTS = {
    "proved": "is proved to hold", "refuted": "is refuted", "undecided": "is neither proved nor refuted"}


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"}})


def latex(text: str) -> str:
    """The text as LaTeX shows it.

    >>> print(latex("a_b & 5%"))
    a\\_b \\& 5\\%
    """
    return text.translate(_LATEX)


def statement(certificate: Mapping[str, Any], form: str = "text") -> str:
    """What a valid certificate says, in the manner of a DP-SGD statement. form: one of FORMATS.

    The certificate is not checked here: `verify` does that.
    """
    if form not in FORMATS:
        raise InvalidInput("format", form, "one of " + ", ".join(FORMATS))
    if form == "bibtex":
        return _bibtex(certificate)
    say = _LATEX_WORDS if form == "latex" else _PLAIN_WORDS
    items = [say.text(one) for one in certificate["assumptions"]]
    return "\n\n".join([" ".join(sentences(certificate, say)), "\n".join(_LISTS[form](items))])


@dataclass(frozen=True)
class Words:
    """How a form writes free text, a number, and a formula around numbers."""

    text: Callable[[str], str]
    number: Callable[[str], str]
    formula: Callable[[str], str]
    epsilon: str
    delta: str


def _power(number: str) -> str:
    """A decimal as TeX shows it: 1e-5 is 10^{-5}."""
    mantissa, e, power = number.partition("e")
    if not e:
        return mantissa
    return ("" if mantissa == "1" else f"{mantissa} \\cdot ") + f"10^{{{int(power)}}}"


_PLAIN_WORDS = Words(escaped, str, str, "epsilon", "delta")
_LATEX_WORDS = Words(lambda text: latex(escaped(text)), _power, lambda formula: f"${formula}$", r"\varepsilon",
                     r"\delta")


DEPENDENT = ("gnmax-votes",)
"""Kinds of which what is proved holds for the stated data alone."""


def alone(certificate: Mapping[str, Any]) -> str:
    """What has to follow the words differential privacy where it is that of the stated data alone; "" elsewhere."""
    given = str(certificate["input"])
    return " at the stated votes alone (no guarantee)" * any(f"'{kind}'" in given for kind in DEPENDENT)


def _bibtex(certificate: Mapping[str, Any]) -> str:
    claim, say = certificate["claim"], _LATEX_WORDS
    pair = say.formula(f"({say.number(claim['epsilon'])}, {say.number(claim['delta'])})")
    title = (f"Certificate of {pair}-differential privacy{alone(certificate)}"
             + (f": {say.text(claim['title'])}" if claim["title"] else ""))
    return "\n".join([
        f"@misc{{verified-dp-{certificate['sha256'][:12]},", f"  title = {{{{{title}}}}},",
        f"  note = {{The claim {_VERDICTS[certificate['verdict']]}. SHA-256 \\texttt{{{certificate['sha256']}}}}},",
        f"  howpublished = {{\\texttt{{verified-dp verify}}, version {certificate['versions']['verified-dp']}}},", "}"])


_LISTS: Mapping[str, Callable[[list[str]], list[str]]] = {
    "text": lambda items: ["Assumed:", *(f"- {item}" for item in items)],
    "markdown": lambda items: ["Assumed:", "", *(f"- {item}" for item in items)],
    "latex": lambda items: ["Assumed:", r"\begin{itemize}", *(rf"\item {item}" for item in items), r"\end{itemize}"],
}


def sentences(certificate: Mapping[str, Any], say: Words = _PLAIN_WORDS) -> list[str]:
    """The statement without what it assumes."""
    claim, given = certificate["claim"], certificate["input"]
    size = given.get("group_size", 1)
    unit = _UNITS[given["relation"]].replace("one record", "one record" if size in (1, "1") else f"{size} records")
    head = f"{say.text(claim['title'])}: the claim" if claim["title"] else "The claim"
    source = [f"Source of the claim: {say.text(claim['source'])}."] if claim["source"] else []
    epsilon, delta = (say.number(claim[key]) for key in ("epsilon", "delta"))
    return [
        f"{head} of {say.formula(f'({epsilon}, {delta})')}-differential privacy{alone(certificate)} "
        f"{_VERDICTS[certificate['verdict']]}.",
        f"Neighbouring data sets differ in {unit} (relation {given['relation']}).",
        *(say.text(_step(mechanism)) for mechanism in given["mechanisms"]),
        f"At {say.formula(f'{say.delta} = {delta}')} {_ends(certificate, say)}, by evaluation in ball "
        f"arithmetic of a dominating pair{_standing(certificate)}.",
        "Later steps may depend on what earlier ones released; noise, sampling and counts are fixed in advance.",
        *source, f"Certificate: SHA-256 {certificate['sha256']}."]


def _is_attacked(certificate: Mapping[str, Any]) -> bool:
    return any(entry["method"] == "attack" for entry in certificate["evaluations"])


def _standing(certificate: Mapping[str, Any]) -> str:
    if _is_attacked(certificate):
        return " from above, and from below of what an attack on one pair of data sets sees"
    return "" if all(pair["tight"] for pair in certificate["pairs"]) else ", which bounds the mechanism from above"


_DIGITS = 4


def _ends(certificate: Mapping[str, Any], say: Words) -> str:
    """The smallest epsilon, of four digits on the safe side."""
    low, high = (certificate["result"]["epsilon"][end] for end in ("lower", "upper"))
    one, epsilon = _is_attacked(certificate), say.formula(say.epsilon)
    least, most = (end if end in ("0", "inf") else to(exact.exact(end), _DIGITS)
                   for end, to in ((low, decimal_down), (high, decimal_up)))
    below, above = (say.formula(say.number(end)) for end in (least, most))
    if not one and not all(pair["tight"] for pair in certificate["pairs"]):
        return f"the smallest {epsilon} is at most {above}" if high != "inf" else f"no {epsilon} is proved"
    if low == "inf":
        return f"no finite {epsilon} holds"
    if high == "inf":
        return f"the smallest {epsilon} is at least {below}, with no upper end proved"
    near = not one and exact.exact(high) - exact.exact(low) <= exact.exact(high) / 10**_DIGITS
    return f"the smallest {epsilon} is {above} (rounded up)" if near else (
        f"the smallest {epsilon} lies between {below} and {above}")


def _step(mechanism: Mapping[str, Any]) -> str:
    own = {key: value for key, value in sorted(mechanism.items()) if key not in ("kind", "sampling", "count")}
    words = ", ".join(f"{key.replace('_', ' ')} {_number(value)}" for key, value in own.items() if value is not None)
    count, sampling = mechanism.get("count", 1), mechanism.get("sampling")
    steps = "One step" if count in (1, "1") else f"{count} steps"
    records = _sampling(sampling, count) if sampling else "on all records"
    return f"{steps} of the {_named(mechanism['kind'])} mechanism ({words}), {records}."


_NAMES = re.compile("gaussian|laplace|poisson")


def _named(kind: str) -> str:
    """A kind or a scheme with people's names as they are written.

    >>> _named("discrete-gaussian")
    'discrete Gaussian'
    """
    return _NAMES.sub(lambda name: name[0].capitalize(), kind.replace("-", " "))


def _sampling(sampling: Mapping[str, Any], count: object) -> str:
    scheme, probability = _named(sampling["scheme"]), sampling.get("probability")
    if "rounds" in sampling:
        rest = _stated(sampling, "rounds")
        return f"each {sampling['rounds']} rounds of {scheme} sampling" + (f" ({rest})" if rest else "")
    numbers = _stated(sampling)
    if probability is None:
        return f"each on a {scheme} sample ({numbers})"
    epochs = exact.exact(probability) * exact.exact(str(count))
    return f"each on a {scheme} sample ({numbers}; about {float(epochs):.6g} epochs)"


def _stated(sampling: Mapping[str, Any], *shown: str) -> str:
    """The numbers of a scheme but those that are shown already."""
    rest = {key: value for key, value in sorted(sampling.items()) if key not in ("scheme", *shown)}
    return ", ".join(f"{key} {_number(value)}" for key, value in rest.items())


def _number(value: Any) -> str:
    """A fraction as a short decimal beside it, where that helps."""
    text = str(value)
    if not text.replace("/", "", 1).isdecimal() or "/" not in text:
        return text
    number = Fraction(text)
    short = f"{float(number):.6g}"
    return short if Fraction(short) == number else f"{text} (about {short})"

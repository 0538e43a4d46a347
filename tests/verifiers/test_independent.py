"""The independent checker: what it imports, its arithmetic, certificates it confirms, and altered ones it refuses."""

from __future__ import annotations

import ast
import copy
import json
import math
import random
import subprocess
import sys
import tokenize
from collections.abc import Callable
from fractions import Fraction
from fractions import Fraction as F
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.certificate import certify as certify_spec
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.families.batches.truncated_batch import enclose_binomial_tail, full_batch_share
from verified_dp.core.kernel.certificate.check import verify as verify_trusted
from verified_dp.core.kernel.certificate.document import canonical
from verified_dp.core.kernel.certificate.statement import input_record
from verified_dp.core.kernel.composition import Claim, Relation, Spec, compose
from verified_dp.core.kernel.losses import pairs_and_losses
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent
from verified_dp.verifiers.independent import balls
from verified_dp.verifiers.independent import laws as independent_laws
from verified_dp.verifiers.independent.allocation import approximate, put_and_below
from verified_dp.verifiers.independent.atoms import DiscreteLaplaceLoss, FiniteLoss
from verified_dp.verifiers.independent.balls import Ball, Unknown, precision
from verified_dp.verifiers.independent.check import MORE_BITS
from verified_dp.verifiers.independent.compose import plan_of, run
from verified_dp.verifiers.independent.contour import Bounds
from verified_dp.verifiers.independent.discretise import enclose_step
from verified_dp.verifiers.independent.document import Dyadic, Invalid, decimals, read_end, sealed
from verified_dp.verifiers.independent.inputs import read_input
from verified_dp.verifiers.independent.laws import binomial_tail, full_share
from verified_dp.verifiers.independent.measures import Measure, coarsened, convolved, left_out, value_at
from verified_dp.verifiers.independent.pack import pack
from verified_dp.verifiers.independent.pairs import read_pairs
from verified_dp.verifiers.independent.witnesses import check_size, read_witness

Document = dict[str, Any]
FOLDER = Path(independent.__file__).parent


def step(kind: str, **numbers: object) -> str:
    """A [[mechanism]] table; q: the probability of Poisson sampling."""
    q = numbers.pop("q", None)
    lines = [f"{key} = {v if isinstance(v, int | list) else json.dumps(v)}" for key, v in numbers.items()]
    sampling = [f'sampling = {{ scheme = "poisson", probability = "{q}" }}'] if q else []
    return "\n".join(["[[mechanism]]", f'kind = "{kind}"', *lines, *sampling, ""])


GAUSSIAN = step("gaussian", sigma="15", sensitivity="2", count=3)
LAPLACE = '[[mechanism.releases]]\nkind = "laplace"\nscale = "2"\nsensitivity = "1"\n'
DISCRETE = '[[mechanism.releases]]\nkind = "discrete-laplace"\nscale = "2"\nsensitivity = 1\ncount = 2\n'
SHARED = '[[mechanism]]\nkind = "composition"\ncount = 2\nsampling = { scheme = "poisson", probability = "0.1" }\n'
POISSON_RUNS = 'selection = { scheme = "poisson-runs", mean = "10" }\n'
SEVERAL_RUNS = 'selection = { scheme = "negative-binomial-runs", mean = "10", shape = "1/2" }\n'
CLAIM = "0.5", "1e-3"
SPECS: dict[str, tuple[str, str, str, str]] = {
    "line": ("add-or-remove", step("gaussian", noise_multiplier="1.1", count=100, q="0.01"), *CLAIM),
    "far line": ("add-or-remove", step("gaussian", noise_multiplier="2", count=5000, q="0.01"), "8", "1e-70"),
    "tiny line": ("remove", step("gaussian", noise_multiplier="2", count=30000, q="256/60000"), "6", "1e-20"),
    "mixed line": ("replace", step("gaussian", noise_multiplier="1.5", count=2000, q="0.01") + GAUSSIAN, "1", "1e-5"),
    "two laws": ("add", step("gaussian", noise_multiplier="2", count=400, q="0.01")
                 + step("gaussian", noise_multiplier="3", count=100, q="0.02"), *CLAIM),
    "rays": ("remove", step("gaussian", noise_multiplier="2", count=2, q="0.01"), "0.5", "1e-4"),
    "marked": ("remove", step("gaussian", noise_multiplier="0.1", count=10**5, q="0.000001"), "60", "0.0046"),
    "rays of two laws": ("replace", step("gaussian", noise_multiplier="2", count=2, q="0.01")
                         + step("gaussian", noise_multiplier="3", count=1, q="0.02"), "0.5", "1e-4"),
    "Gaussian": ("zero-out", GAUSSIAN, "12", "1e-6"),
    "group of Gaussians": ("replace", "group_size = 2\n" + GAUSSIAN, *CLAIM),
    "one sampled step": ("replace", step("gaussian", noise_multiplier="1", q="0.01"), *CLAIM),
    "past the support": ("add", step("gaussian", noise_multiplier="1", count=3, q="0.01"), "0.5", "1e-2"),
    "ends of q": ("add-or-remove", step("gaussian", noise_multiplier="1", count=2, q="1")
                  + step("gaussian", noise_multiplier="1", count=5, q="0/1"), "0.5", "1e-6"),
    "Laplace": ("remove", step("laplace", scale="3", sensitivity="1", count=5), *CLAIM),
    "Laplace and line": ("add", step("laplace", scale="3", sensitivity="1", count=3)
                         + step("gaussian", noise_multiplier="1.1", count=100, q="0.01"), *CLAIM),
    "many Laplace": ("remove", step("laplace", scale="30", sensitivity="1", count=60), *CLAIM),
    "sampled Laplace": ("remove", step("laplace", scale="2", sensitivity="1", count=3, q="0.1"), "0.2", "1e-2"),
    "range": ("remove", step("exponential", bounded_range="0.1", count=20), *CLAIM),
    "sampled range": ("add-or-remove", step("exponential", bounded_range="0.5", count=20, q="0.2"), *CLAIM),
    "discrete Laplace": ("remove", step("discrete-laplace", scale="3", sensitivity=2, count=9), *CLAIM),
    "sampled discrete Laplace": ("add", step("discrete-laplace", scale="3", sensitivity=1, count=3, q="0.1"), *CLAIM),
    "replaced discrete Laplace": (
        "replace", step("discrete-laplace", scale="3", sensitivity=1, count=3, q="0.1"), "0.1", "1e-2"),
    "sampled discrete Gaussian": (
        "remove", step("discrete-gaussian", sigma_squared="4", sensitivity=1, count=3, q="0.1"), "0.2", "1e-2"),
    "discrete Gaussian": ("remove", step("discrete-gaussian", sigma_squared="4", sensitivity=1), *CLAIM),
    "wide discrete Gaussian": ("remove", step("discrete-gaussian", sigma_squared="10000000", sensitivity=900), *CLAIM),
    "replaced discrete Gaussian": (
        "replace", step("discrete-gaussian", sigma_squared="4", sensitivity=1, q="0.1"), "0.1", "1e-2"),
    "replaced Laplace": ("replace", step("laplace", scale="3", sensitivity="1", q="0.1"), "0.05", "1e-2"),
    "answers": ("replace", step("randomized-response", categories=3, noise_probability="0.5", count=5), *CLAIM),
    "group of answers": (
        "replace", "group_size = 2\n" + step("randomized-response", categories=3, epsilon="1/2", count=3), *CLAIM),
    "finite": ("add-or-remove", step("finite", P=["0.5", "0.3", "0.2"], Q=["0.4", "0.4", "0.2"], count=6), *CLAIM),
    "three losses": (
        "remove", step("finite", P=["0.5", "0.3", "0.2"], Q=["0.41", "0.37", "0.22"], count=500), "9", "0.5"),
    "halves": ("remove", step("finite", P=["0.5", "0.3", "0.2"], Q=["0.41", "0.37", "0.22"], count=40)
               + step("approximate-dp", epsilon="0.1234", delta="1e-7", count=30), "2", "0.5"),
    "sampled finite": ("add-or-remove", step(
        "finite", P=["0.5", "0.3", "0.2", "0"], Q=["0.4", "0.4", "0", "0.2"], count=6, q="0.1"), *CLAIM),
    "guarantee": ("remove", step("approximate-dp", epsilon="1/10", delta="1e-7", count=10), *CLAIM),
    "many guarantees": ("remove", step("approximate-dp", epsilon="1/100", delta="1e-7", count=500), "4", "1e-2"),
    "sampled guarantee": ("remove", step("approximate-dp", epsilon="1", delta="1e-6", count=10, q="0.1"), *CLAIM),
    "group of guarantees": (
        "add", "group_size = 3\n" + step("approximate-dp", epsilon="1/10", delta="1e-9", count=4), *CLAIM),
    "mu": ("add-or-remove", step("gaussian-dp", mu="1/2", count=2), *CLAIM),
    "sampled mu": ("remove", step("gaussian-dp", mu="1/2", count=20, q="0.1"), *CLAIM),
    "zCDP": ("replace", step("zcdp", rho="0.01", count=3) + step("gaussian", noise_multiplier="4"), *CLAIM),
    "Renyi": ("remove", step("renyi", renyi_orders=["2", "8"], epsilons=["0.01", "0.05"])
              + step("gaussian", noise_multiplier="2", count=10, q="0.1"), *CLAIM),
    "mixture": ("remove", step("mixture-of-gaussians", sigma="2", sensitivities=["0", "1", "2"],
                               probabilities=["0.5", "0.3", "0.2"]), *CLAIM),
    "one batch without replacement": ("replace", '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 2\n'
                                      'sampling = { scheme = "without-replacement", probability = "0.1" }\n', *CLAIM),
    "draws": ("replace", '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\n'
              'sampling = { scheme = "with-replacement", draws = 5, population = 100 }\n', *CLAIM),
    "shared sample": ("remove", SHARED + LAPLACE, "0.2", "1e-3"),
    "shared discrete sample": ("remove", SHARED + DISCRETE, "0.2", "1e-3"),
    "line of groups": (
        "add-or-remove", "group_size = 3\n" + step("gaussian", noise_multiplier="2", count=100, q="0.05"), *CLAIM),
    "rays of groups": (
        "remove", "group_size = 3\n" + step("gaussian", noise_multiplier="2", count=3, q="0.1"), *CLAIM),
    "line of draws": ("replace", '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "4"\ncount = 20\n'
                      'sampling = { scheme = "with-replacement", draws = 4, population = 100 }\n', *CLAIM),
    "line of mixtures": (
        "add-or-remove", step("mixture-of-gaussians", sigma="3", sensitivities=["1/2", "1", "2"], count=9,
                              probabilities=["0.5", "0.3", "0.2"])
        + step("gaussian", noise_multiplier="2", count=50, q="0.05"), *CLAIM),
    "atoms on no grid": ("add-or-remove", step(
        "discrete-gaussian", sigma_squared="1", sensitivity=1, count=50, q="0.02"), "1/2", "1e-2"),
    "pure epsilon of Laplace": ("replace", step("laplace", scale="20", sensitivity="1"), "0.05", "0"),
    "no pure epsilon": ("add-or-remove", step("gaussian", noise_multiplier="1"), "5", "0"),
    "no finite epsilon": ("remove", step("approximate-dp", epsilon="1", delta="1e-3"), "2", "1e-5"),
    "group on a sample": ("add", "group_size = 3\n" + step("gaussian", noise_multiplier="2", q="0.1"), *CLAIM),
    "clones": ("replace", step("shuffled-local", users=10**4, epsilon0="1"), "0.05", "1e-6"),
    "clones of odds": ("replace", step("shuffled-local", users=50, odds="3"), "0.3", "1e-4"),
    "rounds of clones": ("replace", step("shuffled-local", users=5, epsilon0="1/2", count=2), "0.6", "1e-2"),
    "one shuffled message": ("replace", step("shuffled-local", users=1, epsilon0="log(3)", count=3), "2", "1e-3"),
    "partitions": ("add-or-remove", step("partition-selection", threshold="40", partitions=2, sigma="6", count=2),
                   "2", "1e-4"),
    "Laplace partitions": ("add", step("partition-selection", threshold="1/2", partitions=1, scale="3"), "1", "0.9"),
    "noisy votes": ("replace", step("gnmax", sigma="40", threshold_sigma="150", count=100)
                    + step("gnmax", sigma="10", count=2), "2", "1e-3"),
    "votes": ("remove", step("gnmax-votes", sigma="5", votes=[30, 5, 1], threshold="25", threshold_sigma="20"),
              "1", "1e-3"),
    "split votes": ("remove", step("gnmax-votes", sigma="2", votes=[3, 3], count=2), "4", "1e-2"),
    "best of Poisson runs": (
        "add-or-remove", f'[[mechanism]]\nkind = "composition"\n{POISSON_RUNS}{LAPLACE.replace("2", "60")}'
        + '[[mechanism.releases]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 50\n'
        'sampling = { scheme = "poisson", probability = "1/50" }\n', "5", "1e-5"),
    "best of several runs": ("replace", step("gaussian", noise_multiplier="20", count=2) + SEVERAL_RUNS
                             + step("gaussian", sigma="15", sensitivity="2"), "4", "1e-4"),
    "best on a sample": ("remove", step("discrete-gaussian", sigma_squared="30", sensitivity=2, q="1/10")
                         + SEVERAL_RUNS, "1", "1e-4"),
    "selection past all losses": ("replace", step("laplace", scale="21/2", sensitivity="3/2", count=2) + POISSON_RUNS,
                                  "20", "1e-4"),
    "selection near its end": ("add", step("laplace", scale="59/2", sensitivity="2", count=5) + SEVERAL_RUNS, "1", "0"),
    "epochs of allocation": ("add-or-remove", '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 3\n'
                             'sampling = { scheme = "random-allocation", rounds = 20 }\n', "1", "1e-2"),
    "nothing to hide": ("replace", step("shuffled-local", users=9, epsilon0="0"), "0", "0"),
}


@pytest.fixture(scope="module")
def certificates(certify_text: Callable[..., Document]) -> Callable[[str], Document]:
    """The certificate of that name, made when it is first asked for."""
    made: dict[str, Document] = {}

    def find(name: str) -> Document:
        if name not in made:
            made[name] = certify_text(*SPECS[name], digits=3)
        return made[name]

    return find


@pytest.mark.parametrize("name", SPECS)
def test_certificates_are_confirmed(name: str, certificates: Callable[[str], Document]) -> None:
    document = certificates(name)
    found = independent.verify(canonical(document))
    assert found.valid and found.verdict == document["verdict"], found


@pytest.mark.long
def test_every_kind_of_witness_is_seen(certificates: Callable[[str], Document]) -> None:
    kinds = {entry["witness"]["kind"] for name in SPECS for entry in certificates(name)["evaluations"]}
    assert kinds >= {"line", "closed-form", "exact", "moment", "node-moment"}


@pytest.mark.parametrize("name", ["no pure epsilon", "no finite epsilon"])
def test_an_infinite_epsilon_is_called_so(name: str, certificates: Callable[[str], Document]) -> None:
    """By both checkers, and where an end below it is recorded instead neither accepts it."""
    document = certificates(name)
    assert {document["result"]["epsilon"][end] for end in ("lower", "upper")} == {"inf"}
    result = {**document["result"], "epsilon": {**document["result"]["epsilon"], "lower": "8796000000000"}}
    lower = sealed({**document, "result": result})
    assert not independent.verify(canonical(lower)).valid and not verify_trusted(canonical(lower)).valid


@pytest.mark.parametrize(("kind", "at", "lower"), [
    ("endless", "1/20", "inf"), ("end", "1", "1.0000"), ("exact", "1", "1.0000")])
def test_no_loss_is_larger_than_the_largest(
    kind: str, at: str, lower: str, certificates: Callable[[str], Document]
) -> None:
    """A witness that fails may say that delta is in [0, 1], not that it falls: that would refute a true claim."""
    document = certificates("pure epsilon of Laplace")
    entries = [{**entry, "at": at, "witness": {**entry["witness"], "kind": kind}}
               if (entry["quantity"], entry["side"]) == ("epsilon", "lower") else entry
               for entry in document["evaluations"]]
    kept = [entry for entry in entries if (entry["quantity"], entry["side"]) != ("epsilon", "upper")]
    epsilon = {"order": "symmetric", "lower": lower, "upper": "inf"}
    delta = {**kept[0], "enclosure": {"lower": "0*2^0", "upper": "1*2^0", "lower_decimal": "0",
                                      "upper_decimal": "1.0000"}}
    result = {"delta": {"order": "symmetric", "lower": "0", "upper": "1.0000"}, "epsilon": epsilon}
    wrong = sealed({**document, "evaluations": [delta, *kept[1:]], "verdict": "refuted", "result": result})
    for found in (independent.verify(canonical(wrong)), verify_trusted(canonical(wrong))):
        assert not found.valid and str(found.field).startswith(("evaluations[1].", "result.epsilon")), found


# what it rests on


def test_it_imports_the_standard_library_and_mpmath() -> None:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in node.names), path
            if isinstance(node, ast.ImportFrom) and not node.level:
                root = (node.module or "").partition(".")[0]
                assert root == "mpmath" or root in sys.stdlib_module_names, path
            assert not (isinstance(node, ast.ImportFrom) and node.level > 1), path


BLOCKED = """
import runpy, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("flint", "numpy", "scipy", "sympy"): raise ImportError(name)
sys.meta_path.insert(0, Blocked())
sys.argv = ["verify", *sys.argv[1:]]
"""


@pytest.mark.parametrize("packed", [False, True])
def test_it_runs_with_nothing_else(packed: bool, tmp_path: Path, certificates: Callable[[str], Document]) -> None:
    """As a module, and as one file from which the rest of the package cannot be seen."""
    (tmp_path / "c.json").write_bytes(canonical(certificates("line")))
    run = 'runpy.run_module("verified_dp.verifiers.independent", run_name="__main__")'
    if packed:
        pack(tmp_path / "verify.pyz")
        first = (tmp_path / "verify.pyz").read_bytes()
        pack(tmp_path / "verify.pyz")
        assert first == (tmp_path / "verify.pyz").read_bytes()
        run = f'runpy.run_path({str(tmp_path / "verify.pyz")!r}, run_name="__main__")'
    else:
        run += "; assert not [n for n in sys.modules if n.startswith('verified_dp.core')]"
    done = subprocess.run([sys.executable, "-c", f"{BLOCKED}\n{run}", str(tmp_path / "c.json"), "--json"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["valid"] is True


def test_exit_codes(
        tmp_path: Path, certificates: Callable[[str], Document], capsys: pytest.CaptureFixture[str]) -> None:
    from verified_dp.verifiers.independent.__main__ import main

    (tmp_path / "good.json").write_bytes(canonical(certificates("Gaussian")))
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "slow.json").write_bytes(canonical(certificates("line")))
    good, bad, none = (str(tmp_path / name) for name in ("good.json", "bad.json", "none.json"))
    assert [main([good]), main([good, bad]), main([bad, none]), main([good, none])] == [0, 1, 2, 2]
    assert main(["--max-seconds", "0", str(tmp_path / "slow.json")]) == 3
    capsys.readouterr()
    assert main([good, bad, str(tmp_path / "slow.json"), none]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [good, bad, str(tmp_path / "slow.json")]
    main(["--json", good, bad, none])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["schema"] for row in rows] == [f"verified-dp/{name}/1" for name in ("check", "check", "error")]
    assert rows[0]["valid"] is True and rows[1]["field"] == "schema"


def test_what_is_too_much_is_not_called_invalid(certificates: Callable[[str], Document]) -> None:
    """The verdict is decided without the witness, and it is said which enclosures were not replayed."""
    document = copy.deepcopy(certificates("line"))
    document["evaluations"][0]["witness"]["count"] = 10**9
    found = independent.verify(canonical(sealed(document)))
    assert found.valid and found.by_itself and found.compared == 1 and "1 not replayed" in found.reason


def test_another_kind_of_witness_leaves_the_verdict(certificates: Callable[[str], Document]) -> None:
    """A kind that is not known here changes nothing of what this checker finds itself; a wrong number is seen."""
    document = copy.deepcopy(certificates("line"))
    for entry in document["evaluations"]:
        entry["witness"] = {"kind": "new", "numbers": [1, 2]}
    found = independent.verify(canonical(sealed(document)))
    assert found.valid and found.by_itself and found.replayed == 0 and found.compared == len(document["evaluations"])
    claim = {**document["claim"], "epsilon": "0.1"}
    assert refused({**document, "claim": claim})
    moved = copy.deepcopy(document)
    moved["evaluations"][0]["enclosure"] |= {"lower": "1*2^-11", "lower_decimal": "0.00048828",
                                             "upper": "1*2^-11", "upper_decimal": "0.00048828"}
    assert refused(moved)


# altered certificates


def refused(document: Document) -> bool:
    return not independent.verify(canonical(sealed(document))).valid


@pytest.mark.parametrize(("path", "value"), [
    (("claim", "epsilon"), "0.4"), (("claim", "delta"), "2e-3"), (("claim", "epsilon"), "00.5"),
    (("verdict",), "refuted"),
    (("short_by_rounding",), True), (("pairs", 0, "P"), "N(0, 1)"), (("pairs", 0, "tight"), False),
    (("assumptions", 0), "none"), (("input", "relation"), "remove"), (("input", "mechanisms", 0, "count"), 99),
    (("input", "mechanisms", 0, "noise_multiplier"), "12/10"), (("input", "mechanisms", 0, "noise_multiplier"), "6/5"),
    (("theorems",), ["T07-ends", "T03-chernoff"]), (("theorems",), ["x"]), (("versions", "python"), ""),
    (("result", "delta", "upper"), "0"), (("result", "epsilon", "order"), "both"),
    (("evaluations", 0, "method"), "lattice"),
    (("evaluations", 0, "order"), "add"), (("evaluations", 0, "side"), "lower"), (("evaluations", 0, "at"), "1/3"),
    (("evaluations", 0, "error_budget", "aliasing"), "0"), (("evaluations", 0, "error_budget", "more"), "0"),
    (("evaluations", 0, "witness", "kind"), "support"), (("evaluations", 0, "witness", "tilt"), 1.5),
    (("evaluations", 0, "witness", "step"), "0*2^0"), (("evaluations", 0, "witness", "nodes"), []),
    (("evaluations", 0, "witness", "prec"), 10**9), (("evaluations", 0, "enclosure", "lower"), "1*2^0"),
    (("more",), 1), (("schema",), "x"),
])
def test_an_altered_field_is_refused(
        path: tuple[Any, ...], value: Any, certificates: Callable[[str], Document]) -> None:
    document = copy.deepcopy(certificates("line"))
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert refused(document)


@pytest.mark.parametrize("name", ["best of Poisson runs", "best of several runs", "best on a sample"])
def test_more_runs_are_more_than_fewer_prove(name: str, certificates: Callable[[str], Document]) -> None:
    """The enclosures of a mean of 10 beside other means, in the input and in the words of the pairs."""
    def stated(mean: int) -> Document:
        text = canonical(certificates(name)).decode().replace('"mean":"10"', f'"mean":"{mean}"')
        return json.loads(text.replace("mean 10", f"mean {mean}"))

    assert not refused(stated(10)) and not refused(stated(9))
    for more in (11, 1000):
        found = independent.verify(canonical(sealed(stated(more))))
        assert not found.valid and str(found.field).startswith("evaluations[0]."), found
    fewer = stated(10)
    fewer["input"]["mechanisms"][0]["selection"]["mean"] = "9"
    assert refused(fewer)
    silent = stated(10)
    silent["assumptions"] = [text for text in silent["assumptions"] if not text.startswith("selection:")]
    assert refused(silent)


def test_what_may_not_be_selected_is_refused(certificates: Callable[[str], Document]) -> None:
    step = certificates("best on a sample")["input"]["mechanisms"][0]
    runs, shuffled = step["selection"], {"scheme": "shuffled", "rounds": 3}
    for key, value in (("selection", {**runs, "mean": "1"}), ("selection", {**runs, "shape": "-1"}),
                       ("selection", {"scheme": "poisson-runs", "mean": "10", "shape": "1"}),
                       ("selection", {"scheme": "poisson", "probability": "1/2"}), ("sampling", runs)):
        with pytest.raises(Invalid):
            read_input({"relation": "remove", "mechanisms": [{**step, key: value}]})
    gaussian = {"kind": "gaussian", "noise_multiplier": "1", "count": 1}
    for release in (gaussian | {"sampling": shuffled}, step):
        with pytest.raises(Invalid):
            read_input({"relation": "remove", "mechanisms": [
                {"kind": "composition", "releases": [release], "selection": runs, "count": 1}]})
    sure = {"kind": "approximate-dp", "epsilon": "1", "delta": "1/100", "count": 1, "selection": runs}
    with pytest.raises(Invalid, match="every epsilon"):
        read_pairs(read_input({"relation": "remove", "mechanisms": [sure]}))


def best_of(law: list[Fraction], generating: Callable[[Any], Any]) -> list[Any]:
    """No run, and each outcome as the best: f(Q(<= y)) - f(Q(< y))."""
    sums = [mpmath.mpf(sum(law[:n]).numerator) / sum(law[:n]).denominator for n in range(1, len(law) + 1)]
    values = [generating(x) for x in [mpmath.mpf(0), *sums]]
    return [values[0], *(after - before for before, after in pairwise(values))]


@pytest.mark.theorem("T213-private-selection")
@pytest.mark.parametrize("shape", [None, "0", "1", "3"])
def test_moments_of_the_best_of_several_runs_on_few_outcomes(shape: str | None) -> None:
    """At least the exact ones, for random laws of a run, and some at most five times their logarithm."""
    rng, nearest, g = random.Random(shape), 0.0, mpmath.mpf(1) / 20
    e = mpmath.mpf(shape or 0)
    generating = {None: lambda x: mpmath.exp(20 * (x - 1)),
                  "0": lambda x: mpmath.log(1 - (1 - g) * x) / mpmath.log(g)}.get(
        shape, lambda x: ((1 - (1 - g) * x) ** -e - 1) / (g**-e - 1))
    mean = Fraction(20) if shape in (None, "1") else Fraction(float(mpmath.diff(generating, 1 - mpmath.mpf("1e-15"))))
    selection = {"scheme": "poisson-runs", "mean": str(mean)} if shape is None else {
        "scheme": "negative-binomial-runs", "mean": str(mean * (1 if shape == "1" else Fraction(1001, 1000))),
        "shape": shape}
    for case in range(10):
        weights = [[rng.randint(1, 9) for _ in range(4)] for _ in range(2)] if case % 3 else [
            [100, 1, 1, 2], [100, 2, 1, 1]]
        first, second = ([F(w, sum(row)) for w in row] for row in weights)
        step = {"kind": "finite", "P": list(map(str, first)), "Q": list(map(str, second)), "count": 1}
        run = read_input({"relation": "remove", "mechanisms": [{**step, "selection": selection}]})
        one, other = best_of(first, generating), best_of(second, generating)
        with balls.precision(120):
            law = read_pairs(run)[2]["remove"].parts[0][0]
            bounds = {x: law.moment(balls.ball(F(x))) for x in (0.25, 1.0, 3.5, 30.0)}
        for exponent, bound in bounds.items():
            top = mpmath.log(mpmath.ldexp(bound.m + bound.r, bound.e))
            for a, b in ((one, other), (other, one)):
                exact = mpmath.log(sum(x * (x / y) ** exponent for x, y in zip(a, b, strict=True) if x))
                assert exact <= top + 1e-12
                nearest = max(nearest, float(exact / top))
    assert nearest > 0.2


@pytest.mark.theorem("T213-private-selection")
@pytest.mark.theorem("T214-sampled-moments")
@pytest.mark.parametrize("run", [
    step("finite", P=["1/2", "3/10", "1/5"], Q=["1/5", "2/5", "2/5"]), step("gaussian", noise_multiplier="3", count=4),
    step("gaussian", noise_multiplier="2", q="1/20"), step("discrete-gaussian", sigma_squared="3/2", sensitivity=2),
    '[[mechanism]]\nkind = "composition"\n{}' + LAPLACE + '[[mechanism.releases]]\nkind = "gaussian"\ncount = 60\n'
    'noise_multiplier = "1"\nsampling = { scheme = "poisson", probability = "1/50" }\n'])
def test_moments_of_the_best_of_several_runs_are_those_of_the_trusted_checker(run: str) -> None:
    """In both orders, at powers between and beyond those of chords; one direction alone would be less."""
    for selection in (POISSON_RUNS, SEVERAL_RUNS, SEVERAL_RUNS.replace("1/2", "0"), SEVERAL_RUNS.replace("1/2", "1")):
        text = run.replace("{}", selection) if "{}" in run else run + selection
        spec = parse_spec(f'relation = "add-or-remove"\n{text}')
        found = dict(zip(("remove", "add"), pairs_and_losses(spec.composition, spec.relation)[1], strict=True))
        with balls.precision(200):
            losses = read_pairs(read_input(input_record(spec.composition, spec.relation)))[2]
        for order, loss in losses.items():
            for exponent in (F(1, 4), F(1), F(9, 2), F(40), F(2000)):
                with balls.precision(200), ctx.workprec(200):
                    mine = balls.log(loss.parts[0][0].moment(balls.ball(exponent)))
                    theirs = found[order].parts[0][0].bound_log_moment(arb(exponent.numerator) / exponent.denominator)
                    assert abs(arb(mine.m) * arb(2) ** mine.e / theirs - 1) < 1e-12, (selection, order, exponent)


def test_what_carries_no_trust_may_change(certificates: Callable[[str], Document]) -> None:
    document = copy.deepcopy(certificates("Gaussian"))
    document["claim"]["title"], document["theorems"], document["versions"]["FLINT"] = "other", [], "9"
    assert not refused(document)
    assert not independent.verify(canonical(document)).valid, "the seals are the old ones"


REPLAYED = {"line": "line", "node-moment": "far line", "moment": "zCDP", "closed-form": "Laplace"}


def entries_of(document: Document, kind: str) -> list[int]:
    return [n for n, entry in enumerate(document["evaluations"]) if entry["witness"]["kind"] == kind]


@pytest.mark.parametrize("kind", REPLAYED)
def test_narrowed_enclosures_are_refused(kind: str, certificates: Callable[[str], Document]) -> None:
    """An end that is moved past what the witness proves, all else as it follows from that."""
    document = certificates(REPLAYED[kind])
    index = entries_of(document, kind)[0]
    entry = document["evaluations"][index]
    bounds = evaluated(document, index, entry["witness"])
    low, high = (Dyadic.of(x.m + sign * x.r, x.e) for x, sign in ((bounds.lower, -1), (bounds.upper, 1)))
    for key, end in (("lower", low), ("upper", high)):
        moved = copy.deepcopy(document)
        top = max(high.top, -50) + 60
        nearer = Dyadic.of((end.mantissa << top) + (1 if key == "lower" else -1), end.exponent - top)
        if not Dyadic.of(0) <= nearer <= Dyadic.of(1):
            continue
        moved["evaluations"][index]["enclosure"][key] = str(nearer)
        ends = (nearer, high) if key == "lower" else (low, nearer)
        if ends[1] < ends[0]:
            continue
        enclosure = moved["evaluations"][index]["enclosure"]
        enclosure["lower"], enclosure["upper"] = map(str, ends)
        enclosure["lower_decimal"], enclosure["upper_decimal"] = decimals(*ends, "")
        assert refused(moved), key


def evaluated(document: Document, index: int, witness: Any) -> Bounds:
    """What the independent checker makes of a witness in one entry's place."""
    entry = document["evaluations"][index]
    with balls.precision(256):
        _, _, losses = read_pairs(read_input(document["input"]))
    if isinstance(witness, dict):
        witness = read_witness(witness, "witness")
    with balls.precision(witness.prec + MORE_BITS):
        found: Bounds = witness.evaluate(losses[entry["order"]]).enclose(Fraction(entry["at"]))
    return found


def number(end: Ball) -> Fraction:
    return Fraction(end.m) * Fraction(2) ** end.e


def check_mutants(document: Document, kind: str, mutants: ModuleType, count: int) -> int:
    """Whatever a witness says, what follows from it holds the true delta; how many gave a bound at all."""
    rng, proved = random.Random(kind), 0
    for _ in range(count):
        index = rng.choice(entries_of(document, kind))
        entry = document["evaluations"][index]
        low, high = (number_of(entry["enclosure"][key]) for key in ("lower", "upper"))
        try:
            witness = mutants.mutated(rng, read_witness(entry["witness"], "witness"))
            check_size(witness)
            with balls.time_limit(60):
                bounds = evaluated(document, index, witness)
        except (Invalid, independent.TooMuch, independent.OutOfTime, ArithmeticError, ValueError, TypeError):
            continue
        assert number(bounds.lower.lower()) <= high and number(bounds.upper.upper()) >= low, witness
        proved += number(bounds.upper) < 1
    return proved


def number_of(text: str) -> Fraction:
    mantissa, _, exponent = text.partition("*2^")
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


MUTABLE = ("line", "moment", "node-moment")


@pytest.mark.parametrize("kind", MUTABLE)
def test_mutated_witnesses_prove_nothing_false(
        kind: str, certificates: Callable[[str], Document], mutants: ModuleType) -> None:
    assert check_mutants(certificates(REPLAYED[kind]), kind, mutants, 50) > 0


@pytest.mark.long
@pytest.mark.parametrize("kind", MUTABLE)
def test_many_mutated_witnesses_prove_nothing_false(
        kind: str, certificates: Callable[[str], Document], mutants: ModuleType) -> None:
    assert check_mutants(certificates(REPLAYED[kind]), kind, mutants, 500) > 50


@pytest.mark.parametrize("name", ["line", "Laplace", "zCDP", "best of several runs"])
def test_both_checkers_agree_on_mutants(name: str, certificates: Callable[[str], Document]) -> None:
    """Random digits of resealed certificates: what this checker accepts the trusted one does.

    But for the share of rounding: here there is less of it.
    """
    rng, document = random.Random(name), certificates(name)
    text = canonical({key: value for key, value in document.items() if key not in ("hashes", "sha256")}).decode()
    digits = [n for n, c in enumerate(text) if c.isdigit()]
    for _ in range(20):
        at = rng.choice(digits)
        changed = json.loads(text[:at] + rng.choice("0123456789") + text[at + 1:])
        changed = {**changed, "theorems": document["theorems"]}
        try:
            accepted = not refused(changed)
        except (independent.TooMuch, independent.OutOfTime):
            continue
        trusted = verify_trusted(sealed(changed))
        assert not accepted or trusted.valid or str(trusted.field).endswith("error_budget.rounding"), changed


# arithmetic

BITS = 90


def holds(x: Ball, value: Any) -> bool:
    with mpmath.workprec(800):
        low, high = (mpmath.ldexp(mpmath.mpf(x.m + sign * x.r), x.e) for sign in (-1, 1))
        return bool(low <= value <= high)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "exp": (balls.exp, mpmath.exp),
    "expm1": (balls.expm1, mpmath.expm1),
    "log": (lambda x: balls.log(x * x + 1), lambda x: mpmath.log(x * x + 1)),
    "log1p": (lambda x: balls.log1p(x * x), lambda x: mpmath.log1p(x * x)),
    "sqrt": (lambda x: balls.sqrt(x * x + 1), lambda x: mpmath.sqrt(x * x + 1)),
    "cosine": (lambda x: balls.cos_sin(x)[0], mpmath.cos),
    "sine": (lambda x: balls.cos_sin(x)[1], mpmath.sin),
    "sinh": (balls.sinh, mpmath.sinh),
    "argument": (lambda x: balls.argument(x, 1 + x), lambda x: mpmath.atan2(1 + x, x)),
    "tail": (balls.normal_tail, lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2),
    "quotient": (lambda x: (1 - x) / (x * x + 3), lambda x: (1 - x) / (x * x + 3)),
    "larger": (lambda x: balls.larger(x, 2 - x), lambda x: max(x, 2 - x)),
    "inverse": (lambda x: balls.inverse((x, x + 7))[1], lambda x: -(x + 7) / (x**2 + (x + 7) ** 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(value=st.fractions(-30, 30, max_denominator=10**6),
       radius=st.sampled_from([Fraction(0), Fraction(1, 10**20), Fraction(1, 100), Fraction(1)]))
def test_functions_enclose(name: str, value: Fraction, radius: Fraction) -> None:
    ours, theirs = FUNCTIONS[name]
    with balls.precision(BITS):
        x = balls.ball(value) + balls.plus_minus(balls.ball(radius))
        try:
            found = ours(x)
        except Unknown:
            assert radius or name == "inverse"
            return
    with mpmath.workprec(400):
        for corner in (-1, 0, 1):
            point = value + corner * radius
            assert holds(found, theirs(mpmath.mpf(point.numerator) / point.denominator))


@pytest.mark.parametrize("power", [3, 89, 91, 1000, 5000, 26000])
@pytest.mark.parametrize("sign", [-1, 1])
def test_small_numbers_keep_their_digits(power: int, sign: int) -> None:
    with balls.precision(BITS):
        x = Ball(5 * sign, 0, -power - 3)
        found = balls.expm1(x), balls.log1p(x)
        assert all(one.r.bit_length() + one.e < one.top() - BITS + 8 for one in found)
    with mpmath.workprec(2 * power + 400):
        place = mpmath.ldexp(5 * sign, -power - 3)
        for one, value in zip(found, (mpmath.exp(place) - 1, mpmath.log(1 + place)), strict=True):
            low, high = (mpmath.ldexp(mpmath.mpf(one.m + side * one.r), one.e) for side in (-1, 1))
            assert low <= value <= high


def test_exponentials_of_wide_balls_are_sharp() -> None:
    """Bounds of what curves within a cell are from these: certificates of bent paths were refused."""
    with balls.precision(BITS):
        found = balls.exp(balls.plus_minus(balls.ball(Fraction(3, 10))))
        width = 2 * found.r * 2.0**found.e
    assert width < 1.0001 * 2 * math.sinh(0.3) and holds(found, mpmath.exp(mpmath.mpf("0.2999"))) and holds(
        found, mpmath.exp(-mpmath.mpf("0.2999")))


@pytest.mark.parametrize(("other", "epsilon"), [
    ("", "4"), pytest.param(step("gaussian", noise_multiplier="1"), "200", marks=pytest.mark.long)])
def test_tiny_masses_at_infinity_are_confirmed(other: str, epsilon: str) -> None:
    """1 - (1 - p)^k of p far below what 1 - p has room for: such certificates were refused."""
    spec = parse_spec('relation = "remove"\n' + step("approximate-dp", epsilon="1/10", delta="1e-2000", count=30)
                      + other + f'[claim]\nepsilon = "{epsilon}"\ndelta = "1e-1900"\n')
    check = independent.verify(certify_spec(spec).to_bytes())
    assert check.valid and check.verdict == "proved", check


@pytest.mark.parametrize("value", [Fraction(n) for n in (0, 1, 5, 6, 9, 40, 300)] + [Fraction(599, 100)])
def test_normal_tails_are_relatively_sharp(value: Fraction) -> None:
    with balls.precision(200):
        found = balls.normal_tail(value)
        assert found.r.bit_length() + found.e < found.top() - 160
    with mpmath.workprec(700):
        assert holds(found, mpmath.erfc(mpmath.mpf(value.numerator) / value.denominator / mpmath.sqrt(2)) / 2)


@given(n=st.integers(0, 4200), bits=st.sampled_from([30, 70, 250]),
       off=st.sampled_from([Fraction(m, 2**k) for m, k in ((0, 0), (1, 90), (1, 3000), (1, 7))] + [Fraction(99, 6400)]))
def test_normal_tails_where_cells_end(n: int, bits: int, off: Fraction) -> None:
    """Cells are 1/64 wide, up to 64: at their ends, in the middle and just beside; as sharp as asked."""
    with balls.precision(bits):
        found = balls.normal_tail(Fraction(n, 64) + off)
        assert found.r.bit_length() + found.e < found.top() - bits + 20
    with mpmath.workprec(2 * bits + 100):
        point = mpmath.mpf(n) / 64 + mpmath.mpf(off.numerator) / off.denominator
        assert holds(found, mpmath.erfc(point / mpmath.sqrt(2)) / 2)


def test_what_is_remembered_belongs_to_its_precision() -> None:
    law = DiscreteLaplaceLoss(Fraction(7, 3), 3)
    with balls.precision(60):
        rough = law.atoms()[1][0]
        assert law.atoms() is law.atoms()
    with balls.precision(200):
        fine = law.atoms()[1][0]
    assert fine.radius().top() < -180 < rough.radius().top()


@given(x=st.fractions(-2, 2, max_denominator=99), y=st.fractions(-2, 2, max_denominator=99),
       radius=st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 100), Fraction(1)]),
       count=st.sampled_from([1, 2, 7, 1000]))
def test_powers_enclose(x: Fraction, y: Fraction, radius: Fraction, count: int) -> None:
    with balls.precision(BITS):
        error = balls.plus_minus(balls.ball(radius))
        found = balls.complex_power((balls.ball(x) + error, balls.ball(y) + error), count)
    with mpmath.workprec(300):
        for corner in (-1, 0, 1):
            point = [mpmath.mpf((v + corner * radius).numerator) / (v + corner * radius).denominator for v in (x, y)]
            true = mpmath.mpc(*point) ** count
            assert holds(found[0], true.real) and holds(found[1], true.imag)


@settings(max_examples=30)
@given(terms=st.lists(st.tuples(st.fractions(-9, 9, max_denominator=99), st.fractions(0, 9, max_denominator=99),
                                st.fractions(-9, 9, max_denominator=99)), min_size=1, max_size=6),
       count=st.integers(1, 40))
def test_turn_sums_enclose(terms: list[tuple[Fraction, ...]], count: int) -> None:
    with balls.precision(BITS):
        turns = [balls.complex_exp((balls.ball(-decay), balls.ball(angle))) for _, decay, angle in terms]
        found = balls.turn_sums([(balls.ball(weight), balls.ball(1)) for weight, _, _ in terms], turns, count)
    with mpmath.workprec(300):
        def value(x: Fraction) -> Any:
            return mpmath.mpf(x.numerator) / x.denominator

        for m, (real, imaginary) in enumerate(found):
            true = sum(mpmath.mpc(value(w), 1) * mpmath.exp(m * mpmath.mpc(-value(d), value(a))) for w, d, a in terms)
            assert holds(real, true.real) and holds(imaginary, true.imag) and real.radius().top() < 60 - BITS


@given(a=st.lists(st.integers(0, 2**70), min_size=1, max_size=30),
       b=st.lists(st.integers(0, 2**40), min_size=1, max_size=9))
def test_products_of_polynomials_are_exact(a: list[int], b: list[int]) -> None:
    expected = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            expected[i + j] += x * y
    assert convolved(a, b) == expected


@pytest.mark.parametrize(("epsilon", "verdict"), [("0.25", "proved"), ("0.2499", "refuted")])
def test_delta_0_and_tables_that_repeat_each_other(
    epsilon: str, verdict: str, certify_text: Callable[..., Document]
) -> None:
    """delta = 0 is a claim; equal mechanisms in several tables have one pair in each order."""
    once, twice = (f'[[mechanism]]\nkind = "laplace"\nscale = "{scale}"\nsensitivity = "1"\n' for scale in (20, 10))
    document = certify_text("add-or-remove", twice + once + twice, epsilon, "0")
    checked = independent.verify(canonical(document))
    assert (checked.valid, checked.verdict, document["verdict"]) == (True, verdict, verdict), checked


def allocation(rounds: int, picks: int = 1, count: int = 1, fixed: bool = False, noise: str = "2") -> str:
    return (f'[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\n'
            f'count = {count}\nsampling = {{ scheme = "random-allocation", rounds = {rounds}, picks = {picks}, '
            f'fixed = {str(fixed).lower()} }}\n')


CYCLIC = ('[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 3\n'
          'sampling = { scheme = "cyclic-poisson", groups = 2, probability = 0.1, rounds = 5 }\n')


@pytest.mark.parametrize("text", [CYCLIC, allocation(3, picks=3, count=2), allocation(1, count=3, fixed=True),
                                  allocation(9, noise="1/25"), allocation(9, noise="300")],
                         ids=["cyclic", "every round", "kept", "little noise", "much noise"])
@pytest.mark.parametrize("relation", ["add-or-remove", "zero-out"])
def test_batches_that_hang_together(relation: str, text: str, certify_text: Callable[..., Document]) -> None:
    found = independent.verify(canonical(certify_text(relation, text, "1", "1e-3", digits=3)))
    assert found.valid, found


def batches(scheme: str, count: int, **numbers: object) -> str:
    keys = "".join(f', {key} = "{value}"' if isinstance(value, str) else f", {key} = {value}"
                   for key, value in numbers.items())
    return (f'[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = {count}\n'
            f'sampling = {{ scheme = "{scheme}"{keys} }}\n')


@pytest.mark.parametrize("text", [
    batches("truncated-poisson", 2, probability="1/10", population=100, largest_batch=12),
    batches("truncated-poisson", 3, probability="1", population=100, largest_batch=12),
    batches("truncated-poisson", 3, probability="1/5", population=7, largest_batch=7),
    batches("without-replacement", 3, probability="1/50"), batches("without-replacement", 1, probability="1"),
    batches("with-replacement", 3, draws=3, population=200), batches("with-replacement", 1, draws=2, population=1),
], ids=["truncated", "always full", "never full", "subset", "everybody", "drawn", "alone"])
@pytest.mark.parametrize("relation", ["add-or-remove", "zero-out", "replace"])
def test_batches_of_limited_size(relation: str, text: str, certify_text: Callable[..., Document]) -> None:
    found = independent.verify(canonical(certify_text(relation, text, "1", "1e-3", digits=2)))
    assert found.valid, found


@pytest.mark.parametrize(("trials", "least"), [(3, 1), (1000, 30), (50, 49), (10**6, 100_300), (300, 0), (4, 5)])
def test_binomial_tails_are_those_of_the_other_checker(trials: int, least: int) -> None:
    p = Fraction(1, 10)
    with precision(256), ctx.workprec(256):
        ours, theirs = binomial_tail(trials, least, p), enclose_binomial_tail(trials, least, p)
        assert arb(arb((ours.m, ours.e)), arb((ours.r, ours.e))).overlaps(theirs) and ours.r << 200 <= ours.m
    if 0 < least < trials:
        assert full_share(trials, least, p) == full_batch_share(trials, least, p)


@pytest.mark.parametrize("text", [
    allocation(100), allocation(2, noise="1/2")], ids=["one epoch", "two rounds"])
@pytest.mark.parametrize("relation", ["remove", "add"])
def test_allocation_over_several_rounds(relation: str, text: str, certify_text: Callable[..., Document]) -> None:
    found = independent.verify(canonical(certify_text(relation, text, "1", "1e-3", digits=2)))
    assert found.valid, found


def test_epochs_of_allocation_are_not_covered(certify_text: Callable[..., Document]) -> None:
    """Their line rests on a transform that is not replayed here."""
    document = certify_text("remove", allocation(10, count=10), "2", "1e-5", digits=4)
    with pytest.raises(independent.TooMuch, match="neither decided by this checker's own methods nor by a witness"):
        independent.verify(canonical(document))


@pytest.mark.parametrize(("rounds", "noise", "epsilon", "delta"), [
    (100, "1/20", "290", "1e-3"), (100, "1/20", "300", "1e-6"), (2, "1/10", "100", "1e-6")])
def test_little_noise_by_one_large_round(
        rounds: int, noise: str, epsilon: str, delta: str, certify_text: Callable[..., Document]) -> None:
    """Where one round decides both checkers say so, and a forged end is refused."""
    document = certify_text("remove", allocation(rounds, noise=noise), epsilon, delta, digits=6)
    assert set(document["evaluations"][0]["error_budget"]) == {"other_rounds", "rounding"}
    assert verify_trusted(canonical(document)).valid and independent.verify(canonical(document)).valid
    budget = document["evaluations"][0]["error_budget"]
    budget.update(dict.fromkeys(budget, "1.000e-300"))
    found = independent.verify(canonical(sealed(document)))
    assert not found.valid and "error_budget" in str(found)


def test_more_bits_where_the_sum_cancels() -> None:
    """delta is 10^-5 of put(K), which one contour for two strikes gives to 64 bits: more of them are asked for."""
    found = certify_spec(parse_spec(
        f'relation = "remove"\n{allocation(100, noise="1")}[claim]\nepsilon = "0.9"\ndelta = "1e-5"\n'), digits=4)
    assert independent.verify(found.to_bytes()).valid
    document = json.loads(found.to_bytes())
    entry = next(e for e in document["evaluations"] if e["quantity"] == "epsilon")
    entry["enclosure"] = {**entry["enclosure"], "lower": entry["enclosure"]["upper"]}
    assert not independent.verify(canonical(sealed(document))).valid


@pytest.mark.parametrize(("rounds", "noise", "place"), [
    (2, F(1), F(1)), (3, F(3, 4), F(-2)), (100, F(1, 2), F(3, 2)), (1000, F(1), F(-1, 5)), (10**5, F(2), F(1, 100)),
    (6, F(5), F(1, 4)), (50, F(3, 10), F(5, 2))])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_curves_of_allocation_are_those_of_the_other_checker(
        order: str, rounds: int, noise: Fraction, place: Fraction) -> None:
    """Vertical lines and hyperbolas with errors in closed form, against the core's contour."""
    with precision(128), ctx.workprec(128):
        mine = independent_laws.RandomAllocationLoss(rounds, noise, order)
        theirs = RandomAllocationLoss(rounds, noise, order)
        x = arb(place.numerator) / place.denominator
        found = mine.stick(balls.ball(place)), *mine.tails(balls.ball(place))
        known = theirs.enclose_hockey_stick(x), *theirs.enclose_tails(x)
        for a, b in zip(found, known, strict=True):
            assert arb(arb((a.m, a.e)), arb((a.r, a.e))).overlaps(b)
            assert a.r << 40 < a.m


@pytest.mark.parametrize(("noise", "bits"), [("4", 120), pytest.param("10", 343, marks=pytest.mark.long)])
def test_tiny_deltas_of_one_epoch_keep_their_digits(noise: str, bits: int) -> None:
    """3e-13, and 1e-68, where more bits of put(K) + t - K cancel than a witness has."""
    with precision(bits), ctx.workprec(800):
        found = independent_laws.RandomAllocationLoss(3, F(noise), "remove").stick(balls.ball(1))
        known = RandomAllocationLoss(3, F(noise), "remove").enclose_hockey_stick(arb(1))
        assert arb(arb((found.m, found.e)), arb((found.r, found.e))).overlaps(known)
        assert found.r << 40 < found.m and known.rad() < known * arb(2) ** -40


@pytest.mark.parametrize(("rounds", "noise"), [(2, F(1)), (3, F(2))])
def test_puts_are_quadratures(rounds: int, noise: Fraction) -> None:
    """E (K - S)_+ for two and three terms, by a rule on the normal variables that is good to 1e-8."""
    s, k, steps = 1 / float(noise), 1.1 * rounds, 400
    nodes = [(-8 + 16 * (n + 0.5) / steps) for n in range(steps)]
    mass = [math.exp(-u * u / 2) / math.sqrt(2 * math.pi) * 16 / steps for u in nodes]
    ratios = [math.exp(s * u - s * s / 2) for u in nodes]

    def put(strike: float) -> float:
        """E (strike - X)_+ = strike Phi(d) - Phi(d - s), d = log(strike)/s + s/2."""
        if strike <= 0:
            return 0.0
        d = math.log(strike) / s + s / 2
        normal = (math.erfc(-v / math.sqrt(2)) / 2 for v in (d, d - s))
        return strike * next(normal) - next(normal)

    def nested(count: int, strike: float) -> float:
        if count == 1:
            return put(strike)
        return sum(m * nested(count - 1, strike - x) for m, x in zip(mass, ratios, strict=True) if x < strike)

    with precision(128):
        found, _ = put_and_below(rounds, noise * noise, balls.ball(Fraction(k)))
    assert approximate(found) == pytest.approx(nested(rounds, k), rel=1e-7)


@pytest.mark.parametrize("rho", ["0.01", "0/1"])
def test_renyi_divergences_with_an_offset(rho: str, certify_text: Callable[..., Document]) -> None:
    document = certify_text("replace", step("zcdp", rho=rho, xi="1/50", count=3), "0.5", "1e-3", digits=3)
    found = independent.verify(canonical(document))
    assert found.valid and verify_trusted(document).valid, found


def test_the_chance_of_a_new_partition_is_not_taken_on_trust(certificates: Callable[[str], Document]) -> None:
    """A smaller one, or one that is larger by more than a rounding."""
    document = certificates("partitions")
    text = next(pair["P"] for pair in document["pairs"] if pair["P"].startswith("(1 - d, d)"))
    chance = Fraction(text.partition("d = ")[2])
    for factor in (Fraction(1) - Fraction(1, 2**20), 1 + Fraction(1, 2**20)):
        altered = json.loads(json.dumps(document).replace(str(chance), str(chance * factor)))
        found = independent.verify(canonical(sealed(altered)))
        assert not found.valid and (found.field or "").startswith("pairs"), found


@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
def test_nothing_released(relation: str, certify: Callable[..., Document]) -> None:
    claim = Claim("", "", Fraction(0), Fraction(1, 9), "0", "1/9")
    document = certify(Spec(Relation.of(relation), compose(), claim))
    found = independent.verify(canonical(document))
    assert found.valid and found.verdict == "proved" and document["pairs"] == [], found
    assert verify_trusted(document).valid


# its own lattices


@pytest.mark.parametrize(("order", "text", "epsilon"), [
    ("remove", step("gaussian", noise_multiplier="1", count=300, q="0.02"), "2"),
    ("add", step("gaussian", noise_multiplier="1", count=300, q="0.02"), "2"),
    ("replace", step("gaussian", noise_multiplier="2", count=9, q="0.1")
     + step("laplace", scale="3", sensitivity="1"), "1"),
    ("remove", step("laplace", scale="3", sensitivity="1", count=12), "7/3"),
    ("remove", step("exponential", bounded_range="0.4", count=20), "4"),
    ("remove", step("discrete-laplace", scale="3", sensitivity=2, count=9), "5/2"),
    ("add", step("laplace", scale="2", sensitivity="1", count=30, q="0.1"), "1/2"),
    ("add", step("approximate-dp", epsilon="1/3", delta="1e-6", count=5) + GAUSSIAN, "2"),
], ids=["remove", "add", "two laws", "Laplace", "range", "discrete", "sampled Laplace", "guarantee"])
def test_lattices_hold_delta_and_converge(
        order: str, text: str, epsilon: str, certify_text: Callable[..., Document]) -> None:
    """delta by the other checker lies inside at every fineness; the width falls with its square, about."""
    widths = lattice_widths(certify_text(order, text, epsilon, "1/2", digits=4), Fraction(epsilon))
    assert widths[-1] < Fraction(1, 3) and widths[-1] < widths[1] / 6


@pytest.mark.parametrize(("text", "epsilon"), [
    (step("finite", P=["0.5", "0.3", "0.2"], Q=["0.41", "0.37", "0.22"], count=40), "3/2"),
    (step("gaussian", noise_multiplier="3", count=20, q="0.01"), "1/10")], ids=["losses on no grid", "tiny delta"])
def test_lattices_hold_delta_where_they_are_wide(
        text: str, epsilon: str, certify_text: Callable[..., Document]) -> None:
    """Where far finer grids would be needed they know little, and nothing false."""
    widths = lattice_widths(certify_text("remove", text, epsilon, "1/2", digits=4), Fraction(epsilon))
    assert widths[-1] < widths[0]


def lattice_widths(document: Document, at: Fraction) -> list[Fraction]:
    """Relative widths at three finenesses, each of which must meet the certificate's own enclosure."""
    deltas = [entry["enclosure"] for entry in document["evaluations"] if entry["quantity"] == "delta"]
    lowest, highest = (max(read_end(one["lower"], "").fraction() for one in deltas),
                       min(read_end(one["upper"], "").fraction() for one in deltas))
    with precision(256):
        (loss,) = read_pairs(read_input(document["input"]))[2].values()
    widths = []
    for fineness in (6.0, 12.0, 36.0):
        low, high = map(number, run(loss, plan_of(loss, at), fineness).enclose(at))
        assert low <= highest and lowest <= high
        widths.append((high - low) / highest)
    return widths


@given(st.lists(st.integers(0, 2**40), min_size=2, max_size=40), st.integers(0, 12), st.integers(-5, 45),
       st.fractions(F(1, 50), F(1, 2), max_denominator=99), st.booleans())
def test_coarser_grids_are_above_and_below(
        weights: list[int], tilt: int, place: int, step_size: Fraction, up: bool) -> None:
    """Whatever the weights: half of the places, and the integral of f_a on the right side of what it was."""
    measure = Measure(weights, 3, F(1, 7), step_size, 0, sum(weights))
    with precision(128):
        before = value_at(measure, place * step_size, F(tilt))
        found = coarsened(measure, F(tilt), up=up)
        after = value_at(found, place * step_size, F(tilt))
        if up:
            assert (after + left_out(found, place * step_size, F(tilt))).upper() >= before.lower()
        else:
            assert after.lower() <= before.upper()
    assert found.step == 2 * step_size and len(found.weights) <= len(weights) // 2 + 3


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=6), st.integers(1, 9),
       st.fractions(0, 3, max_denominator=20))
def test_steps_on_grids_are_above_and_below(
        pairs: list[tuple[int, int]], tilt: int, epsilon: Fraction) -> None:
    """One step with a few outcomes: H_{e^eps} is between both measures' integrals, everywhere."""
    p, q = sum(a for a, _ in pairs), sum(b for _, b in pairs) or 1
    masses = tuple((F(a, p), F(b, q)) for a, b in pairs)
    law = FiniteLoss(masses, "remove")
    if not law.finite_atoms():
        return
    with precision(160):
        above, below = enclose_step(law, range(-40, 41), F(1, 1000), F(1, 8), F(tilt, 4), 60)
        truth = law.stick(balls.ball(epsilon)) - law.infinity()
        high = value_at(above, epsilon, F(tilt, 4)) + left_out(above, epsilon, F(tilt, 4))
        low = value_at(below, epsilon, F(tilt, 4))
        assert low.lower() <= truth.upper() and high.upper() >= truth.lower()


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("weights", [[0, 1, 0], [0, 2**90, 0, 5, 0], [2**90, 7, 0, 2**90, 3]])
def test_steep_tilts_make_no_weight_negative(weights: list[int], up: bool) -> None:
    """Where e^{-ch} is less than the last bit."""
    measure = Measure(weights, 3, F(1, 7), F(30), 0, sum(weights))
    with precision(100):
        assert min(coarsened(measure, F(50), up=up).weights) >= 0


@pytest.mark.parametrize(("bits", "known"), [(300, True), (60, False)])
def test_atoms_on_either_side_of_a_place_are_refused(bits: int, known: bool) -> None:
    """Seen as right of a place by less than is known of its logarithm, an outcome left of it would count too little."""
    with mpmath.workprec(900):
        ratio = F(int(mpmath.exp(mpmath.mpf(5) / 8) * 2**200), 2**200)  # a little less than e^{5/8}
    masses = ((ratio / 4, F(1, 4)), (1 - ratio / 4, F(3, 4)))
    with precision(bits):
        if known:
            enclose_step(FiniteLoss(masses, "remove"), range(-40, 41), F(0), F(1, 8), F(1), 60)
        else:
            with pytest.raises(Unknown, match="either side"):
                enclose_step(FiniteLoss(masses, "remove"), range(-40, 41), F(0), F(1, 8), F(1), 60)


@pytest.mark.parametrize(("delta", "verdict"), [("0.12", "proved"), ("0.119999", "refuted")])
def test_a_claim_that_is_exactly_true_is_decided(
        delta: str, verdict: str, certify_text: Callable[..., Document]) -> None:
    """delta(0) of one finite step is 3/25: a tie is decided in rational numbers, whatever the witness."""
    text = step("finite", P=["0.53", "0.27", "0.2"], Q=["0.41", "0.37", "0.22"])
    document = certify_text("remove", text, "0", delta, digits=3)
    for entry in document["evaluations"]:
        entry["witness"] = {"kind": "new"}
    found = independent.verify(canonical(sealed(document)))
    assert found.valid and found.by_itself and found.verdict == verdict, found


MOST_TOKENS = 40


def tokens(path: Path) -> list[str]:
    """Names, signs and numbers; all texts alike, no comments."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    with path.open("rb") as stream:
        return ["text" if one.type == tokenize.STRING else one.string
                for one in tokenize.tokenize(stream.readline) if one.type not in skipped]


def runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[n : n + MOST_TOKENS]) for n in range(len(words) - MOST_TOKENS + 1)}


def test_it_repeats_no_lines_of_the_package() -> None:
    """No run of so many tokens is there a second time: written from the document, not from the code."""
    rest = (path for path in FOLDER.parents[1].rglob("*.py") if FOLDER not in path.parents)
    others = set().union(*(runs(tokens(path)) for path in rest))
    shared = {path.name: runs(tokens(path)) & others for path in FOLDER.glob("*.py")}
    assert {name: " ".join(next(iter(both))) for name, both in shared.items() if both} == {}
    sample = tokens(FOLDER.parents[1] / "core" / "kernel" / "balls.py")
    assert runs(sample[100:160]) & others


def test_a_zcdp_offset_counts_in_the_relative_entropy(certify_text: Callable[..., Document]) -> None:
    """delta(0) of D_a <= 1 + a/100 is .5067: weights on the powers 0 and 1 prove no .0899."""
    document = certify_text("replace", step("zcdp", rho="0.01", xi="1"), "0", "0.7")
    forged = {key: value for key, value in copy.deepcopy(document).items() if key not in ("hashes", "sha256")}
    forged["claim"]["delta"] = "0.1"
    for entry in forged["evaluations"]:
        entry["witness"] = {"kind": "divergences", "powers": ["0*2^0", "1*2^0"], "weights": ["1*2^-1", "1*2^-1"],
                            "low": "471*2^-9", "high": "553*2^-9", "prec": 128}
        entry["enclosure"] |= {"upper": "23*2^-8", "upper_decimal": "0.089844"}
        entry["error_budget"] = {"renyi": "8.985e-2"}
    forged["result"]["delta"]["upper"] = "0.089844"
    found = independent.verify(canonical(sealed(forged)))
    assert not found.valid and found.field == "evaluations[0].enclosure.upper", found

"""verified-dp dpsgd: the same as the specification that it prints, and one line for every wrong input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from verified_dp import (
    CyclicPoisson,
    Gaussian,
    RandomAllocation,
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
)
from verified_dp.cli import main
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.questions.training import SCHEMES, Training
from verified_dp.spec import parse_spec

NOISE = ["--noise-multiplier", "1.1"]
POISSON = [*NOISE, "--sampling", "poisson"]
MNIST = ["--batch-size", "256", "--dataset-size", "60000", "--epochs", "60"]
SMALL = [*POISSON, "--sampling-probability", "1/50", "--steps", "100"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """dpsgd with these arguments: its code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, command: str = "dpsgd") -> tuple[int, str, str]:
        code = main([command, *arguments])
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize("question", [("--delta", "1e-5"), ("--epsilon", "-1/2"), ("--epsilon", "1")])
def test_answers_as_its_specification(run: Any, question: tuple[str, str]) -> None:
    code, text, _ = run(*SMALL, "--toml")
    assert code == 0
    Path("a.toml").write_text(text, encoding="utf-8")
    command = "epsilon" if "--delta" in question else "delta"
    row, = map(json.loads, run(*SMALL, *question, "--json")[1].splitlines())
    same, = map(json.loads, run("a.toml", *question, "--json", command=command)[1].splitlines())
    assert row.pop("sampling") == {"scheme": "poisson", "probability": "1/50"} and row.pop("steps") == 100
    assert row.pop("seconds") and same.pop("seconds") and row == same


def test_where_no_sampling_is_stated_it_is_poisson_and_said_so(run: Any) -> None:
    code, out, _ = run(*NOISE, *MNIST, "--delta", "1e-5")
    assert code == 0 and "poisson, probability" in out and "Poisson sampling" in out
    assert run(*POISSON, *MNIST, "--delta", "1e-5")[1] == out


def test_steps_are_rounded_up_and_said_so(run: Any) -> None:
    training = Training("1.1", "poisson", batch_size=256, dataset_size=60000, epochs="60")
    assert training.count == 14063 and training.derived().endswith("rounded up from 14062.5")
    assert Training("1.1", "poisson", "1/3", epochs=5).derived().endswith("exactly")
    assert "rounded up from 14062.5" in " ".join(run(*POISSON, *MNIST, "--delta", "1e-5")[1].split())


def test_claim_is_certified_and_verifies(run: Any) -> None:
    code, out, _ = run(*SMALL, "--claim", "9,1e-5", "--out", "kept", "--json")
    row = json.loads(out)
    assert (code, row["verdict"], row["certificate"], row["steps"]) == (0, "proved", "kept/dpsgd.json", 100)
    assert run("kept/dpsgd.json", command="verify")[0] == 0
    said = run("kept/dpsgd.json", command="statement")[1]
    assert "Source of the claim: the command line: sampling probability 1/50, 100 steps." in said
    assert run(*SMALL, "--claim", "1/10,1e-5")[0] == 1
    stated = parse_spec(run(*SMALL, "--claim", "9,1e-5", "--toml")[1]).claim
    assert stated is not None and (stated.epsilon_text, stated.delta_text) == ("9", "1e-5")


@pytest.mark.parametrize(("question", "code", "said"), [
    (("--delta", "1e-5"), 0, "at least 3.59"), (("--claim", "3,1e-5"), 1, "refuted"),
    (("--claim", "5,1e-5"), 3, "nothing is known that decides it"), (("--claim", "8,1e-5"), 0, "claimed 8: slack"),
    (("--epsilon", "60"), 0, "delta")])
def test_shuffled_batches_lie_between_an_attack_and_plain_steps(
        run: Any, question: tuple[str, str], code: int, said: str) -> None:
    found, out, _ = run(*NOISE, *MNIST[:-1], "3", "--relation", "zero-out", "--sampling", "shuffled", *question)
    words = " ".join(out.split())
    assert found == code and said in words and "705 steps = 3 epochs of 235 batches" in words


def test_a_wide_answer_says_which_sampling_has_a_narrow_one(run: Any) -> None:
    asked = (*NOISE, "--sampling-probability", "1/20", "--epochs", "2", "--sampling", "shuffled", "--delta", "1e-5")
    code, out, _ = run(*asked)
    words = " ".join(out.split())
    assert code == 0 and "instead --sampling poisson: epsilon = " in words
    assert "--sampling random-allocation: epsilon = " in words
    stated = re.search(r"poisson: epsilon = (\S+)", words)
    again = run(*asked[:-4], "--sampling", "poisson", "--delta", "1e-5")[1]
    assert stated and again.startswith(f"epsilon = {stated[1]} at delta = 1e-5, proved\n")


def test_noise_for_a_target_is_one_line(run: Any) -> None:
    sizes = ("--sampling", "poisson", "--batch-size", "25", "--dataset-size", "1000", "--delta", "1e-5")
    code, out, err = run(*sizes, "--steps", "100", "--target-epsilon", "0.8", "--json")
    row = json.loads(out)
    assert (code, err, row["schema"], row["solve"]) == (0, "", "verified-dp/calibration/1", "noise_multiplier")
    assert float(row["at_value"]["upper"]) <= 0.8 < float(row["at_neighbour"]["lower"])
    shown = run(*sizes, "--steps", "100", "--target-epsilon", "0.8")[1]
    assert shown.startswith(f"noise_multiplier = {row['value']} meets epsilon = 0.8 at delta = 1e-5, proved\n")
    spec = parse_spec(run(*sizes, "--steps", "100", "--target-epsilon", "0.8", "--toml")[1])
    assert spec.claim is not None and spec.claim.epsilon_text == "0.8"
    for wrong, key in ((NOISE, "noise-multiplier"), (("--claim", "1,1e-5"), "--claim"), (("--solve", "s"), "solve")):
        code, out, err = run(*sizes, "--steps", "9", *wrong, "--target-epsilon", "1")
        assert (code, out) == (2, "") and key in err


def test_shuffled_epochs_are_whole_and_their_last_batch_may_be_smaller() -> None:
    assert "rounds = 235 }\ncount = 60" in Training("1.1", "shuffled", "8/1875", epochs=60).toml()
    assert Training("1.1", "shuffled", "8/1875", steps=470).toml().endswith("count = 2\n")
    for stated in ({"steps": 10}, {"epochs": "3/2"}):
        with pytest.raises(InvalidInput, match="whole epochs of 100 steps"):
            Training("1.1", "shuffled", "1/100", **stated).spec()


@pytest.mark.parametrize(("arguments", "key"), [
    ([*NOISE, *MNIST, "--sampling", "shufled", "--delta", "1e-5"], "sampling"),
    ([*POISSON, *MNIST], "delta"),
    ([*POISSON, *MNIST, "--delta", "2"], "delta"),
    ([*POISSON, *MNIST, "--delta", "1e-5", "--epsilon", "1"], "--epsilon"),
    ([*POISSON, *MNIST, "--steps", "3", "--delta", "1e-5"], "steps"),
    ([*POISSON, *MNIST, "--sampling-probability", "0.1", "--delta", "1e-5"], "sampling-probability"),
    ([*POISSON, "--batch-size", "9", "--steps", "3", "--delta", "1e-5"], "dataset-size"),
    ([*POISSON, "--batch-size", "9", "--dataset-size", "8", "--steps", "3", "--delta", "1e-5"], "batch-size"),
    ([*POISSON, "--sampling-probability", "0", "--epochs", "3", "--delta", "1e-5"], "sampling-probability"),
    ([*POISSON, "--sampling-probability", "1.5", "--steps", "3", "--delta", "1e-5"], "sampling-probability"),
    ([*POISSON, "--sampling-probability", "0.1", "--steps", "1.5", "--delta", "1e-5"], "steps"),
    ([*POISSON, "--sampling-probability", "0.1", "--epochs", "-1", "--delta", "1e-5"], "epochs"),
    (["--noise-multiplier", "-1", "--sampling", "poisson", *MNIST, "--delta", "1e-5"], "noise-multiplier"),
    ([*SMALL, "--relation", "substitute", "--delta", "1e-5"], "relation"),
    ([*SMALL, "--claim", "3"], "claim"),
    ([*SMALL, "--claim", "3,x"], "claim.delta"),
    ([*SMALL, "--delta", "1e-5", "--out", "x"], "out"),
    ([*SMALL, "--delta", "1e-5", "--digits", "0"], "digits"),
])
def test_wrong_input_is_one_line(run: Any, arguments: list[str], key: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("verified-dp: ") and key in err


def test_what_was_given_is_said() -> None:
    training = Training("1.1", "poisson", batch_size=256, dataset_size=60000, epochs="60")
    assert training.stated() == "batches of 256 from 60000 records, 60 epochs"
    with pytest.raises(InvalidInput, match="0 would mean no noise"):
        Training("0", "poisson", "1/10", steps=10)


MORE: dict[str, dict[str, Any]] = {"cyclic-poisson": {"groups": 5}, "truncated-poisson": {"largest_batch": 20}}


def test_every_scheme_is_made() -> None:
    for scheme in SCHEMES:
        training = Training("1", scheme, batch_size=10, dataset_size=100, steps=10, **MORE.get(scheme, {}))
        assert training.spec().composition.parts and f'scheme = "{scheme}"' in training.toml()


def test_schemes_with_numbers_of_their_own() -> None:
    gaussian, sizes = Gaussian("1.1"), {"batch_size": 10, "dataset_size": 1000}
    for training, part in (
            (Training("1.1", "cyclic-poisson", **sizes, epochs=2, groups=4),
             (CyclicPoisson(gaussian, 4, "1/25", 200), 1)),
            (Training("1.1", "cyclic-poisson", "1/25", steps=200, groups=4),
             (CyclicPoisson(gaussian, 4, "1/25", 200), 1)),
            (Training("1.1", "truncated-poisson", **sizes, steps=7, largest_batch=30),
             (TruncatedPoisson(gaussian, "1/100", 1000, 30), 7)),
            (Training("1.1", "truncated-poisson", "1/100", dataset_size=1000, steps=7, largest_batch=30),
             (TruncatedPoisson(gaussian, "1/100", 1000, 30), 7)),
            (Training("1.1", "without-replacement", **sizes, epochs="1/2"),
             (WithoutReplacement(gaussian, "1/100"), 50)),
            (Training("1.1", "with-replacement", **sizes, steps=3), (WithReplacement(gaussian, 10, 1000), 3))):
        assert training.spec().composition.parts == (part,)
    cyclic = Training("1.1", "cyclic-poisson", **sizes, epochs=2, groups=4)
    assert "10/1000 * 4 = 1/25; 200 steps = 2 epochs * 4 / probability, exactly" in cyclic.derived()
    assert cyclic.stated() == "batches of 10 from 1000 records in 4 groups, 2 epochs"


@pytest.mark.parametrize(("scheme", "given", "key"), [
    ("cyclic-poisson", ["--steps", "9"], "groups"), ("poisson", ["--steps", "9", "--groups", "3"], "groups"),
    ("cyclic-poisson", ["--steps", "9", "--groups", "0"], "groups"),
    ("cyclic-poisson", ["--steps", "9", "--groups", "101"], "batch-size"),
    ("truncated-poisson", ["--steps", "9"], "largest-batch"),
    ("shuffled", ["--epochs", "1", "--largest-batch", "3"], "largest-batch"),
    ("truncated-poisson", ["--steps", "9", "--largest-batch", "0"], "largest-batch")])
def test_wrong_numbers_of_a_scheme_are_one_line(run: Any, scheme: str, given: list[str], key: str) -> None:
    code, out, err = run(*NOISE, "--sampling", scheme, "--batch-size", "10", "--dataset-size", "1000", *given,
                         "--delta", "1e-5")
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(f"verified-dp: {key} must be")


@pytest.mark.parametrize(("scheme", "given", "key"), [
    ("truncated-poisson", ["--sampling-probability", "1/9", "--largest-batch", "9"], "dataset-size"),
    ("with-replacement", ["--sampling-probability", "1/9"], "batch-size")])
def test_schemes_that_need_the_records_say_so(run: Any, scheme: str, given: list[str], key: str) -> None:
    code, _, err = run(*NOISE, "--sampling", scheme, *given, "--steps", "3", "--delta", "1e-5")
    assert code == 2 and err.startswith(f"verified-dp: {key} must be given")


def test_a_fixed_size_is_answered(run: Any) -> None:
    code, out, _ = run(*NOISE, "--sampling", "without-replacement", "--batch-size", "10", "--dataset-size", "1000",
                       "--steps", "100", "--relation", "add", "--delta", "1e-5")
    assert code == 0 and "epsilon" in out


def test_floats_are_the_decimals_they_print_as() -> None:
    assert Training(1.1, "poisson", 0.1, steps=10.0).toml() == Training("1.1", "poisson", "0.1", steps=10).toml()


def test_random_allocation_is_whole_epochs() -> None:
    training = Training("1", "random-allocation", batch_size=4, dataset_size=100, epochs=3)
    part, = training.spec().composition.parts
    assert part == (RandomAllocation(Gaussian("1"), 25), 3) and training.count == 75
    assert Training("1", "random-allocation", "1/25", steps=75).spec() == training.spec()
    for wrong, key in ((Training("1", "random-allocation", "3/100", epochs=1), "sampling-probability"),
                       (Training("1", "random-allocation", "1/25", steps=30), "steps"),
                       (Training("1", "random-allocation", "1/25", epochs="1.5"), "epochs")):
        with pytest.raises(InvalidInput) as error:
            wrong.spec()
        assert error.value.key == key

"""Many specifications over executors: the same answers in the same order, errors in their places, nothing lost."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from verified_dp import InvalidInput, load_spec, privacy_profile
from verified_dp.batch import SparkExecutor, certify_all, compare_all, delta_all, epsilon_all
from verified_dp.papers import compare

CLAIM = ('relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\n'
         '[claim]\ntitle = "claim {noise}"\nepsilon = 2\ndelta = "1e-5"\n')


class Pickling(Executor):
    """At once, in this process, of what another one could be sent."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        work, given, named = pickle.loads(pickle.dumps((function, args, kwargs)))
        future.set_result(pickle.loads(pickle.dumps(work(*given, **named))))
        return future


class Parallelized:
    """What a Spark session is asked for here, at once: rows are sent and answers come back."""

    def __init__(self, rows: list[Any] | None = None) -> None:
        self.rows = rows or []

    @property
    def sparkContext(self) -> Parallelized:
        return self

    def parallelize(self, rows: list[Any], parts: int | None) -> Parallelized:
        return Parallelized(pickle.loads(pickle.dumps(rows)))

    def map(self, function: Callable[[Any], Any]) -> Parallelized:
        return Parallelized([pickle.loads(pickle.dumps(function(row))) for row in self.rows])

    def collect(self) -> list[Any]:
        return self.rows


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """Two true claims, a false one and a broken one."""
    for noise in ("2", "3", "1", "-1"):
        (tmp_path / f"a{noise}.toml").write_text(CLAIM.format(noise=noise), encoding="utf-8")
    return tmp_path


@pytest.fixture(params=["none", "processes", "threads", "pickling", "spark"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    made = {"none": lambda: None, "processes": lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
            "threads": lambda: ThreadPoolExecutor(2), "pickling": Pickling,
            "spark": lambda: SparkExecutor(Parallelized(), 2)}[request.param]()
    yield made
    if made is not None:
        made.shutdown()


def test_a_folder_of_claims(claims: Path, executor: Executor | None) -> None:
    found = list(certify_all(claims, executor=executor, digits=4))
    assert [Path(done.name).stem for done in found] == ["a-1", "a1", "a2", "a3"]
    assert [done.answer and done.answer.verdict for done in found] == [None, "refuted", "proved", "proved"]
    assert all(done.answer.verify().valid for done in found if done.answer)
    assert isinstance(found[0].error, InvalidInput) and found[0].error.key == "mechanism[1].noise_multiplier"
    with pytest.raises(InvalidInput, match="noise_multiplier"):
        found[0].result()


def test_numbers_curves_and_comparisons(claims: Path) -> None:
    """Files and specifications beside each other; what is asked of one is asked of all."""
    spec = load_spec(claims / "a2.toml")
    sources, profile = [claims / "a3.toml", spec], privacy_profile(spec)
    first, second = epsilon_all(sources, "1e-5", executor=Pickling(), digits=5)
    assert second.result() == profile.epsilon("1e-5", digits=5) and second.name == "claim 2"
    assert first.result().overlaps(privacy_profile(load_spec(claims / "a3.toml")).epsilon("1e-5"))
    curve = next(delta_all([spec], ["1", "2"], executor=Pickling())).result()
    assert list(curve) == list(profile.delta(["1", "2"]))
    methods = ("auto", "renyi")
    compared = next(compare_all([spec], "delta", "1", methods, executor=Pickling(), digits=4)).result()
    assert compared.proved == compare(profile, "delta", "1", methods, digits=4).proved


def test_a_wrong_question_is_an_error_of_each(claims: Path) -> None:
    found = list(delta_all([claims / "a2.toml", claims / "none.toml"], "x", executor=Pickling()))
    assert [done.error.key for done in found if isinstance(done.error, InvalidInput)] == ["epsilon", "file"]


@pytest.fixture
def example(load_example: Callable[[str], ModuleType]) -> ModuleType:
    return load_example("dask_batch")


def test_one_job_of_one_task() -> None:
    assert SparkExecutor(Parallelized()).submit(divmod, 7, 2).result() == (3, 1)


def test_dask_judges_a_folder(example: ModuleType, claims: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where dask.distributed is installed; the skip says how to get it."""
    pytest.importorskip("dask.distributed", reason="dask is not installed: pip install verified-dp[dask]")
    example.main(claims, 1)
    wrong, *judged = capsys.readouterr().out.splitlines()
    assert wrong.startswith("a-1.toml: mechanism[1].noise_multiplier must be")
    assert judged == ["a1.toml: refuted", "a2.toml: proved", "a3.toml: proved"]

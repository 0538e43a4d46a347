"""Many specifications asked at a time, by any `concurrent.futures.Executor`: by processes here if none is given.

    for done in certify_all("claims/"):
        print(done.name, done.answer or done.error)

    deltas = epsilon_all(["a.toml", spec], "1e-5", executor=client.get_executor())      # client: of Dask
    deltas = epsilon_all("claims/", "1e-5", executor=SparkExecutor(spark))              # spark: a session

Threads are correct, but the arithmetic belongs to one at a time. A program that starts processes needs the guard
`if __name__ == "__main__":` (the standard library's rule). Files are read here, so that workers need none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Generic, TypeVar

from verified_dp.certificate import Certificate, certify
from verified_dp.core.kernel.composition import Spec
from verified_dp.core.kernel.errors import InvalidInput, VerifiedDPError
from verified_dp.core.kernel.exact import Number
from verified_dp.enclosure import Enclosure
from verified_dp.papers.comparison import ALL, Comparison, compare
from verified_dp.papers.fourier.pairs import published_profile
from verified_dp.profile import privacy_profile
from verified_dp.questions.curve import Curve
from verified_dp.spec import load_spec

Answer = TypeVar("Answer")
File = str | PathLike[str]
Sources = File | Iterable[Spec | File]
"""A folder of specifications (*.toml), one of them, or several files and specifications."""


@dataclass(frozen=True)
class Done(Generic[Answer]):
    """What came of one specification: an answer, or the error in its place. name: its file, or title."""

    name: str
    answer: Answer | None
    error: VerifiedDPError | None = None

    def result(self) -> Answer:
        """The answer; the error is raised."""
        if self.answer is None:
            raise self.error or InvalidInput("specification", self.name, "answered")
        return self.answer


def certify_all(sources: Sources, *, executor: Executor | None = None, digits: int | None = None,
                method: str = "auto", max_seconds: float | None = None) -> Iterator[Done[Certificate]]:
    """Prove or refute every claim, in the order of the sources. digits, method, max_seconds: as for `certify`."""
    return _each(sources, partial(certify, digits=digits, method=method, max_seconds=max_seconds), executor)


def delta_all(sources: Sources, epsilon: Number | Sequence[Number], *, executor: Executor | None = None,
              **options: Any) -> Iterator[Done[Enclosure | Curve]]:
    """`PrivacyProfile.delta` of every specification; options: its digits, method, max_seconds."""
    return _each(sources, partial(_enclose, "delta", epsilon, options), executor)


def epsilon_all(sources: Sources, delta: Number | Sequence[Number], *, executor: Executor | None = None,
                **options: Any) -> Iterator[Done[Enclosure | Curve]]:
    """`PrivacyProfile.epsilon` of every specification; options: its digits, method, max_seconds."""
    return _each(sources, partial(_enclose, "epsilon", delta, options), executor)


def compare_all(sources: Sources, quantity: str, at: Number, methods: Sequence[str] = ALL, *,
                executor: Executor | None = None, **options: Any) -> Iterator[Done[Comparison]]:
    """`compare` for every specification; options: its parameters, digits, max_seconds."""
    return _each(sources, partial(_compare, quantity, at, methods, options), executor)


def _enclose(quantity: str, at: Number | Sequence[Number], options: dict[str, Any], spec: Spec) -> Enclosure | Curve:
    answer: Enclosure | Curve = getattr(privacy_profile(spec), quantity)(at, **options)
    return answer


def _compare(quantity: str, at: Number, methods: Sequence[str], options: dict[str, Any], spec: Spec) -> Comparison:
    return compare(published_profile(spec), quantity, at, methods, **options)


def _each(sources: Sources, work: Callable[[Spec], Answer], executor: Executor | None) -> Iterator[Done[Answer]]:
    """All are begun before the first is waited for."""
    read = [_read(source) for source in _listed(sources)]
    asked = [(done.name, done.answer) for done in read if done.answer is not None]
    with nullcontext(executor) if executor is not None else ProcessPoolExecutor(
            mp_context=get_context("spawn")) as pool:  # no thread of this process is copied
        with _one_thread():
            size = min(MOST_AT_ONCE, 1 + len(asked) // PIECES)
            pieces = [asked[start:start + size] for start in range(0, len(asked), size)]
            answered = chain.from_iterable(pool.map(partial(_answered, work), pieces))
        for done in read:
            yield Done(done.name, None, done.error) if done.answer is None else next(answered)
        yield from answered  # nothing more, but an executor's generator ends before the executor


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that begin meanwhile keep matrices to one thread: several would wait for each other."""
    before = os.environ.get(_THREADS)
    os.environ.setdefault(_THREADS, "1")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_THREADS, None)


_THREADS = "OPENBLAS_NUM_THREADS"


class SparkExecutor(Executor):
    """What runs on the workers of a Spark session, which need this package.

    parts: how many tasks many pieces of work become; Spark's default parallelism where none is given. All answers of
    `map` are collected before the first is seen.
    """

    def __init__(self, session: Any, parts: int | None = None) -> None:
        self._context, self._parts = session.sparkContext, parts

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None,
            chunksize: int = 1) -> Iterator[Any]:
        """fn of each row of the iterables, in their order."""
        rows = self._context.parallelize(list(zip(*iterables, strict=False)), self._parts)
        return iter(rows.map(lambda row: fn(*row)).collect())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """One job of one task."""
        done: Future[Any] = Future()
        done.set_result(next(self.map(partial(fn, **kwargs), *([one] for one in args))))
        return done


PIECES, MOST_AT_ONCE = 250, 32
"""Into so many pieces of work many specifications are cut, at least; and so many specifications a piece has at most."""


def _answered(work: Callable[[Spec], Answer], asked: list[tuple[str, Spec]]) -> list[Done[Answer]]:
    """In a worker: other errors than the package's own are a worker's, and stay its own."""
    found = list[Done[Answer]]()
    for name, spec in asked:
        try:
            found.append(Done(name, work(spec)))
        except VerifiedDPError as error:
            found.append(Done(name, None, error))
    return found


def _listed(sources: Sources) -> list[Spec | File]:
    if not isinstance(sources, str | PathLike):
        return list(sources)
    folder = Path(sources)
    return [*sorted(folder.glob("*.toml"))] if folder.is_dir() else [sources]


def _read(source: Spec | File) -> Done[Spec]:
    if isinstance(source, Spec):
        return Done(source.claim.title if source.claim and source.claim.title else "", source)
    try:
        return Done(fspath(source), load_spec(source))
    except VerifiedDPError as error:
        return Done(fspath(source), None, error)

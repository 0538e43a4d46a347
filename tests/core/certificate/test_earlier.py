"""Witnesses of earlier kinds: read in their own form, checked as today's, or left to the version that knows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from verified_dp.cli import main
from verified_dp.core.engines import table
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import sealed
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.witnesses import Witness

Document = dict[str, Any]
GAUSSIAN = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 3\n'


@dataclass(frozen=True)
class EarlierPiece:
    """A closed form under another name, with other names of its field, method and error."""

    bits: int

    kind: ClassVar[str] = "piece"
    method: ClassVar[str] = "pieces"
    sources: ClassVar[Mapping[str, str]] = {"rest": "rounding"}

    def now(self) -> Witness:
        """A large number of bits has no equal today."""
        if self.bits > 5000:
            raise table.only_in("0.1.0", self.kind)
        return ClosedFormWitness(self.bits)


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch, certify_text: Callable[..., Document]) -> Document:
    """A certificate with witnesses of the earlier kind."""
    original = table._loaded
    monkeypatch.setitem(table.EARLIER, "piece", "toy:EarlierPiece")
    monkeypatch.setitem(table.EARLIER, "gone", "0.2.0")
    monkeypatch.setattr(table, "_loaded", lambda home: EarlierPiece if home == "toy:EarlierPiece" else original(home))
    document = certify_text("remove", GAUSSIAN, "1", "1e-3", digits=4)
    assert all(entry["witness"]["kind"] == "closed-form" for entry in document["evaluations"])
    return changed(document, lambda entry: {
        **entry, "method": "pieces", "witness": {"kind": "piece", "bits": entry["witness"]["prec"]},
        "error_budget": {"rest": entry["error_budget"]["rounding"]}})


def changed(document: Document, change: Callable[[Document], Document]) -> Document:
    return sealed({**document, "evaluations": [change(entry) for entry in document["evaluations"]]})


def test_an_earlier_kind_is_checked_as_todays(earlier: Document) -> None:
    check = verify(earlier)
    assert check.valid and check.verdict == earlier["verdict"], check
    nothing = {"lower": "1*2^0", "upper": "1*2^0", "lower_decimal": "1.0000000000000000000",
               "upper_decimal": "1.0000000000000000000"}
    assert not verify(changed(earlier, lambda entry: {**entry, "enclosure": nothing})).valid


@pytest.mark.parametrize(("change", "field"), [
    ({"method": "closed-form"}, "evaluations[0].method"),
    ({"witness": {"kind": "piece", "prec": 100}}, "evaluations[0].witness.bits"),
    ({"witness": {"kind": "piece", "bits": 100, "prec": 100}}, "evaluations[0].witness.prec"),
    ({"witness": {"kind": "piece", "bits": "100"}}, "evaluations[0].witness.bits"),
    ({"witness": {"kind": "closed-form", "bits": 100}}, "evaluations[0].witness.prec"),
    ({"error_budget": {"rounding": "9.999e0"}}, "evaluations[0].error_budget.rounding"),
    ({"error_budget": {"rest": "1.000e-900"}}, "evaluations[0].error_budget.rounding"),
    ({"error_budget": {"rest": "9.999e0", "rounding": "9.999e0"}}, "evaluations[0].error_budget.rounding"),
])
def test_it_is_read_in_its_own_form_only(earlier: Document, change: Document, field: str) -> None:
    check = verify(changed(earlier, lambda entry: {**entry, **change}))
    assert not check.valid and check.field == field


def test_inside_of_another_witness(earlier: Document) -> None:
    """A form is canonical at every depth; the names of errors are those of the inner witness."""
    from verified_dp.core.kernel.certificate.witness import in_use, read_recorded, witness_record

    record = {"kind": "shortened", "kept": [0, 3], "inner": {"kind": "piece", "bits": 80}}
    recorded = read_recorded(record, "w")
    assert witness_record(recorded) == record
    witness, names = in_use(recorded)
    assert witness_record(witness)["inner"] == {"kind": "closed-form", "prec": 80} and names == {"rest": "rounding"}


@pytest.mark.parametrize(("witness", "version"), [
    ({"kind": "gone"}, "0.2.0"), ({"kind": "gone", "any": ["1", 2]}, "0.2.0"),
    ({"kind": "piece", "bits": 6000}, "0.1.0"),
    ({"kind": "shortened", "kept": [3], "inner": {"kind": "gone"}}, "0.2.0")])
def test_what_only_an_earlier_version_checks(earlier: Document, witness: Document, version: str) -> None:
    with pytest.raises(Unsupported, match=f"checked by version {version} "):
        verify(changed(earlier, lambda entry: {**entry, "witness": witness}))


def test_the_command_says_that_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 as for what is not supported; the process that checks tells it (here: one that knows the kind)."""
    from verified_dp.verifiers import bounded

    def refuse(*_: object, **__: object) -> object:
        raise table.only_in("0.2.0", "gone")

    monkeypatch.setattr(bounded, "verify_bounded", refuse)
    path = tmp_path / "old.json"
    path.write_text("{}", encoding="utf-8")
    assert main(["verify", str(path), "--json"]) == 3
    shown = json.loads(capsys.readouterr().out)
    assert shown["status"] == "unsupported" and "version 0.2.0" in shown["message"]

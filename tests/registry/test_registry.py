"""Entries of the registry of deployments: what is read, what is refused, verdicts, questions, pages, the export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from verified_dp import InvalidInput, Unsupported
from verified_dp.cli import main
from verified_dp.ranges import parse_ranged
from verified_dp.registry import FIELDS, entry_yaml, judge, read_entry

pytest.importorskip("yaml", reason="the extra registry is not installed")
ROOT = Path(__file__).resolve().parents[2]
ENTRY = """url_slug: counts-nowhere-2030
status: Draft
tier: 2
deployment:
  basic:
    name: Counts of "nowhere"
    data_curators:
      - Nobody
      - Somebody
    intended_use: Tests
    data_product_type: Summary statistics
    data_product_region: 'Nowhere'
    description: |
      First line.

      Second line.
    publication_date: '2030-01-01'
  dp_variant:
    variant_name: {variant}
  privacy_loss:
    privacy_unit: Person
    privacy_unit_details: TODO
    privacy_parameters:
{parameters}
  deployment_model:
    model_name: Central
    release_type: Many releases
    release_type_details: ''
  implementation:
    # mechanisms: ''
"""


def entry(variant: str = "Zero-concentrated DP", more: str = "", **parameters: str) -> str:
    lines = "\n".join(f"      {key}: {value}" for key, value in parameters.items())
    return ENTRY.format(variant=variant, parameters=lines) + more


def test_fields_are_read_as_they_are_written() -> None:
    found = read_entry(entry(epsilon="1.10", delta="1e-10", rho="0.050"))
    assert (found.slug, found.status, found.tier) == ("counts-nowhere-2030", "Draft", 2)
    assert [found.parameter(name) for name in ("epsilon", "delta", "rho")] == ["1.10", "1e-10", "0.050"]
    assert found["basic.data_curators"] == "Nobody, Somebody"
    assert found["basic.description"] == "First line.\n\nSecond line."
    assert "privacy_loss.privacy_unit_details" not in found.fields  # TODO says nothing
    missing = dict(found.missing)
    assert list(missing) == ["deployment_model.data_source_type", "deployment_model.access_type",
                             "administrative.sources", "administrative.registry_authors"]
    as_json = {"url_slug": "a", "status": "Draft", "tier": 1, "deployment": {"basic": {"name": "B"}}}
    assert read_entry(json.dumps(as_json))["basic.name"] == "B"


@pytest.mark.parametrize("old, new, key", [
    ("status: Draft", "status: Done", "status"), ("tier: 2", "tier: 4", "tier"),
    ("variant_name: Pure DP", "variant_name: Clean DP", "deployment.dp_variant.variant_name"),
    ("  dp_variant:", "  dp_flavor:", "deployment.dp_flavor"), ("    name:", "    nmae:", "deployment.basic.nmae"),
    ("url_slug:", "slug:", "slug"),
    ("      - Nobody\n      - Somebody", "      a: b", "deployment.basic.data_curators"),
    ("status: Draft", "status: Draft\nstatus: Draft", "file"), ("status: Draft", "status: [", "file"),
    ("status: Draft", "status: &a Draft\nx: *a", "file"),
    ("  privacy_loss:\n    privacy_unit: Person\n", "  privacy_loss: 1\n  accounting:\n",
     "deployment.privacy_loss")])
def test_what_the_schema_does_not_have_is_refused(old: str, new: str, key: str) -> None:
    text = entry("Pure DP", epsilon="1")
    assert old in text
    with pytest.raises(InvalidInput) as raised:
        read_entry(text.replace(old, new, 1))
    assert raised.value.key == key


@pytest.mark.parametrize("epsilon, verdict", [("1.40", "proved"), ("1.308", "undecided"), ("0.9", "undecided")])
def test_rho_beside_epsilon_and_delta_is_judged_for_all_that_rounds_to_it(epsilon: str, verdict: str) -> None:
    """epsilon of rho-zCDP at 1e-5 from 1.3009 at 0.0495 to 1.3153 at 0.0505."""
    found = judge(read_entry(entry(epsilon=epsilon, delta="1e-5", rho="0.050")))
    [one] = found.readings
    assert (found.verdict, str(one.ranges[0])) == (verdict, "mechanism[1].rho from 0.0495 to 0.0505")
    assert ("in all its digits" in " ".join(found.questions)) == (epsilon == "1.308")
    assert ("guarantee alone" in " ".join(found.questions)) == (epsilon == "0.9")
    assert any("neighbours" in question for question in found.questions)


@pytest.mark.parametrize("variant, parameters, asked", [
    ("Pure DP", {"epsilon": "1"}, "which noise"), ("Pure DP", {"epsilon": "1", "delta": "1e-7"}, "which of the two"),
    ("Approximate DP", {"epsilon": "1"}, "which epsilon and which delta"),
    ("Approximate DP", {"epsilon": "1", "delta": "n^-2"}, "which number"),
    ("Zero-concentrated DP", {"epsilon": "1", "delta": "1e-5"}, "which rho"),
    ("Zero-concentrated DP", {"rho": "1"}, "which epsilon is claimed"), ("", {"epsilon": "1"}, "which variant"),
    ("Pure DP", {}, "which privacy parameters")])
def test_what_is_not_stated_is_asked_and_never_guessed(variant: str, parameters: dict[str, str], asked: str) -> None:
    found = judge(read_entry(entry(variant, **(parameters or {"epsilon": "''"}))))
    assert found.verdict == "not enough stated" and not found.readings
    assert any(asked in question for question in found.questions)


BLOCK = """
    mechanisms: |
      Laplace noise.

      ```toml
      relation = "add"
      [[mechanism]]
      kind = "laplace"
      scale = {SCALE}
      sensitivity = 1
      ```
"""


@pytest.mark.parametrize("scale, verdict", [("2", "proved"), ('{ rounded = "2.0" }', "undecided"),
                                            ('{ rounded = "1.5" }', "refuted"), ("0", "not enough stated")])
def test_a_specification_in_the_entry_is_judged_with_the_entrys_claim(scale: str, verdict: str) -> None:
    found = judge(read_entry(entry("Pure DP", BLOCK.replace("{SCALE}", scale), epsilon="0.5")))
    [one] = found.readings
    assert found.verdict == verdict and ("(0.5, 0)" in one.claimed) == (verdict != "not enough stated")
    assert ("which of the stated numbers is wrong" in " ".join(found.questions)) == (verdict == "refuted")


def test_two_readings_that_differ_leave_the_entry_undecided() -> None:
    blocks = BLOCK.replace("{SCALE}", "2") + BLOCK.replace("{SCALE}", "1").partition("Laplace noise.\n\n")[2]
    found = judge(read_entry(entry("Pure DP", blocks, epsilon="0.5")))
    assert [one.verdict for one in found.readings] == ["proved", "refuted"] and found.verdict == "undecided"
    assert "which of them was run" in found.questions[0]


def test_what_is_written_is_read_back() -> None:
    texts = [file.read_text() for file in sorted((ROOT / "examples" / "ranges").glob("*.toml"))]
    facts = {"basic.intended_use": 'a "use": # of \\ it', "basic.description": "One.\n\nTwo.",
             "basic.data_curators": ["A: B", "C"]}
    found = read_entry(entry_yaml(texts, facts, tier=3))
    assert [one.ranged() for one in found.readings] == [parse_ranged(text) for text in texts]
    assert {key: found[key] for key in facts} == facts | {"basic.data_curators": "A: B, C"}
    assert found.parameter("delta") == "1.0e-5" and found.tier == 3
    assert "basic.publication_date" in dict(found.missing) and "# publication_date" in entry_yaml(texts, facts)
    with pytest.raises(InvalidInput, match="schema"):
        entry_yaml(texts, {"basic.epsilon": "1"})


def test_the_corpus_export_is_current(load_example: Callable[[str], ModuleType]) -> None:
    script = load_example("registry_entries")
    folder = ROOT / "examples" / "registry"
    written = {file.stem.replace("_", "-"): file.read_text() for file in folder.glob("*.yaml")}
    assert written == {name: script.entry(name) for name in script.DEPLOYMENTS}
    exported = "".join(written.values())
    for file in (ROOT / "examples" / "claims").glob("*.toml"):
        if "# Kind: deployment\n" in (text := file.read_text()) and "# Hypothetical:" not in text:
            assert text.partition("[claim]\n")[2].splitlines()[0] in exported  # its title
    for name, text in written.items():
        found = read_entry(text)
        left_out = [path for path, field in found.missing if field.required]
        assert left_out == ["basic.publication_date"] * (name in ("gboard-mf", "gboard-pt"))
        assert all(one.ranged().worst.claim for one in found.readings)


def test_fields_of_the_schema() -> None:
    assert len(FIELDS) == 34 and sum(field.required for field in FIELDS.values()) == 8


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"good": entry(epsilon="1.40", delta="1e-5", rho="0.050"), "bare": entry("Pure DP", epsilon="1"),
             "evil": entry("Pure DP", epsilon="1").replace("Nobody", "<script>")}
    files = [str(tmp_path / f"{name}.yaml") for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        Path(file).write_text(text, encoding="utf-8")
    target = tmp_path / "all.html"
    assert main(["certify", *files, "--html", str(target), "--json"]) == 3
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["verdict"] for row in rows] == ["proved", "not enough stated", "not enough stated"]
    assert rows[1]["missing"][-1] == "administrative.registry_authors" and rows[1]["questions"]
    index, page = target.read_text(), (tmp_path / "all" / "good.html").read_text()
    assert "1 proved, 2 not enough stated" in index and 'href="all/good.html"' in index
    assert "To ask the publisher" in page and "\nrho = { rounded" in page and "<script>" not in index + page
    assert main(["convert", files[0], "--from", "registry"]) == 0
    written = capsys.readouterr().out
    assert parse_ranged(written) == read_entry(texts["good"]).readings[0].ranged()
    assert "# missing in the entry: administrative.sources" in written
    assert main(["convert", files[1], "--from", "registry"]) == 3
    (spec := tmp_path / "spec.toml").write_text(written, encoding="utf-8")
    assert main(["convert", str(spec), "--to", "registry"]) == 0
    again = read_entry(capsys.readouterr().out.split("verified-dp")[0])
    assert again.readings[0].ranged() == parse_ranged(written)
    with pytest.raises(Unsupported, match="without a guess"):
        from verified_dp.registry.entry import check_stated

        check_stated(read_entry(texts["bare"]))

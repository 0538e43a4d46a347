"""Specification files: what is read, and that a mistake is one line with key, value and what is expected."""

import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_dp.certificate import certify
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported, VerifiedDPError
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.spec import load_spec, parse_spec

RELATION = 'relation = "add-or-remove"\n'
PLAIN = RELATION + '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 1.1\n'
STATED = RELATION + '[[mechanism]]\nkind = "gaussian"\nsigma = 2\nsensitivity = "1/2"\n'
FULL = """
relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "1.1"
sampling = { scheme = "poisson", probability = "256/60000" }
count = 14063
[[mechanism]]
kind = "gaussian"
sigma = 2
sensitivity = 0.5
[claim]
title = "DP-SGD"
source = "a paper"
epsilon = 3.010
delta = "1e-5"
"""


def test_a_full_specification():
    spec = parse_spec(FULL)
    sampled, plain = PoissonSampled(Gaussian("1.1"), Fraction(8, 1875)), Gaussian(sigma=2, sensitivity="1/2")
    assert spec.relation is Relation.ADD_OR_REMOVE
    assert spec.composition.parts == ((sampled, 14063), (plain, 1))
    assert (spec.claim.title, spec.claim.source) == ("DP-SGD", "a paper")
    assert (spec.claim.epsilon, spec.claim.delta) == (Fraction(301, 100), Fraction(1, 10**5))
    assert (spec.claim.epsilon_text, spec.claim.delta_text) == ("3.010", "1e-5")


def test_claim_and_count_are_optional():
    spec = parse_spec(PLAIN)
    assert spec.claim is None and spec.composition.parts == ((Gaussian("1.1"), 1),)
    bare = parse_spec(PLAIN + "[claim]\nepsilon = 0\ndelta = 1e-5").claim
    assert (bare.title, bare.source, bare.epsilon, bare.epsilon_text) == ("", "", 0, "0")


@pytest.mark.parametrize("written", ["1.1", '"1.1"', "11e-1", '"11/10"', "1.1_0", "+1.1", "0.000_11e4"])
def test_numbers_are_the_decimals_written(written):
    spec = parse_spec(PLAIN.replace("1.1", written))
    assert spec.composition.parts[0][0].noise_multiplier == Fraction(11, 10)


@given(st.decimals(min_value="0.001", max_value=1000, places=25))
def test_no_decimal_passes_through_a_float(number):
    spec = parse_spec(PLAIN.replace("1.1", str(number)))
    assert spec.composition.parts[0][0].noise_multiplier == Fraction(number)


@pytest.mark.parametrize("written", ["14063", '"14063"', "14_063", "0x36ef"])
def test_counts_are_integers(written):
    assert parse_spec(PLAIN + f"count = {written}").composition.parts[0][1] == 14063


SAMPLING = "sampling = { scheme = %s, probability = %s }"
WRONG = [
    ("", "relation", "add-or-remove, add, remove, zero-out, replace, got nothing"),
    (PLAIN.replace("add-or-remove", "swap"), "relation", "zero-out, replace, got 'swap'"),
    (PLAIN.replace('"add-or-remove"', "3"), "relation", "got 3"),
    (RELATION, "mechanism", "[[mechanism]]"),
    (RELATION + "mechanism = []", "mechanism", "got []"),
    (RELATION + '[mechanism]\nkind = "gaussian"', "mechanism", "[[mechanism]]"),
    (RELATION + "mechanism = [1, 2]", "mechanism", "[[mechanism]]"),
    (PLAIN + "[[mechanism]]", "mechanism[2].kind", "composition), got nothing"),
    (PLAIN + "[[mechanism]]\nkind = 'laplce'", "mechanism[2].kind", "did you mean laplace? known are laplace"),
    (PLAIN + "[[mechanism]]\nkind = 3", "mechanism[2].kind", "got 3"),
    (PLAIN + "[[mechanism]]\nkind = 'gaussian'", "mechanism[2].noise_multiplier", "sigma and sensitivity"),
    (PLAIN + "noise_multipler = 3", "mechanism[1].noise_multipler", "did you mean noise_multiplier?"),
    (PLAIN + "[clam]", "clam", "did you mean claim?"),
    (PLAIN + "zzz = 3", "mechanism[1].zzz", "known are kind, noise_multiplier"),
    (PLAIN + "sigma = 3", "mechanism[1].sigma", "absent"),
    (STATED.replace("sigma = 2", ""), "mechanism[1].sigma", "belong together"),
    (STATED + SAMPLING % ("'poisson'", "'0.1'"), "mechanism[1].sigma", "noise_multiplier"),
    (PLAIN + "sampling = 0.1", "mechanism[1].sampling", "table"),
    (PLAIN + SAMPLING % ("'poisson'", "1.5"), "mechanism[1].sampling.probability", "[0, 1], got 1.5"),
    (PLAIN + SAMPLING % ("'poisson'", "true"), "mechanism[1].sampling.probability", "got True"),
    (PLAIN + "sampling = { scheme = 'poisson' }", "mechanism[1].sampling.probability", "got nothing"),
    (PLAIN + "sampling = { probability = 0.1 }", "mechanism[1].sampling.scheme", "poisson"),
    (PLAIN + "sampling = { scheme = 'poisson', q = 1 }", "mechanism[1].sampling.q", "known are scheme"),
    *((PLAIN.replace("1.1", bad), "mechanism[1].noise_multiplier", "positive")
      for bad in ("0", "0.0", '"0"', "-1.5", "inf", "nan", '"nan"', "true", "[]", "1979-05-27")),
    *((PLAIN + f"count = {bad}", "mechanism[1].count", "integer from 1 to 10^12")
      for bad in ("14063.0", "1.5", "0", "-1", "true", "1000000000001", '"14063.0"', "1e3", "[]")),
    (PLAIN + "[claim]\ndelta = 1e-5", "claim.epsilon", "got nothing"),
    (PLAIN + "[claim]\nepsilon = 1", "claim.delta", "got nothing"),
    (PLAIN + "[claim]\nepsilon = -1\ndelta = 1e-5", "claim.epsilon", ">= 0, got -1"),
    (PLAIN + "[claim]\nepsilon = 1\ndelta = -0.1", "claim.delta", "[0, 1), got -0.1"),
    (PLAIN + "[claim]\nepsilon = 1\ndelta = 1.0", "claim.delta", "got 1.0"),
    (PLAIN + "[claim]\nepsilon = 1\ndelta = 0.1\ntitle = 1.5", "claim.title", "string, got 1.5"),
    (PLAIN + "[claim]\nepsilon = 1\ndelta = 0.1\nsource = []", "claim.source", "string"),
    ("claim = 3\n" + PLAIN, "claim", "[claim]"),
    (PLAIN + '"a\\nb" = 3', "mechanism[1].a\nb", "a\\nb must be"),
    (PLAIN.replace("1.1", '"1\\n2"'), "mechanism[1].noise_multiplier", r"got '1\n2'"),
    ("a = [", "file", "TOML"),
    ("a = " + "[" * 5000, "file", "nested"),
    ("a = " + "1" * 5000, "file", "TOML"),
    ("a = 0x" + "f" * 4000, "a", "an integer of 16000 bits"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "key", "words"), WRONG, ids=[f"{i}-{key!r}" for i, (_, key, _) in enumerate(WRONG)]
)
def test_a_mistake_is_one_line(text, key, words):
    with pytest.raises(InvalidInput) as error:
        parse_spec(text, file="claim.toml")
    assert error.value.key == key
    assert error.value.file == "claim.toml"
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 480  # with the names of all kinds


@pytest.mark.parametrize("scheme", ["sequential", "stratified", "subset", "fixed-size"])
def test_other_sampling_is_unsupported_with_the_reason(scheme):
    with pytest.raises(Unsupported) as error:
        parse_spec(PLAIN + f"sampling = {{ scheme = '{scheme}', batch = 256 }}", file="a.toml")
    assert (error.value.key, error.value.file) == ("mechanism[1].sampling.scheme", "a.toml")
    assert scheme in str(error.value) and "poisson" in str(error.value) and "replacement" in str(error.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"relation = '\xe9'", None, "directory", "\0"])
def test_files_that_are_no_specification(tmp_path, content):
    path = tmp_path / "claim.toml"
    if content == "directory":
        path.mkdir()
    elif content == "\0":
        path = "a\0b.toml"
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput) as error:
        load_spec(path)
    assert (error.value.key, error.value.file) == ("file", str(path))
    assert len(str(error.value).splitlines()) == 1


def test_files_are_read_as_utf_8(tmp_path):
    path = tmp_path / "claim.toml"
    path.write_bytes(b"\xef\xbb\xbf" + FULL.replace("a paper", "Poincaré").replace("\n", "\r\n").encode())
    assert load_spec(path).claim.source == load_spec(str(path)).claim.source == "Poincaré"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    with pytest.raises(VerifiedDPError) as error:
        parse_spec(text)
    assert len(str(error.value).splitlines()) == 1


def test_a_path_is_no_specification(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"a Spec; load_spec\(path\) reads one from a file, got"):
        certify(tmp_path)  # type: ignore[arg-type]


# what a parser should not see

MECHANISM = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = {}\n[mechanism.sampling]\nscheme = "poisson"\n' \
    'probability = "1/100"\n'
DOTS = "." * 60_000
LEGITIMATE = {
    "dots in a title": f'title = "a{DOTS}"', "in a literal title": f"title = 'a{DOTS}'",
    "brackets": 'title = "' + "[" * 100_000 + '"', "an escaped quote": f'title = "\\"{DOTS} = [[[[" # [[[[{DOTS}',
    "several lines": 'title = """\n' + f'"a" ""b.c = [[{DOTS}\n[[mechanism]]\n' * 40 + '"""""',
    "several literal lines": "title = '''\n" + f"'' {DOTS}\n[[a]]\n" * 30 + "'''",
    "a comment": f"# it's {DOTS}\n# \"\"\" [[[[\ntitle = ''", "a long comment": "#" * 10**6 + "\ntitle = ''",
    "an exponent in words": 'title = "' + "1e99999x " * 1000 + '"', "a long number": f'title = "{DOTS}"',
}
ENDLESS = {
    "dots": "a" + ".a" * 50_000 + " = 1", "dots apart": "a" + " . a" * 50_000 + " = 1",
    "quoted dots": 'a."b"' + ".'c'" * 50_000 + " = 1", "a header": "[" + "a." * 50_000 + "a]",
    "a dotted key behind a text": 'b = """\n"""""\n' + "a" + ".a" * 50_000 + " = 1",
    "a dotted key behind a comment": "# '''\n" + "a" + ".a" * 50_000 + " = 1",
    "tables": "[[mechanism]]\n" * 200_000, "fewer tables": "[[mechanism]]\n" * 20_001,
    "lists": "a = " + "[" * 100_000, "objects": "a = " + "{a=" * 100_000, "a long number": "a = " + "1" * 4301,
    "numbers of many digits": "a = [" + '"1e-99999", ' * 5000 + "]",
    "keys": "".join(f"k{n}=1\n" for n in range(2**18 + 1)),
    "bytes": " " * (2**22 + 1), "escapes": 'a = "' + '\\"' * 2_000_000, "quotes": '"' * 2**22, "ticks": "'" * 2**22,
}


@pytest.mark.parametrize("name", LEGITIMATE)
def test_texts_and_comments_may_hold_what_keys_may_not(name):
    spec = parse_spec(f"{PLAIN}[claim]\nepsilon = 1\ndelta = 0.1\n{LEGITIMATE[name]}\n")
    assert spec.claim is not None and spec.composition == parse_spec(PLAIN).composition


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_take_a_parser_long_is_refused_before_it(name, monkeypatch):
    """Only texts whose first mistake comes early reach the parser."""
    parsed = ("quotes", "ticks", "escapes")  # texts, which the parser reads in one pass
    if name not in parsed:
        monkeypatch.setattr("tomllib.loads", lambda *_, **__: pytest.fail("was parsed"))
    before = time.process_time()
    with pytest.raises(InvalidInput) as error:
        parse_spec(ENDLESS[name], file="claim.toml")
    assert (error.value.key, error.value.file) == ("file", "claim.toml") and len(str(error.value)) < 200
    assert name in parsed or time.process_time() - before < 2


def test_ten_thousand_mechanisms_are_read_and_no_more():
    head = 'relation = "add"\n'
    assert len(parse_spec(head + "".join(map(MECHANISM.format, range(1, 10_001)))).composition.parts) == 10_000
    inline = ", ".join(f'{{ kind = "gaussian", noise_multiplier = {n} }}' for n in range(1, 10_002))
    with pytest.raises(InvalidInput, match="mechanism must be at most 10000 tables"):
        parse_spec(f"{head}mechanism = [{inline}]")

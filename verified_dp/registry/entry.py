"""An entry of the registry: its fields as they are written, and the specifications that can be read from it.

The form is schemas/deployments-schema.yaml of github:opendp/deployments-registry-data at COMMIT, 15 July 2026; the
research behind it is arXiv:2509.13509. Prose says there what was run. What can be read without a guess:

* tables of a specification (`ranges.parse_ranged`) in a fenced block, ```toml, of implementation.mechanisms;
* where there is none, rho beside epsilon and delta: rho-zCDP, rounded as it is printed, and the claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.ranges import Ranged, parse_ranged
from verified_dp.reading import decoded, optional, read_file

COMMIT = "3e9c812a924cf01d228f26f6c462c59c391c3f2a"
_STATUSES = ("Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)",
             "Approved (Pending)")
_LARGEST, _DEEPEST = 2**20, 8


@dataclass(frozen=True)
class Field:
    """tier: from which on it is expected. words: what it tells. values: all that it may be, if these are listed."""

    tier: int
    words: str
    values: tuple[str, ...] = ()
    required: bool = False
    many: bool = False


FIELDS: Mapping[str, Field] = {
    "basic.name": Field(1, "name of the data product", required=True),
    "basic.data_curators": Field(1, "who publishes it", required=True, many=True),
    "basic.intended_use": Field(1, "what it is for", required=True),
    "basic.data_product_type": Field(1, "type of the data product", (
        "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries"),
        required=True),
    "basic.data_product_region": Field(1, "region of the data, or of the law", required=True),
    "basic.description": Field(1, "what it is", required=True),
    "basic.publication_date": Field(1, "date of publication, YYYY-MM-DD", required=True),
    "basic.data_product_sector": Field(1, "sector", (
        "Technology", "Healthcare", "Education", "Government", "Energy", "Finance")),
    "dp_variant.variant_name": Field(2, "variant of differential privacy", (
        "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")),
    "dp_variant.data_domain": Field(3, "which data sets are protected"),
    "dp_variant.unprotected_quantities": Field(3, "what is published without noise"),
    "privacy_loss.privacy_unit": Field(2, "whose data neighbours differ in"),
    "privacy_loss.privacy_unit_details": Field(3, "which data sets are neighbours: added, removed, replaced, set to 0"),
    "privacy_loss.privacy_parameters.epsilon": Field(2, "epsilon"),
    "privacy_loss.privacy_parameters.delta": Field(2, "delta"),
    "privacy_loss.privacy_parameters.rho": Field(2, "rho"),
    "privacy_loss.privacy_parameters_details": Field(3, "how the parameters are to be read"),
    "deployment_model.model_name": Field(2, "who is trusted", ("Local", "Central", "Shuffle", "Federated", "Varies")),
    "deployment_model.model_name_details": Field(3, "how the model is deployed"),
    "deployment_model.actors": Field(3, "who takes part, and trusts whom"),
    "deployment_model.release_type": Field(2, "published once or often", ("One release", "Many releases")),
    "deployment_model.release_type_details": Field(3, "over which time the parameters hold"),
    "deployment_model.data_source_type": Field(2, "whether data come in over time", ("Static", "Dynamic")),
    "deployment_model.data_source_type_details": Field(3, "how data come in"),
    "deployment_model.access_type": Field(2, "whether queries are put", ("Interactive", "Non-interactive")),
    "deployment_model.access_type_details": Field(3, "who puts queries, of which budget"),
    "accounting.post_processing": Field(3, "what is done after the noise"),
    "accounting.composition": Field(3, "how many releases, and how their losses are added"),
    "implementation.preprocessing_and_hyperparameter_tuning": Field(3, "what was done before, and whether it counts"),
    "implementation.mechanisms": Field(3, "mechanisms: noise, its scale, sensitivities, sampling, numbers of releases"),
    "implementation.justification": Field(3, "why it was done so"),
    "administrative.sources": Field(1, "sources"),
    "administrative.notes": Field(1, "notes"),
    "administrative.registry_authors": Field(1, "who wrote the entry", required=True, many=True),
}
"""Below `deployment`, in the order of the schema."""
_OPTIONAL = ("administrative.notes", "basic.data_product_sector")
_DETAILS = ("_details", "parameters.epsilon", "parameters.delta", "parameters.rho")
_SAYS_NOTHING = {"", "todo", "not available", "not specified", "not stated", "unknown", "n/a", "none", "null", "~"}
_BLOCK = re.compile(r"^ {0,3}```toml[ \t]*\n(.*?)^ {0,3}```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """One specification that an entry states. text: its TOML. words: where in the entry it stands."""

    words: str
    text: str

    def ranged(self, file: str = "<entry>") -> Ranged:
        """Raises InvalidInput or Unsupported for tables that are none, or have no theorem."""
        return parse_ranged(self.text, file=file)


@dataclass(frozen=True)
class Entry:
    """fields: path below `deployment` -> what is written, lists as texts with commas; nothing that says nothing."""

    slug: str
    status: str
    tier: int
    fields: Mapping[str, str]

    def __getitem__(self, path: str) -> str:
        return self.fields.get(path, "")

    def parameter(self, name: str) -> str:
        """epsilon, delta or rho as it is printed, or ""."""
        return self[f"privacy_loss.privacy_parameters.{name}"]

    @property
    def missing(self) -> Iterator[tuple[str, Field]]:
        """Fields of the entry's tier and below that it leaves out; of parameters and details only what is required."""
        for path, field in FIELDS.items():
            wanted = field.tier <= self.tier and path not in _OPTIONAL and not path.endswith(_DETAILS)
            if wanted and path not in self.fields:
                yield path, field

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The specifications that can be read without a guess."""
        blocks = _BLOCK.findall(self["implementation.mechanisms"])
        if blocks:
            return tuple(Reading(f"implementation.mechanisms, block {n}", self._claimed(text))
                         for n, text in enumerate(blocks, 1))
        if all(map(self.parameter, ("rho", "epsilon", "delta"))):
            mechanism = f'[[mechanism]]\nkind = "zcdp"\nrho = {{ rounded = "{self.parameter("rho")}" }}\n'
            said = "# the entry states no relation: what a guarantee implies is the same under each\n"
            words = "privacy_loss.privacy_parameters: its epsilon and delta from its rho"
            return (Reading(words, self._claimed(f'{said}relation = "add-or-remove"\n\n{mechanism}')),)
        return ()

    def _claimed(self, text: str) -> str:
        """The tables with the entry's claim, where they have none of their own and the entry states one."""
        epsilon, delta = self.parameter("epsilon"), self.parameter("delta")
        if re.search(r"^\s*\[claim\]", text, re.MULTILINE) or not epsilon:
            return text
        pure = not delta and self["dp_variant.variant_name"] == "Pure DP"
        if not delta and not pure:
            return text
        title = self["basic.name"].replace("\\", "").replace('"', "'").replace("\n", " ")
        return (f'{text.rstrip()}\n\n[claim]\ntitle = "{title}"\nsource = "registry entry {self.slug}"\n'
                f'epsilon = "{epsilon}"\ndelta = "{"0" if pure else delta}"\n')


def read_entry(text: str, file: str = "<text>") -> Entry:
    """Read an entry in YAML (or JSON, which is YAML), numbers as they are written.

    Raises: InvalidInput for what the schema does not have, a value that is none of its list, and missing PyYAML.
    """
    document = _tables(text, file)
    _check(document, ("url_slug", "status", "tier", "deployment"), "", file)
    slug, status, tier = (str(document.get(key) or "") for key in ("url_slug", "status", "tier"))
    if status not in _STATUSES:
        raise InvalidInput("status", status, f"one of {', '.join(_STATUSES)}", file)
    if tier not in ("1", "2", "3"):
        raise InvalidInput("tier", tier, "1, 2 or 3", file)
    fields: dict[str, str] = {}
    for path, value in _leaves(document.get("deployment"), "", file):
        stated = ", ".join(value) if isinstance(value, list) else value.strip()
        if FIELDS[path].values and stated not in FIELDS[path].values and stated:
            raise InvalidInput(f"deployment.{path}", stated, f"one of {', '.join(FIELDS[path].values)}", file)
        if stated.lower() not in _SAYS_NOTHING:
            fields[path] = stated
    return Entry(slug, status, int(tier), fields)


def load_entry(file: str) -> Entry:
    """The entry in a file, or on standard input."""
    return read_entry(decoded(read_file(file, _LARGEST, "an entry of the registry"), file, _LARGEST), file)


def _leaves(table: Any, prefix: str, file: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(table, dict):
        raise InvalidInput(f"deployment{f'.{prefix}'.rstrip('.')}", table, "a table of the registry's fields", file)
    inside = {path[len(prefix):].partition(".")[0] for path in FIELDS if path.startswith(prefix)}
    _check(table, inside, f"deployment.{prefix}", file)
    for key, value in table.items():
        path = prefix + key
        if path not in FIELDS:
            yield from _leaves(value, f"{path}.", file) if value is not None else ()
        elif isinstance(value, dict) or FIELDS[path].many != isinstance(value, list):
            raise InvalidInput(f"deployment.{path}", value, "a list" if FIELDS[path].many else "a text", file)
        else:
            yield path, "" if value is None else value


def _check(table: Mapping[str, Any], known: Any, prefix: str, file: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            expected = f"a field of the registry's schema at {COMMIT[:7]}" + (f" (write {near[0]})" if near else "")
            raise InvalidInput(prefix + key, key, expected, file)


def _tables(text: str, file: str) -> dict[str, Any]:
    """The tables of a YAML text: all scalars as they are written, no aliases, no key twice."""
    yaml = optional("yaml", "pyyaml")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += {"MappingStartEvent": 1, "SequenceStartEvent": 1, "MappingEndEvent": -1,
                      "SequenceEndEvent": -1}.get(type(event).__name__, 0)
            if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
                raise InvalidInput("file", file, f"YAML without aliases, nested at most {_DEEPEST} deep", file)
        found = _plain(yaml.compose(text, Loader=yaml.SafeLoader), file)
    except yaml.YAMLError as error:
        raise InvalidInput("file", file, f"YAML ({' '.join(str(error).split())})", file) from None
    if not isinstance(found, dict):
        raise InvalidInput("file", file, "an entry of the registry: a YAML table with url_slug and deployment", file)
    return found


def _plain(node: Any, file: str) -> Any:
    kind = None if node is None else node.id
    if kind == "mapping":
        found = {key.value: _plain(value, file) for key, value in node.value if key.id == "scalar"}
        if len(found) != len(node.value):
            raise InvalidInput("file", file, f"each key once (see line {node.start_mark.line + 1})", file)
        return found
    if kind == "sequence":
        return [str(one.value) if one.id == "scalar" else _refused(file) for one in node.value]
    return None if kind is None or node.tag.endswith(":null") else str(node.value)


def _refused(file: str) -> str:
    raise InvalidInput("file", file, "lists of texts alone", file)


def check_stated(entry: Entry, file: str = "<entry>") -> None:
    """Raises Unsupported, with what is missing, for an entry without a specification."""
    if not entry.readings:
        raise Unsupported("the entry states no mechanism that can be read without a guess: tables of a specification "
                          "in a ```toml block of implementation.mechanisms, or rho beside epsilon and delta",
                          "mechanisms", file)

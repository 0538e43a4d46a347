"""verified-dp ledger: a filter or odometer in a file.

A refused charge (HALT) exits with 1 and charges nothing; a ledger that is damaged, busy or cannot be written with 2.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verified_dp.cli.output import ANSWERED, REFUTED, Output, Row, schema, store
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.reading import parse_json, read_file

if TYPE_CHECKING:
    from verified_dp.adaptive.ledger import Ledger, Receipt

_COSTS = "--records COSTS.json"
TAKES: dict[str, tuple[str, str]] = {
    "gdp": ("--set budget=B^2, or --epsilon E --delta D", "--set mu_squared=M"),
    "gdp-odometer": ("--set step=S", "--set mu_squared=M"),
    "renyi": ("--set renyi_orders=2,8 --set budgets=0.1,0.4, or --epsilon E --delta D --set renyi_orders=27",
              "--set epsilons=0.01,0.05"),
    "renyi-odometer": ("--set step=S --set renyi_order=8", "--set epsilon=R"),
    "approximate-dp": ("--set epsilon=E --set slack=1e-6 [--set steps_delta=0]", "--set epsilon=E [--set delta=0]"),
    "individual-gdp": ("--records IDS.json, and --set budget=B^2 or --epsilon E --delta D", _COSTS),
    "individual-renyi": ("--records IDS.json --set renyi_order=8, and --set budget=R or --epsilon E --delta D", _COSTS),
    "individual-gdp-odometer": ("--records IDS.json --set step=S", _COSTS),
    "individual-renyi-odometer": ("--records IDS.json --set renyi_order=8 --set step=S", _COSTS),
}
"""What each kind takes at init, and at each charge."""
KINDS = tuple(TAKES)

EXAMPLES = """\
examples:
  verified-dp ledger init run.ledger --kind gdp --epsilon 0.8 --delta 1e-5
  verified-dp ledger charge run.ledger --key "step 1" --set mu_squared=1/10000
  verified-dp ledger status run.ledger --delta 1e-5 --json
  verified-dp ledger export run.ledger --out charges.jsonl

what a kind takes at init, and at each charge:
""" + "".join(f"  {kind}\n      init    {at[0]}\n      charge  {at[1]}\n" for kind, at in TAKES.items()) + """
IDS.json is a list of texts, ["a", "b"]; COSTS.json says what a step costs each, {"a": "1/100", "b": "0"}.

exit codes:
  0  the step may run (also when its key had been charged before)
  1  HALT: the step must not run; nothing was charged
  2  wrong input, or no ledger, a damaged one, or one that cannot be written or that another process is using
  3  what was asked has no answer: an odometer guarantees no curve"""


def add_ledger(command: ArgumentParser) -> None:
    """The sub-commands and their options."""
    actions = command.add_subparsers(metavar="ACTION", required=True)
    for name, run, summary in (("init", run_init, "make a ledger"), ("charge", run_charge, "charge a step once"),
                               ("status", run_status, "show what is spent, and what the budget guarantees"),
                               ("export", run_export, "print or write every charge as a line of JSON")):
        action = actions.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.",
                                    allow_abbrev=False)
        action.set_defaults(run=run)
        action.add_argument("file", metavar="LEDGER", help="the ledger's file")
        action.add_argument("--json", action="store_true", help="print one JSON object per line")
        if name in ("init", "charge"):
            action.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                                help="a number of the filter or of the charge; lists with commas")
            action.add_argument("--records", metavar="FILE",
                                help="JSON: the list of record ids (init), or {id: cost as text} (charge)")
        if name == "init":
            action.add_argument("--kind", required=True, metavar="KIND", help=", ".join(KINDS))
        if name in ("init", "status"):
            action.add_argument("--epsilon", metavar="E", help="of the guarantee, exact")
            action.add_argument("--delta", metavar="D", help="of the guarantee, exact")
        if name == "export":
            action.add_argument("--out", metavar="FILE", help="write the lines to a file, whole or not at all")
        if name == "charge":
            action.add_argument("--key", required=True, metavar="K", help="names this charge: it is charged once only")


def run_init(args: Namespace, out: Output) -> int:
    """verified-dp ledger init LEDGER --kind KIND ..."""
    from verified_dp.adaptive.ledger import KINDS as CLASSES
    from verified_dp.adaptive.ledger import Ledger

    if args.kind not in CLASSES:
        raise InvalidInput("kind", args.kind, "one of " + ", ".join(KINDS))
    with Ledger.create(args.file, _new_state(CLASSES[args.kind], args)) as ledger:
        row = _row(ledger, "init")
        out.result(row, lambda: [f"{args.file}: a new ledger, {_words(row)}"])
    return ANSWERED


def run_charge(args: Namespace, out: Output) -> int:
    """verified-dp ledger charge LEDGER --key K ..."""
    from verified_dp.adaptive.ledger import Ledger

    with Ledger.open(args.file) as ledger:
        receipt = ledger.charge(args.key, **_request(ledger, args))
        row = {**_row(ledger, "charge"), **_receipt_row(receipt)}
    out.result(row, lambda: [_receipt_words(receipt, row)])
    return ANSWERED if receipt.continues else REFUTED


def run_status(args: Namespace, out: Output) -> int:
    """verified-dp ledger status LEDGER [--epsilon E | --delta D]"""
    from verified_dp.adaptive.ledger import Ledger

    with Ledger.open(args.file) as ledger:
        row = {**_row(ledger, "status"), "guarantee": _guarantee(ledger, args)}
    out.result(row, lambda: [f"{args.file}: {_words(row)}", *_guarantee_words(row["guarantee"])])
    return ANSWERED


def run_export(args: Namespace, out: Output) -> int:
    """verified-dp ledger export LEDGER [--out FILE]"""
    from verified_dp.adaptive.ledger import Ledger

    with Ledger.open(args.file) as ledger:
        rows = [{"schema": schema("ledger-charge"), "number": entry.number, "key": entry.key, "at": entry.at,
                 "request": json.loads(entry.request), "outcome": json.loads(entry.outcome), "hash": entry.hash}
                for entry in ledger.entries()]
        made = {**_row(ledger, "export"), "out": args.out}
    lines = [json.dumps(row) for row in rows]
    if args.out is None:
        out.write(lines)
    else:
        if Path(args.out).exists() and Path(args.out).samefile(args.file):
            raise InvalidInput("out", args.out, "another file than the ledger")
        store(args.out, "".join(f"{line}\n" for line in lines).encode())
        out.result(made, lambda: [f"{args.out}: {_words(made)}"])
    return ANSWERED


def _new_state(kind: Any, args: Namespace) -> Any:
    """The filter or odometer that the options describe."""
    values = {**_settings(args.set), **_budget(kind.kind, args)}
    if args.records is not None:
        values["records"] = _read_json(args.records, list)
    needed = {item.name: item.default is MISSING for item in fields(kind) if item.name != "spent"}
    if hasattr(kind, "open"):
        needed["records"] = True
    if not {name for name in needed if needed[name]} <= values.keys() <= needed.keys():
        raise InvalidInput("options", ", ".join(values) or None, _wanted(kind.kind, charge=False))
    return getattr(kind, "open", kind)(**values)


def _budget(kind: str, args: Namespace) -> dict[str, Any]:
    """The budget for --epsilon and --delta, if these are given."""
    from verified_dp.adaptive.budgets import gdp_budget, renyi_budget

    if args.epsilon is None and args.delta is None:
        return {}
    values = _settings(args.set)
    if args.epsilon is None or args.delta is None or "budget" in values or "budgets" in values:
        raise InvalidInput("options", "--epsilon" if args.delta is None else "--delta", _wanted(kind, charge=False))
    if kind in ("gdp", "individual-gdp"):
        return {"budget": gdp_budget(args.epsilon, args.delta)}
    if kind == "individual-renyi":
        return {"budget": renyi_budget(args.epsilon, args.delta, values.get("renyi_order", ""))}
    if kind == "renyi" and not isinstance(values.get("renyi_orders"), list):
        return {"budgets": renyi_budget(args.epsilon, args.delta, values.get("renyi_orders", ""))}
    raise InvalidInput("options", "--epsilon and --delta", _wanted(kind, charge=False))


def _wanted(kind: str, charge: bool) -> str:
    init_or_charge = "charge" if charge else "init"
    return f"{TAKES[kind][charge]} at {init_or_charge} of kind {kind}"


def _request(ledger: Ledger, args: Namespace) -> dict[str, Any]:
    """The arguments of the state's charge."""
    values, parameters = _settings(args.set), signature(ledger.state.charge).parameters
    if args.records is not None:
        values[next(iter(parameters))] = _read_json(args.records, dict)
    try:
        signature(ledger.state.charge).bind(**values)
    except TypeError:
        raise InvalidInput("options", ", ".join(values) or None, _wanted(ledger.kind, charge=True)) from None
    return values


def _settings(pairs: Iterable[str]) -> dict[str, Any]:
    """KEY=VALUE as a dictionary; a value with commas is a list."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier() or name in (*found, "spent", "records"):
            raise InvalidInput("set", pair, "KEY=VALUE, each key once; records come by --records FILE")
        found[name] = value.split(",") if "," in value else value
    return found


def _read_json(path: str, kind: type) -> Any:
    """A list or an object from a JSON file. Numbers are kept as the text they are written in, so exact."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES

    what = f"a file with a JSON {'list' if kind is list else 'object'}"
    try:
        value: Any = parse_json(read_file(path, MAX_BYTES), path, parse_float=str, parse_int=str,
                                object_pairs_hook=_once)
    except InvalidInput as error:
        raise InvalidInput("records", path, f"{what}: {error.expected}") from None
    expected = type(value) is kind
    if not expected or not all(isinstance(item, str) for item in value):
        raise InvalidInput("records", path, what)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose names occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a record occurs twice")
    return found


def _row(ledger: Ledger, action: str) -> Row:
    state = ledger.state
    individual = isinstance(state.spent, Mapping)
    shown = max(state.spent.values()) if individual else state.spent
    return {"schema": schema("ledger"), "file": str(ledger.path), "action": action, "kind": ledger.kind,
            "charges": ledger.number, "largest_spent" if individual else "spent": _text(shown),
            **{name: _text(getattr(state, name)) for name in _SHOWN if hasattr(state, name)}, "head": ledger.head}


_SHOWN = ("budget", "budgets", "renyi_orders", "renyi_order", "slack", "steps_delta", "step", "reached")


def _text(value: Any) -> Any:
    from verified_dp.core.kernel.exact import fraction_text

    return fraction_text(value) if isinstance(value, Fraction) else [_text(item) for item in value]


def _receipt_row(receipt: Receipt) -> Row:
    row: Row = {"verdict": str(receipt.verdict), "key": receipt.key, "number": receipt.number,
                "repeated": receipt.repeated}
    if receipt.active is not None and receipt.halted is not None:
        row |= {"active": sorted(receipt.active), "halted": sorted(receipt.halted)}
    return row


def _receipt_words(receipt: Receipt, row: Row) -> str:
    if not receipt.continues:
        return f"HALT: {receipt.key} must not run, nothing was charged; {_words(row)}"
    before = f" (it was, as charge {receipt.number})" if receipt.repeated else ""
    return f"continue: {receipt.key} is charged{before}; {_words(row)}"


def _words(row: Row) -> str:
    """Kind, charges and sums on one line."""
    shown = [name for name in ("spent", "largest_spent", *_SHOWN) if name in row]
    numbers = ", ".join(f"{name} {row[name] if isinstance(row[name], str) else '/'.join(row[name])}" for name in shown)
    number = row["charges"]
    return f"{row['kind']}, {number} charge{'' if str(number) == '1' else 's'}, {numbers}"


def _guarantee(ledger: Ledger, args: Namespace) -> Row | None:
    """What the budget guarantees at the asked eps or delta: an upper bound, whatever is still to come."""
    if args.epsilon is None and args.delta is None:
        return None
    if args.epsilon is not None and args.delta is not None:
        raise InvalidInput("delta", args.delta, "left out where epsilon is given")
    state, quantity = ledger.state, "delta" if args.epsilon is not None else "epsilon"
    at = args.epsilon if args.epsilon is not None else args.delta
    source = state.profile() if ledger.kind in ("renyi", "individual-renyi") else state
    if ledger.kind not in ("gdp", "individual-gdp", "renyi", "individual-renyi"):
        raise Unsupported(f"a {ledger.kind} has no curve that it guarantees: read its numbers", "ledger")
    return {"quantity": quantity, "at": at, "upper": getattr(source, quantity)(at).upper_decimal}


def _guarantee_words(guarantee: Row | None) -> list[str]:
    if guarantee is None:
        return []
    other = "epsilon" if guarantee["quantity"] == "delta" else "delta"
    return [f"  guaranteed: {guarantee['quantity']} <= {guarantee['upper']} at {other} = {guarantee['at']}"]

"""What of the reference is generated: commands from their parsers, documents from their schemas, options of methods.

A line `<!-- generated: NAME -->` of a page is replaced by what the function of that name writes.
"""

import argparse
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpydoc.docscrape import FunctionDoc

from cobic.certified.effort import Effort
from cobic.cli.main import COMMANDS, build_parser
from cobic.methods import METHODS

SCHEMAS = Path(str(files("cobic") / "schemas"))
_EXIT_CODES = Path(__file__).parents[1] / "reference" / "exit-codes.md"
_MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.M)
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
_LIMIT = re.compile(r"(?P<name>\w+): .+? = .+?(  # (?P<why>.+))?")
_WIDTH = 88  # of a usage line: fits a page beside the navigation
_KINDS = {"integer": "whole number", "string": "text", "boolean": "true or false"}
_OF_ALL_METHODS = ("problem, budget, rng", "problem", "budget", "rng")


# --- the command line


def commands() -> Iterator[str]:
    """Every command with its usage, options and example."""
    parsers = next(each.choices for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    yield from ["| command | what it is for |", "|---|---|"]
    yield from (f"| [cobic {name}](#cobic-{name}) | {_plain(summary)} |" for name, summary in COMMANDS.items())
    for name, parser in parsers.items():
        parser.formatter_class = partial(argparse.HelpFormatter, width=_WIDTH)
        example = (parser.epilog or "").removeprefix("example: ").strip()
        yield from ["", f"## cobic {name}", "", _plain(parser.description or ""), ""]
        usage = parser.format_usage().removeprefix("usage: ").replace("\n       ", "\n").replace(" [-h]", "", 1)
        yield from ["```text", usage.rstrip(), "```", ""]
        yield from ["Example:", "", "```text", f"$ {example}", "```", ""]
        yield from [f"[Exit codes](exit-codes.md): {_codes(name)}.", "", f"```{{program}} cobic {name}", "```", ""]
        for group in parser._action_groups:
            shown = [action for action in group._group_actions if action.dest != "help"]
            if shown:
                yield from [f"```{{rubric}} {group.title}", "```", ""]
            for action in shown:
                yield from [f"````{{option}} {_spelled(action)}", "", _help(action), "````", ""]


def _codes(command: str) -> str:
    """The exit codes of a command, from the page that explains them."""
    rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", _EXIT_CODES.read_text(encoding="utf-8"), flags=re.M)
    return ", ".join(code for code, commands in rows if commands == "all" or f"`{command}`" in commands)


def _spelled(action: argparse.Action) -> str:
    """All spellings of an option with the value that it takes, or the word for an argument."""
    if not action.option_strings:
        return str(action.metavar or action.dest)
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
    value = "" if action.nargs == 0 else f" {action.metavar or choices}"
    return ", ".join(f"{each}{value}" for each in action.option_strings)


def _help(action: argparse.Action) -> str:
    text = _plain((action.help or "") % vars(action))
    choices = "" if not action.choices else f"({', '.join(f'`{each}`' for each in action.choices)})"
    return f"{text} {choices}".strip()


def _plain(text: str) -> str:
    """A text in which nothing is markup but what stands between backticks, and options."""
    parts = text.split("`")
    parts[::2] = [_OPTION.sub(r"`\1`", re.sub(r"([*_<>|\[\]])", r"\\\1", part)) for part in parts[::2]]
    return "`".join(parts)


# --- the documents


def schemas() -> Iterator[str]:
    """Every document with its keys."""
    printed = sorted(SCHEMAS.glob("cobic-*.json"))
    written = sorted({*SCHEMAS.iterdir()} - {*printed, SCHEMAS / "common.json"})
    for title, documents in (("What commands print", printed), ("What is in folders of answers", written)):
        yield from [f"## {title}", ""]
        for file in documents:
            yield from _document(file)
    yield from ["## Parts that several of them share", ""]
    for name, part in _read(SCHEMAS / "common.json")["$defs"].items():
        if "description" in part and "properties" in part:
            yield from [f"(part-{name})=", f"### {name}", "", f"{part['description']}.", ""]
            yield from _table(part, SCHEMAS / "common.json")


def _document(file: Path) -> Iterator[str]:
    schema, raw = _read(file), f'<a href="../schemas/{file.name}"><code>{file.name}</code></a>'
    yield from [f"### `{schema['title']}`", "", f"{schema['description']} Schema: {raw}.", ""]
    yield from _table(schema, file)


def _table(schema: dict[str, Any], file: Path) -> Iterator[str]:
    yield from ["| key | value | meaning |", "|---|---|---|"]
    yield from (f"| `{key}` | {value} | {meaning} |" for key, value, meaning in rows_of(schema, file))
    yield ""


def rows_of(schema: dict[str, Any], file: Path, before: str = "") -> Iterator[tuple[str, str, str]]:
    """Key, value and meaning of whatever an object holds, and what is in it."""
    properties, needed = _properties(schema, file)
    for key, (each, where) in properties.items():
        value = _value(each, where)
        absent = "" if key in needed or each["description"].startswith("Only") else " *Not always there.*"
        yield f"{before}{key}", value, f"{_plain(each['description'])}.{absent}"
        yield from _inside(each, where, f"{before}{key}")


def _inside(schema: dict[str, Any], file: Path, name: str) -> Iterator[tuple[str, str, str]]:
    """The keys of objects in a value, unless they have a section of their own."""
    for each in schema.get("anyOf", []):
        yield from _inside(each, file, name)
    if schema.get("$ref", "").startswith("#") and file.name != "common.json":
        yield from _inside(*_resolved(schema["$ref"], file), name)
    if isinstance(schema.get("items"), dict):
        yield from _inside(schema["items"], file, f"{name}[]")
    if schema.get("properties"):
        yield from rows_of(schema, file, f"{name}.")


def _properties(schema: dict[str, Any], file: Path) -> tuple[dict[str, tuple[dict[str, Any], Path]], set[str]]:
    """The keys of an object, those of what it refers to first, each with the file it is from; and the needed ones."""
    found: dict[str, tuple[dict[str, Any], Path]] = {}
    needed: set[str] = set(schema.get("required", []))
    for reference in [schema, *schema.get("allOf", [])]:
        if "$ref" in reference:
            properties, required = _properties(*_resolved(reference["$ref"], file))
            found, needed = found | properties, needed | required
    own = {**schema.get("properties", {}), **schema.get("patternProperties", {})}
    described = {key: each for key, each in own.items() if each.get("description")}
    more = {key.strip("^") + ("…" if key.startswith("^") else ""): (each, file) for key, each in described.items()}
    return {**found, **{key: each for key, each in more.items() if key not in found}}, needed | {
        key for key in more if key.endswith("…")
    }


def _resolved(reference: str, file: Path) -> tuple[dict[str, Any], Path]:
    place, _, pointer = reference.partition("#")
    where = SCHEMAS / place if place else file
    part: Any = _read(where)
    for key in filter(None, pointer.split("/")):
        part = part[key]
    return part, where


def _value(schema: dict[str, Any], file: Path) -> str:
    """What a value may be, in words."""
    if "$ref" in schema and "properties" not in schema:
        part, where = _resolved(schema["$ref"], file)
        name = schema["$ref"].rpartition("/")[2]
        if "properties" in part and where.name == "common.json":
            return f"[{name}](#part-{name})"
        return f"as [`{part['title']}`](#{_slug(part['title'])})" if "title" in part else _value(part, where)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_value(each, file) for each in schema["anyOf"]))
    kinds = schema.get("type", "object")
    return " or ".join(_kind(kind, schema, file) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _kind(kind: str, schema: dict[str, Any], file: Path) -> str:
    if kind != "array":
        return _KINDS.get(kind, kind)
    if "prefixItems" in schema:
        return f"[{', '.join(_value(each, file) for each in schema['prefixItems'])}]"
    item = _value(schema["items"], file)
    return f"list of {item}s" if item in (*_KINDS.values(), "object", "number") else f"list of {item}"


def _slug(title: str) -> str:
    """The anchor of a heading, as MyST makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


# --- the methods


def methods() -> Iterator[str]:
    """Every method with its options."""
    for name, method in METHODS.items():
        doc = FunctionDoc(method.solve)
        yield from ["", f"## {name}", "", f"{method.source[:1].upper()}{method.source[1:]}.", ""]
        for parameter in doc["Parameters"]:
            if parameter.name not in _OF_ALL_METHODS:
                yield from [f"`{parameter.name}` : {_plain(parameter.type)}", f": {' '.join(parameter.desc)}", ""]


def effort() -> Iterator[str]:
    """Every limit of the certified search with its reason, from the comments beside or above them."""
    above: list[str] = []
    lines = ["", *(line.strip() for line in inspect.getsource(Effort).splitlines())]
    for before, line in pairwise(lines):
        if line.startswith("#") and not before:
            yield from ["", f"**{line.strip('# .')}**", "", "| limit | default | why |", "|---|---|---|"]
        elif line.startswith("#"):
            above = [*(above if before.startswith("#") else ()), line.strip("# ")]
        elif limit := _LIMIT.fullmatch(line):
            why = limit["why"] or " ".join(above)
            yield f"| `{limit['name']}` | {_shown(getattr(Effort, limit['name']))} | {_plain(why)} |"


def _shown(value: Any) -> str:
    return ", ".join(map(_shown, value)) if isinstance(value, tuple) else f"{value:,}"


# --- for Sphinx

GENERATORS = {each.__name__: each for each in (commands, schemas, methods, effort)}


def filled(text: str) -> str:
    """A page with what is generated in it."""
    return _MARK.sub(lambda found: "\n".join(GENERATORS[found[1]]()), text)


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx what to call."""
    app.connect("source-read", _fill)
    app.connect("autodoc-skip-member", _skip)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = filled(source[0])


def _skip(_app: Any, _what: str, _name: str, member: Any, _skip_it: object, _options: Any) -> bool | None:
    """Leave out what classes have from other packages, as scikit-learn's."""
    module = getattr(getattr(member, "fget", member), "__module__", None)
    foreign = inspect.isroutine(member) if module is None else not module.startswith("cobic")
    return True if foreign else None


def _copy(app: Any, fault: Exception | None) -> None:
    if fault is None and app.builder.format == "html":
        shutil.copytree(SCHEMAS, Path(app.outdir) / "schemas", dirs_exist_ok=True)

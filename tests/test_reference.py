"""The reference names everything that is public, and is generated from what it is about."""

import ast
import builtins
import doctest
import importlib.util
import inspect
import json
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import cobic
from cobic.certified.effort import Effort
from cobic.cli import main
from cobic.methods import METHODS

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
COMMANDS = list(import_module("cobic.cli.main").COMMANDS)
MODULES = {"datasets": cobic.datasets, "plot": cobic.plot}
PUBLIC = {f"cobic.{name}" for name in cobic.__all__} | {
    f"cobic.{module}.{name}" for module, thing in MODULES.items() for name in thing.__all__
}


@pytest.fixture(scope="module")
def generated():
    """The extension that generates pages, which Sphinx loads."""
    pytest.importorskip("numpydoc")
    place = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "_ext" / "generated.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def page(generated, name):
    return generated.filled((PAGES / name).read_text(encoding="utf-8"))


# --- Python


def named_in(text):
    """The names that a page lists: those of summaries, and those that it describes itself."""
    summaries = re.findall(r"\.\. autosummary::\n(?:   :.*\n)*\n((?:   .+\n)+)", text)
    listed = {f"cobic.{name.strip()}" for block in summaries for name in block.splitlines()}
    listed |= {f"cobic.datasets.{name}" for name in re.findall(r"^\.\. py:data:: (\w+)$", text, flags=re.M)}
    return listed | set(re.findall(r"\.\. automodule:: (cobic\.\w+)", text))


def test_every_public_name_is_in_the_reference_and_no_other():
    assert named_in((PAGES / "api.md").read_text(encoding="utf-8")) == PUBLIC
    assert named_in(".. autosummary::\n   :toctree: x\n\n   panel\n   Panel\n\nmore") == {"cobic.panel", "cobic.Panel"}


def documented(name):
    """What a public name is, if it can have an example."""
    thing = cobic
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def unbound(source):
    """The names that some code uses and has not made itself."""
    nodes = list(ast.walk(ast.parse(source)))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made |= {alias.asname or alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    made |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return (
        used
        - made
        - {argument.arg for node in nodes if isinstance(node, ast.arguments) for argument in node.args}
        - {*dir(builtins)}
    )


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example_that_stands_alone(name):
    thing = documented(name)
    assert thing.__doc__
    if not (inspect.ismodule(thing) or isinstance(thing, dict)):
        examples = doctest.DocTestParser().get_examples(thing.__doc__)
        assert examples
        source = "".join(example.source for example in examples)
        assert unbound(source) == set()
        assert "from cobic." not in source


def test_what_an_example_lacks_is_seen():
    assert unbound("import a\nb = [c for c in a.x]\nd(b)") == {"d"}


# --- the command line


def helped(capsys, *words):
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    return capsys.readouterr().out


def test_every_command_is_on_its_page(generated, capsys):
    text = page(generated, "cli.md")
    commands = re.findall(r"^    (\w+)\b", helped(capsys), flags=re.M)
    assert re.findall(r"^## cobic (\w+)$", text, flags=re.M) == commands == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_on_the_page(command, generated, capsys):
    section = page(generated, "cli.md").partition(f"\n## cobic {command}\n")[2].partition("\n## ")[0]
    said = helped(capsys, command).partition("\n\n")[2]
    spelled = re.findall(r"^````\{option\} (.*)$", section, flags=re.M)
    options = set(re.findall(r"(?<!\S)--?[\w-]+", " ".join(spelled)))
    lines = [line for line in said.splitlines() if re.match(r"  --?\w", line)]
    in_help = {word for line in lines for word in re.findall(r"(?:^  |, )(--?[\w-]+)", line.split("   ")[0])}
    assert options | {"-h", "--help"} == in_help | {"-h", "--help"}
    assert f"$ cobic {command}" in section or f"cobic {command} " in section
    for line in section.splitlines():
        if line.startswith("````{option}"):
            assert line.strip()


def test_exit_codes_are_those_of_the_code():
    text = (PAGES / "exit-codes.md").read_text(encoding="utf-8")
    codes = {value for name, value in vars(import_module("cobic.cli.main")).items() if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, flags=re.M)} == codes | {0}


# --- documents, methods, limits


def keys_of(schema):
    """Every key that a schema knows, however deep."""
    if isinstance(schema, dict):
        for name, part in schema.items():
            if name == "properties":
                yield from (key for key, each in part.items() if isinstance(each, dict) and "description" in each)
            yield from keys_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys_of(part)


def test_every_document_and_every_key_is_on_its_page(generated):
    text = page(generated, "schemas.md")
    listed = {re.split(r"[.\[]", key)[-1].strip("]. ") for key in re.findall(r"^\| `([^`]+)` \|", text, flags=re.M)}
    for file in generated.SCHEMAS.glob("*.json"):
        schema = json.loads(file.read_text(encoding="utf-8"))
        assert file.name == "common.json" or f"### `{schema['title']}`" in text
        assert set(keys_of(schema)) <= listed, file.name
    names = set(re.findall(r'href="\.\./schemas/([\w.-]+)"', text))
    assert names == {path.name for path in generated.SCHEMAS.glob("*.json")} - {"common.json"}
    anchors = {f"part-{name}" for name in re.findall(r"^\(part-(\w+)\)=$", text, flags=re.M)}
    assert set(re.findall(r"\(#(part-\w+)\)", text)) <= anchors


@pytest.mark.parametrize(
    ("name", "heading", "schema"),
    [("files.md", "## The model file", "model.json"), ("certificate.md", "# The certificate", "certificate.json")],
)
def test_what_pages_say_of_keys_is_what_schemas_say(name, heading, schema, generated):
    part = (ROOT / "docs" / name).read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    keys = [key for cell in re.findall(r"^\| (`[^|]+`) \|", part, flags=re.M) for key in re.findall(r"`(\w+)`", cell)]
    assert sorted(keys) == sorted(json.loads((generated.SCHEMAS / schema).read_text(encoding="utf-8"))["properties"])


def test_every_option_of_every_method_and_every_limit_is_on_its_page(generated):
    text = page(generated, "methods.md")
    for name, method in METHODS.items():
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        listed = [each for line in re.findall(r"^`([\w, ]+)` : ", section, flags=re.M) for each in line.split(", ")]
        assert listed == list(method.options)
    assert re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", text, flags=re.M) == [field.name for field in fields(Effort)]


# --- what goes


def endless_deprecations(source):
    """Warnings that something will go which do not say in which version."""
    for node in ast.walk(ast.parse(source)):
        said = ast.unparse(node) if isinstance(node, ast.Call) and "warn" in ast.unparse(node.func) else ""
        if "DeprecationWarning" in said and not re.search(r"\b(in|from|with) (version )?\d+\.\d+\b", said):
            yield said


def test_what_is_deprecated_says_in_which_version_it_ends():
    for file in SOURCES:
        assert list(endless_deprecations(file.read_text(encoding="utf-8"))) == [], file.name
    said = "warnings.warn('ties is called draws: it ends in 0.4', DeprecationWarning, stacklevel=2)"
    assert list(endless_deprecations(said)) == []
    assert list(endless_deprecations("warn('ties is called draws', category=DeprecationWarning)"))

"""The order of the rooms: each knows only those behind it, wherever in a file it asks for them."""

import ast
from pathlib import Path

import cobic

# From the back of the house to the front; a room knows itself and what is named before it.
ROOMS = (
    "errors",
    "checks",
    "matrix",
    "problem",
    "checker",
    "search",
    "certified",
    "io",
    "methods",
    "datasets",
    "answer",
    "analyses",
    "report",
    "plot",
    "estimator",
    "adata",
    "cli",
    "__main__",
)
HOUSE = Path(cobic.__file__).parent


def rooms_asked_for(source: str) -> set[str]:
    """The rooms from which some source code imports, also within functions; not what only a type checker reads."""
    asked = set()
    tree = ast.parse(source)
    for_types = {id(each) for node in ast.walk(tree) if is_for_types(node) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            asked |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "cobic":
            asked |= {f"cobic.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            asked.add(node.module)
    return {name.split(".")[1] for name in asked if name.startswith("cobic.")}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def wrong_imports(room: str, source: str) -> set[str]:
    return rooms_asked_for(source) - set(ROOMS[: ROOMS.index(room) + 1])


def room_of(file: Path) -> str:
    return file.relative_to(HOUSE).parts[0].removesuffix(".py")


def test_a_room_knows_only_those_behind_it():
    wrong = {}
    for file in sorted(HOUSE.rglob("*.py")):
        if file != HOUSE / "__init__.py" and (asked := wrong_imports(room_of(file), file.read_text(encoding="utf-8"))):
            wrong[str(file.relative_to(HOUSE))] = asked
    assert wrong == {}


def test_the_checker_knows_the_problem_only():
    behind = {"checker", "errors", "checks", "matrix", "problem"}
    assert all(rooms_asked_for(file.read_text(encoding="utf-8")) <= behind for file in (HOUSE / "checker").glob("*.py"))


def test_a_wrong_import_is_seen():
    assert wrong_imports("problem", "def f():\n    from cobic.report.page import render\n") == {"report"}
    assert wrong_imports("problem", "from cobic import plot\n") == {"plot"}
    assert wrong_imports("report", "import cobic.matrix\nfrom cobic.problem import Problem\n") == set()


def test_every_module_lives_in_a_room():
    modules = {file.stem for file in HOUSE.glob("*.py")}
    assert modules == {"__init__", "__main__", "adata", "checks", "errors", "plot"}
    assert {folder.name for folder in HOUSE.iterdir() if (folder / "__init__.py").is_file()} == set(ROOMS) - modules


def test_no_file_is_long():
    lengths = {
        str(file.relative_to(HOUSE)): len(file.read_text(encoding="utf-8").splitlines()) for file in HOUSE.rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > 450} == {}


def is_number(value: ast.AST | None) -> bool:
    """Whether an expression is made of numbers alone."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(is_number, value.elts))
    if isinstance(value, ast.BinOp):
        return is_number(value.left) and is_number(value.right)
    return isinstance(value, ast.UnaryOp) and is_number(value.operand)


def bare_numbers(source: str) -> list[str]:
    """Numbers of a module without a comment on their line, or on the one above."""
    lines = source.splitlines()
    return [
        lines[node.lineno - 1]
        for node in ast.parse(source).body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and is_number(node.value)
        if not any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        if not lines[node.lineno - 2].startswith("#")
    ]


def test_every_number_has_its_reason_beside_it():
    bare = {
        str(file.relative_to(HOUSE)): bare_numbers(file.read_text(encoding="utf-8")) for file in HOUSE.rglob("*.py")
    }
    assert {name: numbers for name, numbers in bare.items() if numbers} == {}
    assert bare_numbers("import os\n_MANY = 1 << 4\n# Few.\n_FEW = 3\n_SOME = 2  # two\n") == ["_MANY = 1 << 4"]

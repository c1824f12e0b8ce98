"""What is written about cobic is true: docstrings are complete, examples run, the rooms keep their rules."""

import ast
import inspect
import os
import re
import runpy
import shlex
import subprocess
import sys
import tarfile
import time
import tomllib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from numpydoc.validate import validate

import cobic
from clocks import time_by
from cobic.cli import main
from cobic.cli.main import build_parser
from cobic.io import table_text
from cobic.methods import METHODS

ROOT = Path(__file__).parents[1]
READERS = ("excel", "hdf", "parquet", "r", "zarr", "zstd")
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# ES01: no extended summary; SA01, SA04: See Also; EX01: no example; GL01, SS03, SS05, SS06: form of the first line.
OPTIONAL = {"ES01", "SA01", "SA04", "EX01", "GL01", "GL03", "SS03", "SS05", "SS06", "RT03", "RT04", "PR08", "PR09"}


def public_objects():
    for name in cobic.__all__:
        thing = getattr(cobic, name)
        if not inspect.ismodule(thing):
            yield f"cobic.{name}"
    for name in cobic.datasets.__all__:
        if inspect.isfunction(getattr(cobic.datasets, name)):
            yield f"cobic.datasets.{name}"
    for method in METHODS.values():
        yield f"{method.solve.__module__}.solve"
    for name in cobic.plot.__all__:
        yield f"cobic.plot.{name}"
    for name in ("is_consistent", "margins", "ambiguous_features"):
        yield f"cobic.Problem.{name}"


@pytest.mark.parametrize("name", list(public_objects()))
def test_public_docstrings_are_complete(name):
    faults = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in OPTIONAL]
    # numpydoc wants class parameters of exceptions, enums and dataclasses that list attributes instead.
    faults = [fault for fault in faults if not fault.startswith(("PR01", "PR02")) or name.split(".")[-1].islower()]
    assert faults == []


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


BUILT = {"_build", "generated"}  # what `make docs` makes
PAGES = sorted(ROOT.glob("*.md"))
PAGES += [page for page in sorted((ROOT / "docs").rglob("*.md")) if not BUILT.intersection(page.parts)]
# The others are run by tests/test_tasks.py.
READ_ALONE = [page for page in PAGES if page.parent.name != "tasks" and page.name != "reading.md"]


def named(pages, marks):
    return [pytest.param(page, marks=marks(page), id=str(page.relative_to(ROOT))) for page in pages]


def marks_of(page):
    return [pytest.mark.real_data] if any("load_" in block for block in blocks(page, "python")) else []


@pytest.mark.parametrize("page", named(READ_ALONE, marks_of))
def test_python_examples_run(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        if "load_" in block:
            request.getfixturevalue("real_data")
        with time_by(time.monotonic):  # as for users: nothing here depends on what is found until the limit
            exec(compile(block, str(page), "exec"), {})


# What a block may be. Python and R are run, of console what begins with $ cobic and takes seconds (the parser knows the
# rest); the others show what was printed or is in a file. What stands in braces is no code.
RUN, SHOWN = {"python", "console", "r"}, {"text", "json", "csv", "yaml", "toml"}


@pytest.mark.parametrize("page", named(PAGES, lambda _: []))
def test_every_block_is_run_or_shown(page):
    fences = re.findall(r"^ *```+(.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kinds = [kind.strip() for kind in fences if kind.strip()]
    assert len(fences) == 2 * len(kinds)
    assert {kind for kind in kinds if not kind.startswith("{")} <= RUN | SHOWN
    assert "r" not in kinds or page not in READ_ALONE


@pytest.mark.long
def test_the_tutorial_runs_and_finds_what_was_planted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("matplotlib.pyplot.subplots", lambda **_: (None, Figure().subplots()))  # without a screen
    with time_by(time.monotonic):  # as for readers
        names = runpy.run_path(str(ROOT / "docs" / "gallery" / "plot_tutorial.py"))
    assert set(names["suspects"]["sample"].head(2)) == set(names["mislabelled"])
    assert len(names["best"]) == 30
    assert names["result"].consistent
    assert (names["predicted"] == names["new"].y).mean() > 0.8
    assert "a selection of" in capsys.readouterr().out
    assert {path.name for path in names["lab"].iterdir()} == {"lab.csv", "new.csv", "best-genes.csv", "model.json"}


@pytest.mark.parametrize("page", named(PAGES, lambda _: []))
def test_links_lead_somewhere_without_the_site(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    inside = [link for link in links if "://" not in link and "auto_gallery" not in link]
    assert [link for link in inside if not (page.parent / link).exists()] == []


def test_every_page_has_one_place_on_the_site():
    start, pages = ROOT / "docs" / "index.md", [page for page in PAGES if page.parent != ROOT]
    lists = [(page, block) for page in pages for block in blocks(page, "{toctree}")]
    listed = Counter(
        (page.parent / re.sub(r".*<(.*)>", r"\1", line)).resolve()
        for page, block in lists
        for line in block.splitlines()
        if line and not line.startswith(":") and "auto_gallery" not in line
    )
    assert listed == Counter(page.with_suffix("") for page in pages if page != start)


def commands_of(page):
    """What a page says to type, without the comments beside it."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    return [shlex.split(line[2:].partition(" > ")[0], comments=True) for line in lines if line.startswith("$ cobic ")]


@pytest.mark.parametrize("page", named([page for page in PAGES if commands_of(page)], lambda _: []))
def test_commands_are_known_to_the_parser(page):
    for _, *words in commands_of(page):
        build_parser().parse_args(words)


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A folder with the tables that the examples of panels name."""
    data = cobic.datasets.make_expression(n_features=80, informative=0.8, seed=1)
    (tmp_path / "leukaemia.csv").write_text(table_text(data), encoding="utf-8")
    (tmp_path / "new.csv").write_text(table_text(data.test), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def laboratory(workshop, real_data):
    """The same with the real files that other examples name."""
    with tarfile.open(real_data / "binary" / "alon.tar.gz") as archive:
        archive.extractall(workshop, filter="data")
    assert main(["datasets", "golub", "--out", "data"]) == 0
    return workshop


@pytest.mark.processes
@pytest.mark.parametrize("page", ["index.md", "panels.md"])
def test_commands_run(page, workshop):
    run_commands(page, workshop)


@pytest.mark.real_data
@pytest.mark.parametrize("page", ["first.md", "report.md", "rivals.md"])
def test_commands_on_real_data_run(page, laboratory):
    run_commands(page, laboratory)


def run_commands(page, folder):
    (folder / "bin").mkdir()
    (folder / "bin" / "cobic").symlink_to(Path(sys.executable).parent / "cobic")
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    for command in commands_of(ROOT / "docs" / page):
        if command[1] != "reproduce":  # half a minute; tested row by row elsewhere
            force = ["--force"] if command[1:3] == ["datasets", "golub"] else []
            ended = subprocess.run(
                [*command, *force], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, (command, ended.stderr)


def test_what_inspect_says_is_what_the_page_shows(real_data, monkeypatch, capsys):
    monkeypatch.chdir(real_data / "golub")
    (console,) = blocks(ROOT / "docs" / "inspect.md", "console")
    command, _, told = console.partition("\n")
    assert main(shlex.split(command)[2:]) == 0
    assert capsys.readouterr().out == told


@pytest.fixture(scope="module")
def imports():
    """What each module of the source imports, by its place in the package."""
    return {str(path.relative_to(ROOT / "src" / "cobic")): set(imports_of(path)) for path in SOURCES}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize(
    ("package", "rooms"),
    [
        ("highspy", {"search/lp.py"}),
        # problem/grouping.py: a flow that tells whether groups leave enough features.
        (
            "scipy.sparse",
            {"matrix/convert.py", "matrix/sparse.py", "matrix/stored.py", "io/sparse.py", "problem/grouping.py"},
        ),
        ("scipy.io", {"io/annotated.py"}),
        ("subprocess", {"io/annotated.py"}),
        ("h5py", {"io/hdf_probe.py"}),  # a program of its own; the others are imported where a file needs them
        ("zarr", set()),
        ("dask", {"matrix/chunked.py"}),
        ("openpyxl", set()),
        ("pyarrow", set()),
        ("rdata", set()),
        ("zstandard", set()),
        ("rich", {"cli/common.py", "cli/reproduce.py"}),
        ("sklearn", {"analyses/folds.py", "estimator/base.py", "estimator/biclustering.py", "estimator/panel.py"}),
        ("joblib", {"search/cluster.py", "search/parallel.py"}),
        ("distributed", {"search/cluster.py"}),
        ("matplotlib", {"analyses/picture.py", "plot.py"}),
        ("bokeh", {"report/figures.py"}),
        ("jinja2", {"report/page.py"}),
        ("anndata", {"adata.py"}),
        ("pooch", {"datasets/public.py"}),
        ("time", {"search/budget.py"}),
        ("threadpoolctl", {"matrix/pool.py"}),
        ("pickle", set()),
    ],
)
def test_a_room_knows_only_what_it_should(imports, package, rooms):
    found = {
        place
        for place, names in imports.items()
        if any(name == package or name.startswith(f"{package}.") for name in names)
    }
    assert found == rooms


def test_one_extra_has_the_libraries_of_all_readers():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert sorted(extras["readers"]) == sorted(library for name in READERS for library in extras[name])
    named = [re.findall(r'needed\("[\w.]+", "(\w+)"\)', path.read_text(encoding="utf-8")) for path in SOURCES]
    assert {extra for extras in named for extra in extras} == {*READERS, "scale"}


def test_every_public_name_is_there_and_documented():
    assert list(cobic.__all__) == sorted(cobic.__all__)
    for name in cobic.__all__:
        assert inspect.getdoc(getattr(cobic, name))


@pytest.mark.parametrize("name", [name for name in public_objects() if not name.startswith("cobic.methods")])
def test_signatures_can_be_read(name):
    thing = cobic
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    with suppress(ValueError, TypeError):
        signature = str(inspect.signature(thing))
        assert not re.search(r"\b(numpy|cobic|collections)\.|_[A-Z]", signature)


def test_dir_shows_the_public_names_only():
    assert set(dir(cobic)) == {*cobic.__all__, "__version__"}

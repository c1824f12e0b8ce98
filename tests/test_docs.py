"""What is written about cobic is true: docstrings are complete, examples run, the rooms keep their rules."""

import ast
import inspect
import os
import re
import runpy
import shlex
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from numpydoc.validate import validate

import cobic
from clocks import time_by
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


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG_PAGES = {"analyses.md"}


def marks_of(page):
    if any("load_" in block for block in blocks(page, "python")):
        return [pytest.mark.real_data]
    return [pytest.mark.long] if page.name in LONG_PAGES else []


@pytest.mark.parametrize("page", [pytest.param(page, marks=marks_of(page), id=page.name) for page in PAGES])
def test_python_examples_run(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        if "load_" in block:
            request.getfixturevalue("real_data")
        with time_by(time.monotonic):  # as for users: nothing here depends on what is found until the limit
            exec(compile(block, str(page), "exec"), {})


@pytest.mark.long
def test_the_tutorial_runs_and_finds_what_was_planted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with time_by(time.monotonic):  # it limits its path to seconds; what is asserted is found before that
        names = runpy.run_path(str(ROOT / "docs" / "tutorial.py"))
    assert set(names["suspects"]["sample"].head(2)) == set(names["mislabelled"])
    assert len(names["best"]) == 30
    assert names["result"].consistent
    assert (names["predicted"] == names["new"].y).mean() > 0.8
    assert "a selection of" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"lab.csv", "new.csv", "best-genes.csv", "model.json"}


def test_console_examples_of_the_readme_run(real_data, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cobic").symlink_to(Path(sys.executable).parent / "cobic")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    commands = [
        line.removeprefix("$ ")
        for block in blocks(ROOT / "README.md", "console")
        for line in block.splitlines()
        if line.startswith("$ cobic ")
    ]
    assert len(commands) >= 3
    for command in commands:
        if shlex.split(command, comments=True)[1] != "reproduce":  # minutes; tested row by row elsewhere
            ended = subprocess.run(
                shlex.split(command, comments=True),
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == 0, (command, ended.stderr)


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

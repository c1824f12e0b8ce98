"""What is released says the same everywhere: version, date, dependencies, commands."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
FORMS = [f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("bug", "question", "feature")]
WORKFLOWS = [".github/workflows/ci.yml", ".github/workflows/release.yml"]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version_and_one_date():
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    citation = yaml.safe_load(text_of("CITATION.cff"))
    told = re.findall(r"cobic, version (\d[\d.]*\d)", text_of("README.md"))
    assert (citation["version"], str(citation["date-released"])) == newest.groups()
    assert {citation["version"], *told} == {PROJECT["version"]}
    assert citation["license"] == PROJECT["license"]


def faults(schema, *files):
    """What a published schema, as check-jsonschema ships it, has against files; nothing if they are valid."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return ended.stdout if ended.returncode else ""


@pytest.mark.parametrize(
    ("schema", "files", "needed"),
    [
        ("citation-file-format", ["CITATION.cff"], "title:"),
        ("github-workflows", WORKFLOWS, "runs-on:"),
        ("github-issue-forms", FORMS, "description:"),
        ("github-issue-config", [".github/ISSUE_TEMPLATE/config.yml"], "blank_issues_enabled:"),
    ],
)
def test_files_for_others_follow_their_schemas(schema, files, needed, tmp_path):
    assert faults(schema, *files) == ""
    damaged = tmp_path / Path(files[0]).name
    damaged.write_text(text_of(files[0]).replace(needed, f"no-{needed}", 1), encoding="utf-8")
    assert "no-" in faults(schema, damaged)


def normal(requirements):
    """Requirements as a set, whatever their spaces; only those that every user needs."""
    return {re.sub(r"\s", "", each) for each in requirements}


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = yaml.safe_load(text_of("conda-recipe/recipe.yaml"))
    python = f">={recipe['context']['python_min']}"
    needs = recipe["requirements"]
    assert recipe["context"]["version"] == PROJECT["version"]
    assert python == PROJECT["requires-python"]
    assert normal(needs["run"]) == normal(["python >=${{ python_min }}", *PROJECT["dependencies"]])
    assert normal(PYPROJECT["build-system"]["requires"]) < normal(needs["host"])
    commands = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (PROJECT["license"], PROJECT["description"])


def test_a_commit_is_checked_by_the_commands_of_the_makefile():
    hooks = [hook for repo in yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    assert [hook["entry"] for hook in hooks] == ["make lint"]
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", text_of("Makefile"), flags=re.MULTILINE).group(1)
    assert [line.split()[0].rpartition("/")[2] for line in lint.splitlines()] == ["ruff", "ruff", "mypy"]


def test_what_workflows_and_contributors_run_is_there():
    targets = set(re.findall(r"^([\w-]+):", text_of("Makefile"), flags=re.MULTILINE))
    told = "\n".join(map(text_of, [*WORKFLOWS, "CONTRIBUTING.md", ".ci/run"]))
    assert set(re.findall(r"(?:run: |^\$ |^|`)make ([\w-]+)", told, flags=re.MULTILINE)) <= targets
    scripts = set(re.findall(r"\.ci/\w+", told))
    assert {".ci/run", ".ci/release"} <= scripts
    assert all((ROOT / name).stat().st_mode & 0o100 for name in scripts)


def test_the_source_package_has_what_its_tests_and_readers_need():
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / name).exists() for name in included)
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert {name.partition("/")[0] for name in kept} <= {*included, ".gitignore", "pyproject.toml"}

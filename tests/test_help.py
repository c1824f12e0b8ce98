"""Shells complete what the parser knows; the examples in the help texts run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cobic
from cobic.cli import main
from cobic.cli.main import build_parser
from cobic.io import table_text
from cobic.methods import METHODS

COMMANDS = next(action.choices for action in build_parser()._actions if action.choices)


def script(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def completed_by_bash(text, *words):
    quoted = " ".join(shlex.quote(word) for word in ("cobic", *words))
    ask = f'COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _cobic; printf "%s\\n" "${{COMPREPLY[@]}}"'
    ended = subprocess.run(["bash", "-c", f"{text}\n{ask}"], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    return set(ended.stdout.split())


def test_bash_completes_commands_options_and_choices(capsys, tmp_path, monkeypatch):
    text = script(capsys, "bash")
    monkeypatch.chdir(tmp_path)
    Path("data.csv").touch()
    assert completed_by_bash(text, "") >= set(COMMANDS)
    assert completed_by_bash(text, "se") == {"select"}
    assert completed_by_bash(text, "select", "--fixed") == {"--fixed-in", "--fixed-out"}
    assert completed_by_bash(text, "select", "x.csv", "--ties", "") == {"first", "exclude"}
    assert completed_by_bash(text, "select", "x.csv", "--method", "") == set(METHODS)
    assert completed_by_bash(text, "completion", "") >= {"bash", "zsh", "fish"}
    assert completed_by_bash(text, "select", "da") == {"data.csv"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_is_in_the_script(capsys, shell):
    text = script(capsys, shell)
    for name, parser in COMMANDS.items():
        assert name in text
        for action in parser._actions:
            for spelling in action.option_strings:
                assert spelling.lstrip("-") in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_accept_their_script(capsys, shell, tmp_path):
    text = script(capsys, shell)
    needs(shell)
    file = tmp_path / "script"
    file.write_text(text)
    ended = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_fish_completes(capsys, tmp_path):
    text = script(capsys, "fish")
    needs("fish")
    (tmp_path / "script").write_text(text)
    asked = {"cobic se": "select", "cobic select --ties ": "exclude", "cobic select --slack": "--slack-penalty"}
    for line, word in asked.items():
        command = f"source {tmp_path / 'script'}; complete -C {shlex.quote(line)}"
        ended = subprocess.run(["fish", "-c", command], capture_output=True, text=True, check=True)
        assert word in ended.stdout, line


def test_an_unknown_shell_is_one_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["completion", "tcl"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


# --- the examples


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with the data that the examples name."""
    folder = tmp_path_factory.mktemp("workshop")
    data = cobic.datasets.make_expression(n_features=80, informative=0.8, seed=1)
    (folder / "leukaemia.csv").write_text(table_text(data))
    (folder / "new.csv").write_text(table_text(data.test))
    write_gct(folder / "leukaemia", data)
    write_gct(folder / "new", data.test)
    return folder


@pytest.fixture(scope="module")
def workshop(tables):
    """The same folder, with the answers that the examples name."""
    for command in (
        ["select", "leukaemia.csv", "--labels", "class", "--alpha", "50", "--out", "answer"],
        ["path", "leukaemia.csv", "--labels", "class", "--alphas", "0,10", "--cv", "0", "--out", "curve"],
    ):
        ended = cobic_process(tables, *command)
        assert ended.returncode == 0, ended.stderr
    return tables


def write_gct(stem, data):
    """The same data as GenePattern has them: a GCT and a CLS file."""
    lines = ["#1.2", f"{data.X.shape[1]}\t{data.X.shape[0]}", "\t".join(["Name", "Description", *data.sample_names])]
    lines += ["\t".join([name, "na", *map(repr, data.X[:, i].tolist())]) for i, name in enumerate(data.feature_names)]
    stem.with_suffix(".gct").write_text("\n".join(lines) + "\n")
    classes = sorted(set(data.y.tolist()))
    numbers = " ".join(str(classes.index(label)) for label in data.y.tolist())
    stem.with_suffix(".cls").write_text(f"{data.y.size} {len(classes)} 1\n# {' '.join(classes)}\n{numbers}\n")


def cobic_process(folder, *arguments, **settings):
    command = [sys.executable, "-m", "cobic", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120, **settings)


def examples(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([*command, "--help"])
    assert exit_.value.code == 0
    told = re.sub(r"\s*\n\s*", " ", capsys.readouterr().out)
    return told[told.index("example: ") + len("example: ") :].strip()


@pytest.mark.processes
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_example_of_every_help_text_works(command, capsys, workshop, tmp_path, request):
    example = examples([command] if command else [], capsys)
    assert "cobic" in example
    if command in ("reproduce", "datasets"):
        request.getfixturevalue("real_data")
    folder = tmp_path / "copy"
    shutil.copytree(workshop, folder)
    for made in ("answer", "curve"):
        if f"--out {made}" in example:
            shutil.rmtree(folder / made)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cobic").write_text(f'#!/bin/sh\nexec {sys.executable} -m cobic "$@"\n')
    (tmp_path / "bin" / "cobic").chmod(0o755)
    shortened = example.replace("golub:alpha notterman:beta=2", "golub:alpha=50")  # the same words, seconds not minutes
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-c", shortened], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.processes
def test_the_report_takes_what_select_takes(workshop, tmp_path):
    files = ["leukaemia.gct", "--labels-file", "leukaemia.cls"]
    assert cobic_process(workshop, "select", *files, "--out", str(tmp_path / "answer")).returncode == 0
    new = ["--new", "new.gct", "--new-labels-file", "new.cls", "--out", str(tmp_path / "page.html")]
    ended = cobic_process(workshop, "report", str(tmp_path / "answer"), *files, *new)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "of 34 samples that took no part are given their class" in (tmp_path / "page.html").read_text()
    new = ["--new", "new.gct", "--out", str(tmp_path / "page.html"), "--force"]
    ended = cobic_process(workshop, "report", str(tmp_path / "answer"), *files, *new)
    assert ended.returncode == 2
    assert "in the order of its samples: give those of new.gct with --new-labels-file" in ended.stderr
    ended = cobic_process(workshop, "report", str(tmp_path / "answer"), *files, *new, "--new-without-classes")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "34 samples without a class were classified" in (tmp_path / "page.html").read_text()


# --- colours


@pytest.mark.parametrize("settings", [{}, {"NO_COLOR": "1"}])
def test_no_colours_where_nobody_sees_them(tables, settings):
    environment = {**os.environ, **settings}
    ended = cobic_process(tables, "demo", "--method", "fixed-point", env=environment)
    assert "\x1b" not in ended.stdout + ended.stderr
    if settings and shutil.which("script"):
        command = f"{sys.executable} -m cobic select leukaemia.csv --labels class"
        live = subprocess.run(
            ["script", "-qec", command, "/dev/null"],
            cwd=tables, env={**environment, "TERM": "xterm-256color"}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert not re.search(r"\x1b\[[0-9;]*[1-9][0-9;]*m", live.stdout)


@pytest.mark.parametrize(("command", "what"), [("path", "of each fit"), ("stability", "of each run")])
def test_the_help_says_of_what_the_time_limit_is(command, what, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"--time-limit SECONDS {what}".strip() in " ".join(capsys.readouterr().out.split())

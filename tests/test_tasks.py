"""What pages of docs/tasks and reading.md say, they do: blocks run, from top to bottom, and print what stands below."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clocks import time_by

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs" / "tasks").glob("*.md")), ROOT / "docs" / "reading.md"]
BLOCK = re.compile(r"^```(python|text|console|r)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
R_IS_THERE = shutil.which("Rscript") is not None


def steps(page):
    """What a page runs and shows, in its order: language, lines to run, what is printed (None: not shown)."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    followers = [*blocks, ("", "")][1:]
    for (language, body), (after, shown) in zip(blocks, followers, strict=True):
        if language == "console":
            for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                yield language, command, printed or None
        elif language != "text":
            yield language, body, shown if after == "text" else None


def marks_of(page):
    return [pytest.mark.processes] if any(language != "python" for language, _, _ in steps(page)) else []


def printed_by_command(command, folder, environment):
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (command, ended.stderr)
    return ended.stdout + ended.stderr


def pattern(shown):
    """What is shown as an expression: … is whatever is not shown, blanks at the ends of lines do not count."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in shown.strip("\n").splitlines()]
    return re.compile("\n".join(lines), re.DOTALL)


@pytest.mark.parametrize("page", [pytest.param(page, marks=marks_of(page), id=page.stem) for page in PAGES])
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "RETICULATE_PYTHON": sys.executable, "COLUMNS": "120"}
    (tmp_path / "checker").symlink_to(ROOT / "checker")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for language, body, shown in steps(page):
        if language == "python":
            with time_by(time.monotonic):  # as for readers
                exec(compile(body, str(page), "exec"), {"__name__": "__main__"})
            printed = capsys.readouterr().out
        elif language == "console":
            words = shlex.split(body, comments=True)
            if words[0] not in ("cobic", "node") or shutil.which(words[0], path=environment["PATH"]) is None:
                continue  # another's program
            unhurried = ["--time-limit", "0"] if words[1:2] == ["frontier"] else []  # what it shows ends by itself
            printed = printed_by_command([*words, *unhurried], tmp_path, environment)
        elif R_IS_THERE:
            printed = printed_by_command(["Rscript", "-e", body], tmp_path, environment)
        else:
            continue
        if shown is not None:
            plain = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
            assert pattern(shown).fullmatch(plain), f"{body}\nprints\n{plain}"

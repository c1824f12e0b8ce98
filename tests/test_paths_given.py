"""Every argument that is a path, and everything that can be wrong with it: one line, exit code 2, no waiting."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

import cobic
from cobic.cli import main
from cobic.io import table_text
from plain_user import run

DATA = cobic.datasets.make_expression(40, seed=1)
AS_DATA = ["--labels", "class"]

# What stands in place of PATH is wrong; PLACE is a folder with good files.
READ = {
    "data of inspect": ["inspect", "PATH"],
    "data of select": ["select", "PATH", *AS_DATA],
    "data of panel": ["panel", "PATH", *AS_DATA],
    "labels": ["select", "PLACE/d.csv", "--labels-file", "PATH"],
    "groups": ["select", "PLACE/d.csv", *AS_DATA, "--groups", "PATH"],
    "model": ["classify", "PATH", "PLACE/d.csv"],
    "certificate": ["verify", "PATH", "PLACE/d.csv", *AS_DATA],
    "new": ["report", "PLACE/answer", "PLACE/d.csv", *AS_DATA, "--new", "PATH", "--out", "PLACE/new.html"],
    "new labels": [
        *("report", "PLACE/answer", "PLACE/d.csv", *AS_DATA, "--new", "PLACE/d.csv"),
        *("--new-labels-file", "PATH", "--out", "PLACE/new.html"),
    ],
}
FOLDERS = {
    "answer": ["report", "PATH", "PLACE/d.csv", *AS_DATA, "--out", "PLACE/new.html"],
    "path": ["report", "PLACE/answer", "PLACE/d.csv", *AS_DATA, "--path", "PATH", "--out", "PLACE/new.html"],
    "out of select": ["select", "PLACE/d.csv", *AS_DATA, "--out", "PATH"],
    "out of panel": ["panel", "PLACE/d.csv", *AS_DATA, "--size", "2", "--out", "PATH"],
    "out of path": ["path", "PLACE/d.csv", *AS_DATA, "--alphas", "0", "--cv", "0", "--out", "PATH"],
}
WRITTEN = {
    "report of select": ["select", "PLACE/d.csv", *AS_DATA, "--report", "PATH", "--force"],
    "out of report": ["report", "PLACE/answer", "PLACE/d.csv", *AS_DATA, "--out", "PATH", "--force"],
    "out of classify": ["classify", "PLACE/answer/model.json", "PLACE/d.csv", *AS_DATA, "--out", "PATH", "--force"],
    "out of export": ["export", "PLACE/d.csv", *AS_DATA, "--out", "PATH", "--force"],
    "make": ["datasets", "--make", "PATH", "--features", "20", "--samples", "4", "--force"],
}
WRONG = ("no entry", "no entry to its folder", "name too long", "links in a circle", "a folder", "a file", "a pipe")


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "d.csv"
        table.write_text(table_text(DATA))
        assert main(["select", str(table), *AS_DATA, "--json", "--out", str(Path(folder) / "answer")]) == 0
        yield Path(folder)


def wrong(place, what, ending=""):
    """Make something that is wrong in that way."""
    path = place / f"wrong{ending}"
    if path.is_dir() and not path.is_symlink():
        path.chmod(0o700)
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if what == "name too long":
        return place / ("x" * 300 + ending)
    if what == "links in a circle":
        path.symlink_to(path)
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "a file":
        path.write_text("x")
    else:
        path.mkdir()
        if what != "a folder":
            path.chmod(0)
    return path / f"inside{ending}" if what == "no entry to its folder" else path


CASES = [
    (name, what)
    # A link that leads nowhere is replaced by what is written, and --make replaces what has its name.
    for group, fine in ((READ, ()), (FOLDERS, ("a folder",)), (WRITTEN, ("a file", "links in a circle")))
    for name in group
    for what in WRONG
    if what not in fine and (name, what) not in (("make", "a pipe"), ("certificate", "a file"))
]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_a_path_that_cannot_be_used_is_one_line(place, tmp_path, name, what):
    path = wrong(place, what, ".h5ad" if name == "make" else "")
    arguments = {**READ, **FOLDERS, **WRITTEN}[name]
    filled = [word.replace("PLACE", str(place)).replace("PATH", str(path)) for word in arguments]
    code = run(filled, tmp_path / "told")
    told = (tmp_path / "told").read_text()
    assert code in (2, 4), told
    lines = [line for line in told.splitlines() if not line.startswith("cobic: about ")]
    assert len(lines) == 1, told
    assert str(path)[:200] in told


def test_a_page_for_which_there_is_no_place_is_refused_before_the_work(place, tmp_path, monkeypatch):
    monkeypatch.delattr("cobic.cli.select.solve")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    code = run(["select", place / "d.csv", *AS_DATA, "--report", locked / "page.html"], tmp_path / "told")
    assert code == 2
    assert (tmp_path / "told").read_text() == f"cobic: cannot write {locked / 'page.html'}: Permission denied\n"

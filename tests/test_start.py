"""What is loaded before anything is asked for: next to nothing."""

import subprocess
import sys

import pytest

import cobic

HEAVY = ("numpy", "scipy", "pandas", "sklearn", "bokeh", "highspy", "matplotlib")


def loaded_by(code: str) -> set[str]:
    """Which of the heavy packages a piece of code loads, in a process of its own."""
    told = f"import sys\n{code}\nprint(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(run.stderr.split())


def command(*words: str) -> str:
    return f"from cobic.cli import main\ntry:\n    main({list(words)!r})\nexcept SystemExit:\n    pass"


def test_importing_cobic_loads_nothing_heavy():
    assert loaded_by("import cobic") == set()


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_what_is_no_work_loads_nothing_heavy(word):
    assert loaded_by(command(word)) == set()


@pytest.mark.parametrize("word", ["verify", "classify"])
def test_checking_and_classifying_need_no_learning_and_no_pictures(word):
    assert loaded_by(command(word, "--help")) & {"sklearn", "bokeh", "matplotlib"} == set()


def test_every_public_name_is_there():
    assert all(hasattr(cobic, name) for name in cobic.__all__)
    assert set(cobic.__all__) <= set(dir(cobic))
    assert set(cobic.__all__) - {"datasets", "plot"} == set(cobic._ROOM_OF)
    with pytest.raises(AttributeError, match="nothing"):
        _ = cobic.nothing

"""What may be a mistake in somebody's file is said before anything is computed, and the command proposed for it works.

And what a terminal shows while somebody waits.
"""

import io
import json
import shlex
import threading

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from rich.console import Console
from scipy.sparse import csr_array

import cobic
from cobic.cli import common, main
from cobic.search.budget import Stopwatch

TYPES = np.array(["tumour", "normal"])[np.arange(12) % 2]
GENES, SAMPLES = [f"g{i}" for i in range(30)], [f"s{i}" for i in range(12)]
STATISTICS = ["__no_feature", "__ambiguous", "__too_low_aQual", "__not_aligned", "__alignment_not_unique"]


def measured():
    X = np.random.default_rng(0).normal(8, 1, (12, 30)).round(2)
    X[TYPES == "tumour", :15] += 2
    return X


def samples_in_rows(path, X=None, types=TYPES, samples=SAMPLES):
    table = pd.DataFrame(measured() if X is None else X, columns=GENES)
    table.insert(0, "class", types)
    table.insert(0, "sample", samples)
    table.to_csv(path, index=False)


def counts():
    names = [f"{cls}_{i}" for i, cls in enumerate(TYPES)]
    return pd.DataFrame(np.round(measured().T * 10).astype(int), index=pd.Index(GENES, name="Geneid"), columns=names)


def two_spellings(path):
    samples_in_rows(path, types=np.array(["a", "A"])[np.arange(12) % 2])


def one_sample(path):
    samples_in_rows(path, types=["odd", *TYPES[1:]])


def constant(path):
    X = measured()
    X[:, 3:7] = 5.0
    samples_in_rows(path, X)


def twins(path):
    samples_in_rows(path, samples=[*SAMPLES[:5], "s2", *SAMPLES[6:]])


def htseq(path):
    table = counts()
    for number, name in enumerate(STATISTICS):
        table.loc[name] = 123456 * number
    table.to_csv(path, sep="\t")


def feature_counts(path):
    about = {"Chr": "chr1", "Start": 100, "End": 900, "Strand": "+", "Length": np.arange(500, 530)}
    table = pd.concat([pd.DataFrame(about, index=counts().index), counts()], axis=1)
    path.write_text("# Program:featureCounts v2.0.3\n" + table.to_csv(sep="\t"))


@pytest.mark.parametrize(
    ("write", "notice", "shape"),
    [
        (two_spellings, "classes 'A' and 'a' differ in case or blanks alone", (12, 30)),
        (one_sample, "class 'odd' has one sample", (12, 30)),
        (constant, "4 features are constant, as 'g3'", (12, 30)),
        (twins, "leaves out all samples with the sample name 's2', which occurs more than once", (10, 30)),
        (htseq, "line '__no_feature' (counts no gene)", (12, 30)),
        (feature_counts, "column 'Length' (about features)", (12, 30)),
    ],
)
def test_it_is_noticed_and_the_command_that_is_proposed_works(write, notice, shape, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "table.txt")
    main(["inspect", "table.txt"])
    assert notice in capsys.readouterr().out
    main(["inspect", "table.txt", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert any(notice in each for each in (*found["notices"], *found["set_aside"]))
    assert main([*shlex.split(found["next"])[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n_samples"], told["n_features"]) == shape


@pytest.mark.parametrize("kind", ["csv", "h5ad"])
def test_cells_without_a_number_are_said_to_stop_the_commands_that_are_proposed(kind, tmp_path, capsys):
    X, path = measured(), tmp_path / f"table.{kind}"
    X[[2, 3, 3], [4, 4, 9]] = [np.nan, np.inf, np.nan]
    if kind == "csv":
        samples_in_rows(path, X)
    else:
        obs = pd.DataFrame({"class": TYPES}, index=SAMPLES)
        AnnData(csr_array(X), obs, pd.DataFrame(index=GENES)).write_h5ad(path)
    main(["inspect", str(path)])
    notice = "3 cells hold no finite number, in 2 of 30 features, which the commands below refuse: impute first"
    assert notice in capsys.readouterr().out
    main(["inspect", str(path), "--json"])
    command = shlex.split(json.loads(capsys.readouterr().out)["next"])[1:]
    assert main([*command[:-1], str(tmp_path / "answer")]) == 2
    assert "impute it first" in capsys.readouterr().err


def test_cells_of_samples_that_the_commands_leave_out_are_not_said_to_stop_them(tmp_path, capsys):
    table = pd.DataFrame(measured(), index=SAMPLES, columns=GENES)
    table.insert(0, "class", [*TYPES[:-1], None])
    table.iloc[-1, 3] = np.nan
    table.to_csv(tmp_path / "table.csv")
    main(["inspect", str(tmp_path / "table.csv"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert not [notice for notice in told["notices"] if "no finite number" in notice]
    assert main([*shlex.split(told["next"])[1:-1], str(tmp_path / "answer")]) == 0


@pytest.mark.parametrize("heading", ["relapse", "Befund 2"])
def test_a_feature_of_zeros_and_ones_among_measurements_may_be_the_classes(heading, tmp_path, capsys):
    table = pd.DataFrame(measured() + 0.001, index=SAMPLES, columns=GENES)
    table[heading] = (TYPES == "tumour").astype(int)
    table["batch"] = np.arange(12) // 2  # six pairs are no classes that one would expect
    table.to_csv(tmp_path / "table.csv")
    main(["inspect", str(tmp_path / "table.csv")])
    said = capsys.readouterr().out
    shown = shlex.quote(heading)
    assert f"feature '{heading}' is one of 2 whole numbers, among measurements: if these are the classes" in said
    assert f"--labels {shown}; if it is no measurement, --drop {shown}" in said
    assert "'batch' is one of" not in said
    np.round(table).to_csv(tmp_path / "whole.csv")
    main(["inspect", str(tmp_path / "whole.csv")])
    assert "whole numbers, among" not in capsys.readouterr().out


def test_nothing_is_noticed_where_all_is_well(tmp_path, capsys):
    samples_in_rows(tmp_path / "table.csv")
    main(["inspect", str(tmp_path / "table.csv")])
    assert "\nnotice" not in capsys.readouterr().out


def test_a_command_about_classes_that_are_said_leaves_twins_out_as_well(tmp_path, capsys):
    twins(tmp_path / "table.csv")
    main(["inspect", str(tmp_path / "table.csv"), "--labels", "class", "--json"])
    assert "--drop s2" in json.loads(capsys.readouterr().out)["next"]


def test_a_gene_that_is_called_start_stays_a_sample_where_nothing_else_is_about_genes(tmp_path):
    table = counts().rename(columns={"tumour_0": "Start"})
    table.to_csv(tmp_path / "table.tsv", sep="\t")
    (tmp_path / "classes.csv").write_text("".join(f"{name},{cls}\n" for name, cls in zip(table.columns, TYPES)))
    assert "Start" in cobic.read(tmp_path / "table.tsv", labels_file=tmp_path / "classes.csv").sample_names


def test_classes_are_noticed_when_selecting(tmp_path, capsys):
    two_spellings(tmp_path / "table.csv")
    main(["select", str(tmp_path / "table.csv"), "--labels", "class"])
    assert "Classes 'A' and 'a' differ in case or blanks alone" in capsys.readouterr().out


# --- on a terminal


def test_the_seconds_go_on_without_news():
    now = [100.0]
    doing = common.Doing("selecting", 60.0, Stopwatch(lambda: now[0]))
    assert doing.__rich__().plain == "selecting; 0 of at most 60 s"
    now[0] += 12
    assert doing.__rich__().plain == "selecting; 12 of at most 60 s"
    doing.tell(cobic.Progress(12.0, 7040, 7080, 1993, 13))
    now[0] += 3
    words = "selecting: 7040 features, at most 7080, gap 40; 13 cases left to look at; 15 of at most 60 s"
    assert doing.__rich__().plain == words


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal shows."""
    shown = io.StringIO()
    monkeypatch.setattr(common, "Console", lambda **_: Console(file=shown, force_terminal=True, width=150))
    return shown


def test_the_terminal_asks_for_the_time_while_nothing_is_told(monkeypatch):
    """As while a program is being solved, which lets other threads run."""
    asked = threading.Semaphore(0)

    def clock():
        asked.release()
        return 0.0

    monkeypatch.setattr(common, "Console", lambda **_: Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.setattr(common, "Stopwatch", lambda: Stopwatch(clock))
    with common.live_progress("selecting", 60.0):
        assert all(asked.acquire(timeout=30) for _ in range(10))


def test_reading_is_shown(terminal, tmp_path, capsys):
    samples_in_rows(tmp_path / "table.csv")
    main(["select", str(tmp_path / "table.csv"), "--labels", "class"])
    shown = terminal.getvalue()
    assert "reading table.csv, 0.0 MB; 0 s" in shown
    assert shown.index("reading") < shown.index("selecting")
    assert "of at most 60 s" in shown
    assert "LPs" not in shown


def test_no_line_is_drawn_into_a_file(tmp_path, capsys):
    samples_in_rows(tmp_path / "table.csv")
    main(["select", str(tmp_path / "table.csv"), "--labels", "class"])
    assert capsys.readouterr().err == ""

"""Programs as files: what two other programs read back is what was meant."""

import highspy
import numpy as np
import pyscipopt
import pytest

import cobic
from cobic.cli import main
from cobic.errors import InputError
from cobic.io.programs import readable
from cobic.methods.export import linearised_model
from oracle import Oracle

X = np.array(
    [
        [5.0, 1, 3, 0.25, 1, 2],
        [4, 2, 4, 1, 0.1, 3],
        [6, 0, 1, 2, 2, 1 / 3],
        [1, 6, 1, 5, 3, 2],
        [2, 5, 3, 4, -1, 4],
        [0, 4, 2, 6, 2, 1],
    ]
)
Y = ["sick", "sick", "sick", "well", "well", "well"]
SHOWN = False
NAMES = ["HLA-A", "HLA A", "3' UTR <x>", "e5", "β2M", "end"]


@pytest.fixture
def problem():
    return cobic.Problem(X, Y, alpha=0.4, feature_names=NAMES, sample_names=[f"patient {i}" for i in range(6)])


def highs_reads(path):
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", SHOWN)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    names = [highs.getColName(column)[1] for column in range(highs.getNumCol())]
    return highs.getInfo().objective_function_value, dict(zip(names, highs.getSolution().col_value)), highs.getNumRow()


def scip_reads(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    n_rows = model.getNConss()
    model.optimize()
    assert model.getStatus() == "optimal"
    values = {variable.name: model.getVal(variable) for variable in model.getVars()}
    return model.getObjVal(), values, n_rows


@pytest.mark.parametrize("file_format", ["lp", "mps"])
@pytest.mark.parametrize("price", [float("inf"), 2.0], ids=["hard", "soft"])
def test_two_readers_find_the_optimum_of_brute_force(tmp_path, file_format, price):
    problem = cobic.Problem(X, Y, alpha=0.4, feature_names=NAMES, slack_penalty=price)
    oracle = Oracle(X, Y, alpha=0.4)
    best = float(oracle.soft_optimum(price)) if problem.soft else oracle.optimum()
    path = tmp_path / f"model.{file_format}"
    path.write_text(cobic.export_model(problem, "linearised", file_format), encoding="utf-8")
    (ours, mine, rows), (theirs, other, more_rows) = highs_reads(path), scip_reads(path)
    assert ours == pytest.approx(best, abs=1e-6)
    assert theirs == pytest.approx(best, abs=1e-6)
    assert set(mine) == set(other)
    assert rows == more_rows
    selected = np.array([mine[name] > 0.5 for name in readable([f"x_{name}" for name in NAMES])])
    assert problem.objective(selected) == pytest.approx(best)


@pytest.mark.parametrize("file_format", ["lp", "mps"])
def test_two_readers_agree_on_the_inner_program(tmp_path, problem, file_format):
    path = tmp_path / f"inner.{file_format}"
    path.write_text(cobic.export_model(problem, "inner", file_format, shares=[2, 1]), encoding="utf-8")
    ours, theirs = highs_reads(path), scip_reads(path)
    assert ours[0] == pytest.approx(theirs[0], abs=1e-6)
    # By hand, from the definition: shares 2/3 and 1/3.
    x = np.array([ours[1][name] for name in readable([f"x_{name}" for name in NAMES])])
    of = problem.feature_classes
    for j, label in enumerate(Y):
        own = 0 if label == "sick" else 1
        parts = [(X[j] * x)[of == r].sum() / share for r, share in enumerate((2 / 3, 1 / 3))]
        assert parts[own] - parts[1 - own] - 0.4 * x.sum() >= -1e-5


def test_the_relaxation_of_golub_survives_the_round_trip(tmp_path, golub):
    problem = cobic.Problem(golub.X[:, :800], golub.y)
    path = tmp_path / "golub.mps"
    path.write_text(cobic.export_model(problem, format="mps"), encoding="utf-8")
    assert highs_reads(path)[0] == pytest.approx(cobic.solve(problem).n_selected, abs=1e-6)


@pytest.mark.parametrize("file_format", ["lp", "mps"])
@pytest.mark.parametrize("model", ["linearised", "inner"])
def test_files_have_short_lines_plain_names_and_say_what_they_are(problem, model, file_format):
    text = cobic.export_model(problem, model, file_format)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 300
    assert "6 samples, 6 features (of classes sick: 2, well: 4)" in text
    assert "x_HLA_A" in text
    assert "x_HLA_A_2" in text
    assert "sample_patient_0_sick_above_well" in text


@pytest.mark.parametrize("file_format", ["lp", "mps"])
def test_rows_and_bounds_come_back_as_they_were(tmp_path, problem, file_format):
    model, names, _ = linearised_model(problem, 3)
    path = tmp_path / f"model.{file_format}"
    path.write_text(cobic.export_model(problem, format=file_format, at_least=3))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", SHOWN)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    read = highs.getLp()
    column = {name: place for place, name in enumerate(read.col_names_)}
    row = {name: place for place, name in enumerate(read.row_names_)}
    program, order = model.program, [column[name] for name in names.columns]
    np.testing.assert_array_equal(np.array(read.col_lower_)[order], program.lower)
    np.testing.assert_array_equal(np.array(read.col_upper_)[order], program.upper)
    for place, name in enumerate(names.rows):
        sides = [row[each] for each in (name, f"{name}__least", f"{name}__most") if each in row]
        assert max(read.row_lower_[side] for side in sides) == program.row_lower[place]
        assert min(read.row_upper_[side] for side in sides) == program.row_upper[place]


@pytest.mark.parametrize("file_format", ["lp", "mps"])
@pytest.mark.parametrize("model", ["linearised", "inner"])
def test_a_sample_of_zeros_and_strange_classes_are_readable(tmp_path, model, file_format):
    values = np.vstack([X, np.zeros(6)])
    labels = [*("a\nb" if label == "sick" else "c" * 700 for label in Y), "a\nb"]
    problem = cobic.Problem(values, labels, groups=["g", "g", None, None, None, None])
    path = tmp_path / f"model.{file_format}"
    path.write_text(
        cobic.export_model(problem, model, file_format, **({"at_least": 0} if model == "linearised" else {}))
    )
    assert highs_reads(path)[0] == pytest.approx(scip_reads(path)[0], abs=1e-6)


def test_sides_of_a_row_have_names_of_their_own():
    values = np.array([[5.0, 0, 1], [6, 1, 0], [0, 5, 4], [1, 6, 5]])
    text = cobic.export_model(cobic.Problem(values, ["a", "a", "a_least", "a_least"]), at_least=0)
    names = [line.split(":")[0].strip() for line in text.splitlines() if ":" in line and not line.startswith("\\")]
    assert len(names) == len(set(names))


def test_long_names_and_many_terms_stay_within_a_line():
    rng = np.random.default_rng(0)
    wide = rng.random((4, 40)) + np.tile([[2, 0], [2, 0], [0, 2], [0, 2]], 20)
    names = [f"a very long description of gene number {i} with its chromosome and whatever else" for i in range(40)]
    text = cobic.export_model(cobic.Problem(wide, list("aabb"), feature_names=names))
    assert max(map(len, text.splitlines())) <= 300


def test_names_are_unique_whatever_they_were():
    names = readable(["a_b", "a b", "a_b_2", "a-b", "a_b"])
    assert len(set(names)) == 5
    assert names[0] == "a_b"
    assert readable(["x"] * 200) == ["x", *(f"x_{i}" for i in range(2, 201))]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": "quadratic"}, "model is 'quadratic': choose one of linearised, inner"),
        ({"format": "xls"}, "format is 'xls': choose one of lp, mps"),
        ({"shares": [1, 1]}, "shares belong to the inner model"),
        ({"model": "inner", "at_least": 3}, "at_least belongs to the linearised model"),
        ({"model": "inner", "shares": [1, 2, 3]}, "give 2 positive numbers"),
        ({"model": "inner", "shares": [1, -1]}, "give 2 positive numbers"),
        ({"model": "inner", "shares": ["a", "b"]}, "give 2 positive numbers"),
        ({"model": "inner", "shares": [1e-320, 1e300]}, "give 2 positive numbers"),
        ({"model": "inner", "shares": [float("nan"), 1]}, "give 2 positive numbers"),
        ({"at_least": 7}, "at_least is 7: give a whole number from 0 to 6"),
        ({"at_least": 2.5}, "at_least is 2.5"),
    ],
)
def test_what_makes_no_sense_is_refused(problem, arguments, words):
    with pytest.raises(InputError, match=words):
        cobic.export_model(problem, **arguments)


def test_what_has_no_model_is_refused(problem):
    with pytest.raises(InputError, match="class b"):
        cobic.export_model(cobic.Problem([[3, 3], [1, 1]], ["a", "b"]))
    with pytest.raises(InputError, match="divide both by a constant"):
        cobic.export_model(cobic.Problem(1e200 * X, Y), at_least=0)
    with pytest.raises(InputError, match="inner model knows no soft margins"):
        cobic.export_model(problem.softened(1.0), "inner")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "lab.csv"
    lines = [",".join(["id", *(f"g{i}" for i in range(6)), "class"])]
    lines += [",".join([f"p{j}", *map(str, X[j]), Y[j]]) for j in range(6)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_command_writes_a_file_that_is_read_back(tmp_path, table, capsys):
    out = tmp_path / "model.mps"
    assert main(["export", str(table), "--labels", "class", "--alpha", "0.4", "--out", str(out)]) == 0
    assert "model.mps" in capsys.readouterr().out
    assert out.read_text().splitlines()[-1] == "ENDATA"
    assert highs_reads(out)[0] == Oracle(X, Y, alpha=0.4).optimum()
    assert main(["export", str(table), "--labels", "class", "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["export", str(table), "--labels", "class", "--out", str(out), "--force"]) == 0


def test_the_command_prints_the_inner_program(table, capsys):
    assert main(["export", str(table), "--labels", "class", "--model", "inner", "--shares", "0.4,0.6"]) == 0
    text = capsys.readouterr().out
    assert "Shares: sick: 0.4, well: 0.6." in text
    assert text.endswith("End\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shares", "a,b", "--model", "inner"], "--shares 'a,b'"),
        (["--shares", "0.5", "--model", "inner"], "give 2 positive numbers"),
        (["--at-least", "99"], "at_least is 99"),
        (["--format", "xls"], "invalid choice"),
        (["--out", "nowhere/model.lp"], "cannot write"),
    ],
)
def test_the_command_refuses_in_one_line(table, capsys, arguments, words):
    try:
        code = main(["export", str(table), "--labels", "class", *arguments])
    except SystemExit as error:
        code = error.code
    ended = capsys.readouterr()
    assert code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1

import json
import shlex
import shutil

import anndata
import numpy as np
import pandas as pd
import pytest

from cobic.cli import main
from lab_files import FORMATS, X


def shown(capsys, *arguments):
    assert main(["inspect", *map(str, arguments)]) == 0
    return {line[:12].strip(): line[12:] for line in capsys.readouterr().out.splitlines()}


def document(capsys, *arguments):
    assert main(["inspect", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["csv", "csv_with_a_row_of_classes", "gct_1_3", "geo", "arff", "h5ad_sparse", "ten_x"])
def test_the_command_to_run_next_works(name, tmp_path, capsys):
    path, arguments = FORMATS[name](tmp_path)
    options = ["--part", arguments["part"]] if "part" in arguments else []
    options += ["--labels-file", arguments["labels_file"]] if "labels_file" in arguments else []
    found = document(capsys, path, *options)
    assert (found["n_samples"], found["n_features"]) == X.shape
    assert found["smallest"] == X.min()
    assert found["largest"] == X.max()
    assert found["zero"] == (X == 0).sum()
    assert found["negative"] == (X < 0).sum()
    assert "CLASSES" not in found["next"]
    command = shlex.split(found["next"])
    assert command[:2] == ["cobic", "select"]
    assert main([*command[1:-1], str(tmp_path / "answer")]) == 0


def test_golub_with_and_without_classes(real_data, tmp_path, capsys):
    file, classes = real_data / "golub/data_set_ALL_AML_train.csv", real_data / "golub/actual.csv"
    assert shown(capsys, file)["next"] == f"cobic select {file} --labels-file {classes} --out answer"
    alone = tmp_path / file.name  # without the file of classes beside it
    shutil.copy(file, alone)
    told = shown(capsys, alone)
    assert told["shape"] == "38 samples × 7129 features"
    assert told["layout"].startswith("features in rows, guessed from the shape")
    assert told["set aside"] == "38 columns 'call'"
    told = shown(capsys, file, "--labels-file", classes)
    assert told["classes"] == "ALL: 27, AML: 11"
    assert told["layout"] == "features in rows: actual.csv names the columns"
    assert "raw, not logged" in told["values"]
    assert told["missing"] == "none"
    assert told["next"] == f"cobic select {file} --labels-file {classes} --out answer"


def test_notterman_classes_are_found_in_the_names(real_data, capsys):
    found = document(capsys, real_data / "notterman/CarcinomaNormaldatasetCancerResearch.csv")
    assert "--labels-from-names '^(Normal|Tumor)'" in found["next"]
    assert found["repeated_features"] == 686
    assert {"line 'Age'", "line '% Tumor'", "line 'Duke Stage'", "4 empty columns"} <= set(found["set_aside"])
    found = document(capsys, found["file"], "--labels-from-names", "(Tumor|Normal)")
    assert found["classes"] == {"Normal": 18, "Tumor": 18}
    assert found["ties"] == 30


def test_what_is_wrong_is_shown_not_refused(tmp_path, capsys):
    text = "sample,class,g1,g1,g2\ns1,a,1.5,,3\ns1,b,2,inf,x7\ns3,,0.5,1,2\ns4,b,1,2,3\n"
    (tmp_path / "bad.csv").write_text(text)
    told = shown(capsys, tmp_path / "bad.csv", "--labels", "class")
    assert told["classes"] == "(none): 1, a: 1, b: 2; 1 samples have no class"
    assert "1 missing, the first in line 2, column 4 ('g1')" in told["missing"]
    assert "1 infinite, the first in line 3, column 4 ('g1')" in told["missing"]
    assert "1 not a number, the first in line 3, column 5 ('g2'): 'x7'" in told["missing"]
    assert "1 sample names occur more than once, as 's1'" in told["names"]
    assert "1 feature names occur more than once, as 'g1'" in told["names"]


@pytest.mark.parametrize("in_rows", [True, False])
def test_a_table_about_the_samples_beside_the_data_is_proposed(in_rows, tmp_path, capsys):
    names = [f"s{at}" for at in range(12)]
    genes = pd.DataFrame(numbers(30, 12), index=pd.Index([f"g{at}" for at in range(30)], name="gene"), columns=names)
    (genes.T if in_rows else genes).to_csv(tmp_path / "numbers.csv")
    about = {"remark": [f"no {at}" for at in range(12)], "lane": [1, 2] * 6, "kit": ["x", "y", "x"] * 4}
    about = pd.DataFrame({**about, "condition": ["ill", "well"] * 6}, index=pd.Index(names, name="sample"))
    about.iloc[::-1].to_csv(tmp_path / "coldata.csv")
    expected = ["--labels", "condition", "--labels-file", str(tmp_path / "coldata.csv")]
    assert proposed(capsys, tmp_path / "numbers.csv") == expected
    about.drop(columns="condition").to_csv(tmp_path / "coldata.csv")  # numbers that are not called classes are none
    assert proposed(capsys, tmp_path / "numbers.csv") == ["--labels", "kit", *expected[2:]]
    about.iloc[1:].to_csv(tmp_path / "coldata.csv")
    assert "CLASSES" in document(capsys, tmp_path / "numbers.csv")["next"]  # one sample is not in the table
    about["condition"].to_csv(tmp_path / "coldata.csv")
    assert proposed(capsys, tmp_path / "numbers.csv") == expected[2:]
    about.iloc[5, 3] = None
    about["condition"].to_csv(tmp_path / "coldata.csv")
    assert proposed(capsys, tmp_path / "numbers.csv") == [*expected[2:], "--class", "ill", "--class", "well"]


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        (np.arange(12.0) * 40, "raw counts"),
        (np.linspace(4.1, 14.2, 12), "logged"),
        (np.linspace(-2.1, 2.2, 12), "standardised or log ratios"),
        (np.linspace(-20.5, 31000.7, 12), "raw, not logged"),
        (np.arange(12.0) % 2, "present or absent"),
    ],
)
def test_what_kind_of_numbers(values, looks, tmp_path, capsys):
    frame = pd.DataFrame(values.reshape(4, 3), index=["a1", "a2", "b1", "b2"], columns=["g1", "g2", "g3"])
    frame.to_csv(tmp_path / "values.csv")
    assert document(capsys, tmp_path / "values.csv")["looks"] == looks


def proposed(capsys, path):
    command = shlex.split(document(capsys, path)["next"])
    assert command[:3] == ["cobic", "select", str(path)]
    return command[3:-2]


def numbers(n_rows, n_columns):
    return np.random.default_rng(0).uniform(1.5, 9.5, (n_rows, n_columns)).round(3)


def test_a_proposed_pattern_tells_all_classes_apart(tmp_path, capsys):
    names = [f"{cls}{at}" for cls in ("C", "CT") for at in range(3)]
    pd.DataFrame(numbers(4, 6), index=list("wxyz"), columns=names).to_csv(tmp_path / "c.csv", index_label="gene")
    assert proposed(capsys, tmp_path / "c.csv") == ["--labels-from-names", "^(CT|C)"]
    told = document(capsys, tmp_path / "c.csv", "--labels-from-names", "^(CT|C)")
    assert told["classes"] == {"C": 3, "CT": 3}


def test_a_proposal_that_would_fail_is_not_made(tmp_path, capsys):
    frame = pd.DataFrame(numbers(4, 3), index=["s1", "s2", "s3", "s4"], columns=["g1", "g2", "g3"])
    frame.to_csv(tmp_path / "no.csv", index_label="sample")
    (tmp_path / "no.cls").write_text("5 2 1\n# a b\n0 0 1 1 1\n")
    assert proposed(capsys, tmp_path / "no.csv") == ["--labels-file", "<FILE WITH THE CLASSES>"]


@pytest.mark.parametrize("asked", [(), ("--labels", "status")])
def test_samples_without_a_class_are_left_out_by_what_is_proposed(asked, tmp_path, capsys):
    frame = pd.DataFrame(numbers(7, 3), index=[f"s{at}" for at in range(7)], columns=["g1", "g2", "g3"])
    frame["g1"], frame["g2"] = [9, 1, 5, 8, 2, 4, 1.5], [1, 9, 5, 2, 8, 4, 9.5]
    frame.insert(0, "status", ["ill", "well", "", "ill", "well", "NA", "well"])
    frame.to_csv(tmp_path / "some.csv", index_label="sample")
    found = document(capsys, tmp_path / "some.csv", *asked)
    assert "some samples have no class in 'status': the commands below leave them out" in found["notices"]
    command = shlex.split(found["next"])
    assert command[3:9] == ["--labels", "status", "--class", "ill", "--class", "well"]
    answer = tmp_path / "answer"
    assert main([*command[1:-1], str(answer)]) == 0
    assert json.loads((answer / "run.json").read_text())["n_samples"] == 5
    capsys.readouterr()
    frame.insert(0, "group", list("xyxyxyx"))  # where all have one comes first
    frame.to_csv(tmp_path / "all.csv", index_label="sample")
    assert proposed(capsys, tmp_path / "all.csv") == ["--labels", "group"]


def test_a_proposal_that_fits_both_ways_says_which(tmp_path, capsys):
    square = pd.DataFrame(numbers(4, 4), index=["a1", "a2", "b1", "b2"], columns=["a3", "a4", "b3", "b4"])
    square.to_csv(tmp_path / "square.csv", index_label="name")
    found = proposed(capsys, tmp_path / "square.csv")
    assert found[:2] == ["--labels-from-names", "^(a|b)"]
    assert found[2:] in (["--samples-in-rows"], ["--features-in-rows"])


@pytest.mark.parametrize("name", ["class", "Diagnosis", "disease_status", "group", "cell_type"])
def test_classes_that_are_numbers_are_proposed_by_their_heading(name, tmp_path, capsys):
    frame = pd.DataFrame(numbers(6, 3), index=[f"s{at}" for at in range(6)], columns=["g1", "g2", "g3"])
    frame.insert(0, "sex", ["m", "m", "f", "f", "m", "f"])
    frame.insert(2, name, [0, 1, 0, 1, 1, 0])
    frame.to_csv(tmp_path / "n.csv", index_label="sample")
    assert proposed(capsys, tmp_path / "n.csv") == ["--labels", name]
    frame.drop(columns="sex").T.to_csv(tmp_path / "turned.csv", index_label="gene")
    assert proposed(capsys, tmp_path / "turned.csv") == ["--labels", name]


@pytest.mark.parametrize(("names", "best"), [(("a", "b", "cell_type"), "cell_type"), (("a", "b", "z"), "z")])
def test_categories_of_h5ad_come_before_other_columns(names, best, tmp_path, capsys):
    obs = pd.DataFrame(
        {
            names[0]: [1, 1, 2, 2],
            names[1]: [3.0, 3.0, 4.0, 4.0],
            names[2]: pd.Categorical(["T", "B", "T", "B"]),
        },
        index=["s1", "s2", "s3", "s4"],
    )
    anndata.AnnData(numbers(4, 3), obs=obs).write_h5ad(tmp_path / "x.h5ad")
    assert proposed(capsys, tmp_path / "x.h5ad") == ["--labels", best]


def test_texts_among_numbers_are_not_counted_as_missing(tmp_path, capsys):
    text = "sample,class,g1,g2\ns1,a,1.5,x7\ns2,b,2,3\ns3,a,,4\ns4,b,1,2\n"
    (tmp_path / "odd.csv").write_text(text)
    found = document(capsys, tmp_path / "odd.csv", "--labels", "class")
    assert (found["missing"], found["not_numbers"]) == (1, 1)
    assert found["first_places"]["missing"] == "line 4, column 3 ('g1')"
    told = shown(capsys, tmp_path / "odd.csv", "--labels", "class")
    assert told["missing"].startswith("1 missing, the first in line 4, column 3 ('g1'); 1 not a number")

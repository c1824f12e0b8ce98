import gzip
import subprocess
import sys

import anndata
import numpy as np
import openpyxl
import pandas as pd
import pytest
import rdata

import cobic
import lab_files
from cobic.errors import InputError
from cobic.io import files, table_text

FROM_NUMBERS = "names of features from the column 'gene', which holds numbers"
BASE = "sample,class,g1,g2,g2\ns1,a,1,2.5,3\ns2,b,4,-5e-1,6\n"


@pytest.fixture
def write(tmp_path):
    def _write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


def check_base(data):
    np.testing.assert_array_equal(data.X, [[1, 2.5, 3], [4, -0.5, 6]])
    assert data.y.tolist() == ["a", "b"]
    assert data.feature_names == ("g1", "g2", "g2")
    assert data.sample_names == ("s1", "s2")


def test_samples_in_rows(write):
    check_base(cobic.read(write(BASE), labels="class"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (BASE.replace(",", "\t"), "data.tsv"),
        (BASE.replace(",", ";"), "data.csv"),
        (BASE.replace("\n", "\r\n"), "windows.csv"),
        ("\ufeff" + BASE, "bom.csv"),
        (BASE.replace("g1", '"g1"').replace("s1", '"s1"'), "quoted.csv"),
        (BASE.rstrip("\n"), "no-last-newline.csv"),
        (BASE + "\n\n", "blank-lines.csv"),
        (BASE.replace(",", " , "), "spaces.csv"),
        (gzip.compress(BASE.encode(), mtime=0), "data.csv.gz"),
        (gzip.compress(BASE.encode(), mtime=0), "not-called-gz.csv"),
    ],
)
def test_ways_to_write_the_same_table(write, text, name):
    check_base(cobic.read(write(text, name), labels="class"))


def test_features_in_rows_with_labels_in_a_row(write):
    text = "name,s1,s2\ng1,1,4\nclass,a,b\ng2,2.5,-0.5\ng2,3,6\n"
    check_base(cobic.read(write(text), labels="class", features_in_rows=True))


@pytest.mark.parametrize("labels", ["id,kind\ns2,b\ns1,a\nother,c\n", "s2,b\ns1,a\n"])
def test_labels_in_a_second_file(write, labels):
    second = write(labels, "labels.csv")
    check_base(cobic.read(write(BASE), labels_file=second, drop=["class"]))
    turned = write("name,s1,s2\ng1,1,4\ng2,2.5,-0.5\ng2,3,6\n", "turned.csv")
    check_base(cobic.read(turned, labels_file=second, features_in_rows=True))


def test_a_named_column_of_a_wider_label_file(write):
    second = write("id,age,kind\ns1,40,a\ns2,50,b\n", "labels.csv")
    check_base(cobic.read(write(BASE), labels_file=second, labels="kind", drop=["class"]))
    with pytest.raises(InputError, match="3 columns: name the one with the classes"):
        cobic.read(write(BASE), labels_file=second, drop=["class"])


def test_sample_names_are_recognised_or_named(write):
    text = "patient,class,g1\n7,a,1\n8,b,2\n"
    assert cobic.read(write(text), labels="class").feature_names == ("patient", "g1")
    data = cobic.read(write(text), labels="class", ids="patient")
    assert (data.feature_names, data.sample_names) == (("g1",), ("7", "8"))
    words = cobic.read(write(text.replace("7", "p7").replace("8", "p8")), labels="class")
    assert words.sample_names == ("p7", "p8")


def test_columns_can_be_dropped_even_if_they_repeat(write):
    text = "gene,s1,call,s2,call\ng1,1,P,2,A\ng2,3,A,4,A\n"
    data = cobic.read(write(text), features_in_rows=True, drop=["call"])
    np.testing.assert_array_equal(data.X, [[1, 3], [2, 4]])
    assert data.y is None


def test_what_is_written_is_read_back_unchanged(write):
    data = cobic.datasets.make_expression(20, seed=0)
    X = data.X + np.random.default_rng(0).standard_normal(data.X.shape) * (np.arange(20) % 2)
    awkward = cobic.Dataset(X, data.y, ('with,comma "and quote"', *data.feature_names[1:]), data.sample_names, "here")
    again = cobic.read(write(table_text(awkward)), labels="class")
    np.testing.assert_array_equal(again.X, X)
    assert again.feature_names == awkward.feature_names
    assert again.sample_names == awkward.sample_names
    assert again.y.tolist() == data.y.tolist()


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("", {}, "is empty"),
        ("\n \n", {}, "is empty"),
        ("sample,class,g1\n", {}, "no data below"),
        ("justone\n1\n", {}, "one column only"),
        (BASE + "s3,a,1,2\n", {}, "line 4: 4 cells where the first line has 5"),
        (BASE + "s3,a,1,2,3,4\n", {}, "line 4: 6 cells where the first line has 5"),
        (BASE.replace("2.5", "tall"), {}, r"line 2, column 4 \('g2'\): 'tall' is not a number"),
        (BASE.replace("2.5", ""), {}, r"line 2, column 4 \('g2'\): missing value; impute"),
        (BASE.replace("2.5", "NA"), {}, "missing value"),
        (BASE.replace("2.5", "nan"), {}, "missing value"),
        (BASE.replace("-5e-1", "inf"), {}, r"line 3, column 4 \('g2'\): 'inf' is not finite"),
        (BASE.replace("s2,b", "s2,"), {}, "no class for 1 of 2 samples, the first is 's2'"),
        (BASE.replace("s2", "s1"), {}, "'s1' occurs 2 times"),
        (BASE.replace("class", "kind"), {}, "has no column or line 'class': it has 'sample', 'kind'"),
        ("name,s1,s2\nclass,a,b\ng1,1,2\n", {"features_in_rows": False}, "looks transposed.*out --samples-in-rows"),
        (BASE, {"features_in_rows": True}, "looks transposed.*leave out --features-in-rows"),
        ("name,s1,s2\ng1,1,2\n", {"features_in_rows": True}, "has no line 'class'"),
        ("name,s1,s1\nclass,a,b\ng1,1,2\n", {"features_in_rows": True}, "'s1' occurs 2 times"),
        (BASE.replace("sample,class", "class,class"), {}, "2 columns called 'class'"),
        (BASE, {"drop": ["nothing"]}, "no column 'nothing' to drop"),
        (BASE, {"ids": "nothing"}, "no column 'nothing'"),
        (b"sample,\xff\xfebinary", {}, "line 1 or after: not text in UTF-8"),
        (b"g1,class\n1,a\n\x01,b\n", {}, r"line 3, column 1 \('g1'\): '\\x01' is not a number"),
        (b"g1,class\n1,a\n\x00,b\n", {}, "is not text, and of no other known format"),
        (gzip.compress(BASE.encode(), mtime=0)[:-12], {}, "not a whole gzip file"),
        ("sample,class\ns1,a\ns2,b\n", {}, "no column of numbers"),
    ],
)
def test_bad_tables_are_refused_with_their_place(write, text, arguments, words):
    path = write(text)
    with pytest.raises(InputError, match=words) as caught:
        cobic.read(path, labels="class", **arguments)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("id,class\ns1,a\n", "no class for 1 of 2 samples, the first is 's2'"),
        ("id,class\ns1,a\ns2,\n", "the first is 's2'"),
        ("id,class\ns1,a\ns2,b\ns1,b\n", "line 4: the sample 's1' has a class already"),
        (
            "id,class\nx1,a\nx2,b\n",
            "names no sample of .*such as 'id', 'x1', 'x2'; the lines of the other, 's1', 's2'; the col",
        ),
        ("id,class\nS1,a\nS2,b\n", "upper and lower case differ, as in 'S1' and 's1'"),
        ("class\na\nb\nc\nd\ne\nf\n", "has 7 classes, but"),
        ("id,s1,s2\nclass,a,b\n", "two lines and 3 columns: it looks transposed"),
    ],
)
def test_bad_label_files_are_refused(write, labels, words):
    with pytest.raises(InputError, match=words):
        cobic.read(write(BASE), labels_file=write(labels, "labels.csv"), drop=["class"])


def test_a_label_file_needs_sample_names(write):
    with pytest.raises(InputError, match="no sample names to look up"):
        cobic.read(write("g1,g2\n1,2\n3,4\n"), labels_file=write("id,class\ns1,a\n", "labels.csv"))


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*none\.csv"):
        cobic.read(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"has no file matrix\.mtx"):
        cobic.read(tmp_path)


def test_a_missing_file_leaves_nothing_that_cannot_be_closed():
    code = "import cobic\ntry:\n    cobic.read('none.csv')\nexcept cobic.InputError as error:\n    print(error)"
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, check=True)
    assert "there is no file none.csv" in ended.stdout
    assert "Exception ignored" not in ended.stderr


def test_a_matrix_market_file_of_any_name_is_not_its_own_barcodes(tmp_path):
    (tmp_path / "data.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 3\n")
    with pytest.raises(InputError, match=r"has no file barcodes\.tsv"):
        cobic.read(tmp_path / "data.mtx")
    (tmp_path / "barcodes.tsv").write_text("c1\nc2\n")
    (tmp_path / "features.tsv").write_text("g1\ng2\n")
    (tmp_path / "labels.csv").write_text("cell,class\nc1,a\nc2,b\n")
    assert cobic.read(tmp_path / "data.mtx", labels_file=tmp_path / "labels.csv").sample_names == ("c1", "c2")


@pytest.mark.parametrize(
    ("text", "arguments", "set_aside"),
    [
        # classes in a row, numbers for names of genes
        ("gene,s1,s2\nclass,a,b\n101,1,4\n102,2.5,-0.5\n102,3,6\n", {"labels": "class"}, (FROM_NUMBERS,)),
        ("gene,s1,s2\nclass,0,1\n101,1,4\n102,2.5,-0.5\n102,3,6\n", {"labels": "class"}, (FROM_NUMBERS,)),
        # annotations everywhere: all are named
        (
            "id,about,s1,call,s2,call,p-value\n,sex,m,,f,,\nclass,,a,,b,,\ng1,x,1,P,4,A,.1\ng2,y,2.5,A,-.5,P,.2\ng2,z,3,P,6,A,1\n",
            {"labels": "class"},
            ("2 columns 'call'", "column 'p-value' (a statistic by its name)", "line 'sex'"),
        ),
        (
            "sample,sex,class,g1,note,g2,g2\ns1,m,a,1,x,2.5,3\ns2,f,b,4,,-.5,6\n",
            {"labels": "class"},
            ("column 'sex'", "column 'note'"),
        ),
        # two samples of a class in their names, one column that is no sample
        (
            "gene\ta 1\tb 1\tsum\ng1\t1\t4\t5\ng2\t2.5\t-.5\t2\ng2\t3\t6\t9\n",
            {"labels_from_names": "^(a|b) "},
            ("column 'sum' (no class in its name)",),
        ),
        ("# of today\n#gene,s1,s2\nclass,a,b\ng1,1,4\n# a remark\ng2,2.5,-.5\ng2,3,6\n", {"labels": "class"}, ()),
        ("title\n\nsample,class,g1,g2,g2\ns1,a,1,2.5,3\ns2,b,4,-.5,6\n", {"labels": "class", "header_row": 3}, ()),
        ("s1,a,1,2.5,3\ns2,b,4,-.5,6\n", {"labels": "column_2", "header_row": 0}, ()),
        ("class,g1,g2,g2\na,1,2.5,3\nb,4,-.5,6\n", {"labels": "class"}, ()),
        ("sample,class,g1,g2,g2,age\ns1,a,1,2.5,3,40\ns2,b,4,-.5,6,50\n", {"labels": "class", "drop": ["age"]}, ()),
        ("gene,s1,s2\nage,40,50\nclass,a,b\ng1,1,4\ng2,2.5,-.5\ng2,3,6\n", {"labels": "class", "drop": ["age"]}, ()),
    ],
)  # fmt: skip
def test_odd_tables_are_understood(write, text, arguments, set_aside):
    data = cobic.read(write(text), **arguments)
    np.testing.assert_array_equal(data.X, [[1, 2.5, 3], [4, -0.5, 6]])
    assert data.y.tolist() in (["a", "b"], ["0", "1"])
    assert sorted(data.set_aside) == sorted(set_aside)


def test_what_could_be_either_way_round_is_asked(write):
    square = write("name,class,b\nclass,1,2\nb,3,4\n")
    with pytest.raises(InputError, match="'class' fits the rows and the columns: say --features-in-rows"):
        cobic.read(square, "class")
    assert cobic.read(square, "class", features_in_rows=True).y.tolist() == ["1", "2"]
    assert cobic.read(square, "class", features_in_rows=False).y.tolist() == ["1", "3"]
    classes = write("2 2 1\n# x y\n0 1\n", "two.cls")
    with pytest.raises(InputError, match=r"two\.cls fits the rows and the columns"):
        cobic.read(write("name,s1,s2\ng1,1,2\ng2,3,4\n"), labels_file=classes)


def test_a_sample_without_a_name_is_not_lost(write):
    data = cobic.read(write("sample,class,g1\n,a,1\ns2,b,2\n"), "class")
    assert data.sample_names == ("", "s2")
    assert data.set_aside == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4 2 1\n# a b\n0 0 1\n", "promises 4 samples in 2 classes; it has 2 names, and 3 samples in 2 classes"),
        ("2 2 1\n# a b\n1 0\n", "programs disagree on which class name they mean"),
        ("#numeric\n#x\n1.5 2.5\n", "measurements .#numeric., not classes"),
        ("2 2 1\na b\n", "not a CLS file: three lines"),
        ("4 2 1\n# a b\n0 1 1 0\n", "has 4 classes, but .* has 2 rows and 3 columns of numbers"),
    ],
)
def test_bad_cls_files_are_refused(write, text, words):
    table = BASE.replace("class,", "").replace("a,", "").replace("b,", "")
    with pytest.raises(InputError, match=words):
        cobic.read(write(table), labels_file=write(text, "classes.cls"), features_in_rows=False)


@pytest.mark.parametrize(("labels", "classes"), [("0 1", ["x", "y"]), ("y x", ["y", "x"]), ("B A", ["x", "y"])])
def test_cls_files_name_classes_by_number_by_name_or_by_order(write, labels, classes):
    file = write(f"2 2 1\n# x y\n{labels}\n", "two.cls")
    assert cobic.read(write(BASE), labels_file=file, drop=["class"]).y.tolist() == classes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"labels_from_names": "("}, "not a regular expression"),
        ({"labels_from_names": "x", "labels": "class"}, "give one of them"),
        ({"labels_from_names": "nothing"}, "the pattern 'nothing' is in no name of a row or column: it has 's1', 's2'"),
        ({"labels": "class", "header_row": -1}, "header_row is -1: give a whole number of at least 0"),
        ({"labels": "class", "decimal": "x"}, "decimal is 'x': choose one of ., ,"),
        ({"labels": "class", "encoding": "klingon"}, "there is no encoding 'klingon'"),
    ],
)
def test_mistakes_in_the_options_are_refused(write, arguments, words):
    with pytest.raises(InputError, match=words):
        cobic.read(write(BASE), **arguments)


def test_files_written_by_r_itself():
    folder = rdata.TESTDATA_PATH
    data = cobic.read(folder / "test_dataframe.rda", "class")
    assert data.X.tolist() == [[1], [2], [3]]
    assert data.y.tolist() == ["a", "b", "b"]
    for encoding in ("ascii", "binary", "xdr"):
        data = cobic.read(folder / "generated" / f"test_full_named_matrix__{encoding}__version_3.rds")
        assert data.X.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert data.sample_names == ("dim0_0", "dim0_1")
        assert data.feature_names == ("dim1_0", "dim1_1", "dim1_2")


def test_numbers_that_are_written_are_not_rounded_one_by_one(monkeypatch):
    def alone(_):
        pytest.fail("a table of cells holds millions of them")

    monkeypatch.setattr(files, "round", alone, raising=False)
    X = np.array([[0.0, -0.0, 3.0, -2.5], [1e15, 123456789012345.0, 1e-300, 0.1 + 0.2]])
    text = table_text(cobic.Dataset(X, np.array(["a", "b"]), tuple("ghij"), ("s", "t"), "made"))
    assert (
        text
        == "sample,class,g,h,i,j\ns,a,0,-0,3,-2.5\nt,b,1000000000000000.0,123456789012345,1e-300,0.30000000000000004\n"
    )


def test_types_of_the_columns_of_a_data_frame_are_asked_for_once(tmp_path, monkeypatch):
    frame = pd.DataFrame(np.arange(120.0).reshape(3, 40), columns=[f"g{at}" for at in range(40)])
    frame.to_parquet(tmp_path / "a.parquet")
    asked, types = [], pd.DataFrame.dtypes.fget
    monkeypatch.setattr(pd.DataFrame, "dtypes", property(lambda frame: asked.append(1) or types(frame)))
    assert cobic.read(tmp_path / "a.parquet").X.shape == (3, 40)
    assert len(asked) < 10  # each look at them goes over all columns: 100,000 of them took a minute


def test_missing_values_of_every_format_are_refused_by_name(tmp_path):
    frame = pd.DataFrame({"class": ["a", "b"], "g1": [1.0, np.nan], "g2": [3.0, 4.0]}, index=["s1", "s2"])
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(InputError, match=r"data\.parquet, row 's2', column 'g1': missing value; impute"):
        cobic.read(tmp_path / "data.parquet", "class")
    frame.to_excel(tmp_path / "data.xlsx")
    with pytest.raises(InputError, match=r"data\.xlsx, line 3, column 3 \('g1'\): missing value; impute"):
        cobic.read(tmp_path / "data.xlsx", "class")
    frame.T.to_csv(tmp_path / "turned.csv")
    with pytest.raises(InputError, match=r"turned\.csv, line 3, column 3 \('s2'\): missing value; impute"):
        cobic.read(tmp_path / "turned.csv", "class")
    adata = anndata.AnnData(
        np.array([[1.0, np.inf], [2.0, 3.0]]), obs=pd.DataFrame({"class": ["a", "b"]}, index=["s", "t"])
    )
    adata.write_h5ad(tmp_path / "data.h5ad")
    with pytest.raises(InputError, match=r"data\.h5ad, sample 's', feature '1': 'inf' is not finite"):
        cobic.read(tmp_path / "data.h5ad", "class")


def test_samples_of_some_classes_are_read_alone(write):
    text = "sample,kind,g1,g2\ns1,a,1,2\ns2,,3,4\ns3,c,5,6\ns4,b,7,8\ns5,NA,9,0\ns6,a,1,1\n"
    with pytest.raises(InputError, match=r"no class for 2 of 6 samples, the first is 's2': label them .*--class NAME"):
        cobic.read(write(text), labels="kind")
    data = cobic.read(write(text), labels="kind", classes=["b", "a"])
    assert (data.sample_names, data.y.tolist(), data.X.tolist()) == (
        ("s1", "s4", "s6"),
        ["a", "b", "a"],
        [[1, 2], [7, 8], [1, 1]],
    )
    assert data.set_aside == ("3 samples of other classes, or of none",)
    second = write("sample,kind,age\ns3,c,5\ns1,a,7\ns4,c,8\n", "second.csv")
    data = cobic.read(write(text), labels="kind", labels_file=second, classes=["c"], drop=["kind"])
    assert (data.sample_names, data.y.tolist()) == (("s3", "s4"), ["c", "c"])
    with pytest.raises(InputError, match=r"data\.csv has no class 'd': it has '', 'NA', 'a', 'b', 'c'"):
        cobic.read(write(text), labels="kind", classes=["a", "d"])
    with pytest.raises(InputError, match="need to have classes: say where they are"):
        cobic.read(write(text), classes=["a"])


def test_data_frames_of_r_tell_about_the_columns_of_a_table(tmp_path):
    genes, runs = (
        pd.Index(names.split(), dtype=object) for names in ("g1 g2 g3 g4", "s3 s1 s2 s0")
    )  # what rdata writes
    counts = pd.DataFrame(np.arange(12.0).reshape(4, 3), index=genes, columns=["s1", "s2", "s3"])
    samples = pd.DataFrame({"run": [3, 1, 2, 0], "type": ["b", "a", "a", "x"]}, index=runs)
    lengths = pd.DataFrame({"length": [5.0, 6, 7, 8]}, index=genes)
    rdata.write_rda(
        tmp_path / "one.rda", {"genes": lengths, "counts": counts, "samples": samples.astype({"type": object})}
    )
    data = cobic.read(tmp_path / "one.rda", labels="type")
    assert (data.sample_names, data.y.tolist()) == (("s1", "s2", "s3"), ["a", "a", "b"])
    assert data.X.tolist() == counts.T.to_numpy().tolist()
    assert data.set_aside == ("line 'run'",)
    named = samples.reset_index(names="name").astype({"name": object, "type": object})
    rdata.write_rda(tmp_path / "named.rda", {"counts": counts.to_numpy(), "table": counts, "named": named})
    assert cobic.read(tmp_path / "named.rda", labels="type").y.tolist() == ["a", "a", "b"]
    rdata.write_rda(tmp_path / "other.rda", {"counts": counts, "samples": samples.drop("s2").astype({"type": object})})
    with pytest.raises(InputError, match="holds counts, samples: say which with --part"):
        cobic.read(tmp_path / "other.rda", labels="type")


def test_sheets_and_objects_are_asked_for(tmp_path):
    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        for sheet in ("first", "second"):
            pd.DataFrame({"class": ["a"], "g1": [1.0]}).to_excel(writer, sheet_name=sheet)
    with pytest.raises(InputError, match="2 sheets with cells in them: say which with --sheet: first, second"):
        cobic.read(tmp_path / "two.xlsx", "class")
    with pytest.raises(InputError, match="has no sheet 'third': its sheets are first, second"):
        cobic.read(tmp_path / "two.xlsx", "class", part="third")
    rdata.write_rda(tmp_path / "two.rda", {"x": np.eye(2), "z": np.eye(3)})
    with pytest.raises(InputError, match="holds x, z: say which with --part"):
        cobic.read(tmp_path / "two.rda")
    assert cobic.read(tmp_path / "two.rda", part="z").X.shape == (3, 3)


def test_descriptions_of_features_are_kept(tmp_path):
    for make in (lab_files.gct, lab_files.res, lab_files.h5ad, lab_files.ten_x):
        path, arguments = make(tmp_path)
        assert cobic.read(path, **arguments).feature_descriptions[0] == f"about {lab_files.GENES[0]}"


def test_classes_may_be_in_the_titles_of_a_geo_series(tmp_path):
    path, _ = lab_files.geo(tmp_path)
    data = cobic.read(path, labels_from_names="train_[1-3]$|train")
    assert set(data.y) == {"train_1", "train_2", "train_3", "train"}
    assert data.sample_names[0] == "GSM0"


def test_late_decimal_commas_are_explained(write):
    text = "s;class;g1\n" + "".join(f"s{row};{'ab'[row % 2]};{row}\n" for row in range(60)) + "x;a;1,5\n"
    with pytest.raises(InputError, match=r"line 62, .*'1,5' is not a number; say --decimal , if it is"):
        cobic.read(write(text), "class")
    assert cobic.read(write(text), "class", decimal=",").X[-1, 0] == 1.5


@pytest.mark.parametrize("values", [[1.5, 2.5, 3.5], [4.0, 5.0, 6.0]], ids=["fractions", "whole"])
def test_a_first_sample_is_not_taken_for_names(write, values):
    frame = pd.DataFrame({f"{cls}{at}": values for cls in ("N", "T") for at in range(2)})
    path = write(frame.to_csv(index=False))
    names = "\n".join(f"{name},{name[0]}" for name in frame)
    for arguments in (
        {"labels_from_names": "^(N|T)"},
        {"labels_file": write(f"id,class\n{names}\n", "labels.csv")},
        {"labels_file": write("4 2 1\n# N T\n0 0 1 1\n", "classes.cls")},
    ):
        data = cobic.read(path, **arguments)
        assert data.sample_names == ("N0", "N1", "T0", "T1")
        assert data.feature_names == ("feature_1", "feature_2", "feature_3")
        assert data.set_aside == ()


def test_names_that_are_numbers_are_told(write):
    path = write("who,N0,N1,T0,T1\n7,1,2,3,4\n9,5,6,7,8\n")
    data = cobic.read(path, labels_from_names="^(N|T)")
    assert data.feature_names == ("7", "9")
    assert data.set_aside == (FROM_NUMBERS.replace("gene", "who"),)


def test_descriptions_stay_with_their_features(write):
    text = "gene,description,x,y\ng1,about g1,1,2\npatient_id,who it is,11,12\ng2,about g2,3,4\n"
    labels = write("id,class\n11,a\n12,b\n", "labels.csv")
    for arguments in ({"labels_file": labels}, {"features_in_rows": True}):
        data = cobic.read(write(text), ids="patient_id", **arguments)
        assert data.sample_names == ("11", "12")
        assert data.feature_names == ("g1", "g2")
        assert data.feature_descriptions == ("about g1", "about g2")


def test_a_data_set_has_a_name_for_each_row_and_column():
    X = np.eye(2)
    with pytest.raises(InputError, match="sample_names has 1 entries where X, 2 × 2, needs 2"):
        cobic.Dataset(X, None, ("a", "b"), ("s",), "here")
    with pytest.raises(InputError, match="feature_descriptions has 3 entries"):
        cobic.Dataset(X, None, ("a", "b"), ("s", "t"), "here", ("x", "y", "z"))


def test_who_is_named_with_a_class_is_a_sample(write):
    path = write("gene,N 1,T test,N 2,p-value T\ng1,1,2,3,4\ng2,5,6,7,8\n")
    labels = write("id,class\nN 1,N\nT test,T\nN 2,N\n", "labels.csv")
    for arguments in ({"labels_file": labels}, {"labels_from_names": "(N|T) ([0-9]|test)"}):
        data = cobic.read(path, **arguments)
        assert data.sample_names == ("N 1", "T test", "N 2")
        assert data.set_aside == ("column 'p-value T' (a statistic by its name)",)


def test_a_class_that_is_infinite_is_a_text(write):
    data = cobic.read(write("sample,class,g1\na,inf,1\nb,1,2\nc,1,3\n"), "class")
    assert data.y.tolist() == ["inf", "1", "1"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A study of 2020\n" + BASE, 2),
        ("A study of 2020,,,,\n" + BASE, 2),
        ("A study, of 2020\n\nby us\n" + BASE, 4),
    ],
)
def test_a_title_above_the_names_is_recognised(write, text, line):
    path = write(text)
    with pytest.raises(InputError, match=rf"line 1 has .* where line {line} has 5: .*say --header-row {line}$"):
        cobic.read(path, "class")
    check_base(cobic.read(path, "class", header_row=line))


def test_a_title_in_a_sheet_is_recognised(tmp_path):
    book = openpyxl.Workbook()
    for row in [["A study of 2020"], [], ["sample", "class", "g1"], ["s1", "a", 1], ["s2", "b", 2]]:
        book.active.append(row)
    book.save(tmp_path / "titled.xlsx")
    with pytest.raises(InputError, match=r"line 1 has 1 cell where line 3 has 3: .*say --header-row 3"):
        cobic.read(tmp_path / "titled.xlsx", "class")
    assert cobic.read(tmp_path / "titled.xlsx", "class", header_row=3).X.tolist() == [[1], [2]]


@pytest.mark.parametrize("cells", [("1,200", "2,300"), ("1,200", "900"), ("1'200.5", "12"), ("1 200", "12 300 400")])
def test_thousands_marks_are_explained(write, cells):
    text = f'sample,class,g1,g2\ns1,a,"{cells[0]}",1\ns2,b,"{cells[1]}",2\n'
    with pytest.raises(InputError, match=rf"line 2, column 3 \('g1'\): .*{cells[0]}. has thousands marks"):
        cobic.read(write(text), "class")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"labels": "sample"}, "--labels 'sample' names a column or line with a different value for each of 5 samples"),
        ({"labels": "g1"}, "--labels 'g1' names a column or line with a different value .* as '1' and '2'"),
        ({"labels_from_names": "s[0-9]"}, "'s.0-9.' gives a different value for each of 5 samples, as 's1' and 's2'"),
    ],
)
def test_classes_are_shared(write, arguments, words):
    with pytest.raises(InputError, match=words):
        cobic.read(write("sample,class,g1\ns1,a,1\ns2,b,2\ns3,b,3\ns4,a,4\ns5,b,5\n"), **arguments)


def test_a_part_of_a_file_without_parts_is_refused(write):
    with pytest.raises(InputError, match=r"has no parts, and --part .or --sheet. is 'first': leave it out"):
        cobic.read(write(BASE), "class", part="first")

import gzip

import numpy as np
import pytest

import cobic
from cobic.errors import InputError
from cobic.io import table_text

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
        (gzip.compress(BASE.encode()), "data.csv.gz"),
        (gzip.compress(BASE.encode()), "not-called-gz.csv"),
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
        (gzip.compress(BASE.encode())[:-12], {}, "not a whole gzip file"),
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
        ("id,class\nx1,a\nx2,b\n", "names no sample of .*such as 'id', 'x1', 'x2'; of the other, it has 's1', 's2'"),
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

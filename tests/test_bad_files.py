"""Damaged, hostile and mistaken files: one line that names the file, in bounded time and memory, and nothing else."""

import gzip
import io
import pickle
import re
import shutil
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import openpyxl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings

import cobic
from cobic.cli import main
from cobic.errors import InputError
from cobic.io.overview import overview
from cobic.io.read import Reading
from lab_files import FORMATS
from mutations import DAMAGE, damaged
from strategies import examples

HDF = {"h5ad", "h5ad_sparse", "ten_x_hdf", "loom"}  # each look into a damaged one takes a process of its own


@pytest.fixture(scope="module", params=FORMATS)
def lab_file(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    path, arguments = FORMATS[request.param](folder)
    target = path / "matrix.mtx.gz" if path.is_dir() else path
    return request.param, path, target, target.read_bytes(), arguments


def test_damage_is_never_more_than_one_line(lab_file):
    name, path, target, content, arguments = lab_file

    @settings(max_examples=examples(8 if name in HDF else 200), deadline=None, suppress_health_check=list(HealthCheck))
    @given(damage=DAMAGE)
    def attempt(damage):
        target.write_bytes(damaged(content, damage))
        for look in (lambda: cobic.read(path, **arguments), lambda: overview(Reading(path))):
            message = ""
            try:
                look()
            except InputError as error:
                message = str(error)
            assert "\n" not in message

    try:
        attempt()
    finally:
        target.write_bytes(content)


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, bytes(range(256)) * 40, b"a", b"PK\x03\x04", b"\x1f\x8b\x08"])
@pytest.mark.parametrize(
    "name",
    [
        *("data.csv", "data.gct", "data.res", "data.arff", "data.xlsx", "data.parquet", "data.feather", "data.h5ad"),
        *("data.loom", "data.npz", "data.npy", "data.mtx", "data.rda", "data.rds", "x_series_matrix.txt.gz"),
    ],
)
def test_what_is_not_what_it_is_called_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(name)) as caught:
        cobic.read(tmp_path / name, labels="class")
    assert "\n" not in str(caught.value)


def test_every_file_cut_in_half_is_refused(lab_file):
    _, path, target, content, arguments = lab_file
    target.write_bytes(content[: len(content) // 2])
    try:
        with pytest.raises(InputError, match=re.escape(target.name)):
            cobic.read(path, **arguments)
    finally:
        target.write_bytes(content)


TABLE = b"sample,class,g1,g2\ns1,a,1,2\ns2,b,2,1\n"


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.xlsx", TABLE, "called .xlsx, but is none .it looks like text"),
        ("a.gct", TABLE, "called .gct, but is none"),
        ("a.csv", zipped({"a.csv": TABLE}), "zip archive: unpack it"),
        ("a.xls", b"\xd0\xcf\x11\xe0" + b"\x00" * 600, "Excel file of before 2007"),
        ("a.csv", pickle.dumps({"a": 1}), "a pickle may run any program"),
        ("a.cls", b"2 2 1\n# a b\n0 1\n", "holds classes, not data"),
        ("a.csv", b"1,2\n3,4\n", "line 1 holds numbers only.*--header-row 0"),
        ("a.csv", "s;g1;class\nä;1,5;a\n".encode("latin-1"), "not text in UTF-8.*--encoding"),
        ("a.tsv", b"s\tclass\tg1\na\tx\t1,234\nb\ty\t5,678\n", "whole number or a fraction.*--decimal"),
        ("a.tsv", b"s\tclass\tg1\na\tx\t1,5\nb\ty\t5.25\n", "decimal comma .1,5. and with a decimal point"),
        ("a.csv", b'sample,class,g1\ns1,a,"1\n' + b"x" * 200_000, "line 3.*is a quotation mark not closed"),
        ("a.gct", b"#1.2\n5\t1\nName\tDescription\ts1\ng1\tx\t1\n", "promises 5 features and has 1"),
        ("a.gct", b"#1.2\n1\t1\nName\tDescription\ts1\ng1\tx\n", "line 4: 2 cells where its head promises 3"),
        ("a.gct", b"#1.9\n1\t1\nName\tDescription\ts1\ng1\tx\t1\n", "called .gct, but is none"),
        ("a.txt", b'!Series_title\t"x"\n!series_matrix_table_begin\n"ID_REF"\t"G"\ng\t1\n', "it seems cut short"),
        ("a.arff", b"@relation x\n@attribute a numeric\n@attribute b\n@data\n", "line 3: not an attribute"),
        ("a.npz", zipped({"X.npy": b"\x93NUMPY\x01\x00\x02\x00{}"}), "cannot be read as a file of numpy"),
    ],
)
def test_mistakes_are_named_with_their_cure(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        cobic.read(tmp_path / name, labels="class")
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_arrays_of_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "objects.npz", X=np.array([{"run": "me"}, None], dtype=object))
    with pytest.raises(InputError, match="Python objects, which are never read"):
        cobic.read(tmp_path / "objects.npz")


@pytest.mark.disk
@pytest.mark.parametrize(("name", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_an_archive_that_unpacks_without_end_is_refused(tmp_path, name, pack):
    bomb = b"s,class,g1\ns1,a" + b",0" * 60_000_000  # 120 MB that pack to next to nothing
    (tmp_path / f"bomb.csv.{name}").write_bytes(pack(bomb))
    assert_bounded(tmp_path / f"bomb.csv.{name}", "unpacks to more than 200 times its size")


@pytest.mark.disk
def test_lines_without_end_are_refused(tmp_path):
    (tmp_path / "lines.csv").write_bytes(b"s,class,g1\n" + b"s,a,0\n" * 2_100_000)
    assert_bounded(tmp_path / "lines.csv", "has more than 2097152 lines")


@pytest.mark.disk
def test_an_endless_line_is_refused(tmp_path):
    with gzip.open(tmp_path / "line.csv.gz", "wb", compresslevel=1) as stream:
        for _ in range(7):
            stream.write(b"1," * 5_000_000)
    assert_bounded(tmp_path / "line.csv.gz", "line 1 has more than 67108864 characters")


@pytest.mark.disk
def test_zip_bombs_inside_excel_and_numpy_are_refused(tmp_path):
    sheet = b"<worksheet><sheetData>" + b" " * 300_000_000
    (tmp_path / "bomb.xlsx").write_bytes(zipped({"xl/workbook.xml": b"<x/>", "xl/worksheets/sheet1.xml": sheet}))
    assert_bounded(tmp_path / "bomb.xlsx", "more than 50 times its size")
    header = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    (tmp_path / "bomb.npy").write_bytes(header.ljust(128) + b"\x00" * 64)
    assert_bounded(tmp_path / "bomb.npy", "more than fits into memory")


@pytest.mark.disk
def test_large_promises_in_small_files_are_refused(tmp_path):
    with h5py.File(tmp_path / "bomb.h5ad", "w") as file:
        file.create_dataset("X", shape=(16_000, 16_000), dtype="f4", chunks=True)
        file.create_group("obs")
        file.create_group("var")
    assert_bounded(tmp_path / "bomb.h5ad", "more than 200 times its size")
    (tmp_path / "matrix.mtx").write_text("%%MatrixMarket matrix coordinate real general\n9 9 99999999999\n1 1 1\n")
    for name in ("barcodes.tsv", "features.tsv"):
        (tmp_path / name).write_text("x\n")
    assert_bounded(tmp_path, "not a Matrix Market file of a size that can be read")


@pytest.mark.disk
def test_an_excel_sheet_with_one_cell_far_away_is_read_with_little_work(tmp_path):
    book = openpyxl.Workbook()
    for row in (["sample", "class", "g1"], ["s1", "a", 1], ["s2", "b", 2]):
        book.active.append(row)
    book.active.cell(1_000_000, 2_000, "far away")
    book.save(tmp_path / "far.xlsx")
    assert_bounded(tmp_path / "far.xlsx", "line 1000000: 2000 cells where the first line has 3")


def assert_bounded(path, words):
    """The command fails with one line, in less than 3 GB of memory and a minute of work."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); "
    limit += "resource.setrlimit(resource.RLIMIT_CPU, (60, 60)); "
    code = f"{limit}from cobic.cli import main; raise SystemExit(main(['inspect', {str(path)!r}]))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ended.returncode == 2


@pytest.mark.parametrize(
    ("format_", "module", "extra"),
    [
        ("excel", "openpyxl", "excel"),
        ("parquet", "pyarrow.parquet", "parquet"),
        ("feather", "pyarrow.feather", "parquet"),
        ("h5ad", "h5py", "hdf"),
        ("r_data_frame", "rdata", "r"),
        ("csv_zst", "zstandard", "zstd"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch, capsys, format_, module, extra):
    path, _ = FORMATS[format_](tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["inspect", str(path)]) == 2
    assert f"needs the library {module}: pip install 'cobic[{extra}]'" in capsys.readouterr().err


def test_a_ten_x_folder_says_what_is_missing(tmp_path):
    path, arguments = FORMATS["ten_x"](tmp_path)
    (path / "barcodes.tsv.gz").unlink()
    with pytest.raises(InputError, match=r"has no file barcodes\.tsv"):
        cobic.read(path, **arguments)
    shutil.copy(path / "features.tsv.gz", path / "barcodes.tsv.gz")
    with pytest.raises(InputError, match="the files do not belong together"):
        cobic.read(path, **arguments)

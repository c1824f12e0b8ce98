"""No code is run, and no other file is read, through a data file; and a small file does not keep us busy for ever."""

import gzip
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numcodecs.pickles
import numpy as np
import openpyxl
import pytest
import zarr

import cobic
from cobic.errors import InputError
from lab_files import FORMATS

CLASS = {"labels": "class"}
SECRET = np.arange(12.0).reshape(4, 3)


class Payload:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (os.mkdir, (str(self.place),))


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """A folder that a pickle makes when it is loaded; the library's own lock is off, for older ones have none."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    return tmp_path / "ran"


def store(folder, y):
    """A Zarr store of format 2 with a matrix, and the metadata and the only chunk of the classes."""
    plain = {"zarr_format": 2, "compressor": None, "order": "C", "filters": None}
    for name in ("X", "class"):
        (folder / name).mkdir(parents=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    X = {**plain, "shape": [4, 3], "chunks": [4, 3], "dtype": "<f8", "fill_value": 0.0}
    (folder / "X" / ".zarray").write_text(json.dumps(X))
    (folder / "X" / "0.0").write_bytes(SECRET.tobytes())
    about, chunk = y
    about = {**plain, "shape": [4], "chunks": [4], "dtype": "|O", "fill_value": "", **about}
    (folder / "class" / ".zarray").write_text(json.dumps(about))
    (folder / "class" / "0").write_bytes(chunk)
    return about


TEXTS = numcodecs.VLenUTF8().encode(np.array(["a", "a", "b", "b"], dtype=object))
PLAIN = {"filters": [{"id": "vlen-utf8"}]}


def test_an_ordinary_store_is_read(tmp_path):
    store(tmp_path / "st", (PLAIN, bytes(TEXTS)))
    data = cobic.read(tmp_path / "st", **CLASS)
    assert (data.X == SECRET).all()
    assert data.y.tolist() == ["a", "a", "b", "b"]


def refused(path, words):
    for how in ({}, {"backed": True}):
        with pytest.raises(InputError, match=words) as caught:
            cobic.read(path, **CLASS, **how)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["filters", "compressor", "consolidated"])
def test_code_in_a_chunk_is_never_run(tmp_path, ran, place):
    chain = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]
    about = {"compressor": chain[1], "filters": chain[:1]} if place == "compressor" else {"filters": chain}
    content = pickle.dumps(Payload(ran))
    about = store(tmp_path / "st", (about, content))
    if place == "consolidated":  # which is what is read then
        (tmp_path / "st" / "class" / ".zarray").write_text(json.dumps({**about, **PLAIN}))
        groups = {f"{name}/.zarray": json.loads((tmp_path / "st" / name / ".zarray").read_text()) for name in ("X",)}
        metadata = {".zgroup": {"zarr_format": 2}, **groups, "class/.zarray": about}
        document = {"zarr_consolidated_format": 1, "metadata": metadata}
        (tmp_path / "st" / ".zmetadata").write_text(json.dumps(document))
    refused(tmp_path / "st", "asks for the codec .*pickle.*which may run code")
    assert not ran.exists()


@pytest.mark.parametrize("deep", [False, True])
def test_codecs_of_the_third_format_are_checked_too(tmp_path, deep):
    array = zarr.create_group(tmp_path / "st").create_array("X", shape=(4, 3), dtype="f8", chunks=(2, 3), shards=(4, 3))
    array[:] = SECRET  # with data=SECRET Zarr 3.1.0 writes the chunks of a shard at once, and loses some
    document = json.loads((tmp_path / "st" / "X" / "zarr.json").read_text())
    assert cobic.read(tmp_path / "st").X.shape == (4, 3)
    (sharding,) = document["codecs"]
    codecs = sharding["configuration"]["codecs"] if deep else document["codecs"]
    codecs.append({"name": "numcodecs.pickle", "configuration": {}})
    (tmp_path / "st" / "X" / "zarr.json").write_text(json.dumps(document))
    refused(tmp_path / "st", "asks for the codec .*numcodecs.pickle")


def test_links_out_of_a_store_are_refused_and_those_within_followed(tmp_path):
    store(tmp_path / "st", (PLAIN, bytes(TEXTS)))
    chunk, outside = tmp_path / "st" / "X" / "0.0", tmp_path / "secret"
    outside.mkdir()
    shutil.move(chunk, outside / "0.0")
    chunk.symlink_to(outside / "0.0")
    refused(tmp_path / "st", r"0\.0 is a link out of the store")
    chunk.unlink()
    shutil.move(outside / "0.0", tmp_path / "st" / "class" / "hidden")
    chunk.symlink_to(tmp_path / "st" / "class" / "hidden")
    assert (cobic.read(tmp_path / "st", **CLASS).X == SECRET).all()
    (tmp_path / "link").symlink_to(tmp_path / "st")  # what the user names may be a link
    assert (cobic.read(tmp_path / "link", **CLASS).X == SECRET).all()
    chunk.unlink()
    shutil.move(tmp_path / "st" / "class" / "hidden", chunk)
    shutil.move(tmp_path / "st" / "X", outside / "X")
    (tmp_path / "st" / "X").symlink_to(outside / "X")
    refused(tmp_path / "st", "X is a link out of the store")
    (tmp_path / "st" / "X").unlink()
    os.mkfifo(tmp_path / "st" / "X")
    refused(tmp_path / "st", "X is neither a file nor a folder")


def test_a_store_names_no_place_outside(tmp_path):
    store(tmp_path / "st", (PLAIN, bytes(TEXTS)))
    document = {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, "../X/.zarray": {}}}
    (tmp_path / "st" / ".zmetadata").write_text(json.dumps(document))
    refused(tmp_path / "st", "names a place outside of the store")


def test_the_name_of_a_store_is_no_address(tmp_path, monkeypatch):
    """With these two colons zarr takes a text for a chain of file systems."""
    store(tmp_path / "a::b", (PLAIN, bytes(TEXTS)))
    monkeypatch.chdir(tmp_path)
    assert (cobic.read("a::b", **CLASS).X == SECRET).all()


# --- HDF5


@pytest.fixture
def annotated(tmp_path):
    path, _ = FORMATS["h5ad"](tmp_path)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["hidden"] = SECRET
    np.save(tmp_path / "secret", SECRET)
    return path


def external_storage(file, folder):
    file.create_dataset("X", SECRET.shape, "f8", external=[(str(folder / "secret.npy"), 128, SECRET.nbytes)])


def external_link(file, folder):
    file["X"] = h5py.ExternalLink(str(folder / "other.h5"), "/hidden")


def deep_link(file, _folder):
    file["X"] = SECRET
    file.create_group("uns/deep")["far"] = h5py.ExternalLink("/dev/zero", "/")


def virtual(file, folder):
    layout = h5py.VirtualLayout(SECRET.shape, "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "hidden", SECRET.shape)
    file.create_virtual_dataset("X", layout)


@pytest.mark.parametrize("probed", [True, False])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (external_storage, "numbers of /X are kept in another file, .*secret"),
        (external_link, "/X is a link into another file, .*other.h5"),
        (deep_link, "/uns/deep/far is a link into another file, '/dev/zero'"),
        (virtual, "/X is a virtual dataset"),
    ],
)
def test_hdf5_reads_no_other_file(annotated, tmp_path, monkeypatch, make, words, probed):
    if not probed:
        monkeypatch.setattr(sys, "executable", "")
    with h5py.File(annotated, "a") as file:
        del file["X"]
        make(file, tmp_path)
    refused(annotated, words)
    with monkeypatch.context() as patched:
        patched.setattr("cobic.io.sizes.SMALLEST_FILE", 0)
        with pytest.raises(InputError, match=words):
            cobic.estimate_memory(annotated)


def test_links_within_a_file_are_followed(annotated):
    before = cobic.read(annotated, **CLASS)
    with h5py.File(annotated, "a") as file:
        file.move("X", "moved")
        file["X"] = h5py.SoftLink("/moved")
        file["obs/again"] = file["obs/class"]
        file.create_group("round")["and"] = file["/"]
    assert (cobic.read(annotated, **CLASS).X == before.X).all()


# --- R, Excel


def test_r_data_are_packed_once(tmp_path):
    path, _ = FORMATS["r_data_frame"](tmp_path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InputError, match="is none"):
        cobic.read(path)


HEAD = b'<row><c t="inlineStr"><is><t>s</t></is></c><c t="inlineStr"><is><t>class</t></is></c></row>'
SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%b</sheetData></worksheet>'
EMPTY = "millions of rows or cells with nothing in them"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("rows", "n_sheets", "words"),
    [
        (HEAD + b'<row><c r="XFD9"><v>1</v></c></row>' * 100_000, 1, "16384 cells where the first line has 2|" + EMPTY),
        (HEAD + b'<row r="99999999"><c><v>1</v></c></row>', 1, EMPTY),
        (b'<row r="1048576"></row>', 200, EMPTY),
        (HEAD + b"<row>" + b"<c/>" * 15_000_000 + b"</row>", 1, "more than 50 times its size"),
    ],
    ids=["wide", "far", "many sheets", "many cells"],
)
def test_a_small_workbook_takes_seconds(tmp_path, rows, n_sheets, words):
    book, plain = openpyxl.Workbook(), io.BytesIO()
    for number in range(n_sheets - 1):
        book.create_sheet(f"s{number}")
    book.save(plain)
    with zipfile.ZipFile(plain) as given, zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            made.writestr(name, SHEET % rows if "/worksheets/" in name else given.read(name))
    assert (tmp_path / "a.xlsx").stat().st_size < 200_000
    limits = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30,) * 2); "
    limits += "resource.setrlimit(resource.RLIMIT_CPU, (10, 10)); from cobic.cli import main; "
    code = f"{limits}raise SystemExit(main(['inspect', {str(tmp_path / 'a.xlsx')!r}]))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert Path(tmp_path / "a.xlsx").name in ended.stderr
    assert any(word in ended.stderr for word in words.split("|"))

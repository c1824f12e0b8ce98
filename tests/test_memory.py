import bz2
import gzip
import lzma
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr

import cobic
from cobic.cli import main
from cobic.errors import InputError, LargeDataWarning
from cobic.io import sizes
from cobic.methods import memory

GB = 1_000_000_000
MEMINFO = "MemTotal:       20000000 kB\nMemFree:         100000 kB\nMemAvailable:   10000000 kB\n"


def pretend(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return memory.available(folder / "proc", folder / "cgroup")


def test_without_limits_it_is_what_linux_says_is_available(tmp_path):
    assert pretend(tmp_path, {"proc/meminfo": MEMINFO}) == 10_000_000 * 1024


def test_a_group_has_a_limit_and_what_it_read_from_files_is_given_back(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job/step\n",
        "cgroup/job/step/memory.max": f"{3 * GB}\n",
        "cgroup/job/step/memory.current": f"{2 * GB}\n",
        "cgroup/job/step/memory.stat": f"anon 5\ninactive_file {GB // 2}\n",
    }
    assert pretend(tmp_path, files) == 3 * GB // 2
    above = {"cgroup/job/memory.max": f"{2 * GB}\n", "cgroup/job/memory.current": f"{GB}\n"}
    assert pretend(tmp_path, above) == GB
    assert pretend(tmp_path, {"cgroup/job/memory.max": "max\n"}) == 3 * GB // 2
    assert pretend(tmp_path, {"cgroup/job/step/memory.current": f"{4 * GB}\n"}) == 0


def test_the_first_version_of_groups_is_known_and_no_limit_is_none(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "4:memory:/job\n3:cpuset:/\n",
        "cgroup/memory/job/memory.limit_in_bytes": f"{2 * GB}\n",
        "cgroup/memory/job/memory.usage_in_bytes": f"{GB // 2}\n",
    }
    assert pretend(tmp_path, files) == 3 * GB // 2
    assert pretend(tmp_path, {"cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n"}) == 10_000_000 * 1024


def test_the_limit_of_the_process_counts_less_what_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (GB, GB))
    files = {"proc/meminfo": MEMINFO, "proc/self/status": "Name: python\nVmSize:   100000 kB\n"}
    assert pretend(tmp_path, files) == GB - 100_000 * 1024


def test_other_systems_are_asked_otherwise_and_may_not_know(tmp_path, monkeypatch):
    pages = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}

    def sysconf(name):
        if name not in pages:
            raise ValueError(name)
        return pages[name]

    monkeypatch.setattr(memory.os, "sysconf", sysconf)
    assert pretend(tmp_path, {}) == 4_096_000  # as on macOS
    monkeypatch.delattr(memory.os, "sysconf")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert pretend(tmp_path, {}) is None  # as on Windows
    monkeypatch.setattr(memory, "available", lambda: None)
    estimate = cobic.estimate_memory(np.zeros((3, 5)))
    assert estimate.fits
    assert str(estimate) == "about 40 MB will be needed"


def test_what_is_in_memory_is_counted_once():
    dense = cobic.datasets.make_large_expression(3000, n_samples=50, n_classes=5, seed=1)
    sparse = cobic.datasets.make_large_expression(3000, n_samples=50, n_classes=5, density=0.1, seed=1)
    of_array = cobic.estimate_memory(dense.X, n_classes=5)
    assert of_array.matrix == dense.X.nbytes == 3000 * 50 * 4
    assert of_array.solving == of_array.matrix + of_array.needed
    assert of_array.reading == 0
    assert cobic.estimate_memory(dense).needed == cobic.estimate_memory(dense.problem()).needed == of_array.needed
    assert cobic.estimate_memory(dense.X, n_classes=2).needed < of_array.needed
    of_csr = cobic.estimate_memory(sparse.problem())
    assert of_csr.matrix == sparse.X.data.nbytes + sparse.X.indices.nbytes + sparse.X.indptr.nbytes
    assert of_csr.needed == pytest.approx(of_array.needed, rel=0.01)  # but for the features that are kept at hand


SHAPE = (60, 2000)


@pytest.fixture
def all_sizes(monkeypatch):
    monkeypatch.setattr(sizes, "SMALLEST_FILE", 0)
    monkeypatch.setattr(sizes, "SMALLEST_PACKED", 0)


def dense_file(folder, form):
    path = folder / f"data.{form}"
    values = cobic.datasets.make_large_expression(SHAPE[1], n_samples=SHAPE[0], seed=1).X
    if form == "npy":
        np.save(path, values)
    elif form == "parquet":
        pd.DataFrame(values, columns=[f"g{at}" for at in range(SHAPE[1])]).to_parquet(path)
    elif form == "3.zarr":
        zarr.save_array(str(path), values)
    else:
        cobic.datasets.write_expression(path, SHAPE[1], n_samples=SHAPE[0], seed=1)
    return path


@pytest.mark.parametrize("form", ["npy", "parquet", "h5ad", "zarr", "3.zarr"])
def test_the_size_of_a_dense_file_is_known_before_it_is_read(tmp_path, all_sizes, form):
    estimate = cobic.estimate_memory(dense_file(tmp_path, form))
    assert estimate.shape == SHAPE
    cells = SHAPE[0] * SHAPE[1]
    assert estimate.matrix == (8 if form == "parquet" else 4) * cells
    chunks = 2 * 4 * cells if form.endswith("zarr") else 0  # few enough to be read side by side, as stored and unpacked
    plain = 4 * cells + chunks + 300 * sum(SHAPE)
    assert estimate.reading == (24 * cells + 12_000 * SHAPE[1] if form == "parquet" else plain)
    assert estimate.needed >= estimate.reading


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("chunks", "unpacked"), [((60, 2000), 120_000), ((80, 4000), 320_000), ((6, 100), 6000)])
def test_the_chunks_of_a_store_take_room_beside_the_matrix(tmp_path, all_sizes, version, chunks, unpacked):
    path = tmp_path / "data.zarr"
    zarr.create_array(str(path), data=np.ones(SHAPE, dtype="f4"), chunks=chunks, zarr_format=version)
    estimate = cobic.estimate_memory(path)
    assert estimate.matrix == 4 * 120_000
    assert estimate.reading == 4 * 120_000 + 2 * 4 * unpacked + 300 * sum(SHAPE)
    on_disk, without = (
        memory._of_file(found, 2, on_disk=True).needed
        for found in (memory.stored(path), replace(memory.stored(path), unpacking=0))
    )
    assert on_disk - without == 2 * 4 * unpacked


@pytest.mark.parametrize(("kind", "held", "copied"), [("<f4", 4, 0), (">f4", 4, 4), ("<i8", 8, 8), ("u1", 1, 0)])
def test_numbers_that_are_not_kept_as_they_are_take_room_for_both(tmp_path, all_sizes, kind, held, copied):
    np.save(tmp_path / "data.npy", np.ones(SHAPE, dtype=kind))
    estimate = cobic.estimate_memory(tmp_path / "data.npy")
    assert estimate.matrix == held * SHAPE[0] * SHAPE[1]
    assert estimate.reading == (held + copied) * SHAPE[0] * SHAPE[1] + 300 * sum(SHAPE)


def test_a_window_of_many_samples_takes_room(monkeypatch):
    zeros = np.broadcast_to(np.float32(0), (1000, 400_000))
    needed = cobic.estimate_memory(zeros).solving
    monkeypatch.setattr(memory, "window_size", lambda *_: 0)
    assert needed - cobic.estimate_memory(zeros).solving == 8 * 1000 * (400_000 // 12)


def test_soft_margins_take_more():
    data = cobic.datasets.make_expression(200, seed=1)
    hard, soft = (cobic.estimate_memory(data.problem(slack_penalty=price)).needed for price in (float("inf"), 1.0))
    n_samples = data.X.shape[0]
    assert soft == hard + 2 * 2 * 60 * (200 // 16 + 8 * n_samples)


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
def test_the_size_of_a_sparse_file_is_known_before_it_is_read(tmp_path, all_sizes, form):
    path = tmp_path / f"cells.{form}"
    cobic.datasets.write_expression(path, 3000, n_samples=200, density=0.1, seed=1)
    X = (anndata.read_h5ad if form == "h5ad" else anndata.read_zarr)(path).X
    estimate = cobic.estimate_memory(path)
    assert estimate.shape == (200, 3000)
    assert estimate.matrix == X.nnz * 8


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz"])
def test_the_cells_of_a_text_are_told_from_its_beginning(tmp_path, all_sizes, form):
    path = tmp_path / f"table.{form}"
    values = cobic.datasets.make_large_expression(SHAPE[1], n_samples=400, seed=1).X
    text = pd.DataFrame(values).to_csv(sep="\t" if form == "tsv" else ",")
    path.write_bytes(gzip.compress(text.encode(), 1) if form.endswith("gz") else text.encode())
    cells = cobic.estimate_memory(path).matrix / 8
    assert cells == pytest.approx(400 * SHAPE[1], rel=0.5 if form.endswith("gz") else 0.05)


@pytest.mark.parametrize(("pack", "quickly"), [(gzip, {}), (bz2, {}), (lzma, {"preset": 0})])
def test_how_much_a_text_shrinks_is_measured(tmp_path, all_sizes, pack, quickly):
    """Counts of which most are zero shrink to a twentieth, and measurements to a half."""
    rng = np.random.default_rng(0)
    for draw in (lambda: np.where(rng.random(2000) < 0.05, rng.poisson(1.5, 2000), 0), lambda: rng.normal(size=2000)):
        lines = [",".join(map(str, draw().tolist())) for _ in range(500)]
        path = tmp_path / f"counts.csv.{ {gzip: 'gz', bz2: 'bz2', lzma: 'xz'}[pack] }"
        path.write_bytes(pack.compress(("\n".join(lines) + "\n").encode(), **quickly))
        assert cobic.estimate_memory(path).matrix == pytest.approx(8 * 1_000_000, rel=0.1)


@pytest.mark.parametrize("name", ["small.csv", "data.xlsx", "nowhere.npy", "empty.zarr"])
def test_what_cannot_be_told_is_no_estimate(tmp_path, name):
    if name == "empty.zarr":
        (tmp_path / name).mkdir()
    elif name != "nowhere.npy":
        (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="cannot be told before it is read"):
        cobic.estimate_memory(tmp_path / name)
    assert memory.require_room(tmp_path / name, solving=True) is None


def test_a_file_of_which_nothing_makes_sense_is_left_to_the_reader(tmp_path, all_sizes):
    (tmp_path / "odd.npy").write_bytes(b"\x93NUMPY\x01\x00garbage")
    (tmp_path / "odd.zarr" / "X").mkdir(parents=True)
    (tmp_path / "odd.zarr" / "X" / ".zarray").write_text("{not JSON")
    for path in tmp_path.iterdir():
        assert memory.require_room(path, solving=True) is None


@pytest.fixture
def table(tmp_path):
    data = cobic.datasets.make_expression(150, contaminated=0.05, seed=1)
    path = tmp_path / "table.csv"
    path.write_text(cobic.io.table_text(data))
    return path


def test_large_data_are_announced_and_small_ones_not(table, all_sizes, monkeypatch, capsys):
    assert main(["select", str(table), "--labels", "class"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(memory, "LARGE", 1_000_000)
    monkeypatch.setattr(memory, "available", lambda: 20 * GB)
    assert main(["select", str(table), "--labels", "class", "--json"]) == 0
    assert capsys.readouterr().err == "cobic: about 41 MB will be needed, 20 GB are free\n"


@pytest.mark.parametrize("command", ["select", "path", "inspect"])
def test_what_does_not_fit_is_refused_with_what_would(table, all_sizes, monkeypatch, capsys, command):
    monkeypatch.setattr(memory, "available", lambda: 300_000)
    assert main([command, str(table), "--labels", "class"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"cobic: {table}: about ")
    assert told.err.count("\n") == 1
    assert ("store it as float32 in .npy or .h5ad" in told.err) == (command == "inspect")  # the others would not fit


# The file has the header of a large array and little else: whoever began to read it would say that it is cut short.
_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from cobic.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.memory
@pytest.mark.parametrize(("limit", "told"), [(2_200_000_000, "numbers, "), (30 * GB, "cut short")])
def test_a_file_that_cannot_fit_is_refused_before_it_is_read(tmp_path, limit, told):
    path = tmp_path / "large.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f4", "fortran_order": False, "shape": (200, 2_000_000)}
        )
        stream.truncate(9_000_000)
    command = [sys.executable, "-c", _LIMITED, str(limit), "inspect", str(path)]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=100, env={"OMP_NUM_THREADS": "1"}
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert told in ended.stderr.splitlines()[-1]
    if limit < 3 * GB:
        assert ended.stderr.startswith(f"cobic: {path}: about 2.2 GB are needed for 200 × 2000000 numbers, ")
        assert ended.stderr.count("\n") == 1


def test_memory_that_runs_out_all_the_same_is_one_line(table, monkeypatch, capsys):
    def exhausted(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("cobic.cli.select.solve", exhausted)
    assert main(["select", str(table), "--labels", "class", "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("cobic: the memory does not suffice (")
    assert told.err.count("\n") == 1


def test_solving_warns_of_too_little_memory_but_goes_on(monkeypatch):
    problem = cobic.datasets.make_expression(200, seed=1).problem()
    monkeypatch.setattr(memory, "LARGE", 1000)
    monkeypatch.setattr(memory, "available", lambda: 5_000_000)
    with pytest.warns(LargeDataWarning, match=r"about 41 MB will be needed, 5 MB are free: float32"):
        assert cobic.solve(problem, method="fixed-point").consistent
    monkeypatch.setattr(memory, "available", lambda: GB)
    assert cobic.solve(problem, method="fixed-point").consistent


_MEASURED = """
import sys, numpy as np, cobic
def kept(word):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(word)) * 1024
small = cobic.datasets.make_expression(200, seed=1)
cobic.solve(small.problem(), max_programs=50)  # so that libraries are loaded
if sys.argv[1] == "solve":
    data = cobic.datasets.make_large_expression(50_000, n_samples=200, seed=0)
    estimate = cobic.estimate_memory(data)
else:
    estimate = cobic.estimate_memory(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")  # forgets the peak so far
before = kept("VmRSS")
if sys.argv[1] == "solve":
    cobic.solve(data.problem(), max_programs=100)
    print((kept("VmHWM") - before) / estimate.needed)
else:
    cobic.read(sys.argv[1])
    print((kept("VmHWM") - before) / estimate.reading)
"""


@pytest.mark.memory
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize(("what", "factor"), [("solve", 3.0), ("npy", 1.5), ("csv", 2.0)])
def test_estimates_are_near_what_is_measured(tmp_path, what, factor):
    if what == "solve":
        argument = what
    else:
        argument = str(tmp_path / f"data.{what}")
        values = cobic.datasets.make_large_expression(15_000, n_samples=100, seed=0).X
        np.save(argument, np.repeat(values, 5, axis=0)) if what == "npy" else pd.DataFrame(values).to_csv(argument)
    command = [sys.executable, "-c", _MEASURED, argument]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    assert 1 / factor < float(ended.stdout) < factor

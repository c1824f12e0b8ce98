import hashlib
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

import cobic
from cobic import datasets
from cobic.datasets import RemoteFile, fetch, make_expression
from cobic.errors import DownloadError, InputError

CONTENT = b"patient,class\n1,ALL\n" * 5000


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests += 1
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/broken" else CONTENT)
        self.close_connection = True

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.delenv("COBIC_DATA", raising=False)
    monkeypatch.setattr("cobic.datasets.public.pooch.os_cache", lambda _: tmp_path / "cache")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        running.requests = 0
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def remote(server, name, content=CONTENT):
    address = f"http://127.0.0.1:{server.server_port}/{name}"
    return RemoteFile(f"some/{name}.csv", address, hashlib.sha256(content).hexdigest())


def left_behind(tmp_path):
    return [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_file_is_downloaded_once_and_kept(server):
    first, second = fetch(remote(server, "good")), fetch(remote(server, "good"))
    assert first == second
    assert first.read_bytes() == CONTENT
    assert server.requests == 1


def test_a_wrong_digest_is_refused_and_nothing_is_kept(server, tmp_path):
    with pytest.raises(DownloadError, match=r"/good: what arrived is not the expected file.*COBIC_DATA$"):
        fetch(remote(server, "good", b"something else"))
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["broken", "missing"])
def test_a_failed_transfer_is_one_line_and_nothing_is_kept(server, tmp_path, name):
    with pytest.raises(DownloadError, match=f"/{name}: .*some/{name}.csv into a folder named by COBIC_DATA$") as caught:
        fetch(remote(server, name))
    assert "\n" not in str(caught.value)
    assert left_behind(tmp_path) == []


def test_no_network_is_one_line(server):
    file = remote(server, "good")
    nowhere = RemoteFile(file.path, "http://127.0.0.1:9/good", file.sha256)
    with pytest.raises(DownloadError, match=r"the download failed \(ConnectionError\)"):
        fetch(nowhere)


def test_a_cache_that_cannot_be_written_is_one_line(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match="cannot be stored"):
        fetch(remote(server, "good"))


def test_cobic_data_comes_first_and_its_digest_is_checked(server, tmp_path, monkeypatch):
    monkeypatch.setenv("COBIC_DATA", str(tmp_path))
    path = tmp_path / "some" / "good.csv"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert fetch(remote(server, "good")) == path
    assert server.requests == 0
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DownloadError, match="not the published file"):
        fetch(remote(server, "good"))
    path.unlink()
    assert fetch(remote(server, "good")) != path
    assert server.requests == 1


def test_every_file_has_a_full_digest_and_a_fixed_address():
    for file in datasets.FILES.values():
        assert len(file.sha256) == 64
        commit = file.address.split("/")[5]
        assert len(commit) == 40
        assert file.address.endswith(Path(file.path).name)


def test_expression_data_are_shaped_like_golub_and_need_selection():
    data = make_expression(seed=0)
    problem = data.problem()
    assert data.X.shape == (38, 7129)
    assert data.class_sizes == {"A": 27, "B": 11}
    assert data.test.X.shape == (34, 7129)
    assert data.test.class_sizes == {"A": 20, "B": 14}
    assert not problem.is_consistent(np.ones(7129, dtype=bool))
    kinds = np.array(data.feature_kinds)
    assert [(kinds == kind).sum() for kind in ("informative", "noisy", "contaminated")] == [1426, 713, 71]
    clean = kinds != "contaminated"
    assert problem.is_consistent(clean)
    result = cobic.solve(problem, method="fixed-point")
    dropped = kinds[~result.support]
    assert (dropped == "contaminated").sum() > 0.6 * dropped.size


def test_expression_data_are_determined_by_the_seed():
    first, second, other = (make_expression(80, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.test.X, second.test.X)
    assert (first.X != other.X).any()


def test_expression_data_with_many_classes_and_no_test_set():
    data = make_expression(300, class_sizes=(4, 5, 6, 7), test_sizes=None, contaminated=0.05, seed=1)
    assert data.test is None
    assert data.class_sizes == {"A": 4, "B": 5, "C": 6, "D": 7}


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_features": 0},
        {"class_sizes": (5,)},
        {"class_sizes": (5, 0)},
        {"test_sizes": (1, 2, 3)},
        {"informative": 0.9, "noisy": 0.2},
        {"contaminated": -0.1},
    ],
)
def test_impossible_expression_data_are_refused(arguments):
    with pytest.raises(InputError):
        make_expression(**arguments)

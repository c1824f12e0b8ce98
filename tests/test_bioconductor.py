"""Files that R wrote (bioconductor/make.R): objects of Bioconductor with the annotation of their samples."""

import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import cobic
from cobic import InputError

FILES = Path(__file__).parent / "bioconductor"
# As in make.R, samples in rows.
VALUES = np.arange(1, 7)[None, :] + np.arange(1, 6)[:, None] / 8
VALUES[3:, 3:] += 16
VALUES[:2, :3] = 0
GENES, SAMPLES = tuple(f"gene{i}" for i in range(1, 7)), tuple(f"s{i}" for i in range(1, 6))
TYPES = ["tumour", "tumour", "tumour", "normal", "normal"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ExpressionSet.rds", {}),
        ("SummarizedExperiment.rds", {"part": "logcounts"}),
        ("RangedSummarizedExperiment.rds", {}),
        ("SingleCellExperiment.rds", {}),
        ("SingleCellExperiment.RData", {}),
        ("several.rda", {"part": "se$logcounts"}),
        ("several.rda", {"part": "eset"}),
        ("several.rda", {"part": "eset$exprs"}),
        ("with-errors.rds", {}),
        ("matrix-and-frames.RData", {}),
    ],
)
def test_values_names_and_classes_are_those_of_r(name, options):
    data = cobic.read(FILES / name, labels="type", **options)
    values = data.X.toarray() if sp.issparse(data.X) else data.X
    assert sp.issparse(data.X) == name.startswith("SingleCell")
    np.testing.assert_array_equal(values, VALUES)
    assert (data.feature_names, data.sample_names) == (GENES, SAMPLES)
    assert data.y.tolist() == TYPES
    assert data.layout == "features in rows"


def test_a_symbol_describes_and_other_columns_may_be_classes():
    data = cobic.read(FILES / "SingleCellExperiment.rds", labels="type")
    assert data.feature_descriptions == tuple(f"SYM{i}" for i in range(1, 7))
    with pytest.raises(InputError, match="s2"):  # whose age and site are NA in R
        cobic.read(FILES / "ExpressionSet.rds", labels="site")
    data = cobic.read(FILES / "ExpressionSet.rds", labels="site", drop=["s2"])
    assert data.y.tolist() == ["Zürich", "Rome", "Rome", "Oslo"]
    assert cobic.read(FILES / "ExpressionSet.rds", labels="age", drop=["s2"]).y.tolist() == ["50", "47", "66", "58"]


def test_expression_stands_for_an_expression_set_with_errors():
    assert "'se.exprs'" in cobic.read(FILES / "with-errors.rds", labels="type").set_aside
    data = cobic.read(FILES / "with-errors.rds", labels="type", part="se.exprs")
    np.testing.assert_array_equal(data.X, VALUES / 10)


def test_another_assay_is_other_numbers():
    data = cobic.read(FILES / "SummarizedExperiment.rds", labels="type", part="counts")
    np.testing.assert_array_equal(data.X, VALUES * 8)


def test_names_come_from_the_annotation_where_the_numbers_have_none():
    data = cobic.read(FILES / "without-names.rds", labels="type")
    assert data.sample_names == SAMPLES
    assert data.feature_names == tuple(f"feature_{i}" for i in range(1, 7))


def test_a_sparse_matrix_alone(tmp_path):
    (tmp_path / "classes.csv").write_text("sample,class\n" + "".join(f"{s},{t}\n" for s, t in zip(SAMPLES, TYPES)))
    data = cobic.read(FILES / "dgCMatrix.rds", labels_file=tmp_path / "classes.csv")
    np.testing.assert_array_equal(data.X.toarray(), VALUES)
    assert data.y.tolist() == TYPES


def test_what_stands_beside_an_object_is_set_aside():
    assert "'samples'" in cobic.read(FILES / "SingleCellExperiment.RData", labels="type").set_aside


@pytest.mark.parametrize(
    ("name", "part", "message"),
    [
        ("SummarizedExperiment.rds", None, "holds counts, logcounts: say which with --part"),
        ("several.rda", None, r"holds eset, se\$counts, se\$logcounts: say which with --part"),
        ("several.rda", "raw", r"holds no 'raw': give --part eset\$exprs or se\$counts or se\$logcounts"),
        (
            "delayed.rds",
            None,
            r'logcounts is of class DelayedMatrix, which cannot be read; in R: x <- readRDS\("delayed.rds"\); '
            r'write.csv\(as.matrix\(SummarizedExperiment::assay\(x, "logcounts"\)\), "x.csv"\)',
        ),
        (
            "GRanges.rds",
            None,
            r'holds an object of class GRanges, which cannot be read; in R: x <- readRDS\("GRanges.rds"\); '
            r'write.csv\(as.matrix\(x\), "x.csv"\)',
        ),
    ],
)
def test_what_cannot_be_read_says_what_it_is_and_what_to_do(name, part, message):
    with pytest.raises(InputError, match=message):
        cobic.read(FILES / name, labels="type", part=part)


@pytest.mark.parametrize("name", ["ExpressionSet.rds", "SingleCellExperiment.rds", "several.rda"])
def test_damage_is_no_other_error(name, tmp_path):
    whole = gzip.decompress((FILES / name).read_bytes())
    rng = np.random.default_rng(0)
    for step in range(150):
        content = bytearray(whole[: rng.integers(20, len(whole))] if step % 3 == 0 else whole)
        for place in rng.integers(len(content), size=step % 3 * 2):
            content[place] = rng.integers(256)
        file = tmp_path / name
        file.write_bytes(bytes(content))
        with suppress(InputError):
            cobic.read(file, labels="type", part="se$logcounts" if "several" in name else None)

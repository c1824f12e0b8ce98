"""One data set written in every format that cobic reads, by other programs where there is one."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import rdata
import scipy.io
import scipy.sparse as sp
import zstandard

import cobic

DATA = cobic.datasets.make_expression(40, class_sizes=(7, 5), test_sizes=None, seed=5)
X = DATA.X / 8.0  # fractions that every format keeps, and zeros for the sparse ones
X[:, ::7] = 0.0
SAMPLES, GENES = list(DATA.sample_names), list(DATA.feature_names)
CLASSES = [str(cls) for cls in DATA.y]
ROWS = pd.DataFrame(X, index=pd.Index(SAMPLES, name="sample"), columns=GENES)
LABELLED = pd.concat([pd.DataFrame({"class": CLASSES}, index=ROWS.index), ROWS], axis=1)
TURNED = ROWS.T.rename_axis("gene")
BY_COLUMN = {"labels": "class"}


def csv(folder: Path):
    LABELLED.to_csv(folder / "data.csv")
    return folder / "data.csv", BY_COLUMN


def tsv_features_in_rows(folder: Path):
    TURNED.to_csv(folder / "data.tsv", sep="\t")
    LABELLED["class"].to_csv(folder / "classes.csv")
    return folder / "data.tsv", {"labels_file": folder / "classes.csv"}


def csv_with_a_row_of_classes(folder: Path):
    LABELLED.T.to_csv(folder / "turned.csv", index_label="gene")
    return folder / "turned.csv", BY_COLUMN


def csv_with_decimal_comma(folder: Path):
    LABELLED.to_csv(folder / "german.csv", sep=";", decimal=",", encoding="utf-8-sig")
    return folder / "german.csv", BY_COLUMN


def csv_in_utf16_with_comments(folder: Path):
    text = "# from the lab\n# of today\n" + LABELLED.to_csv(sep="\t")
    (folder / "excel.txt").write_text(text, encoding="utf-16")
    return folder / "excel.txt", BY_COLUMN


def table_as_r_writes_it(folder: Path):
    lines = LABELLED.to_csv(sep=" ", quoting=2).splitlines()
    lines[0] = lines[0].partition(" ")[2]  # write.table has no heading above the row names
    (folder / "r.txt").write_text("\n".join(lines) + "\n")
    return folder / "r.txt", BY_COLUMN


def _packed(folder: Path, ending: str, pack):
    path = folder / f"data.csv.{ending}"
    path.write_bytes(pack(LABELLED.to_csv().encode()))
    return path, BY_COLUMN


def csv_gz(folder: Path):
    return _packed(folder, "gz", gzip.compress)


def csv_bz2(folder: Path):
    return _packed(folder, "bz2", bz2.compress)


def csv_xz(folder: Path):
    return _packed(folder, "xz", lzma.compress)


def csv_zst(folder: Path):
    return _packed(folder, "zst", zstandard.compress)


def gct(folder: Path):
    table = TURNED.copy()
    table.insert(0, "Description", [f"about {gene}" for gene in GENES])
    text = f"#1.2\n{len(GENES)}\t{len(SAMPLES)}\n" + table.to_csv(sep="\t", index_label="Name")
    (folder / "data.gct").write_text(text)
    numbers = " ".join(str(sorted(set(CLASSES)).index(cls)) for cls in CLASSES)
    (folder / "data.cls").write_text(f"{len(SAMPLES)} 2 1\n# A B\n{numbers}\n")
    return folder / "data.gct", {"labels_file": folder / "data.cls"}


def gct_1_3(folder: Path):
    lines = [f"#1.3\n{len(GENES)}\t{len(SAMPLES)}\t1\t2", "\t".join(["id", "desc", *SAMPLES])]
    lines += ["\t".join(["class", "na", *CLASSES]), "\t".join(["batch", "na", *["1"] * len(SAMPLES)])]
    lines += ["\t".join([gene, "x", *map(repr, TURNED.loc[gene].tolist())]) for gene in GENES]
    (folder / "data13.gct").write_text("\n".join(lines) + "\n")
    return folder / "data13.gct", BY_COLUMN


def res(folder: Path):
    lines = ["Description\tAccession\t" + "\t\t".join(SAMPLES) + "\t", "\t" + "\t\t".join(["scan"] * len(SAMPLES))]
    lines.append(str(len(GENES)))
    values = {gene: "\t".join(f"{value!r}\tP" for value in TURNED.loc[gene].tolist()) for gene in GENES}
    lines += [f"about {gene}\t{gene}\t{values[gene]}" for gene in GENES]
    (folder / "data.res").write_text("\n".join(lines) + "\n")
    (folder / "res.cls").write_text(f"{len(SAMPLES)} 2 1\n# A B\n{' '.join(CLASSES)}\n")
    return folder / "data.res", {"labels_file": folder / "res.cls"}


def geo(folder: Path):
    quoted = "\t".join(f'"GSM{at}"' for at in range(len(SAMPLES)))
    above = ['!Series_title\t"A study"', "", "!Sample_geo_accession\t" + quoted]
    above += ["!Sample_title\t" + "\t".join(f'"{name}"' for name in SAMPLES)]
    above += ["!Sample_characteristics_ch1\t" + "\t".join(f'"disease: {cls}"' for cls in CLASSES)]
    above += ["!Sample_characteristics_ch1\t" + "\t".join('"age: 40"' for _ in CLASSES), "!series_matrix_table_begin"]
    rows = ['"' + gene + '"\t' + "\t".join(map(repr, TURNED.loc[gene].tolist())) for gene in GENES]
    text = "\n".join([*above, '"ID_REF"\t' + quoted, *rows, "!series_matrix_table_end"]) + "\n"
    (folder / "GSE1_series_matrix.txt.gz").write_bytes(gzip.compress(text.encode()))
    return folder / "GSE1_series_matrix.txt.gz", {"labels": "disease"}


def arff(folder: Path):
    lines = ["% from the lab", "@RELATION 'a study'", "", "@ATTRIBUTE sample string"]
    lines += [f"@attribute '{gene}' numeric" for gene in GENES] + ["@attribute class {A,B}", "@DATA"]
    for name, row, cls in zip(SAMPLES, X.tolist(), CLASSES):
        lines.append(",".join([f"'{name}'", *map(repr, row), cls]))
    (folder / "data.arff").write_text("\n".join(lines) + "\n")
    return folder / "data.arff", BY_COLUMN


def sparse_arff(folder: Path):
    lines = ["@relation sparse", *(f"@attribute {gene} real" for gene in GENES), "@attribute class {A,B}", "@data"]
    for row, cls in zip(X.tolist(), CLASSES):
        filled = [f"{at} {value!r}" for at, value in enumerate(row) if value]
        lines.append("{" + ", ".join(filled + ([f"{len(GENES)} B"] if cls == "B" else [])) + "}")
    (folder / "sparse.arff").write_text("\n".join(lines) + "\n")
    return folder / "sparse.arff", BY_COLUMN


def excel(folder: Path):
    with pd.ExcelWriter(folder / "data.xlsx") as writer:
        pd.DataFrame({"a note": ["by hand"]}).to_excel(writer, sheet_name="read me")
        LABELLED.to_excel(writer, sheet_name="measured", startrow=2)
    return folder / "data.xlsx", {**BY_COLUMN, "part": "measured", "header_row": 3}


def excel_features_in_rows(folder: Path):
    TURNED.to_excel(folder / "turned.xlsx")
    LABELLED["class"].to_csv(folder / "classes.tsv", sep="\t")
    return folder / "turned.xlsx", {"labels_file": folder / "classes.tsv"}


def parquet(folder: Path):
    LABELLED.to_parquet(folder / "data.parquet")
    return folder / "data.parquet", BY_COLUMN


def feather(folder: Path):
    LABELLED.reset_index().to_feather(folder / "data.feather")
    return folder / "data.feather", BY_COLUMN


def parquet_features_in_rows(folder: Path):
    TURNED.to_parquet(folder / "turned.parquet")
    LABELLED["class"].to_csv(folder / "classes.txt")
    return folder / "turned.parquet", {"labels_file": folder / "classes.txt"}


def _anndata(matrix):
    obs = pd.DataFrame({"class": pd.Categorical(CLASSES), "batch": 1}, index=SAMPLES)
    var = pd.DataFrame({"symbol": [f"about {gene}" for gene in GENES]}, index=GENES)
    return anndata.AnnData(matrix, obs=obs, var=var)


def h5ad(folder: Path):
    _anndata(X).write_h5ad(folder / "data.h5ad")
    return folder / "data.h5ad", BY_COLUMN


def h5ad_sparse(folder: Path):
    adata = _anndata(np.zeros_like(X))
    adata.layers["measured"] = sp.csc_matrix(X)
    adata.write_h5ad(folder / "sparse.h5ad", compression="gzip")
    return folder / "sparse.h5ad", {**BY_COLUMN, "part": "measured"}


def ten_x(folder: Path):
    (folder / "tenx").mkdir()
    with gzip.open(folder / "tenx" / "matrix.mtx.gz", "wb") as stream:
        scipy.io.mmwrite(stream, sp.coo_matrix(X.T))
    features = "".join(f"{gene}\tabout {gene}\tGene Expression\n" for gene in GENES)
    (folder / "tenx" / "features.tsv.gz").write_bytes(gzip.compress(features.encode()))
    (folder / "tenx" / "barcodes.tsv.gz").write_bytes(gzip.compress("\n".join(SAMPLES).encode()))
    LABELLED["class"].to_csv(folder / "tenx-classes.csv")
    return folder / "tenx", {"labels_file": folder / "tenx-classes.csv"}


def ten_x_hdf(folder: Path):
    matrix = sp.csc_matrix(X.T)
    with h5py.File(folder / "tenx.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
        group["shape"] = matrix.shape
        group["barcodes"] = np.array(SAMPLES, dtype="S")
        group["features/id"] = np.array(GENES, dtype="S")
        group["features/name"] = np.array(GENES, dtype="S")
    LABELLED["class"].to_csv(folder / "tenx-h5.csv")
    return folder / "tenx.h5", {"labels_file": folder / "tenx-h5.csv"}


def loom(folder: Path):
    with h5py.File(folder / "data.loom", "w") as file:  # as the specification 3.0 says
        file["matrix"] = X.T
        file["row_attrs/Gene"] = np.array(GENES, dtype=object)
        file["row_attrs/Chromosome"] = np.array(["1"] * len(GENES), dtype=object)
        file["col_attrs/CellID"] = np.array(SAMPLES, dtype=object)
        file["col_attrs/class"] = np.array(CLASSES, dtype=object)
        file.create_group("layers")
    return folder / "data.loom", BY_COLUMN


def npz(folder: Path):
    np.savez_compressed(folder / "data.npz", X=X, y=np.array(CLASSES), gene_names=GENES, sample_names=SAMPLES)
    return folder / "data.npz", {"labels": "y"}


def sparse_npz(folder: Path):
    sp.save_npz(folder / "sparse.npz", sp.csr_matrix(X))
    numbers = " ".join(CLASSES)
    (folder / "npz.cls").write_text(f"{len(SAMPLES)} 2 1\n# A B\n{numbers}\n")
    return folder / "sparse.npz", {"labels_file": folder / "npz.cls"}


def npy(folder: Path):
    np.save(folder / "data.npy", np.asfortranarray(X.T))
    (folder / "npy.cls").write_text(f"{len(SAMPLES)} 2 1\n# A B\n{' '.join(CLASSES)}\n")
    return folder / "data.npy", {"labels_file": folder / "npy.cls"}


def r_data_frame(folder: Path):
    study = LABELLED.reset_index().astype({"sample": object, "class": object})  # rdata writes no strings of pandas 3
    rdata.write_rda(folder / "data.rda", {"study": study})
    return folder / "data.rda", BY_COLUMN


def r_list(folder: Path):
    rdata.write_rds(folder / "data.rds", {"x": X, "y": np.array(CLASSES, dtype=object)})
    return folder / "data.rds", {"labels": "y"}


FORMATS = {
    make.__name__: make
    for make in (
        csv, tsv_features_in_rows, csv_with_a_row_of_classes, csv_with_decimal_comma, csv_in_utf16_with_comments,
        table_as_r_writes_it, csv_gz, csv_bz2, csv_xz, csv_zst, gct, gct_1_3, res, geo, arff, sparse_arff, excel,
        excel_features_in_rows, parquet, feather, parquet_features_in_rows, h5ad, h5ad_sparse, ten_x, ten_x_hdf, loom,
        npz, sparse_npz, npy, r_data_frame, r_list,
    )
}  # fmt: skip


def digest(data):
    """The digest that a certificate has of the data."""
    result = cobic.solve(data.problem())
    return json.dumps(result.certificate["data"], sort_keys=True), result.support.tolist()

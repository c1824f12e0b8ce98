"""The AnnData face: a selection written into the annotations, in the way of scanpy; no mathematics here.

anndata is never imported: an AnnData object brings all that is needed of it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cobic.analyses.markers import find_markers
from cobic.analyses.path import survival
from cobic.answer.effects import ClassEffects, adjusted
from cobic.checks import require, require_whole
from cobic.errors import InputError
from cobic.estimator import ConsistentBiclustering
from cobic.matrix import Floats, Integers, Matrix, as_matrix, stays_where_it_is
from cobic.methods import DEFAULT_METHOD
from cobic.problem.constraints import read_constraints
from cobic.problem.labels import encode_labels
from cobic.search.result import Status

if TYPE_CHECKING:
    from anndata import AnnData

_COLUMNS = ("selected", "class", "ranking")
_TOLD = ("n_selected", "upper_bound", "objective", "objective_bound", "reason", "worst_margin", "method", "seconds")
_CHOICES = (
    "ties",
    "beta_rule",
    "fixed_in",
    "fixed_out",
    "feature_groups",
    "transform",
    "floor",
    "method_options",
    "verbose",
)
_SMALL = 1e-9  # beside means of counts, so that a fold change exists where one of them is 0; scanpy adds the same
_RANKING_SECONDS = 10.0  # a ranking is a by-product: it must not take longer than the selection


def select_adata(
    adata: AnnData,
    groupby: str,
    *,
    groups: Sequence[Any] | Literal["all"] = "all",
    layer: str | None = None,
    alpha: ArrayLike = 0.0,
    beta: ArrayLike = 1.0,
    slack_penalty: float | Literal["auto"] = float("inf"),
    on_infeasible: Literal["soft", "raise"] = "soft",
    ranking: bool = True,
    n_margins: int = 12,
    method: str = DEFAULT_METHOD,
    time_limit: float | None = 60.0,
    random_state: int = 0,
    key_added: str = "cobic",
    copy: bool = False,
    **choices: Any,
) -> AnnData | None:
    """Select the genes that agree with groups of cells, and write the answer into the annotations.

    The groups are the classes of :class:`cobic.ConsistentBiclustering`, which does the work. Cells without a group
    (missing value or empty text) and, where `groups` is given, cells of other groups take no part.

    Parameters
    ----------
    adata : AnnData
        Cells (samples) in rows, genes (features) in columns; X dense or sparse, in memory, backed by a file, or a dask
        array. Sparse data are not made dense, and X of a file is read piece by piece.
    groupby : str
        The column of ``adata.obs`` that holds the group of each cell.
    groups : sequence or "all", default="all"
        The groups to tell apart, at least two.
    layer : str, optional
        The layer to use instead of X; for raw counts of other genes give ``adata.raw.to_adata()`` as `adata`.
    alpha, beta : float or array-like of shape (n_obs,), default=0.0 and 1.0
        Additive and multiplicative margin; one number, or one per cell of `adata`.
    slack_penalty : float or "auto", default=inf
        Price of a violated margin, in features per unit of margin; inf: margins must hold.
    on_infeasible : {"soft", "raise"}, default="soft"
        If no consistent selection exists: warn and use soft margins, or raise an error.
    ranking, n_margins : bool and int, default=True and 12
        Whether to rank the genes by the margin that they survive, and how many margins to try: so many + 4 more fits
        or a few more, and a search for the largest margin, of at most 10 seconds each.
    method : str, default="certified"
        Name of the method, as in :func:`cobic.solve`.
    time_limit : float or None, default=60.0
        Seconds for the selection, and for each fit of the ranking if that is less than 10.
    random_state : int, default=0
        Seed of everything random.
    key_added : str, default="cobic"
        What the names of the new columns begin with, and the key in ``adata.uns``.
    copy : bool, default=False
        Whether to leave `adata` as it is and return a changed copy.
    **choices
        Further arguments of :class:`cobic.ConsistentBiclustering`: `ties`, `beta_rule`, `fixed_in` and `fixed_out`
        (masks, names or indices of genes), `floor`, `method_options`, `verbose`; and `feature_groups`, a label per
        gene, and `transform`, for what are called `groups` and `transformation` there.

    Returns
    -------
    AnnData or None
        The changed copy with ``copy=True``, else None. What is written, with the default `key_added`:

        ``adata.var["cobic_selected"]`` : bool
            Whether the gene is selected.
        ``adata.var["cobic_class"]`` : categorical
            The group with the largest mean of the gene, as text; missing for a gene excluded by `ties`.
        ``adata.var["cobic_ranking"]`` : int
            1 for the gene that survives the largest margin, and so on, as by :func:`cobic.path`. All are NaN if there
            is nothing to rank by: a group has no gene with its largest mean in it, or the fits of the ranking find no
            selection in their time. The column does not exist with ``ranking=False``.
        ``adata.uns["cobic"]`` : dict
            What is known about the selection; see the notes.

    Raises
    ------
    InputError
        If a column, layer, group or choice does not exist, or the data cannot be used.

    Notes
    -----
    All of ``adata.uns["cobic"]`` can be written to h5ad. It holds ``params`` (the arguments that were given; None is
    left out), ``classes`` (the groups, as text) with the ``counts`` of genes selected in each, ``n_selected``,
    ``upper_bound``, ``objective``, ``objective_bound``, ``status``, ``reason``, ``worst_margin``, ``slack_penalty``
    (the one that was used; inf with hard margins), ``method``, ``seconds``, ``n_left_out`` (cells that took no part),
    and ``violations``: the cells whose margin is violated, worst first, with ``class``, ``read_as`` and ``amount``, the
    suspects for wrong labels. ``stopped_by`` is there if the search was cut short.

    ``certificate`` is the proof of the bound as text, if the method makes one: ``json.loads`` it for
    :func:`cobic.verify`, with the problem of the cells that took part. Where soft margins had to be used
    ``infeasibility_certificate`` proves that no selection is consistent.

    Examples
    --------
    >>> import anndata, cobic, json
    >>> data = cobic.datasets.make_expression(n_features=200, seed=1)
    >>> adata = anndata.AnnData(data.X)
    >>> adata.obs["type"] = data.y
    >>> cobic.select_adata(adata, "type", alpha=10.0, ranking=False)
    >>> answer = adata.uns["cobic"]
    >>> answer["status"], bool(adata.var["cobic_selected"].sum() == answer["n_selected"])
    ('optimal', True)
    >>> problem = cobic.Problem(adata.X, adata.obs["type"], alpha=10.0)
    >>> cobic.verify(problem, json.loads(answer["certificate"])).ok
    True
    """
    _require_annotated(adata)
    require_whole("random_state", random_state, 0)
    require_whole("n_margins", n_margins, 2)
    cells, y = _grouped_cells(adata, groupby, groups)
    X = _taking_part(_values(adata, layer), cells, adata.n_obs)
    _require_finite(X, cells, adata.obs_names, adata.var_names)
    search: dict[str, Any] = {"slack_penalty": slack_penalty, "on_infeasible": on_infeasible, "method": method}
    search |= {"time_limit": time_limit, "random_state": random_state}
    model = ConsistentBiclustering(
        alpha=_of_cells("alpha", alpha, cells, adata.n_obs),
        beta=_of_cells("beta", beta, cells, adata.n_obs),
        **search,
        **_arguments(choices, tuple(adata.var_names)),
    ).fit(X, y)
    classes = pd.Index([str(cls) for cls in model.classes_])
    columns: dict[str, Any] = {"selected": model.support_}
    columns["class"] = pd.Categorical.from_codes(model.feature_classes_, categories=classes)
    if ranking:
        columns["ranking"] = _ranking(model, n_margins, random_state, time_limit)
    params = {"groupby": groupby, "groups": groups, "layer": layer, "alpha": alpha, "beta": beta}
    params |= search | {"ranking": ranking, "n_margins": n_margins} | choices
    storable = {name: _storable(value) for name, value in params.items() if value is not None}
    answer = {"params": storable, **_answer(model, adata.obs_names[cells])}
    changed: Any = adata
    if copy:  # in memory: an object that is backed by a file would ask for another file
        changed = adata.to_memory() if getattr(adata, "isbacked", False) else adata.copy()
    kept = changed.var.drop(columns=[f"{key_added}_{name}" for name in _COLUMNS], errors="ignore")
    # One assignment of the whole frame: setting columns of a view one by one would warn.
    changed.var = kept.assign(**{f"{key_added}_{name}": values for name, values in columns.items()})
    changed.uns[key_added] = answer | {"n_left_out": adata.n_obs - cells.size}
    return changed if copy else None


def markers(
    adata: AnnData,
    groupby: str,
    n: int = 5,
    *,
    layer: str | None = None,
    use_raw: bool | None = None,
    key_added: str = "cobic_markers",
) -> pd.DataFrame:
    """Find the marker genes of each group of cells: the n that separate it from all other cells by the widest margin.

    The effect of a gene is its mean in the group minus its mean in the other cells, divided by its scale: its standard
    deviation plus the median of those of all genes. The margin of a panel of genes is that of :func:`cobic.panel` with
    ``tail=1, weights="balanced", offset=True``, of the values so divided: the distance of a cell's mean over the panel
    to a threshold, on average, with the group and the rest of equal weight. It is half the mean effect of the genes, so
    that the genes with the largest effects are proven to be the best panel of their number, for every number.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, genes in columns. Cells without a group (missing value or empty text) take no part.
    groupby : str
        The column of ``adata.obs`` that holds the group of each cell.
    n : int, default=5
        Number of genes for each group.
    layer : str, optional
        The layer to use instead of X.
    use_raw : bool, optional
        Whether to use ``adata.raw``; by default where there is one and no `layer` is given, as scanpy does.
    key_added : str, default="cobic_markers"
        The key in ``adata.uns``.

    Returns
    -------
    DataFrame
        The same as is written into ``adata.uns[key_added]``, one row per group and gene, the best gene first:

        ``group``, ``names``
            Group and gene.
        ``scores``
            Effect of the gene.
        ``margins``
            Margin of the panel of the genes up to this one. No other panel of as many genes has a larger one.
        ``read_back``
            Share of the cells on the right side of the threshold with these genes; group and rest count the same.
        ``logfoldchanges``, ``pvals``, ``pvals_adj``
            As scanpy defines them for logarithms of counts + 1; p of Welch's t test, adjusted over all genes by
            Benjamini and Hochberg. They describe the gene, and took no part in the choice.

    Raises
    ------
    InputError
        If a column, layer or gene number does not exist, or the data cannot be used.

    Notes
    -----
    ``adata.uns[key_added]`` has the form of scanpy's ``rank_genes_groups``, with ``margins`` and ``read_back`` beside
    its fields: ``sc.pl.rank_genes_groups_dotplot(adata, key="cobic_markers")`` and the others draw it,
    ``sc.get.rank_genes_groups_df(adata, None, key="cobic_markers")`` reads it, and it can be written to h5ad.

    Examples
    --------
    >>> import anndata, cobic
    >>> data = cobic.datasets.make_expression(n_features=200, seed=1)
    >>> adata = anndata.AnnData(data.X)
    >>> adata.obs["type"] = data.y
    >>> table = cobic.markers(adata, "type", n=2)
    >>> table["group"].tolist()
    ['A', 'A', 'B', 'B']
    >>> adata.uns["cobic_markers"]["names"].dtype.names
    ('A', 'B')
    """
    _require_annotated(adata)
    cells, _ = _grouped_cells(adata, groupby, "all")
    raw = adata.raw is not None and layer is None if use_raw is None else use_raw
    require(not (raw and layer is not None), f"use_raw with layer {layer!r}: choose one of them")
    require(not raw or adata.raw is not None, "use_raw, but adata.raw is empty: leave it out to use X")
    genes = adata.raw.var_names if raw else adata.var_names
    require_whole("n", n, 1)
    require(n <= genes.size, f"n is {n}: there are {genes.size} genes")
    # In the order of the categories, as scanpy has them.
    of = pd.Categorical(adata.obs[groupby].iloc[cells]).remove_unused_categories()
    groups = [str(group) for group in of.categories]
    X = as_matrix(_taking_part(adata.raw.X if raw else _values(adata, layer), cells, adata.n_obs))
    found = find_markers(X, of.codes.astype(np.intp), len(groups), n)
    if not np.isfinite(found.comparison.means).all():
        _require_finite(X, cells, adata.obs_names, genes)
    _, p = found.comparison.t_tests()
    base = adata.uns.get("log1p", {}).get("base")
    fields = {
        "names": genes.to_numpy(dtype=object)[found.features],
        "scores": found.effects,
        "margins": found.margins,
        "read_back": found.read_back,
        "logfoldchanges": found.of(_log_fold_changes(found.comparison, base)),
        "pvals": found.of(p),
        "pvals_adj": found.of(np.stack([adjusted(row) for row in p])),
    }
    params = {"groupby": groupby, "reference": "rest", "method": "cobic", "use_raw": bool(raw), "layer": layer, "n": n}
    ranked = {
        name: np.rec.fromarrays(list(values), dtype=[(group, values.dtype) for group in groups])
        for name, values in fields.items()
    }
    adata.uns[key_added] = {"params": params, **ranked}
    named = pd.Categorical(np.repeat(groups, n), categories=groups)
    return pd.DataFrame({"group": named, **{name: values.ravel() for name, values in fields.items()}})


def _log_fold_changes(comparison: ClassEffects, base: float | None) -> Floats:
    """Binary logarithms of ratios of means, where values are logarithms, to a base, of counts + 1."""
    scale = 1.0 if base is None else np.log(base)
    with np.errstate(all="ignore"):  # values that are no logarithms have no fold changes
        ratio = [np.expm1(means * scale) + _SMALL for means in (comparison.means, comparison.rest_means)]
        return np.asarray(np.log2(ratio[0] / ratio[1]))


def _require_annotated(adata: Any) -> None:
    if not all(hasattr(adata, part) for part in ("obs", "var", "layers", "uns", "copy")):
        message = (
            f"adata is of type {type(adata).__name__}: give an AnnData object (pip install 'cobic[anndata]'), "
            "or use cobic.ConsistentBiclustering for a table"
        )
        raise InputError(message)


def _grouped_cells(adata: Any, groupby: str, groups: Any) -> tuple[Integers, Any]:
    """The cells that take part, and the class of each."""
    if groupby not in adata.obs:
        message = f"adata.obs has no column {groupby!r}: its columns are {_listed(adata.obs.columns)}"
        raise InputError(message)
    column = adata.obs[groupby]
    text = column.astype(str)
    takes_part = (column.notna() & (text.str.strip() != "")).to_numpy()
    if not (isinstance(groups, str) and groups == "all"):
        wanted = _wanted_groups(groups, groupby, text[takes_part].unique())
        takes_part = takes_part & text.isin(wanted).to_numpy()  # not in place: pandas may give what is only read
    cells = np.flatnonzero(takes_part)
    if cells.size == 0:
        message = f"adata.obs[{groupby!r}] has no group for any of the {adata.n_obs} cells: choose another column"
        raise InputError(message)
    try:
        classes, labels = encode_labels(column.iloc[cells].to_numpy(), (cells.size, -1))
    except InputError as error:
        message = f"adata.obs[{groupby!r}] cannot be the groups: {error}"
        raise InputError(message) from None
    return cells, classes[labels]


def _wanted_groups(groups: Any, groupby: str, there: Any) -> list[str]:
    if isinstance(groups, str) or not np.iterable(groups):
        message = f'groups is {groups!r}: give a list of at least two groups, or "all"'
        raise InputError(message)
    wanted = list(dict.fromkeys(str(group) for group in groups))
    unknown = [group for group in wanted if group not in there]
    if unknown:
        message = f"groups holds {unknown[0]!r}: the groups in adata.obs[{groupby!r}] are {_listed(sorted(there))}"
        raise InputError(message)
    if len(wanted) < 2:
        message = f"groups is {groups!r}: at least two groups are needed to tell them apart"
        raise InputError(message)
    return wanted


def _values(adata: Any, layer: str | None) -> Any:
    """X, or a layer."""
    layers = [name for name in adata.layers if name is not None]  # from anndata 0.13 on X is the one without a name
    if layer is not None and layer not in layers:
        message = f"adata has no layer {layer!r}: its layers are {_listed(layers)}"
        raise InputError(message)
    X: Any = adata.X if layer is None else adata.layers[layer]
    if X is None:
        message = f"adata.X is empty: name a layer to use, its layers are {_listed(layers)}"
        raise InputError(message)
    return X


def _taking_part(X: Any, cells: Integers, n_obs: int) -> Any:
    """The values of the cells that take part, in the form that they have."""
    if stays_where_it_is(X):  # to index it would read it
        X = as_matrix(X)
    if cells.size < n_obs:
        X = X.take(cells) if isinstance(X, Matrix) else X[cells]
    return X


def _require_finite(X: Any, cells: Integers, names: pd.Index, genes: pd.Index) -> None:
    bad = as_matrix(X).first_not_finite()
    if bad is not None:  # by name: after some cells were left out, a row number would point to the wrong one
        cell, gene = names[cells[bad[0]]], genes[bad[1]]
        message = f"cell {cell!r}, gene {gene!r} is {bad[2]}: impute it first, or leave the gene out"
        raise InputError(message)


def _of_cells(name: str, margin: ArrayLike, cells: Integers, n_obs: int) -> Any:
    """The margins of the cells that take part, where there is one per cell of the AnnData object."""
    if np.ndim(margin) == 0:
        return margin
    margins = np.asarray(margin)
    if margins.shape != (n_obs,):
        message = f"{name} has shape {margins.shape} for {n_obs} cells: give one number, or one per cell of adata"
        raise InputError(message)
    return margins[cells]


def _arguments(choices: Mapping[str, Any], genes: tuple[str, ...]) -> dict[str, Any]:
    """The further choices as the estimator knows them: it has no names of features, unless X is a data frame."""
    unknown = [name for name in choices if name not in _CHOICES]
    if unknown:
        message = f"there is no choice {unknown[0]!r}: the further choices are {_listed(_CHOICES)}"
        raise InputError(message)
    given = {name: value for name, value in choices.items() if name not in ("feature_groups", "transform")}
    groups, one_class = choices.get("feature_groups"), np.zeros(len(genes), dtype=np.intp)
    fixed = read_constraints(given.get("fixed_in"), given.get("fixed_out"), groups, one_class, genes)
    given["transformation"] = choices.get("transform")
    return given | {"groups": groups, "fixed_in": fixed.required, "fixed_out": ~fixed.selectable}


def _ranking(model: ConsistentBiclustering, n_margins: int, seed: int, time_limit: float | None) -> Any:
    """Ranks of the genes; all NaN where there is no selection to rank by."""
    seconds = _RANKING_SECONDS if time_limit is None else min(time_limit, _RANKING_SECONDS)
    with contextlib.suppress(InputError):  # these shorter fits may find nothing where the selection was found
        if model.status_ in (Status.OPTIMAL, Status.FEASIBLE):
            # Not model.ranking_, which knows neither the number of margins nor the time.
            return survival(model._problem, n_margins, seed, seconds, start=[model.support_]).ranking
    return np.full(model.support_.size, np.nan)


def _answer(model: ConsistentBiclustering, cells: pd.Index) -> dict[str, Any]:
    """What is known about the selection, in kinds of values that h5ad files know."""
    result = model.result_
    suspects = model.violations_
    answer = {
        "classes": np.array([str(cls) for cls in model.classes_], dtype=object),
        "counts": np.array(result.counts),
        **{name: getattr(result, name) for name in _TOLD},
        "stopped_by": result.stopped_by,
        "status": model.status_,
        "slack_penalty": model.slack_penalty_,
        "violations": suspects[["class", "read_as", "amount"]].set_index(cells[suspects["sample"]]),
    }
    proofs = {"certificate": model.certificate_, "infeasibility_certificate": model.infeasibility_certificate_}
    answer |= {name: json.dumps(proof, allow_nan=False) for name, proof in proofs.items() if proof is not None}
    return {name: value for name, value in answer.items() if value is not None}


def _storable(value: Any) -> Any:
    """An argument as h5ad files know it: lists become arrays, options and odd labels text."""
    if isinstance(value, Mapping):
        return str(dict(value))
    if isinstance(value, (str, bool, int, float, np.generic)):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "biuf":
        return array
    return np.array(["" if pd.isna(each) else str(each) for each in array], dtype=object)


def _listed(names: Any) -> str:
    return ", ".join(str(name) for name in names) or "(none)"

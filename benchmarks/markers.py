"""Markers of the 700 blood cells that scanpy brings along: which ones, how long they take, and which choice is best."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

import cobic
from cobic.analyses.markers import scale_of

_GROUPS, _SIZE = "bulk_labels", 5
_PROGRAMS = 20  # of a panel whose margin is not a mean: the bound may stay open


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Markers of each type, with scanpy's beside them; processor seconds of both, the first time and the best."""
    scanpy, cells = _cells()

    def wilcoxon() -> None:
        scanpy.tl.rank_genes_groups(cells, _GROUPS, method="wilcoxon")

    seconds: dict[str, list[float]] = {"scanpy": [], "cobic": []}
    for _ in range(5 if quick else 20):  # in turns
        seconds["scanpy"].append(_of_the_processor(wilcoxon))
        seconds["cobic"].append(_of_the_processor(lambda: cobic.markers(cells, _GROUPS, n=_SIZE)))
    table, ranked = cobic.markers(cells, _GROUPS, n=_SIZE), cells.uns["rank_genes_groups"]["names"]
    rows = [
        {
            "group": group,
            "cells": int((cells.obs[_GROUPS] == group).sum()),
            "markers": ", ".join(found["names"]),
            "margin": float(found["margins"].iloc[-1]),
            "read back": float(found["read_back"].iloc[-1]),
            "Wilcoxon": ", ".join(ranked[group][:_SIZE]),
        }
        for group, found in table.groupby("group", observed=True)
    ]
    for name, each in seconds.items():
        rows.append({"group": f"{name}: processor seconds", "first": each[0], "best": min(each)})
    return rows


def run_choices(*, quick: bool) -> list[dict[str, Any]]:
    """Markers of one half of the cells, tried on the other half: scales and tails, and scanpy's Wilcoxon scores."""
    _, cells = _cells()
    X, labels = cells.raw.X.toarray().astype(np.float64), cells.obs[_GROUPS].astype(str).to_numpy()
    rng, found = np.random.default_rng(0), dict[str, list[tuple[float, ...]]]()
    for _ in range(1 if quick else 5):
        half = np.zeros(labels.size, dtype=bool)
        for group in np.unique(labels):
            members = rng.permutation(np.flatnonzero(labels == group))
            half[members[: members.size // 2]] = True
        for name, choose in _choices().items():
            for group in np.unique(labels):
                inside = labels == group
                chosen = [choose(X[part], inside[part]) for part in (half, ~half)]
                right = [_tried(X, inside, part, genes) for part, genes in zip((half, ~half), chosen, strict=True)]
                overlap = np.intersect1d(*chosen).size / _SIZE
                found.setdefault(name, []).append((*np.mean(right, axis=0), overlap))
    return [
        {
            "markers by": name,
            **dict(zip(("AUC", "read back", "found in both halves"), np.mean(each, axis=0), strict=True)),
        }
        for name, each in found.items()
    ]


def _choices() -> dict[str, Callable[[Any, Any], Any]]:
    """Ways to choose the genes of a group, from values and who is in the group."""

    def by(scale: Callable[[Any], Any], tail: float) -> Callable[[Any, Any], Any]:
        return lambda X, inside: _panel(X / scale(X.std(axis=0)), inside, tail)

    return {
        "effects, own scale + median (cobic.markers)": by(scale_of, 1.0),
        "effects, own scale alone": by(lambda spread: np.where(spread > 0, spread, 1.0), 1.0),
        "effects, no scale": by(np.ones_like, 1.0),
        **{f"own scale + median, tail {tail:g}": by(scale_of, tail) for tail in (0.5, 0.3, 0.1)},
        "Wilcoxon": lambda X, inside: np.argsort(-rankdata(X, axis=0)[inside].mean(axis=0), kind="stable")[:_SIZE],
    }


def _panel(X: Any, inside: Any, tail: float) -> Any:
    """The panel of a group against the rest, which has a feature of zeros and no other."""
    nothing = X.shape[1]
    panel = cobic.panel(
        np.hstack([X, np.zeros((X.shape[0], 1))]),
        inside,
        size={False: 1, True: _SIZE},
        tail=tail,
        weights="balanced",
        offset=True,
        fixed_in=[nothing],
        max_programs=_PROGRAMS,
        time_limit=None,
    )
    return np.flatnonzero(panel.support[:nothing])


def _tried(X: Any, inside: Any, part: Any, genes: Any) -> tuple[float, float]:
    """Area under the curve of the genes' mean in the other part, and what is read back there, group and rest alike."""
    values = X[:, genes] / scale_of(X[part].std(axis=0))[genes]
    scores = values.mean(axis=1)
    threshold = (scores[part & inside].mean() + scores[part & ~inside].mean()) / 2
    mine, others = scores[~part & inside], scores[~part & ~inside]
    wins = rankdata(np.concatenate([mine, others]))[: mine.size].sum() - mine.size * (mine.size + 1) / 2
    return wins / (mine.size * others.size), float(((mine > threshold).mean() + (others <= threshold).mean()) / 2)


def _of_the_processor(action: Callable[[], Any]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def _cells() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of its imports and of an old file
        import scanpy

        return scanpy, scanpy.datasets.pbmc68k_reduced()

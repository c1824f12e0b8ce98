"""From answers to tables: accuracy with standard errors, equal sizes, ranks over data sets, stability.

``python -m benchmarks.accuracy FOLDER [REPEATS]`` prints all of them, from the first repeats as far as they are whole.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy.choices import RULES, with_choices
from benchmarks.accuracy.data import EXPRESSION
from benchmarks.accuracy.protocol import ALL, CHOSEN, FOLDS, HELD_OUT, LEAST, SIZES
from cobic.analyses.stability import nogueira

OURS = "panel, even"
Line = dict[str, Any]
Rows = list[dict[str, Any]]


def lines(records: Iterable[dict[str, Any]], folds: int = FOLDS) -> list[Line]:
    """One line per data set, method and size, over the repeats that have all their folds."""
    gathered: dict[tuple[str, str, str], dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if "right" in record:
            place = record["data"], record["method"], str(record["size"])
            gathered[place][record["repeat"]].append(record)
    whole = {place: [each for each in repeats.values() if len(each) == folds] for place, repeats in gathered.items()}
    return [
        {"data": data, "method": method, "size": size, **_summary(repeats)}
        for (data, method, size), repeats in whole.items()
        if repeats
    ]


def comparable(records: Rows, repeats: range) -> Rows:
    """The answers of some repeats, for each data set those that are whole, and of the sizes that rules choose."""
    asked = [record for record in records if record["repeat"] in repeats]
    answered = Counter((record["data"], record["repeat"], record["method"], record["size"]) for record in asked)
    ends = ((OURS, HELD_OUT), ("random forest", ALL))  # of what is answered in each repeat
    whole = {
        (data, repeat)
        for data, repeat, *_ in answered
        if all(answered[data, repeat, method, size] == FOLDS for method, size in ends)
    }
    return with_choices(record for record in asked if (record["data"], record["repeat"]) in whole)


def _summary(whole: list[list[Any]]) -> Line:
    """Percent right over repeats, and of classes on average; features, stability and seconds over all folds."""
    right = [
        100 * sum(sum(fold["right"]) for fold in folds) / sum(sum(fold["of"]) for fold in folds) for folds in whole
    ]
    classes = [_balanced(folds) for folds in whole]
    folds = [fold for each in whole for fold in each]
    kept = [fold["features"] for fold in folds]
    return {
        "right": float(np.mean(right)),
        "se": float(np.std(right, ddof=1) / np.sqrt(len(right))) if len(right) > 1 else None,
        "classes": float(np.mean(classes)),
        "repeats": len(whole),
        "samples": sum(sum(fold["of"]) for fold in whole[0]),
        "features": None if None in kept else float(np.median([len(each) for each in kept])),
        "stability": None if None in kept or len(kept) < 2 else _stability(kept, folds[0]["columns"]),
        "seconds": float(np.mean([fold["seconds"] for fold in folds])),
    }


def _balanced(folds: list[Any]) -> float:
    """Percent right of each class, averaged over the classes."""
    right, of = (np.sum([_padded(fold[part]) for fold in folds], axis=0) for part in ("right", "of"))
    return float(100 * np.mean(right[of > 0] / of[of > 0]))


def _padded(counts: list[int], length: int = 16) -> list[int]:
    return counts + [0] * (length - len(counts))


def _stability(kept: list[list[int]], columns: int) -> float:
    chosen = np.zeros((len(kept), columns), dtype=np.bool_)
    for row, features in enumerate(kept):
        chosen[row, features] = True
    return float(nogueira(chosen)[0])


def _said(line: Line | None) -> str:
    if line is None:
        return "–"
    return f"{line['right']:.1f}" + (f" ± {line['se']:.1f}" if line["se"] is not None else "")


def _wide(found: list[Line], cell: Callable[[Line | None], str], column: Callable[[Line], str]) -> Rows:
    """A row per data set, a column for each of what `column` names."""
    columns = list(dict.fromkeys(column(line) for line in found))
    by_place = {(line["data"], column(line)): line for line in found}
    return [{"data": name, **{head: cell(by_place.get((name, head))) for head in columns}} for name in _order(found)]


def _order(found: list[Line]) -> list[str]:
    """The data sets, the expression data first."""
    names = {line["data"] for line in found}
    return [*(name for name in EXPRESSION if name in names), *sorted(names - set(EXPRESSION))]


def is_variant(line: Line) -> bool:
    """Whether a line is one of a variant of panels."""
    return line["method"].startswith("panel") and line["method"] != OURS


def tuned(found: list[Line]) -> list[Line]:
    """The lines of sizes that are chosen, and of all features; panels chosen by another rule under a name of own."""
    rules = {CHOSEN: "", ALL: "", LEAST: f", {LEAST}"}
    mine = [line for line in found if line["size"] in rules and not is_variant(line)]
    return [{**line, "method": line["method"] + rules[line["size"]]} for line in mine]


def at_best(found: list[Line]) -> Rows:
    """Percent right at the size that each method chooses, or with all features."""
    return _wide(tuned(found), _said, lambda line: line["method"])


def at_size(found: list[Line], size: int) -> Rows:
    """Percent right at equal size."""
    equal = [line for line in found if line["size"] == str(size) and not is_variant(line)]
    return _wide(equal, _said, lambda line: line["method"])


def paired(found: list[Line]) -> Rows:
    """Methods that answer all data sets that panels do: mean rank, points behind the best, how often near the best.

    Near is within one standard error of the difference over repeats, and within one that other samples would have.
    """
    if not found:
        return []
    places: dict[str, dict[str, Line]] = defaultdict(dict)
    for line in found:
        places[line["method"]][line["data"]] = line
    sets = _order(list(places[OURS].values() if OURS in places else found))
    methods = [name for name, by_set in places.items() if by_set.keys() >= set(sets)]
    right, errors, samples = (
        np.array([[places[name][each][part] or 0.0 for each in sets] for name in methods])
        for part in ("right", "se", "samples")
    )
    behind = right.max(axis=0) - right
    best = right.argmax(axis=0), np.arange(len(sets))
    of_samples = np.sqrt(right * (100 - right) / samples)[best]
    ranks = rankdata(-right.round(6), axis=0).mean(axis=1)
    by_repeats, by_samples = np.sqrt(errors**2 + errors[best] ** 2), of_samples
    near = [(behind <= each + 1e-9).sum(axis=1) for each in (by_repeats, by_samples)]
    heads = [f"near the best by {what}, of {len(sets)}" for what in ("repeats", "samples")]
    return [
        {
            "method": methods[n],
            "mean rank": f"{ranks[n]:.1f}",
            "behind": f"{behind[n].mean():.1f}",
            **{head: int(each[n]) for head, each in zip(heads, near, strict=True)},
        }
        for n in np.argsort(ranks, kind="stable")
    ]


def against(found: list[Line], ours: str = OURS) -> Rows:
    """Panels beside each other method on the data sets that both answer; ahead or behind by more than a standard error.

    The standard error is that of the better one's percentage, for so many samples.
    """
    mine = {line["data"]: line for line in found if line["method"] == ours}
    rows = []
    for other in dict.fromkeys(line["method"] for line in found if line["method"] != ours):
        pairs = [(mine[line["data"]], line) for line in found if line["method"] == other and line["data"] in mine]
        if not pairs:
            continue
        ahead = np.array([own["right"] - line["right"] for own, line in pairs])
        best = np.array([max(own["right"], line["right"]) for own, line in pairs])
        errors = np.sqrt(best * (100 - best) / np.array([own["samples"] for own, _ in pairs]))
        counts = [int((ahead > errors).sum()), int((abs(ahead) <= errors).sum()), int((-ahead > errors).sum())]
        rows.append(
            {
                "panels beside": other,
                "data sets": len(pairs),
                "points ahead, mean": f"{ahead.mean():+.1f}",
                **dict(zip(("ahead", "level", "behind"), counts, strict=True)),
            }
        )
    return rows


def variants(found: list[Line], size: int) -> Rows:
    """Percent right (and averaged over classes) of the variants of panels at one size."""
    mine = [line for line in found if line["size"] == str(size) and line["method"].startswith("panel")]
    varied = {line["data"] for line in mine if is_variant(line)}
    return _wide(
        [line for line in mine if line["data"] in varied],
        lambda line: "–" if line is None else f"{_said(line)} ({line['classes']:.1f})",
        lambda line: line["method"],
    )


def stability(found: list[Line], size: str) -> Rows:
    """How far the features of the folds agree: Nogueira's index; the median number of features at a tuned size."""
    mine = [line for line in found if line["size"] == size and line["stability"] is not None and not is_variant(line)]
    return _wide(
        mine,
        lambda line: "–" if line is None else f"{line['stability']:.2f} ({line['features']:.0f})",
        lambda line: line["method"],
    )


def by_size(found: list[Line], said: Callable[[list[Line]], dict[str, str]]) -> Rows:
    """Something about each method on expression data, size by size."""
    equal = [line for line in of_expression(found) if not is_variant(line)]
    columns = {str(size): said([line for line in equal if line["size"] == str(size)]) for size in SIZES}
    methods = dict.fromkeys(line["method"] for line in equal if line["size"] in columns)
    return [{"method": name, **{size: of.get(name, "–") for size, of in columns.items()}} for name in methods]


def ranks(found: list[Line]) -> dict[str, str]:
    """Mean rank of each method, and in brackets how many points it is behind the best on average."""
    return {row["method"]: f"{row['mean rank']} ({row['behind']})" for row in paired(found)}


def agreement(found: list[Line]) -> dict[str, str]:
    """Nogueira's index of each method, averaged over data sets."""
    of_method: dict[str, list[float]] = defaultdict(list)
    for line in found:
        if line["stability"] is not None:
            of_method[line["method"]].append(line["stability"])
    return {name: f"{np.mean(values):.2f}" for name, values in of_method.items()}


def beside_default(found: list[Line]) -> Rows:
    """Variants of panels beside the default: points ahead on average, and data sets ahead and behind by more than 1."""
    rows: dict[str, dict[str, Any]] = {}
    for size in ("10", "50"):
        mine = {line["data"]: line for line in found if line["method"] == OURS and line["size"] == size}
        for line in found:
            if line["size"] == size and line["data"] in mine and line["method"].startswith("panel"):
                ahead = line["right"] - mine[line["data"]]["right"], line["classes"] - mine[line["data"]]["classes"]
                rows.setdefault(line["method"], {}).setdefault(size, []).append(ahead)
    return [
        {"variant": name, **{f"{size} features": _ahead(np.array(of[size])) for size in of}}
        for name, of in rows.items()
        if name != OURS
    ]


def _ahead(differences: Any) -> str:
    right, classes = differences.T
    return f"{right.mean():+.1f} ({classes.mean():+.1f}); {(right > 1).sum()} : {(right < -1).sum()} of {right.size}"


def markdown(rows: Rows) -> str:
    """A table as text."""
    heads = list(rows[0]) if rows else []
    cells = [heads, ["---"] * len(heads), *([str(row[head]) for head in heads] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def of_expression(found: list[Line]) -> list[Line]:
    """The lines of expression data."""
    return [line for line in found if line["data"] in EXPRESSION]


def everything(records: Rows) -> str:
    """All tables as text."""
    found = lines(records)
    chosen, varied = tuned(found), {record["repeat"] for record in records if is_variant(record)}
    beside_variants = lines(record for record in records if record["repeat"] in varied)
    equal = {size: [line for line in found if line["size"] == str(size) and not is_variant(line)] for size in SIZES}
    parts = {
        "Chosen size": at_best(found),
        "Chosen size, paired, expression data": paired(of_expression(chosen)),
        "Chosen size, pair by pair, expression data": against(of_expression(chosen)),
        "Stability at the chosen size": stability(found, CHOSEN),
        "Rules for the size": rules(found),
        "Mean rank (points behind the best) by size, expression data": by_size(found, ranks),
        "Stability by size, mean over expression data": by_size(found, agreement),
        "Variants beside the default": beside_default(beside_variants),
    }
    for size, same in equal.items():
        parts[f"{size} features"] = at_size(found, size)
        parts[f"{size} features, pair by pair, expression data"] = against(of_expression(same))
    for size in (10, 50):
        parts[f"Variants, {size} features"] = variants(beside_variants, size)
    parts["Repeats"] = repeats_of(found)
    return "\n".join(f"## {title}\n\n{markdown(rows)}" for title, rows in parts.items() if rows)


def rules(found: list[Line]) -> Rows:
    """What each rule for the size of panels brings on expression data: percent right, and the median size."""
    names = [*RULES, *(str(size) for size in SIZES)]
    mine = [line for line in of_expression(found) if line["method"] == OURS and line["size"] in names]
    rows = _wide(mine, lambda line: "–" if line is None else f"{line['right']:.1f} ({line['features']:.0f})", _size_of)
    right = {name: {line["data"]: line["right"] for line in mine if line["size"] == name} for name in names}
    if len(rows) == 1:
        return rows
    mean, beside = {"data": "mean"}, {"data": "beside the frontier's"}
    for name in [*rows[0]][1:] if rows else ():
        if len(right[name]) == len(rows):
            ahead = np.array([right[name][each["data"]] - right[CHOSEN][each["data"]] for each in rows])
            mean[name] = f"{np.mean([*right[name].values()]):.1f}"
            beside[name] = f"{ahead.mean():+.1f} ± {ahead.std(ddof=1) / np.sqrt(ahead.size):.1f}"
    return [*rows, *({**dict.fromkeys(rows[0], "–"), **each} for each in (mean, beside))] if rows else []


def _size_of(line: Line) -> str:
    return str(line["size"])


def repeats_of(found: list[Line]) -> Rows:
    """How many repeats there are of each method, and the processor's seconds of an answer."""
    rows = []
    for name in dict.fromkeys(line["method"] for line in found):
        mine = {line["data"]: line for line in found if line["method"] == name}
        counts = ", ".join(f"{data} {line['repeats']}" for data, line in mine.items())
        seconds = np.mean([line["seconds"] for line in found if line["method"] == name])
        rows.append({"method": name, "repeats": counts, "seconds of an answer": f"{seconds:.2f}"})
    return rows

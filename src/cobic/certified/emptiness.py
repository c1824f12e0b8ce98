"""Proofs that no selection has as many features as the bound, where multipliers alone do not exclude that.

Multipliers leave a few counts open. Each is closed by a tree over features (:mod:`cobic.certified.trees`). Where these
do not do it, a feature that does much more than others is decided first: with and without it other counts are best.
"""

import numpy as np

from cobic.certified.bundle import Relaxed
from cobic.certified.proof import Close, SplitCount, SplitFeature, Step
from cobic.certified.tools import Tools
from cobic.certified.totals import Total


class Emptiness:
    """Lowers the bound one unit at a time, by proofs that hold each other's multipliers."""

    def __init__(self, tools: Tools) -> None:
        self._tools, self._proof = tools, tools.proof
        self._explorer, self._standing = tools.explorer, tools.standing
        self._problem, self._effort = tools.explorer.problem, tools.explorer.effort
        self._parts: dict[tuple[int, bool], Emptiness] = {}
        self._proven: dict[int, list[Step]] = {}

    def of(self, total: int) -> list[Step]:
        """The proof that no selection has a total by which the bound was lowered."""
        return self._proven[total]

    def lower_bound(self, stage: int) -> bool:
        """Prove that no selection is as large as the bound; tells whether that was of use."""
        total = self._standing.upper_bound
        steps = self._prove(total, stage, min(stage, self._effort.giants_deep))
        if steps is None:
            return False
        self._proven[total] = steps
        self._tools.totals.lower_bound_to(total - 1)
        return True

    def _prove(self, total: int, stage: int, depth: int) -> list[Step] | None:
        """The proof that no selection has a total; None if one was found, or effort is spent."""
        effort, standing = self._effort, self._standing
        known = self._tools.totals.settle(total, effort.most_open_counts)
        ranked = self._ranked(known)
        if known.slice.complete and not known.excluded:
            dived = ranked[: effort.dived_counts]
            for turn in range(1 << stage if ranked else 0):
                point = known.points[dived[turn % len(dived)]]
                if standing.is_spent() or self._tools.selections.dive(point, stage, turn):
                    return None
            self._close(known, ranked, effort.tree_programs << stage)
        if known.excluded:
            first_cut = len(self._proof)
            self._proof += [cut.proof for cut in self._explorer.brancher.cuts]
            return known.steps(first_cut)
        if not depth or not ranked or standing.is_spent():
            return None
        return self._prove_by_giant(total, stage, depth, known.points[ranked[0]])

    def _ranked(self, total: Total) -> list[int]:
        """Unsettled open points of a total, the largest possible margin first."""
        for index in total.unsettled:
            if index not in total.optimised:
                point = self._explorer.solve(total.points[index].counts)
                if point is None:
                    break
                total.points[index] = point
                total.optimised.add(index)
                if point.excluded:
                    total.closed[index] = [Close(self._record(point))]
        return sorted(total.unsettled, key=lambda index: (-total.points[index].model, index))

    def _close(self, total: Total, ranked: list[int], programs: int) -> None:
        """Prove open points empty, some linear programs for each, unless too many resist."""
        may_resist = max(self._effort.least_resisting, len(ranked) // self._effort.resisting)
        resisting = 0
        for index in ranked:
            if self._standing.is_spent() or resisting > may_resist:
                return
            steps = self._tools.features.close(total.points[index], self._standing.for_tree(programs))
            if steps is not None:
                total.closed[index] = steps
            resisting += steps is None

    def _prove_by_giant(self, total: int, stage: int, depth: int, point: Relaxed) -> list[Step] | None:
        """The proof without a giant, and that with it."""
        feature = self._giant(point)
        if feature is None:
            return None
        out = self._deciding(feature, inside=False)._prove(total, stage, depth - 1)
        into = out and self._deciding(feature, inside=True)._prove(total, stage, depth - 1)
        return self._joined(feature, out, into, self._record(point)) if out and into else None

    def _joined(self, feature: int, out: list[Step], into: list[Step], cut: int) -> list[Step]:
        """The proof without and with a feature; the counts that this leaves its class are said first.

        The searches behind `out` and `into` know that these are one less at most, or one more at least. Counts beyond
        cannot be reached: any multipliers settle them.
        """
        cls = int(self._problem.feature_classes[feature])
        most, least = int(self._problem.feature_class_sizes[cls]), int(self._problem.required_sizes[cls])
        without = [SplitCount(cls, most - 1), *out, Close(cut)]
        within = [SplitCount(cls, least), Close(cut), *into]
        return [SplitFeature(feature), *without, *within]

    def _giant(self, point: Relaxed) -> int | None:
        """The fractional feature that does most, if that is far more than others do."""
        problem, window = self._problem, self._explorer.programs.window
        features, _ = window.nearest(point.cut.multipliers, point.counts, max(self._effort.dive_windows))
        if features.size == 0:
            return None
        x = point.mixture.x[features]
        away = np.where(problem.constraints.part_of[features] < 0, np.minimum(x, 1.0 - x), 0.0)
        size = np.abs(problem.columns(features)).max(axis=0) / point.counts[problem.feature_classes[features]]
        place = int(np.argmax(size * away))
        is_giant = away[place] > 0 and size[place] > self._effort.giant * np.median(size)
        return int(features[place]) if is_giant else None

    def _deciding(self, feature: int, *, inside: bool) -> "Emptiness":
        """The proofs over the selections with, or without, a feature."""
        key = (feature, inside)
        if key not in self._parts:
            part = self._problem.deciding(feature, inside=inside)
            tools = Tools(part, self._standing.of_part(part), self._proof, self._tools.rng)
            tools.explorer.near = self._explorer.near
            self._parts[key] = Emptiness(tools)
        self._parts[key]._standing.follow(self._standing)
        return self._parts[key]

    def _record(self, point: Relaxed) -> int:
        """Take the multipliers of a point into the proof."""
        self._proof.append(point.cut.proof)
        return len(self._proof) - 1

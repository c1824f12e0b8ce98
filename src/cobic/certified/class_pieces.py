"""The pieces of the model with soft margins, class by class.

With soft margins the bound is a sum over the classes, and so is the model: for each class the largest of its *pieces*,

    M(λ)  =  Σ_r  max over pieces i of class r of ( n_i + Σ_j pull_jr(λ) mean_ij )  −  Σ λα,

where a piece is a set of n_i features of one class, and mean_ij its mean in sample j. A look at the data brings one for
each class; together they say more than the selection as a whole does, and a split by the counts of a class leaves the
pieces of all others as they are. Where to look next is a small program over their weights
(:mod:`cobic.certified.newton`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobic.certified.effort import DEFAULT, Effort
from cobic.certified.looks import Box, Decided, Look, Window, class_sums, largest
from cobic.certified.newton import LevelProjection
from cobic.certified.pieces import Mixed, Mixture, Model
from cobic.matrix import Bools, Floats, Integers
from cobic.matrix.pool import one_blas_thread
from cobic.problem import Problem


@dataclass(eq=False)
class _Piece:
    """A set of features of a class: their number, mean in each sample, places in the class, and weight."""

    cls: int
    count: int
    means: Floats
    packed: NDArray[np.uint8]
    last_used: int
    weight: float = 0.0


class ClassPieces:
    """The pieces that are at hand, and the small program over them."""

    def __init__(self, problem: Problem, effort: Effort = DEFAULT) -> None:
        self._problem, self._effort = problem, effort
        self._most = most_pieces(problem.n_samples, problem.n_features, problem.n_classes, effort)
        self._pieces: list[_Piece] = []
        self._mixture: list[tuple[_Piece, float]] = []
        self._turn, self._total = 0, 0.0
        self._least, self._aim, self._expected = -np.inf, effort.level, -np.inf

    def nearest_admissible(self, multipliers: Floats) -> Floats:
        """Multipliers (n, c) next to some others: those of a sample add up to 1, the price, at most."""
        found: Floats = np.maximum(multipliers, 0.0)
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1.0)
        return found

    def add(self, look: Look) -> None:
        """Keep what a look has found, and forget pieces that are idle."""
        self._turn += 1
        for cls, members in enumerate(self._problem.features_of_class):
            count, packed = int(look.counts[cls]), np.packbits(look.support[members])
            of_class = [piece for piece in self._pieces if piece.cls == cls]
            known = [piece for piece in of_class if piece.count == count and np.array_equal(piece.packed, packed)]
            for piece in known:
                piece.last_used = self._turn
            if not known:
                means, weight = look.sums[:, cls] / count, float(not of_class)
                self._pieces.append(_Piece(cls, count, means, packed, self._turn, weight))
        newest = sorted(self._pieces, key=lambda piece: piece.last_used)[-self._most :]
        self._pieces = [piece for piece in newest if piece.last_used > self._turn - self._effort.idle_of_class]

    def refit(self, box: Box, look: Look, window: Window | None, decided: Decided | None) -> None:
        """Make the pieces of another box pieces of this one where that is little work; forget the others."""
        self._least, self._aim, self._expected = -np.inf, self._effort.level, -np.inf
        (low, high), problem, scores = box, self._problem, look.scores
        decided_in, decided_out = decided or (problem.required, ~problem.selectable)
        if scores is None and window is not None:
            scores = np.zeros(problem.n_features)
            scores[window.features] = np.concatenate(window.scores(look.whole))
        kept = []
        for piece in self._pieces:
            members = problem.features_of_class[piece.cls]
            chosen = np.unpackbits(piece.packed, count=members.size).astype(np.bool_)
            more = int(np.clip(piece.count, low[piece.cls], high[piece.cls])) - piece.count
            places = np.flatnonzero((chosen != (more > 0)) & ~(decided_in | decided_out)[members])
            if (decided_in[members] & ~chosen).any() or (decided_out[members] & chosen).any():
                continue
            if abs(more) > min(1 + self._effort.few_moves * members.size, places.size):
                continue
            if more and scores is not None:
                self._move(piece, places[largest(np.sign(more) * scores[members[places]], abs(more))], chosen)
            kept.append(piece)
        self._pieces = kept

    def _move(self, piece: _Piece, places: Integers, chosen: Bools) -> None:
        """Change whether some features of a class belong to a piece."""
        features = self._problem.features_of_class[piece.cls][places]
        signs = np.where(chosen[places], -1.0, 1.0)
        sums = piece.means * piece.count + class_sums(self._problem, features, signs)[:, piece.cls]
        chosen[places] ^= True
        piece.count, piece.packed = int(chosen.sum()), np.packbits(chosen)
        piece.means = sums / piece.count

    def model(self, _distance: float) -> Model:
        """What is known of the pieces at hand; the search for where to look next tells more."""
        if self._least == -np.inf:
            program = self._program()
            weights = program.normal(np.array([piece.weight for piece in self._pieces]))
            self._remember(program.value(program.margins(weights), weights), weights)
        return Model(self._least, 1.0)

    def _program(self) -> LevelProjection:
        cls = np.array([piece.cls for piece in self._pieces])
        counts = np.array([float(piece.count) for piece in self._pieces])
        return LevelProjection(self._problem, cls, counts, np.array([piece.means for piece in self._pieces]))

    def _remember(self, value: float, weights: Floats) -> None:
        """Keep the best mixture of the box."""
        if value > self._least:
            self._least = value
            mixed = zip(self._pieces, weights.tolist(), strict=True)
            self._mixture = [(piece, weight) for piece, weight in mixed if weight > 0]

    def next_point(self, model: Model, best: float, at: Floats, floor: float) -> Floats:
        """Where to look next: near the best multipliers so far, where the model is well below them."""
        # The model may be trusted further where it was nearly right.
        effort = self._effort
        self._aim = max(self._aim / 2, effort.lowest_level) if best <= self._expected else effort.level
        program, least = self._program(), max(model.least, floor)
        weights = program.normal(np.array([piece.weight for piece in self._pieces]))
        with one_blas_thread():  # the matrices are small: threads would wait for each other
            program.run(at, best, least, self._aim, weights, self._total)
        self._total = program.total
        self._remember(*program.best)
        for piece, weight in zip(self._pieces, program.weights.tolist(), strict=True):
            piece.weight, piece.last_used = weight, self._turn if weight > 0 else piece.last_used
        least = max(least, self._least)
        self._expected = least + (self._aim + effort.nearly_right) * (best - least)
        return program.point

    def mixed(self) -> Mixed:
        """The best mixture of the box."""
        problem = self._problem
        mean, spread = np.zeros(problem.n_classes), np.zeros(problem.n_classes)
        means, x = np.zeros((problem.n_samples, problem.n_classes)), np.zeros(problem.n_features)
        for piece, weight in self._mixture:
            members = problem.features_of_class[piece.cls]
            x[members] += weight * np.unpackbits(piece.packed, count=members.size)
            mean[piece.cls] += weight * piece.count
            means[:, piece.cls] += weight * piece.means
        for piece, weight in self._mixture:
            spread[piece.cls] += weight * abs(piece.count - mean[piece.cls])
        mixture = Mixture(problem.n_features, [], np.arange(problem.n_features), x)
        return Mixed(mixture, problem.comparisons.margins(means).ravel(), mean, spread)


def most_pieces(n_samples: int, n_features: int, n_classes: int, effort: Effort = DEFAULT) -> int:
    """How many pieces are kept."""
    fitting = effort.piece_bytes // (n_classes * piece_size(n_samples, n_features, n_classes))
    return n_classes * int(np.clip(fitting, effort.fewest_class_pieces, effort.most_class_pieces))


def piece_size(n_samples: int, n_features: int, n_classes: int) -> int:
    """Bytes of a piece: a set of features, and their means."""
    return n_features // (8 * n_classes) + 8 * n_samples

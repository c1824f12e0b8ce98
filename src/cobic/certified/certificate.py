"""Writing down a proof so that anybody can check it: see `docs/certificate.md` for the format."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cobic.certified.proof import Multipliers, Step, cuts_in, written
from cobic.checker import FORMAT, VERSION
from cobic.matrix import Bools, Floats
from cobic.problem import PanelProblem, Problem
from cobic.problem.identity import checksum, problem_parameters


def make_certificate(
    problem: Problem,
    support: Bools | None,
    upper_bound: int,
    cuts: Sequence[Multipliers],
    tree: Sequence[Step],
    objective_bound: float | None = None,
) -> dict[str, Any]:
    """Put a proof together."""
    used = cuts_in(tree)
    place = {cut: index for index, cut in enumerate(used)}
    certificate: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "data": problem.digest,
        "problem": problem_parameters(problem),
        "selected": [] if support is None else np.flatnonzero(support).tolist(),
        "upper_bound": upper_bound,
        "objective_bound": upper_bound if objective_bound is None else objective_bound,
        "multipliers": [cuts[cut].pairs() for cut in used],
        "slopes": [cuts[cut].slope for cut in used],
        "tree": [written(step, place) for step in tree],
    }
    return {**certificate, "checksum": checksum(certificate)}


def make_panel_certificate(
    panel: PanelProblem,
    support: Bools | None,
    offsets: Floats | None,
    bound: float,
    cuts: Sequence[Multipliers],
    tree: Sequence[Step],
) -> dict[str, Any]:
    """Put the proof about a panel together: the bound is on its tail margin."""
    certificate = make_certificate(panel.problem, support, panel.total, cuts, tree, bound)
    certificate = {**certificate, "problem": panel.parameters}
    if support is not None and offsets is not None:
        certificate |= {"offsets": offsets.tolist(), "tail_margin": panel.tail_margin(support, offsets)}
    return {**certificate, "checksum": checksum(certificate)}

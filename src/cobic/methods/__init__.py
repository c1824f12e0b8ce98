"""The methods, each in a file of its own, and the one function that runs them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.certified.certificate import make_certificate
from cobic.checks import require_whole
from cobic.errors import InputError
from cobic.matrix.pool import fitting_threads
from cobic.methods import bilevel_vns, certified, fixed_point, milp, sequential_binary, sequential_lp
from cobic.methods.memory import warn_if_too_large
from cobic.problem import Problem
from cobic.search.budget import Budget, OnProgress
from cobic.search.judge import Outcome, judged
from cobic.search.result import Result

DEFAULT_METHOD = "certified"
_LARGEST_VALUE = 1e100  # sums of products of larger values may overflow
_LARGEST_BETA = 1e9  # beyond it own and other means are further apart than a solver can tell


@dataclass(frozen=True)
class Method:
    """A way to solve the problem."""

    solve: Callable[..., Outcome]  # ``solve(problem, budget, rng, **options) -> Outcome``
    source: str  # where it was published
    soft: bool = False  # whether it can solve problems with soft margins
    proves: bool = False  # whether its bound comes with a certificate
    claims: bool = False  # whether it has a bound without a certificate, which is then the word of a solver

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method with their defaults."""
        parameters = inspect.signature(self.solve).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


METHODS: dict[str, Method] = {
    "certified": Method(certified.solve, "this project: the optimum and its proof", soft=True, proves=True),
    "bilevel-vns": Method(bilevel_vns.solve, "Mucherino & Cafieri 2010, Algorithm 1"),
    "sequential-binary": Method(sequential_binary.solve, "Busygin, Prokopyev & Pardalos 2005"),
    "sequential-lp": Method(sequential_lp.solve, "after Nahapetyan, Busygin & Pardalos 2008"),
    "milp": Method(
        milp.solve,
        "Wu's linearisation, in Busygin, Prokopyev & Pardalos 2005, solved by HiGHS",
        soft=True,
        claims=True,
    ),
    "fixed-point": Method(fixed_point.solve, "after Busygin, Prokopyev & Pardalos 2005, with linear programs"),
}


def solve(
    problem: Problem,
    method: str = DEFAULT_METHOD,
    time_limit: float | None = 60.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Result:
    """Select as many features as possible such that the selection is consistent.

    Parameters
    ----------
    problem : Problem
        What to solve.
    method : str, default="certified"
        ``"certified"`` (the proven optimum), ``"bilevel-vns"`` (Mucherino & Cafieri 2010), ``"sequential-binary"``
        (Busygin, Prokopyev & Pardalos 2005), ``"sequential-lp"`` (after Nahapetyan, Busygin & Pardalos 2008),
        ``"milp"`` (the exact mixed-integer program, by HiGHS) or ``"fixed-point"``.
    time_limit : float or None, default=60.0
        Seconds after which the best selection so far is returned; None for no limit.
    seed : int, default=0
        Seed of everything random.
    on_progress : callable, optional
        Called with a :class:`cobic.Progress` whenever the answer improves.
    **options
        Options of the method: `docs/reference/methods.md` lists them.

    Returns
    -------
    Result
        The selection, its status and what is known about it. Whatever the method believes, consistency is decided by
        the true means in exact arithmetic. Ctrl-C, too, returns the best selection so far: see `Result.stopped_by`.

    Raises
    ------
    InputError
        If the method or one of its options does not exist, or a value is out of range.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=200, seed=1)
    >>> result = cobic.solve(cobic.Problem(data.X, data.y), method="fixed-point")
    >>> result.consistent
    True
    """
    return attempt(problem, method, time_limit, seed, on_progress, options)


def attempt(
    problem: Problem,
    method: str,
    time_limit: float | None,
    seed: int,
    on_progress: OnProgress | None,
    options: dict[str, Any],
    part: float = 1.0,
) -> Result:
    """Do what :func:`solve` does; without a selection by then, end after a part of the time."""
    chosen = find_method(method, options)
    require_bearable(problem)
    warn_if_too_large(problem)
    if problem.soft and not chosen.soft:
        able = ", ".join(name for name, each in METHODS.items() if each.soft)
        message = f"method {method!r} knows no soft margins: leave slack_penalty at inf, or use method {able}"
        raise InputError(message)
    rng = np.random.default_rng(require_whole("seed", seed, 0))
    with Budget(time_limit, on_progress, problem.n_selectable) as budget, fitting_threads(problem.matrix.shape):
        if problem.feature_class_sizes.all():
            with budget.unless_in_vain(part):
                outcome = chosen.solve(problem, budget, rng, **options)
                stopped_by = budget.stopped_by
            budget.stopped_by = budget.stopped_by or stopped_by
        else:  # a class that has no features cannot be read back
            nothing = np.zeros(problem.n_features, dtype=np.bool_)
            outcome = Outcome(nothing, upper_bound=0, certificate=make_certificate(problem, None, 0, [], []))
    return _judge(problem, method, outcome, budget)


def find_method(name: str, options: Iterable[str] = ()) -> Method:
    """Look a method up by its name."""
    if name not in METHODS:
        message = f"there is no method {name!r}: choose one of {', '.join(METHODS)}"
        raise InputError(message)
    known = METHODS[name].options
    for option in options:
        if option not in known:
            message = f"method {name!r} has no option {option!r}: its options are {', '.join(known)}"
            raise InputError(message)
    return METHODS[name]


def require_bearable(problem: Problem) -> None:
    """Raise `InputError` for numbers that are too large for a solver."""
    largest = float(problem.row_scale().max())
    if largest > _LARGEST_VALUE:
        message = (
            f"X or alpha has values of size {largest:g}: divide both by a constant, numbers beyond 1e100 are too large"
        )
        raise InputError(message)
    if float(problem.beta.max()) > _LARGEST_BETA:
        message = f"beta is {problem.beta.max():g}: a factor beyond {_LARGEST_BETA:g} is more than solvers can bear"
        raise InputError(message)


def _judge(problem: Problem, method: str, outcome: Outcome, budget: Budget) -> Result:
    """An outcome as a result; a method without a bound of its own has the trivial one."""
    bound = problem.n_selectable if outcome.upper_bound is None else outcome.upper_bound
    return judged(
        problem,
        outcome.support,
        bound,
        float(bound) if outcome.objective_bound is None else outcome.objective_bound,
        left_open_by=outcome.left_open_by,
        reason=outcome.reason,
        method=method,
        seconds=budget.elapsed,
        lps=budget.lps,
        history=tuple(budget.history),
        runs=outcome.runs,
        stopped_by=budget.stopped_by,
        certificate=outcome.certificate,
    )

"""The answers of one version of cobic to many problems, each in a line of JSON; no limit is one of time.

`benchmarks.apart.of_version` starts it by its path. It imports nothing else from here and asks little of cobic, so that
older versions can be asked as well.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import cobic

_PROGRAMS = 3000  # of a problem: some seconds, whether it is solved by then or not
_SOFT_PROGRAMS = 300

Case = tuple[str, cobic.Problem]


def published() -> Iterator[Case]:
    """The rows of the founding paper, and the sets with several classes."""
    golub, notterman = cobic.datasets.load_golub(), cobic.datasets.load_notterman()
    for data, name, alphas, betas in (
        (notterman, "notterman", (0, 1, 2, 5, 10), (1.01, 1.5, 2, 3)),
        (golub, "golub", (0, 10, 20, 30, 40, 50, 60, 70), (1.05, 1.1, 1.2, 1.5, 2, 3, 5)),
    ):
        yield from ((f"{name} alpha {alpha}", data.problem(alpha)) for alpha in alphas)
        yield from ((f"{name} beta {beta}", data.problem(0.0, beta)) for beta in betas)
    yield "khan", cobic.datasets.load_khan().problem()
    yield "sorlie", cobic.datasets.load_sorlie().problem()


def others() -> Iterator[Case]:
    """Soft margins, constraints, margins for each sample, sparse and single numbers, several classes, many features."""
    data = cobic.datasets.make_expression(n_features=600, seed=1)
    three = cobic.datasets.make_expression(n_features=300, class_sizes=(9, 8, 7), test_sizes=None, seed=2)
    per_sample = 1.0 + 0.02 * np.arange(data.X.shape[0])
    yield "plain", data.problem()
    yield "alpha 20", data.problem(20.0)
    yield "alpha per sample", data.problem(10 * (per_sample - 1))
    yield "beta per sample", data.problem(0.0, per_sample)
    yield "sign-aware", data.problem(0.0, 1.1, beta_rule="sign-aware")
    yield "ties left out", data.problem(ties="exclude")
    yield "fixed in", data.problem(fixed_in=[0, 5, 17])
    yield "fixed out", data.problem(fixed_out=list(range(0, 600, 7)))
    yield "groups", data.problem(groups=[i // 3 if i < 90 else None for i in range(600)])
    yield (
        "all constraints",
        data.problem(5.0, fixed_in=[1], fixed_out=[2], groups=[7 if 10 < i < 15 else None for i in range(600)]),
    )
    yield "three classes", three.problem()
    yield "three classes, alpha", three.problem(15.0)
    yield "float32", cobic.Problem(data.X.astype(np.float32), data.y)
    yield "csr", cobic.Problem(sp.csr_array(np.where(np.abs(data.X) > 150, data.X, 0.0)), data.y)
    yield "csc, alpha", cobic.Problem(sp.csc_array(np.where(data.X > 300, data.X, 0.0)), data.y, 3.0)
    yield "soft", data.problem(slack_penalty="auto")
    yield "soft, dear", data.problem(10.0, slack_penalty=2.0)
    yield "soft, groups", three.problem(slack_penalty=0.5, groups=[i // 2 if i < 40 else None for i in range(300)])
    yield "soft, three classes", three.problem(5.0, slack_penalty="auto")
    yield "many features", cobic.datasets.make_expression(n_features=30_000, seed=3).problem()
    yield "infeasible", cobic.Problem([[1.0, 5.0], [1.0, 2.0], [2.0, 1.0], [5.0, 1.0]], ["a", "b", "a", "b"], 100.0)


def answered(name: str, problem: cobic.Problem) -> dict[str, Any]:
    """What a version says about a problem, and what of it is proven."""
    programs = _SOFT_PROGRAMS if problem.soft else _PROGRAMS
    result = cobic.solve(problem, time_limit=None, max_programs=programs)
    statement = {key: result.certificate[key] for key in ("data", "problem", "upper_bound", "objective_bound")}
    return {
        "problem": name,
        "status": str(result.status),
        "selected": result.n_selected,
        "bound": result.upper_bound,
        "objective_bound": result.objective_bound,
        "support": hashlib.sha256(np.packbits(result.support).tobytes()).hexdigest(),
        "statement": hashlib.sha256(json.dumps(statement, sort_keys=True).encode()).hexdigest(),
        "certificate": hashlib.sha256(json.dumps(result.certificate, sort_keys=True).encode()).hexdigest(),
        "holds": cobic.verify(problem, result.certificate).ok,
    }


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    cases = [*others(), *(published() if asked["real"] else ())]
    print(json.dumps({"cobic": cobic.__file__, "answers": [answered(*case) for case in cases]}))

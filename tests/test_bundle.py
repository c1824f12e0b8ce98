"""The engine of the relaxation against general solvers and brute force: small programs, looks, bundle, exchanges."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

import cobic
from cobic.certified import bundle as engine
from cobic.certified.bundle import Bundle, whole_numbers
from cobic.certified.class_pieces import ClassPieces
from cobic.certified.effort import Effort
from cobic.certified.emptiness import Emptiness
from cobic.certified.looks import Everything, RunningSums, Window, largest, window_size
from cobic.certified.margins import largest_margin
from cobic.certified.newton import LevelProjection, best_weights, projected
from cobic.certified.pieces import without_remains
from cobic.certified.programs import FeaturePrograms, round_to_counts
from cobic.certified.quadratic import least_of_model, nearest_admissible, nearest_below
from cobic.certified.selections import more_even
from cobic.certified.standing import Standing
from cobic.certified.swaps import Swaps
from cobic.search.budget import Budget
from oracle import Oracle
from strategies import TAME, examples, instances, margins

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def no_limit(problem):
    return Budget(None, None, problem.n_features)


def lowest(pieces):
    """The least height of the largest of the pieces over all multipliers that add up to 1, by a general solver."""
    size = pieces.shape[1]
    return linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.hstack([pieces, -np.ones((len(pieces), 1))]),
        b_ub=np.zeros(len(pieces)),
        A_eq=np.append(np.ones(size), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * size + [(None, None)],
    )


def likely_ones(kind, size):
    """What is known of where the multipliers are: they may be anywhere, in a part that is wrong, at a single place."""
    return {"all": np.ones(size, bool), "some": np.arange(size) % 3 == 0, "one": np.arange(size) == 2}[kind]


@pytest.mark.parametrize("kind", ["all", "some", "one"])
@pytest.mark.parametrize(("count", "size"), [(9, 7), (9, 40), (1, 5), (30, 300)])
@pytest.mark.parametrize("seed", range(4))
def test_the_least_of_a_model_is_that_of_a_linear_program(kind, count, size, seed):
    rng = np.random.default_rng(seed)
    pieces = rng.standard_normal((count, size))
    weights = least_of_model(pieces, likely_ones(kind, size), 1e-9)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    least, wanted = (weights @ pieces).min(), lowest(pieces).fun
    assert least == pytest.approx(wanted, abs=1e-6)
    assert least <= wanted + 1e-9  # whatever the accuracy, a mixture bounds the model from below


@pytest.mark.parametrize("kind", ["all", "at hand"])
@pytest.mark.parametrize(("count", "size"), [(6, 7), (6, 15), (20, 200)])
@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_point_below_a_level_is_a_projection(kind, count, size, seed):
    """Where the multipliers to begin with are few, others come in, for their stationarity is wrong without."""
    rng = np.random.default_rng(seed)
    pieces = rng.standard_normal((count, size))
    at_least = lowest(pieces)
    known = np.ones(size, bool) if kind == "all" else at_least.x[:-1] > 0
    near = nearest_admissible(np.where(rng.random(size) < 0.4, rng.random(size), 0.0))
    level = at_least.fun + 0.3
    point = nearest_below(pieces, level, near, known, 1e-9)
    assert point.min() >= 0
    assert point.sum() == pytest.approx(1.0)
    assert (pieces @ point).max() <= level + 1e-6
    # Every admissible point below the level lies on the other side of the tangent at the projection.
    for _ in range(20):
        other = linprog(
            rng.standard_normal(size),
            A_ub=pieces,
            b_ub=np.full(count, level),
            A_eq=np.ones((1, size)),
            b_eq=[1.0],
            bounds=[(0, None)] * size,
        ).x
        assert (near - point) @ (other - point) <= 1e-5


def test_the_smallest_multipliers_go_but_never_the_largest():
    np.testing.assert_array_equal(without_remains(np.array([0.5, 0.01, 0.0, 0.45, 0.04]), 0.05), [0.5, 0, 0, 0.45, 0])
    np.testing.assert_array_equal(without_remains(np.array([0.2, 0.5, 0.3]), 2.0), [0, 0.5, 0])


def test_multipliers_with_a_price_add_up_to_it_at_most():
    problem = cobic.datasets.make_expression(n_features=20, seed=0).problem(slack_penalty=1.0)
    given = np.array([[0.3], [-1.0], [4.0]])
    np.testing.assert_array_equal(ClassPieces(problem).nearest_admissible(given), [[0.3], [0.0], [1.0]])


@pytest.mark.parametrize("grouped", [False, True], ids=["single", "grouped"])
@pytest.mark.parametrize("moved", [1, 15, 60, 200])
def test_sums_are_brought_up_to_date_however_many_features_change(moved, grouped):
    groups = np.where(np.arange(200) < 40, np.arange(200) // 4, -1) if grouped else None
    problem = cobic.datasets.make_expression(n_features=200, seed=2).problem(groups=groups)
    rng, running = np.random.default_rng(moved), RunningSums(problem)
    support = rng.random(200) < 0.5
    for _ in range(4):
        found = running.of(support)
        np.testing.assert_allclose(found, problem.sums(problem.constraints.pooled(support.astype(float))), rtol=1e-9)
        support[rng.choice(200, moved, replace=False)] ^= True


@pytest.mark.parametrize("seed", [0, 2, 6])
def test_few_units_prove_that_there_is_no_selection_where_features_are_required(seed):
    """Where data are large a bound is lowered by units only if these are few: above what there can be at least."""
    rng, y = np.random.default_rng(seed), np.arange(10) % 2
    shown = y.copy()
    shown[:4] = 1 - shown[:4]  # samples that the required features read as the other class, by little
    X = rng.standard_normal((10, 1008))
    X[:, :1000] = 0.001 * (shown[:, None] == np.arange(1000) % 2) + 1e-6 * rng.random((10, 1000))
    problem = cobic.Problem(X, y, fixed_in=np.arange(1000))
    result = cobic.solve(problem, effort=Effort(complete_window_cells=0))
    assert result.status == "infeasible"
    assert cobic.verify(problem, result.certificate).ok


@pytest.mark.parametrize("width", [1, 2, 5])
def test_multipliers_are_projected_sample_by_sample(width):
    rng = np.random.default_rng(width)
    points = rng.standard_normal((40, width))
    found = projected(points)
    assert found.min() >= 0
    assert found.sum(axis=1).max() <= 1 + 1e-12
    # Everything admissible lies on the other side of the tangent at the projection: it is enough to try the corners.
    for corner in np.vstack([np.zeros(width), np.eye(width)]):
        assert ((points - found) * (corner - found)).sum(axis=1).max() <= 1e-12


def test_points_far_away_are_projected_without_loss():
    """1 is lost beside 10³⁰: what is admissible must not be."""
    found = projected(np.array([[1e30, 1e30 - 1e13, 0.0], [1e18, -1e18, 5.0], [3e20, 3e20, 1.0]]))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[1:], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize("seed", range(20))
def test_the_weights_of_a_step_are_as_good_as_can_be(seed):
    rng = np.random.default_rng(seed)
    cls = np.sort(np.append(rng.integers(0, 3, 9), [0, 1, 2]))
    basis = rng.standard_normal((13, 20))
    matrix, linear = basis @ basis.T, 3 * rng.standard_normal(13)
    z = best_weights(matrix, linear, cls)
    assert z[:-1].min() >= -1e-9
    np.testing.assert_allclose(np.bincount(cls, z[:-1]), z[-1], atol=1e-9)
    slope = linear - matrix @ z
    # More or less of everything gains nothing, nor does any other piece in the place of one that has a weight.
    assert slope @ z == pytest.approx(0.0, abs=1e-7)
    best = np.array([slope[:-1][cls == each].max() for each in range(3)])
    assert best.sum() + slope[-1] <= 1e-7
    for each in range(3):
        used = (cls == each) & (z[:-1] > 1e-7)
        np.testing.assert_allclose(slope[:-1][used], best[each], atol=1e-6)


@pytest.mark.parametrize("aim", [0.1, 0.5])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_next_point_is_the_nearest_at_which_the_model_is_down_to_the_level(seed, n_classes, aim):
    rng = np.random.default_rng(seed)
    y = np.arange(12) % n_classes
    problem = cobic.Problem(rng.standard_normal((12, 3 * n_classes)), y, alpha=0.5, slack_penalty=2.0)
    shape, cls = problem.comparisons.other.shape, np.repeat(np.arange(n_classes), 4)
    counts, means = rng.integers(1, 9, cls.size).astype(float), rng.standard_normal((cls.size, 12))
    program = LevelProjection(problem, cls, counts, means)
    slopes = np.array(
        [2.0 * (problem.comparisons.coefficients(of) * row[:, None]).ravel() for of, row in zip(cls, means)]
    )
    off = 2.0 * np.repeat(problem.alpha, shape[1])

    def model(point):
        heights = counts + slopes @ point.ravel()
        return sum(heights[cls == each].max() for each in range(n_classes)) - off @ point.ravel()

    # The least of the model by a linear program with a height for every class.
    border = np.equal.outer(cls, np.arange(n_classes)).astype(float)
    capped = np.kron(np.eye(12), np.ones(shape[1]))
    least = linprog(
        np.concatenate([-off, np.ones(n_classes)]),
        A_ub=np.vstack([np.hstack([slopes, -border]), np.hstack([capped, np.zeros((12, n_classes))])]),
        b_ub=np.concatenate([-counts, np.ones(12)]),
        bounds=[(0, None)] * off.size + [(None, None)] * n_classes,
    ).fun
    near = projected(rng.random(shape))
    best = model(near)
    assert best > least
    program.run(near, best, least, aim, program.normal(np.zeros(cls.size)), 0.0)
    level = least + aim * (best - least)
    assert program.point.min() >= 0
    assert program.point.sum(axis=1).max() <= 1 + 1e-9
    assert model(program.point) <= level + 0.101 * (best - level)
    assert program.best[0] <= least + 1e-9
    # It is the projection onto where its own pieces are as low as they are there: nothing nearer is.
    mixed = program.total * (program.weights @ slopes - off)
    np.testing.assert_allclose(projected(near - mixed.reshape(shape)), program.point, atol=1e-9)


def relaxation_by_linprog(problem, counts):
    """The largest worst margin at some counts over all features at once."""
    columns, rows, limits = problem.n_features, [], []
    for sample in range(problem.n_samples):
        for place in range(problem.comparisons.other.shape[1]):
            row = np.zeros(columns + 1)
            for cls in range(problem.n_classes):
                coefficient = problem.comparisons.coefficients(cls)[sample, place]
                mine = problem.feature_classes == cls
                row[:-1][mine] = -coefficient * problem.matrix.rows(np.array([sample]))[0][mine] / counts[cls]
            row[-1] = 1.0
            rows.append(row)
            limits.append(-problem.alpha[sample])
    equal = np.zeros((problem.n_classes, columns + 1))
    for cls in range(problem.n_classes):
        equal[cls, :-1] = problem.feature_classes == cls
    bounds = [(0, 1)] * columns + [(None, None)]
    objective = np.append(np.zeros(columns), -1.0)
    return -linprog(objective, A_ub=rows, b_ub=limits, A_eq=equal, b_eq=counts, bounds=bounds).fun


@settings(max_examples=examples(120), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), instance=instances(values=TAME, max_features=8))
def test_the_relaxation_lies_between_the_model_and_the_value(data, instance):
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta)
    if not problem.feature_class_sizes.all():
        return
    counts = np.array([data.draw(st.integers(1, int(size))) for size in problem.feature_class_sizes])
    wanted = relaxation_by_linprog(problem, counts)
    found = Bundle(problem, no_limit(problem)).minimise(counts, counts, lambda value, model, _: value - model < 1e-7)
    size = 1.0 + float(np.abs(X).max())
    assert found.model <= wanted + 1e-6 * size
    assert found.value >= wanted - 1e-6 * size
    assert found.value - found.model <= 1e-5 * size
    assert found.margins.min() == pytest.approx(found.model)
    x = found.mixture.x
    assert np.bincount(problem.feature_classes, x) == pytest.approx(counts)
    by_programs = FeaturePrograms(Bundle(problem, no_limit(problem)))
    closely = by_programs.solve(counts, closely=True)
    assert closely.model == pytest.approx(wanted, abs=1e-5 * size)


@pytest.fixture(scope="module")
def expression():
    data = cobic.datasets.make_expression(
        n_features=400, class_sizes=(12, 9, 10), test_sizes=None, contaminated=0.1, seed=5
    )
    return data.problem()


def test_pieces_of_other_counts_are_real_selections_of_these(expression):
    relaxation = Bundle(expression, no_limit(expression))
    counts = expression.feature_class_sizes - 40
    for move in (np.array([0, 0, 0]), np.array([-3, 2, 0]), np.array([5, -1, -7])):
        here = counts + move
        found = relaxation.minimise(here, here, lambda value, model, _: value - model <= 1e-4 * abs(value))
        cold = Bundle(expression, no_limit(expression)).minimise(
            here, here, lambda value, model, _: value - model <= 1e-4 * abs(value)
        )
        assert found.value == pytest.approx(cold.value, rel=1e-3)
        for piece in relaxation.pieces._pieces:
            support = np.unpackbits(piece.packed, count=expression.n_features).astype(bool)
            np.testing.assert_array_equal(expression.counts(support), here)
            np.testing.assert_allclose(piece.sums, expression.sums(support.astype(float)), rtol=1e-9)


def test_begun_with_good_multipliers_it_takes_fewer_looks(expression):
    counts = expression.feature_class_sizes - 20
    budgets = [no_limit(expression), no_limit(expression)]
    close = lambda value, model, _: value - model <= 1e-4 * abs(value)  # noqa: E731
    cold = Bundle(expression, budgets[0]).minimise(counts, counts, close)
    warm = Bundle(expression, budgets[1])
    warm.start_from(cold.cut.multipliers)
    warm.minimise(counts, counts, close)
    assert budgets[1].lps < budgets[0].lps


def test_a_window_shows_what_everything_shows_if_it_holds_everything(expression):
    rng = np.random.default_rng(0)
    counts = expression.feature_class_sizes - 30
    window, everything = Window(expression, None, expression.n_features), Everything(expression)
    assert window.is_complete
    for _ in range(5):
        whole = whole_numbers(rng.random(expression.comparisons.other.shape))[0]
        seen, shown = everything.look(whole, counts, counts), window.look(whole, counts, counts)
        assert shown.value == pytest.approx(seen.value, rel=1e-12)
        np.testing.assert_array_equal(shown.support, seen.support)
        np.testing.assert_allclose(shown.sums, seen.sums, rtol=1e-12)


def test_a_part_of_the_features_shows_at_most_what_everything_shows(expression):
    rng = np.random.default_rng(1)
    counts = expression.feature_class_sizes - 30
    everything = Everything(expression)
    whole = whole_numbers(rng.random(expression.comparisons.other.shape))[0]
    seen = everything.look(whole, counts, counts)
    window = Window(expression, seen, 120)
    assert not window.is_complete
    assert window.holds(counts)
    assert window.look(whole, counts, counts).value == pytest.approx(seen.value, rel=1e-12)
    for _ in range(5):
        other = whole_numbers(rng.random(expression.comparisons.other.shape))[0]
        shown = window.look(other, counts, counts)
        assert shown.value <= everything.look(other, counts, counts).value + 1e-9
        np.testing.assert_array_equal(expression.counts(shown.support), counts)


@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=12), data=st.data())
def test_the_largest_are_the_first_of_a_stable_sort(values, data):
    count = data.draw(st.integers(0, len(values)))
    wanted = np.argsort(-np.array(values), kind="stable")[:count]
    np.testing.assert_array_equal(largest(np.array(values, dtype=float), count), np.sort(wanted))


def test_through_windows_the_answer_is_that_of_looks_at_everything():
    data = cobic.datasets.make_large_expression(3_000, n_samples=30, seed=1)
    problem = cobic.Problem(data.X, data.y)
    counts = problem.feature_class_sizes - 40
    close = lambda value, model, _: value - model <= 1e-5 * abs(value)  # noqa: E731
    whole = Bundle(problem, no_limit(problem)).minimise(counts, counts, close)
    small_windows = Effort(complete_window_cells=0, window_cells=30 * 300, least_window=1)
    relaxation = Bundle(problem, no_limit(problem), small_windows)
    part = relaxation.minimise(counts, counts, close)
    assert not relaxation.window.is_complete
    assert part.value == pytest.approx(whole.value, rel=1e-4)
    assert part.cut.values(counts[None, :])[0] / part.cut.size == pytest.approx(part.value, rel=1e-9)


@pytest.mark.parametrize(
    ("dtype", "most", "size"),
    [(np.float64, 1 << 26, 40), (np.float32, 1 << 26, 40), (np.float64, 2399, 0), (None, 1 << 26, 0)],
)
def test_a_large_window_is_a_part_of_the_features_and_takes_no_more_memory_than_the_data(dtype, most, size):
    X = np.random.default_rng(0).normal(size=(60, 480))
    X = X.astype(dtype) if dtype else csr_array(np.where(np.arange(480) % 100 == 0, X, 0.0))
    effort = Effort(complete_window_cells=0, window_cells=60, most_window_cells=most, least_window=40)
    problem = cobic.Problem(X, np.arange(60) % 2)
    assert window_size(60, 480, problem.matrix.nbytes, effort) == size


def test_a_rounded_mixture_has_the_counts_and_keeps_what_is_whole(expression):
    rng = np.random.default_rng(0)
    counts = expression.feature_class_sizes - 25
    x = Bundle(expression, no_limit(expression)).at(counts).mixture.x
    for generator in (None, rng):
        support = round_to_counts(expression, x, counts, generator)
        np.testing.assert_array_equal(expression.counts(support), counts)
        assert support[x == 1].all()
        assert not support[x == 0].any()


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_exchange_that_is_made_leaves_the_least_energy(seed):
    rng = np.random.default_rng(seed)
    effects, classes = rng.standard_normal((9, 6)), rng.integers(0, 2, 9)
    inside, levels = rng.random(9) < 0.5, rng.standard_normal(6)
    swaps = Swaps(effects, classes, inside, levels)
    unit = np.median(np.abs(effects))
    grown = np.exp(effects / unit)
    energy = np.exp(-levels / unit)
    best = swaps._best(grown * energy, 1.0 / grown, inside, np.ones(9, dtype=bool))
    pairs = [
        (np.exp(-(levels - effects[out] + effects[into]) / unit).sum(), out, into)
        for out in np.flatnonzero(inside)
        for into in np.flatnonzero(~inside)
        if classes[out] == classes[into]
    ]
    assert best == (min(pairs)[1:] if pairs else None)


def test_exchanges_keep_the_classes_and_end_with_positive_margins():
    rng = np.random.default_rng(3)
    effects, classes = rng.standard_normal((60, 12)), np.repeat([0, 1], 30)
    inside = np.tile([True, False], 30)
    start = effects[inside].sum(axis=0)
    found = Swaps(effects, classes, inside, start).cool(rng, 0)
    assert found is not None
    assert (effects[found].sum(axis=0) > 0).all()
    assert not (start > 0).all()
    np.testing.assert_array_equal(np.bincount(classes[found]), np.bincount(classes[inside]))


@settings(max_examples=examples(80), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), instance=instances(values=TAME, max_features=8))
def test_deciding_on_features_before_counts_agrees_with_brute_force(data, instance, monkeypatch):
    _grow_no_trees(monkeypatch)
    X, y = instance
    alpha, beta = data.draw(margins(len(y)))
    problem = cobic.Problem(X, y, alpha, beta)
    best = Oracle(X, y, alpha, beta, "first", "published").optimum()
    result = cobic.solve(problem, target_gap=0, effort=Effort(giant=0.0, rounds=3))
    assert result.n_selected <= best <= result.upper_bound
    checked = cobic.verify(problem, json.loads(json.dumps(result.certificate)))
    assert checked.ok, checked.reason
    assert checked.upper_bound == result.upper_bound


def test_proofs_that_decide_features_before_counts_are_accepted(monkeypatch):
    _grow_no_trees(monkeypatch)
    begun = []
    for seed in (9, 70, 71, 78, 111, 142, 217):
        rng, y = np.random.default_rng(seed), np.repeat([0, 1], 5)
        problem = cobic.Problem(rng.standard_normal((10, 14)).round(2) + 0.8 * (np.arange(14) % 2 == y[:, None]), y)
        result = cobic.solve(problem, target_gap=0, max_programs=3000, effort=Effort(giant=0.0))
        checked = cobic.verify(problem, json.loads(json.dumps(result.certificate)))
        assert checked.ok, checked.reason
        begun.append(result.certificate["tree"][0])
    assert any(token[0] == "feature" for token in begun)


def _grow_no_trees(monkeypatch):
    """No tree is grown at single counts; with giants of size 0 every fractional feature counts as one."""
    monkeypatch.setattr(Emptiness, "_close", lambda *_: None)


def test_a_problem_with_a_feature_decided_differs_in_nothing_else(expression):
    feature = int(expression.features_of_class[0][3])
    for inside in (True, False):
        part = expression.deciding(feature, inside=inside)
        support = expression.selectable.copy()
        support[feature] = not inside
        assert not part.constraints.admit(support)
        support[feature] = inside
        assert part.constraints.admit(support)
        np.testing.assert_array_equal(part.margins(support), expression.margins(support))
        assert (feature in part.features_of_class[0]) == inside
    assert expression.required.sum() == 0
    assert expression.selectable.all()


def test_a_search_ends_when_it_is_as_close_as_asked_for_and_says_so():
    data = cobic.datasets.make_large_expression(20_000, n_samples=60, seed=2)
    problem = cobic.Problem(data.X, data.y)
    roughly = cobic.solve(problem, target_gap=0.01)
    assert 0 < roughly.gap <= 0.01 * roughly.upper_bound
    assert "target_gap=0" in roughly.reason
    assert (roughly.stopped_by, roughly.left_open_by) == (None, "target gap")
    assert cobic.verify(problem, roughly.certificate).ok


def test_it_gives_up_when_nothing_comes_of_it():
    impatient = Effort(patience=0)
    data = cobic.datasets.make_expression(n_features=300, class_sizes=(30, 30), contaminated=0.15, seed=4)
    problem = data.problem()
    soon = cobic.solve(problem, effort=impatient)
    assert soon.n_selected > 0
    assert soon.gap > 0
    assert soon.left_open_by == "patience"
    assert "nothing for long" in soon.reason
    assert cobic.verify(problem, soon.certificate).ok
    patient = cobic.solve(problem, target_gap=0, max_programs=soon.lps + 300, effort=impatient)
    assert patient.lps > soon.lps
    assert patient.gap <= soon.gap


@pytest.mark.parametrize(("last", "goes_on"), [(9_993, False), (9_994, True)], ids=["a unit", "half of the gap"])
def test_single_units_of_a_gap_do_not_keep_a_search_going(expression, last, goes_on):
    budget = no_limit(expression)
    best = SimpleNamespace(support=expression.selectable, n_selected=0)
    standing = Standing(expression, budget, best, 10**6, 1e-9, Effort(patience=100, few_features=0))
    standing.upper_bound = 10_000
    for lps, n_selected in ((10, 9_988), (60, 9_991), (105, last)):
        budget.lps, best.n_selected = lps, n_selected
        assert not standing.is_stuck()
    budget.lps = 200
    assert standing.is_stuck() is not goes_on


def test_the_price_of_all_samples_is_kept_by_whole_multipliers():
    data = cobic.datasets.make_expression(n_features=50, class_sizes=(6, 6, 6), test_sizes=None, seed=1)
    problem = data.problem(slack_penalty=2.0)
    rng = np.random.default_rng(0)
    shares = rng.random(problem.comparisons.other.shape)
    shares /= shares.sum(axis=1, keepdims=True)
    whole = Bundle(problem, no_limit(problem)).whole(shares)
    assert whole.min() >= 0
    assert (whole.sum(axis=1) <= engine.PRECISION).all()


@pytest.fixture(scope="module")
def largest_alpha(expression):
    return largest_margin(expression, "alpha", no_limit(expression))


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_margin_is_found_where_a_small_selection_bears_it(expression, largest_alpha, share):
    result = cobic.solve(expression.with_margins(share * largest_alpha.found, 1.0), max_programs=2000)
    assert result.consistent
    assert result.n_selected >= largest_alpha.support.sum()


def test_counts_are_made_even_only_as_far_as_required_features_allow(expression):
    required = expression.features_of_class[0][:-2]
    problem = cobic.Problem(expression.matrix.columns(np.arange(400)), expression.labels, fixed_in=required)
    counts = np.array([required.size + 1, 3, 4])
    for _ in range(3):
        counts = more_even(problem, counts)
        assert (counts >= problem.required_sizes).all()
    assert counts[0] == required.size


def test_counts_are_made_even_within_what_the_classes_have(expression):
    sizes = expression.feature_class_sizes
    counts = np.array([sizes[0], 3, 1])
    for _ in range(1000):
        after = more_even(expression, counts)
        assert after.sum() == counts.sum()
        assert (after <= sizes).all()
        assert after.min() >= counts.min() >= 1
        counts = after
    assert np.ptp(counts) <= 1 + counts.min() // 8

"""Transforms of the values: what they make of numbers, in every kind of table, in proofs and in models."""

import json
from fractions import Fraction

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

import cobic
from cobic.errors import InputError, ModelError
from cobic.matrix import Transform, as_matrix
from cobic.matrix.base import fingerprint_weights
from cobic.problem import PanelProblem
from cobic.problem.identity import checksum, problem_parameters
from matrix_kinds import CSC, CSR, DASK, DENSE, KINDS

STEP = 2.0**-24
SPARSE_KINDS = {
    **CSR,
    **CSC,
    **{kind: make for kind, make in KINDS.items() if kind.startswith(("dask of", "coo", "csr"))},
}
DENSE_KINDS = {**DENSE, **{kind: make for kind, make in DASK.items() if " of " not in kind}}
WAYS = [("log2", 20.0), ("log2", 1.0), ("log1p", None), ("log1p", 0.0), ("log1p", 3.0), ("standardise", None)]


def by_hand(X, name, floor):
    """The transform in plain numpy."""
    if name == "standardise":
        deviation = X.std(axis=0)
        return np.divide(X - X.mean(axis=0), deviation, out=np.zeros(X.shape), where=np.ptp(X, axis=0) > 0)
    floored = X if floor is None else np.maximum(X, floor)
    return np.log2(floored) if name == "log2" else np.log1p(floored)


@pytest.fixture(scope="module")
def counts():
    """Intensities that float32 holds exactly, half of them zero, with a constant feature."""
    rng = np.random.default_rng(4)
    X = np.round(rng.lognormal(4, 2, (12, 40))) * rng.integers(0, 2, (12, 40))
    X[:6, :20] += np.round(rng.lognormal(5, 1, (6, 20)))
    X[6:, 20:] += np.round(rng.lognormal(5, 1, (6, 20)))
    X[:, 7] = 1234.0
    return X, np.repeat(["a", "b"], 6)


@pytest.mark.parametrize(("name", "floor"), WAYS)
def test_the_numbers_are_those_of_numpy(counts, name, floor):
    X, y = counts
    problem = cobic.Problem(X, y, transform=name, floor=floor)
    found = problem.matrix.rows(np.arange(12))
    expected = by_hand(X, name, floor)
    assert (np.abs(found - expected) <= STEP * (1 + np.abs(expected))).all()
    assert (found == found.astype(np.float32)).all()
    assert (found * 2**24 == np.rint(found * 2**24)).all()
    np.testing.assert_array_equal(problem.raw.rows(np.arange(12)), X)


def test_standard_scores_are_those_of_scikit_learn(counts):
    X, y = counts
    found = cobic.Problem(X, y, transform="standardise").matrix.rows(np.arange(12))
    np.testing.assert_allclose(found, StandardScaler().fit_transform(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1.0, 1e200, 1e303])
def test_standard_scores_of_tiny_and_huge_numbers(counts, scale):
    X, y = counts
    found = cobic.Problem(X * scale, y, transform="standardise").matrix.rows(np.arange(12))
    np.testing.assert_allclose(found, by_hand(X, "standardise", None), rtol=1e-6, atol=1e-6)


def test_a_constant_feature_becomes_zero_whatever_its_value():
    X = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]])  # three times 0.1, divided by 3, is not 0.1
    problem = cobic.Problem(X, ["a", "a", "b"], transform="standardise")
    assert not problem.matrix.columns(np.array([0])).any()


def test_numbers_in_the_middle_of_two_steps_are_decided_by_more_digits():
    # Around the middle of two multiples of 2^-24: their logarithms in floating point may fall on either side.
    middles = 2.0 ** ((2 * np.arange(1000, 1200) + 1) * 2.0**-25)
    values = np.concatenate([middles, np.nextafter(middles, 0), np.nextafter(middles, 9)])
    found = Transform.named("log2").of(values[None])[0]
    for value, log in zip(values, found, strict=True):
        # log2(value) ≤ log + 2^-25 exactly if value ≤ 2^(log + 2^-25): compare the 2^25th powers by their logarithms.
        assert abs(_log2(value) - Fraction(log)) <= Fraction(1, 2**25)
    assert np.unique(found).size == 201


def _log2(value):
    """log2 of a number just above 1, by its series in rationals; far more digits than a float has."""
    z = Fraction(value) - 1
    y = z / (z + 2)
    ln = 2 * sum(y**k / k for k in (1, 3, 5, 7))
    third = Fraction(1, 3)
    ln2 = 2 * sum(third**k / k for k in range(1, 120, 2))
    return ln / ln2


@pytest.mark.parametrize(("name", "floor"), WAYS)
def test_the_same_in_every_kind_of_table(counts, name, floor, tmp_path):
    X, _ = counts
    reference = as_matrix(X).transformed(Transform.named(name, floor).fitted(as_matrix(X)))
    rows, some = reference.rows(np.arange(12)), np.array([3, 0, 31])
    kinds = DENSE_KINDS | (SPARSE_KINDS if Transform.named(name, floor).keeps_zero else {})
    for kind, make in kinds.items():
        raw = as_matrix(make(X, tmp_path))
        matrix = raw.transformed(Transform.named(name, floor).fitted(raw))
        np.testing.assert_array_equal(matrix.rows(np.arange(12)), rows, err_msg=kind)
        np.testing.assert_array_equal(matrix.columns(some), rows[:, some], err_msg=kind)
        np.testing.assert_array_equal(as_matrix(matrix.selected(some)).rows(np.arange(12)), rows[:, some])
        np.testing.assert_array_equal(matrix.take(some[:2]).rows(np.arange(2)), rows[some[:2]], err_msg=kind)
        np.testing.assert_allclose(matrix.products(np.ones((40, 1)))[:, 0], rows.sum(axis=1), err_msg=kind)
        np.testing.assert_allclose(matrix.transposed_products(np.ones((12, 1)))[:, 0], rows.sum(axis=0), atol=1e-6)
        np.testing.assert_array_equal(matrix.peaks()[1], np.abs(rows).max(axis=0), err_msg=kind)
        weights = fingerprint_weights(12)
        np.testing.assert_array_equal(matrix.survey(weights).fingerprints, reference.survey(weights).fingerprints)


@pytest.mark.parametrize(("name", "floor"), [("log2", 20.0), ("log2", None), ("log1p", 3.0), ("standardise", None)])
@pytest.mark.parametrize("kind", SPARSE_KINDS)
def test_what_would_fill_a_sparse_table_is_refused(counts, kind, name, floor, tmp_path):
    X, y = counts
    with pytest.raises(InputError, match=r"^X is sparse, and .* take transform='log1p', or 'log2' with floor=1"):
        cobic.Problem(KINDS[kind](X, tmp_path), y, transform=name, floor=floor)


def test_large_tables_of_several_tiles(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.lognormal(4, 2, (300, 5000)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    for name in ("log2", "standardise"):
        found = [
            cobic.Problem(data, np.arange(300) % 2, transform=name)
            for data in (X, np.asfortranarray(X), np.load(tmp_path / "X.npy", mmap_mode="r"), X.astype(np.float64))
        ]
        for other in found[1:]:
            np.testing.assert_array_equal(other.class_means, found[0].class_means)
        np.testing.assert_allclose(found[0].class_means, _means(by_hand(X.astype(float), name, None)), atol=1e-5)
        assert found[2].matrix.kind == f"dense float32 in a memory map, {name}"
        assert not isinstance(found[2].matrix._source, np.ndarray)


def _means(X):
    return np.stack([X[::2].mean(axis=0), X[1::2].mean(axis=0)])


@pytest.mark.parametrize(
    ("transform", "floor", "words"),
    [
        ("log10", None, "transform is 'log10': choose one of log2, log1p, standardise"),
        (["log2"], None, "transform is ['log2']: choose one of log2, log1p, standardise"),
        (None, 20, "floor is 20, but there is no transform: give transform='log2' as well, or leave it out"),
        ("standardise", 20, "floor is 20: there is none to standardise by, leave it out"),
        ("log2", 0, "floor is 0: give a finite number above 0, what is below counts as it"),
        ("log2", float("inf"), "floor is inf: give a finite number above 0, what is below counts as it"),
        ("log2", "x", "floor is 'x': give a finite number above 0, what is below counts as it"),
        ("log1p", -1, "floor is -1: give a finite number of at least 0, what is below counts as it"),
        (
            "log2",
            None,
            "X at sample 0 ('s'), feature 1 ('g') is 0, which has no log2: give floor=20, what is below counts as 20",
        ),
        (
            "log1p",
            None,
            "X at sample 1 ('t'), feature 0 ('f') is -0.5, which has no log1p: give floor=0, what is below counts as 0",
        ),
    ],
)
def test_bad_input_is_one_line(transform, floor, words):
    X, names = [[3.0, 0.0], [-0.5, 4.0]], {"feature_names": ["f", "g"], "sample_names": ["s", "t"]}
    with pytest.raises(InputError) as error:
        cobic.Problem(X, ["a", "b"], transform=transform, floor=floor, **names)
    assert str(error.value) == words


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("name", "floor"), [*WAYS, ("log2", None)])
def test_a_floor_hides_no_missing_value(counts, value, name, floor):
    X, y = counts
    X = np.abs(X) + 1.0
    X[3, 5] = value
    with pytest.raises(InputError, match=r"value.* at sample 3, feature 5: impute it first"):
        cobic.Problem(X, y, transform=name, floor=floor)


@pytest.fixture(scope="module")
def panels(intensities):
    X, y, _ = intensities
    return {choices["transform"]: cobic.panel(X, y, size=3, **choices) for choices in CHOICES}


CHOICES = [{"transform": "log2", "floor": 20.0}, {"transform": "log1p", "floor": 0.0}, {"transform": "standardise"}]


@pytest.mark.parametrize("choices", CHOICES, ids=lambda each: each["transform"])
def test_a_transformed_problem_is_the_problem_of_the_transformed_values(intensities, choices):
    X, y, _ = intensities
    problem = cobic.Problem(X, y, **choices)
    plain = cobic.Problem(problem.matrix.rows(np.arange(y.size)), y)
    result, other = cobic.solve(problem), cobic.solve(plain)
    np.testing.assert_array_equal(result.support, other.support)
    assert (result.upper_bound, result.worst_margin) == (other.upper_bound, other.worst_margin)


@pytest.mark.parametrize("choices", CHOICES, ids=lambda each: each["transform"])
def test_certificates_hold_for_their_transform_only(intensities, panels, choices):
    X, y, _ = intensities
    problem = cobic.Problem(X, y, **choices)
    selection, panel = cobic.solve(problem), panels[choices["transform"]]
    for asked, certificate in ((problem, selection.certificate), (panel.problem, panel.certificate)):
        assert cobic.verify(asked, certificate).ok
        stated = certificate["problem"]["transform"]
        assert stated == {"name": choices["transform"], "floor": choices.get("floor")}
        for forged in ({**stated, "floor": 21.0}, {**stated, "name": "log10"}, {}):
            parameters = {**certificate["problem"], "transform": forged}
            changed = {**certificate, "problem": parameters}
            assert not cobic.verify(asked, {**changed, "checksum": checksum(changed)}).ok
    for other in ({}, {"transform": "log2", "floor": 40.0}, {"transform": "log1p", "floor": 1.0}):
        assert not cobic.verify(cobic.Problem(X, y, **other), selection.certificate).ok
        assert not cobic.verify(PanelProblem(cobic.Problem(X, y, **other), 3), panel.certificate).ok


def test_another_floor_does_not_prove_the_same(intensities):
    """Not even if the certificate says so: the numbers are others."""
    X, y, _ = intensities
    certificate = cobic.panel(X, y, size=2, transform="log2", floor=500).certificate
    changed = {**certificate, "problem": {**certificate["problem"], "transform": {"name": "log2", "floor": 20.0}}}
    changed["checksum"] = checksum(changed)
    asked = PanelProblem(cobic.Problem(X, y, transform="log2", floor=20), 2)
    assert asked.parameters == changed["problem"]
    assert not cobic.verify(asked, changed).ok


@pytest.mark.parametrize("choices", CHOICES, ids=lambda each: each["transform"])
def test_the_checker_computes_its_own_values(intensities, choices):
    X, y, _ = intensities
    problem = cobic.Problem(X, y, **choices)
    certificate = cobic.solve(problem).certificate
    values = problem.matrix.rows(np.arange(y.size))
    values[5, 6] += 1e-5 * (1 + abs(values[5, 6]))
    problem.matrix = as_matrix(values)
    found = cobic.verify(problem, certificate)
    assert not found.ok
    assert found.reason == f"the values are not those that {choices['transform']} makes of the data"


def test_without_a_transform_nothing_is_said_of_one(intensities):
    X, y, _ = intensities
    problem = cobic.Problem(X, y)
    assert "transform" not in problem_parameters(problem)
    assert problem.matrix is problem.raw
    assert problem.digest == cobic.Problem(X, y, transform="standardise").digest


@pytest.mark.parametrize("choices", CHOICES, ids=lambda each: each["transform"])
def test_a_model_file_classifies_raw_new_samples_as_in_memory(intensities, panels, choices, tmp_path, as_kind):
    X, _, new = intensities
    panel = panels[choices["transform"]]
    model = panel.model
    model.save(tmp_path / "model.json")
    again = cobic.Model.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.means(new), model.means(new))
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 2
    np.testing.assert_allclose(model.means(X), panel.problem.problem.means(panel.support), rtol=1e-9, atol=1e-9)
    centred = new
    if choices["transform"] == "standardise":
        centred = (new - X.mean(axis=0)) / X.std(axis=0)
    values = centred if choices["transform"] == "standardise" else by_hand(new, choices["transform"], choices["floor"])
    of, classes = panel.problem.problem.feature_classes, panel.problem.problem.classes
    means = np.stack([values[:, panel.support & (of == cls)].mean(axis=1) for cls in range(2)], axis=1)
    np.testing.assert_array_equal(again.predict(new), classes[means.argmax(axis=1)])
    narrow = as_kind(new.astype(np.float32))
    np.testing.assert_allclose(again.means(narrow), means, rtol=1e-4, atol=1e-4)


def test_only_selected_features_of_new_samples_need_a_logarithm(intensities):
    X, y, new = intensities
    model = cobic.panel(np.abs(X) + 1, y, size=3, transform="log2").model
    chosen, new = np.flatnonzero(model.support), np.abs(new) + 1
    expected = model.means(new)
    new[:, ~model.support] = -1.0
    np.testing.assert_array_equal(model.means(new), expected)
    new[3, chosen[2]] = 0.0
    words = f"new data at sample 3, feature {chosen[2]} is 0, which has no log2: make the model with floor=20, what"
    with pytest.raises(InputError, match=words):
        model.predict(new)


def test_models_without_a_transform_are_what_they_were(intensities, tmp_path):
    X, y, _ = intensities
    model = cobic.panel(X, y, size=3).model
    document = json.loads(model.to_json())
    assert document["version"] == 1
    assert "transform" not in document
    model.save(tmp_path / "old.json")
    assert cobic.Model.load(tmp_path / "old.json").transformation is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "vst"}, "it has a transform 'vst' that this cobic does not have: it has log2, log1p, standardise"),
        ("log2", '"transform" is not an object with a name'),
        ({"floor": None}, "it has a transform None that"),
        ({"name": "log2", "floor": -1}, "floor is -1: give a finite number above 0"),
        ({"name": "log2", "floor": None, "centre": [1.0]}, '"centre" of the transform does not give a number'),
        ({"name": "standardise", "centre": [1.0] * 3}, '"scale" of the transform does not give a number'),
        ({"name": "standardise", "centre": [1.0] * 3, "scale": [1.0, 1.0, -1.0]}, '"scale" of the transform'),
        ({"name": "standardise", "centre": [1.0] * 3, "scale": ["1"] * 3}, '"scale" of the transform'),
    ],
)
def test_a_transform_that_a_model_file_spoils(panels, tmp_path, change, words):
    document = json.loads(panels["standardise"].model.to_json())
    document["transform"] = change
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelError) as error:
        cobic.Model.load(tmp_path / "model.json")
    assert words in str(error.value)


def test_selected_features_in_any_order_keep_their_scales(intensities, panels, tmp_path):
    new, model = intensities[2], panels["standardise"].model
    document = json.loads(model.to_json())
    document["selected"].reverse()
    for part in ("centre", "scale"):
        document["transform"][part].reverse()
    (tmp_path / "model.json").write_text(json.dumps(document))
    np.testing.assert_array_equal(cobic.Model.load(tmp_path / "model.json").means(new), model.means(new))


@pytest.mark.parametrize("choices", CHOICES, ids=lambda each: each["transform"])
def test_the_order_of_the_columns_does_not_matter(intensities, panels, choices):
    X, y, _ = intensities
    order = np.random.default_rng(0).permutation(X.shape[1])
    panel, other = panels[choices["transform"]], cobic.panel(X[:, order], y, size=3, **choices)
    np.testing.assert_array_equal(panel.support[order], other.support)
    assert panel.bound == pytest.approx(other.bound, rel=1e-9)


def test_a_subset_standardises_anew(intensities):
    X, y, _ = intensities
    part = cobic.Problem(X, y, transform="standardise").subset(np.arange(3, 14))
    expected = by_hand(X[3:14], "standardise", None)
    np.testing.assert_allclose(part.matrix.rows(np.arange(11)), expected, rtol=1e-6, atol=1e-6)
    assert cobic.Problem(X, y, transform="log2", floor=20).subset(np.arange(3, 14)).transformation.floor == 20


def test_panels_take_a_transform_or_a_problem_not_both(intensities):
    X, y, _ = intensities
    with pytest.raises(InputError, match="a Problem is given, and transform, floor beside it"):
        cobic.panel(cobic.Problem(X, y), size=3, transform="log2", floor=20)


def test_cross_validation_transforms_what_is_held_out_by_its_training_samples(intensities):
    """The same errors as with an estimator in scikit-learn's hands, which sees nothing of what is held out."""
    X, y, _ = intensities
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for choices in ({"transform": "standardise"}, {"transform": "log2", "floor": 20.0}):
        path = cobic.path(X, y, alphas=[0.0], cv=folds, **choices)
        named = {"transformation": choices["transform"], "floor": choices.get("floor")}
        scores = cross_val_score(cobic.ConsistentBiclustering(**named), X, y, cv=folds)
        assert path.table["cv_error"][0] == pytest.approx(1 - scores.mean())


def test_stability_goes_through_the_transform(intensities):
    X, y, _ = intensities
    values = cobic.Problem(X, y, transform="log2", floor=20).matrix.rows(np.arange(y.size))
    found = cobic.stability(X, y, n_repeats=3, transform="log2", floor=20)
    np.testing.assert_array_equal(found.table, cobic.stability(values, y, n_repeats=3).table)


def test_the_estimator_takes_a_transform(intensities):
    X, y, new = intensities
    model = cobic.ConsistentBiclustering(transformation="log2", floor=20.0).fit(X, y)
    problem = cobic.Problem(X, y, transform="log2", floor=20)
    result = cobic.solve(problem)
    np.testing.assert_array_equal(model.support_, result.support)
    np.testing.assert_array_equal(model.predict(new), cobic.Model.of(problem, result).predict(new))
    np.testing.assert_array_equal(model.transform(X), X[:, model.support_])  # raw: a step of a pipeline selects


def test_an_anndata_object_takes_a_transform(intensities):
    X, y = sp.csr_matrix(np.maximum(intensities[0], 0)), intensities[1]
    adata = anndata.AnnData(X)
    adata.obs["type"] = y
    cobic.select_adata(adata, "type", ranking=False, transform="log1p")
    answer = adata.uns["cobic"]
    problem = cobic.Problem(X, y, transform="log1p")
    assert cobic.verify(problem, json.loads(answer["certificate"])).ok
    assert answer["params"]["transform"] == "log1p"

import json

import numpy as np
import pandas as pd
import pytest

import cobic
from cobic.errors import InputError, ModelError


@pytest.fixture(scope="module")
def solved():
    data = cobic.datasets.make_expression(n_features=120, seed=2)
    problem = data.problem(alpha=1.0)
    return data, problem, cobic.solve(problem, method="fixed-point")


@pytest.fixture
def model(solved):
    return cobic.Model.of(*solved[1:])


def test_the_training_samples_are_read_back(solved, model, as_kind):
    data, problem, result = solved
    assert result.consistent
    X = as_kind(data.X)
    assert (cobic.Model.of(cobic.Problem(X, data.y), result).predict(X) == data.y).all()
    np.testing.assert_allclose(model.means(data.X), problem.means(result.support), rtol=1e-12)


def test_a_saved_model_is_the_same_model(solved, model, tmp_path):
    data = solved[0]
    model.save(tmp_path / "model.json")
    again = cobic.Model.load(tmp_path / "model.json")
    assert again.classes == model.classes
    assert again.feature_names == data.feature_names
    assert again.parameters == model.parameters
    assert again.parameters["alpha"] == 1.0
    np.testing.assert_array_equal(again.means(data.test.X), model.means(data.test.X))
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize("labels", [["a", "b"], [3, 7], [True, False]])
def test_labels_keep_their_type_in_the_file(labels, tmp_path):
    problem = cobic.Problem([[3, 1], [1, 4]], labels)
    cobic.Model.of(problem, cobic.solve(problem)).save(tmp_path / "m.json")
    predicted = cobic.Model.load(tmp_path / "m.json").predict([[3, 1], [1, 4]])
    assert predicted.tolist() == labels


def test_margins_per_sample_are_kept(tmp_path):
    problem = cobic.Problem([[3, 1], [1, 4]], ["a", "b"], alpha=[0.5, 1.0])
    assert cobic.Model.of(problem, cobic.solve(problem)).parameters["alpha"] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, names: (X[:, :-1], names[:-1]), "119 features, the model has 120"),
        (lambda X, names: (X[:, ::-1], names[::-1]), "feature 1 is 'gene_120' where the model has 'gene_001'"),
        (lambda X, names: (X, (*names[:7], "other", *names[8:])), "feature 8 is 'other' where"),
        (lambda X, names: (np.ones((120, 38)), tuple(f"s{i}" for i in range(38))), "look transposed"),
        (lambda X, names: (np.where(X[3, 4] == X, np.nan, X), names), r"NaN\) at sample"),
    ],
)
def test_data_with_other_features_are_refused(solved, model, change, words):
    data = solved[0]
    X, names = change(data.X, data.feature_names)
    with pytest.raises(InputError, match=words):
        model.predict(X, names)
    with pytest.raises(InputError, match=words):
        model.predict(pd.DataFrame(X, columns=names))


def test_a_result_without_selection_makes_no_model():
    problem = cobic.Problem([[3, 3], [1, 1]], ["a", "b"])
    with pytest.raises(InputError, match="classifies nothing"):
        cobic.Model.of(problem, cobic.solve(problem))


DAMAGE = {
    "format": [None, "other", 3],
    "version": [3, "1", None],
    "classes": [["A"], "AB", ["A", "A"], [None, "B"], None],
    "n_features": [0, -1, 121, 119, 1.5, True, "120"],
    "feature_names": [["x"], "names", [1] * 120],
    "feature_classes": [[0], [0] * 119, [2] * 120, [0.5] * 120, None],
    "selected": [[120], [-1], [0, 0], [], "all", [0.0], None],
    "parameters": [None, []],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in DAMAGE.items() for value in values])
def test_a_damaged_model_is_refused(model, tmp_path, key, value):
    path = tmp_path / "model.json"
    model.save(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, key: value}))
    with pytest.raises(ModelError, match="is not a usable cobic model"):
        cobic.Model.load(path)
    del document[key]
    if key != "feature_names":
        path.write_text(json.dumps(document))
        with pytest.raises(ModelError):
            cobic.Model.load(path)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\x00\xff", "import os"])
def test_what_is_not_json_is_refused(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelError, match="not a cobic model"):
        cobic.Model.load(path)


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*none\.json"):
        cobic.Model.load(tmp_path / "none.json")

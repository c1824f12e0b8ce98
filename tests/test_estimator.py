"""The scikit-learn face: scikit-learn's own checks, pipelines, every kind of table, and what happens without an answer."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import cobic
from cobic import ConsistentBiclustering


@pytest.mark.filterwarnings("ignore::cobic.InconsistentDataWarning", "ignore::UserWarning")
@parametrize_with_checks([ConsistentBiclustering(time_limit=5.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted(expression):
    return ConsistentBiclustering(alpha=10.0).fit(expression.X, expression.y)

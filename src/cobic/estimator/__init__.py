"""The scikit-learn face: classifiers that select features, and say what is proven about them."""

from cobic.estimator.biclustering import ConsistentBiclustering
from cobic.estimator.cross_validated import ConsistentBiclusteringCV
from cobic.estimator.panel import PanelClassifier

__all__ = ["ConsistentBiclustering", "ConsistentBiclusteringCV", "PanelClassifier"]

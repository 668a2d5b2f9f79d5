"""Pipelines: scikit-learn's, under the name that its users import"""

from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union

__all__ = ["FeatureUnion", "Pipeline", "make_pipeline", "make_union"]

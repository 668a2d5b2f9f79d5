"""Compatibility: the only file that knows private names of scikit-learn

A private name may go or change with any release. Each is here once, imported when it is first asked
for, with the reason why no public name does, or what to write in its place when it is gone.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOME = {
    # Declared parameter constraints: fit checks them and words the errors as scikit-learn does.
    # When gone: a check of our own over the same tables, `_parameter_constraints`.
    "HasMethods": "sklearn.utils._param_validation",
    "Hidden": "sklearn.utils._param_validation",
    "Interval": "sklearn.utils._param_validation",
    "MissingValues": "sklearn.utils._param_validation",
    "Options": "sklearn.utils._param_validation",
    "RealNotInt": "sklearn.utils._param_validation",
    "StrOptions": "sklearn.utils._param_validation",
    "validate_params": "sklearn.utils._param_validation",
    "_fit_context": "sklearn.base",
    # Input: sample weights, targets, names and numbers of columns, as `validate_data` treats them.
    # When gone: `validate_data` and `check_array` on the same arguments.
    "_check_categorical_features": "sklearn.utils.validation",
    "_check_feature_names": "sklearn.utils.validation",
    "_check_feature_names_in": "sklearn.utils.validation",
    "_check_method_params": "sklearn.utils.validation",
    "_check_monotonic_cst": "sklearn.utils.validation",
    "_check_n_features": "sklearn.utils.validation",
    "_check_pos_label_consistency": "sklearn.utils.validation",
    "_check_psd_eigenvalues": "sklearn.utils.validation",
    "_check_sample_weight": "sklearn.utils.validation",
    "_check_y": "sklearn.utils.validation",
    "_deprecate_positional_args": "sklearn.utils.validation",
    "_get_feature_names": "sklearn.utils.validation",
    "_get_output_config": "sklearn.utils._set_output",
    "_num_features": "sklearn.utils.validation",
    "_num_samples": "sklearn.utils.validation",
    "_safe_indexing": "sklearn.utils",
    "_safe_split": "sklearn.utils.metaestimators",
    # How many rows of a matrix fit into the configured working memory. When gone: a division.
    "get_chunk_n_rows": "sklearn.utils._chunking",
    "is_pandas_na": "sklearn.utils._missing",
    "is_scalar_nan": "sklearn.utils._missing",
    "_get_mask": "sklearn.utils._mask",
    "_align_api_if_sparse": "sklearn.utils._sparse",
    # Metadata routing, which has no public helpers for estimators that route by hand.
    "_raise_for_params": "sklearn.utils.metadata_routing",
    "_raise_for_unsupported_routing": "sklearn.utils.metadata_routing",
    "_routing_enabled": "sklearn.utils.metadata_routing",
    "_RoutingNotSupportedMixin": "sklearn.utils.metadata_routing",
    # Messages of callbacks from other processes. When gone: bars of this process alone.
    "close_listener": "sklearn.callback._transport",
    "open_listener": "sklearn.callback._transport",
    "send": "sklearn.callback._transport",
    # The abstract base of searches: attributes, delegation, the table of results. When gone:
    # scikit-learn's GridSearchCV and RandomizedSearchCV by composition.
    "BaseSearchCV": "sklearn.model_selection._search",
    # Formulas that must agree with scikit-learn's to the last digit. When gone: write them.
    "_average_binary_score": "sklearn.metrics._base",
    "_get_n_samples_bootstrap": "sklearn.ensemble._bootstrap",
    "_nanaverage": "sklearn.utils.extmath",
    "_ovr_decision_function": "sklearn.utils.multiclass",
    "_weighted_percentile": "sklearn.utils.stats",
    "_VALID_METRICS": "sklearn.metrics.pairwise",
    "KERNEL_PARAMS": "sklearn.metrics.pairwise",
    "_fix_connected_components": "sklearn.utils.graph",
    # Rare kinds of input (multilabel, strings of odd types) that our metrics leave to scikit-learn.
    "_classification": "sklearn.metrics",
    "_ranking": "sklearn.metrics",
    "_regression": "sklearn.metrics",
    "_supervised": "sklearn.metrics.cluster",
    "_unsupervised": "sklearn.metrics.cluster",
}


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(HOME[name]), name)
    return found


def route_by_hand(**children: dict[str, dict[str, Any]]) -> Any:
    """Return what `process_routing` returns, where routing is off: parameters by child and method.

    scikit-learn has it as `_manual_routing` from 1.9.1 on.
    """
    from sklearn.utils import Bunch

    return Bunch(**{child: Bunch(**methods) for child, methods in children.items()})

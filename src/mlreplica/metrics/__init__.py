"""Scores, losses and curves: scikit-learn's names and numbers, at the cost of the arithmetic

Scorers and displays are scikit-learn's own, so that an import can be swapped; they take any
estimator. Displays in the house style are in `mlreplica.plotting`.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from sklearn.metrics import ConfusionMatrixDisplay as ConfusionMatrixDisplay
    from sklearn.metrics import DetCurveDisplay as DetCurveDisplay
    from sklearn.metrics import DistanceMetric as DistanceMetric
    from sklearn.metrics import PrecisionRecallDisplay as PrecisionRecallDisplay
    from sklearn.metrics import PredictionErrorDisplay as PredictionErrorDisplay
    from sklearn.metrics import RocCurveDisplay as RocCurveDisplay
    from sklearn.metrics import check_scoring as check_scoring
    from sklearn.metrics import get_scorer as get_scorer
    from sklearn.metrics import get_scorer_names as get_scorer_names
    from sklearn.metrics import make_scorer as make_scorer

    from . import cluster as cluster
    from . import pairwise as pairwise
    from ._biclusters import consensus_score as consensus_score
    from ._classification import accuracy_score as accuracy_score
    from ._classification import balanced_accuracy_score as balanced_accuracy_score
    from ._classification import class_likelihood_ratios as class_likelihood_ratios
    from ._classification import cohen_kappa_score as cohen_kappa_score
    from ._classification import confusion_matrix as confusion_matrix
    from ._classification import hamming_loss as hamming_loss
    from ._classification import matthews_corrcoef as matthews_corrcoef
    from ._classification import zero_one_loss as zero_one_loss
    from ._cluster import adjusted_mutual_info_score as adjusted_mutual_info_score
    from ._cluster import adjusted_rand_score as adjusted_rand_score
    from ._cluster import completeness_score as completeness_score
    from ._cluster import fowlkes_mallows_score as fowlkes_mallows_score
    from ._cluster import homogeneity_completeness_v_measure as homogeneity_completeness_v_measure
    from ._cluster import homogeneity_score as homogeneity_score
    from ._cluster import mutual_info_score as mutual_info_score
    from ._cluster import normalized_mutual_info_score as normalized_mutual_info_score
    from ._cluster import pair_confusion_matrix as pair_confusion_matrix
    from ._cluster import rand_score as rand_score
    from ._cluster import v_measure_score as v_measure_score
    from ._confusion import Confusion as Confusion
    from ._detection import det_curve as det_curve
    from ._deviance import d2_absolute_error_score as d2_absolute_error_score
    from ._deviance import d2_pinball_score as d2_pinball_score
    from ._deviance import d2_tweedie_score as d2_tweedie_score
    from ._deviance import mean_gamma_deviance as mean_gamma_deviance
    from ._deviance import mean_pinball_loss as mean_pinball_loss
    from ._deviance import mean_poisson_deviance as mean_poisson_deviance
    from ._deviance import mean_squared_log_error as mean_squared_log_error
    from ._deviance import mean_tweedie_deviance as mean_tweedie_deviance
    from ._deviance import root_mean_squared_log_error as root_mean_squared_log_error
    from ._dispersion import calinski_harabasz_score as calinski_harabasz_score
    from ._dispersion import davies_bouldin_score as davies_bouldin_score
    from ._gain import dcg_score as dcg_score
    from ._gain import ndcg_score as ndcg_score
    from ._gain import top_k_accuracy_score as top_k_accuracy_score
    from ._multilabel import coverage_error as coverage_error
    from ._multilabel import (
        label_ranking_average_precision_score as label_ranking_average_precision_score,
    )
    from ._multilabel import label_ranking_loss as label_ranking_loss
    from ._precision_recall import average_precision_score as average_precision_score
    from ._precision_recall import precision_recall_curve as precision_recall_curve
    from ._probability import brier_score_loss as brier_score_loss
    from ._probability import d2_brier_score as d2_brier_score
    from ._probability import d2_log_loss_score as d2_log_loss_score
    from ._probability import hinge_loss as hinge_loss
    from ._probability import log_loss as log_loss
    from ._ranking import auc as auc
    from ._ranking import roc_auc_score as roc_auc_score
    from ._ranking import roc_curve as roc_curve
    from ._regression import explained_variance_score as explained_variance_score
    from ._regression import max_error as max_error
    from ._regression import mean_absolute_error as mean_absolute_error
    from ._regression import mean_absolute_percentage_error as mean_absolute_percentage_error
    from ._regression import mean_squared_error as mean_squared_error
    from ._regression import median_absolute_error as median_absolute_error
    from ._regression import r2_score as r2_score
    from ._regression import root_mean_squared_error as root_mean_squared_error
    from ._sequence import entity_f1_score as entity_f1_score
    from ._sequence import entity_precision_recall_f1 as entity_precision_recall_f1
    from ._sequence import entity_spans as entity_spans
    from ._sequence import flat_accuracy_score as flat_accuracy_score
    from ._sequence import flat_classification_report as flat_classification_report
    from ._sequence import flat_f1_score as flat_f1_score
    from ._sequence import flat_fbeta_score as flat_fbeta_score
    from ._sequence import flat_precision_score as flat_precision_score
    from ._sequence import flat_recall_score as flat_recall_score
    from ._sequence import sequence_accuracy_score as sequence_accuracy_score
    from ._set_wise import classification_report as classification_report
    from ._set_wise import f1_score as f1_score
    from ._set_wise import fbeta_score as fbeta_score
    from ._set_wise import jaccard_score as jaccard_score
    from ._set_wise import multilabel_confusion_matrix as multilabel_confusion_matrix
    from ._set_wise import precision_recall_fscore_support as precision_recall_fscore_support
    from ._set_wise import precision_score as precision_score
    from ._set_wise import recall_score as recall_score
    from ._silhouette import silhouette_samples as silhouette_samples
    from ._silhouette import silhouette_score as silhouette_score
    from ._thresholds import confusion_matrix_at_thresholds as confusion_matrix_at_thresholds
    from ._thresholds import metric_at_thresholds as metric_at_thresholds
    from .pairwise import euclidean_distances as euclidean_distances
    from .pairwise import nan_euclidean_distances as nan_euclidean_distances
    from .pairwise import pairwise_distances as pairwise_distances
    from .pairwise import pairwise_distances_argmin as pairwise_distances_argmin
    from .pairwise import pairwise_distances_argmin_min as pairwise_distances_argmin_min
    from .pairwise import pairwise_distances_chunked as pairwise_distances_chunked
    from .pairwise import pairwise_kernels as pairwise_kernels

__all__, __getattr__, __dir__ = lazy(__name__)

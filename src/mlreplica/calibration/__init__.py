"""Calibration: probabilities that match frequencies, learned from rows a classifier never saw

Read `_curves.py` first: three ways from scores to probabilities; then `_classifier.py`, which fits
them across folds, and `_reliability.py`, which shows whether it worked. `CalibrationDisplay`, which
draws that, is scikit-learn's.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from sklearn.calibration import CalibrationDisplay as CalibrationDisplay

    from ._classifier import CalibratedClassifierCV as CalibratedClassifierCV
    from ._reliability import calibration_curve as calibration_curve

__all__, __getattr__, __dir__ = lazy(__name__)

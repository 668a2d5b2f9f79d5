"""Losses: value, gradient, hessian, link and best constant, ours and yours."""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from mlreplica.core.formulas.check_loss import check_loss as check_loss
    from mlreplica.core.formulas.loss_formulas import gradient_at as gradient_at
    from mlreplica.core.formulas.loss_formulas import log_sum_exp as log_sum_exp
    from mlreplica.core.formulas.loss_formulas import sigmoid as sigmoid
    from mlreplica.core.formulas.loss_formulas import softmax as softmax
    from mlreplica.core.formulas.losses import NAMES as NAMES
    from mlreplica.core.formulas.losses import Loss as Loss
    from mlreplica.core.formulas.losses import absolute as absolute
    from mlreplica.core.formulas.losses import epsilon_insensitive as epsilon_insensitive
    from mlreplica.core.formulas.losses import exponential as exponential
    from mlreplica.core.formulas.losses import get as get
    from mlreplica.core.formulas.losses import hinge as hinge
    from mlreplica.core.formulas.losses import huber as huber
    from mlreplica.core.formulas.losses import logistic as logistic
    from mlreplica.core.formulas.losses import multinomial as multinomial
    from mlreplica.core.formulas.losses import perceptron as perceptron
    from mlreplica.core.formulas.losses import poisson as poisson
    from mlreplica.core.formulas.losses import quantile as quantile
    from mlreplica.core.formulas.losses import squared as squared
    from mlreplica.core.formulas.losses import squared_hinge as squared_hinge
    from mlreplica.core.formulas.losses import zero_one as zero_one

__all__, __getattr__, __dir__ = lazy(__name__)

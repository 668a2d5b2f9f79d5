import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from mlreplica.svm import SVC, NuSVC

EXACT = {"gamma": 0.5, "tol": 1e-12}


def checks(*estimators):
    """scikit-learn's checks, less that of NuSVC's class weights, which it leaves out itself."""
    for estimator in estimators:
        for k, (model, check) in enumerate(estimator_checks_generator(estimator)):
            name = check.func.__name__
            if (type(estimator), name) != (NuSVC, "check_class_weight_classifiers"):
                yield pytest.param(model, check, id=f"{name}-{k}-{estimator}")


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks(SVC(), NuSVC(), SVC(kernel="precomputed"), SVC(multi_class="ovr")),
)
def test_estimators_behave_as_scikit_learn_asks(estimator, check):
    name, estimator = check.func.__name__, clone(estimator)
    # At the default tolerance equal problems have solutions that agree to three digits only, and
    # gamma="scale" is a property of the rows without their weights.
    if name.startswith("check_sample_weight_equivalence"):
        estimator.set_params(**EXACT)
        if isinstance(estimator, NuSVC):
            estimator.set_params(nu=0.1)  # more is infeasible for classes so unequal
    if name == "check_classifiers_train":  # the largest score wins; scikit-learn excepts its SVC
        estimator.set_params(break_ties=True)
    check(estimator)

"""scikit-learn's names lead to ours, fall back where ours refuses, and come back afterwards"""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mlreplica.linear_model
import mlreplica.metrics
from mlreplica import accelerate
from mlreplica.accelerate import _modules, _record


@pytest.fixture
def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _clean():
    yield
    accelerate.uninstall()
    _record.clear()


def test_names_lead_to_ours_and_come_back():
    from sklearn.linear_model import Lasso as Before

    with accelerate.accelerated():
        from sklearn.linear_model import Lasso

        assert issubclass(Lasso, mlreplica.linear_model.Lasso)
        assert Lasso is not Before
    from sklearn.linear_model import Lasso as After

    assert After is Before


def test_modules_list_the_same_names_and_keep_those_that_we_lack():
    import sklearn.linear_model

    before, lacking = dir(sklearn.linear_model), sklearn.linear_model.TheilSenRegressor
    with accelerate.accelerated():
        assert dir(sklearn.linear_model) == before
        assert sklearn.linear_model.TheilSenRegressor is lacking
        with pytest.raises(AttributeError, match="has no attribute 'Lassoo'"):
            _ = sklearn.linear_model.Lassoo
    assert dir(sklearn.linear_model) == before


def test_installing_twice_and_nesting_change_nothing():
    accelerate.install()
    accelerate.install()
    with accelerate.accelerated():
        pass
    from sklearn.linear_model import Lasso

    assert issubclass(Lasso, mlreplica.linear_model.Lasso)
    accelerate.uninstall()
    accelerate.uninstall()
    from sklearn.linear_model import Lasso

    assert Lasso.__module__.startswith("sklearn.")


def test_the_librarys_own_code_sees_its_own_classes(iris):
    with accelerate.accelerated():
        from sklearn.compose import TransformedTargetRegressor  # asks for LinearRegression

        X, y = iris[0][:, :3], iris[0][:, 3]
        model = TransformedTargetRegressor().fit(X, y)
    assert type(model.regressor_).__module__.startswith("sklearn.")


def test_a_module_that_is_one_file_goes_on_working():
    with accelerate.accelerated():
        from sklearn.cluster import AffinityPropagation  # calls metrics.pairwise
        from sklearn.metrics import pairwise

        D = pairwise.euclidean_distances([[0.0], [1.0]])
        (block,) = pairwise.pairwise_distances_chunked([[0.0], [3.0]])
        AffinityPropagation(random_state=0).fit([[0.0], [1.0], [9.0]])
    assert D.tolist() == [[0, 1], [1, 0]]
    assert block.tolist() == [[0, 3], [3, 0]]
    assert "mlreplica" in accelerate.report()


def test_a_pipeline_searches_and_scores_on_ours(iris):
    X, y = iris
    with accelerate.accelerated():
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        pipe = make_pipeline(StandardScaler(), LogisticRegression())
        search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}, cv=3).fit(X, y)
        best = search.best_estimator_[-1]
        assert isinstance(best, mlreplica.linear_model.LogisticRegression)
        assert hasattr(best, "certificate_")
        assert type(clone(best)) is LogisticRegression
    assert search.best_score_ > 0.9


def test_instances_of_either_are_instances_of_the_name():
    from sklearn.linear_model import ElasticNet as TheirNet
    from sklearn.linear_model import Lasso as TheirLasso
    from sklearn.linear_model import Ridge as TheirRidge

    with accelerate.accelerated():
        from sklearn.linear_model import ElasticNet, Lasso, Ridge

        ours = mlreplica.linear_model.Lasso()
        for model in (Lasso(), TheirLasso(), ours):
            assert isinstance(model, Lasso)
            assert isinstance(model, ElasticNet) or model is ours
            assert not isinstance(model, Ridge)
        assert isinstance(Lasso(), TheirLasso)  # a name bound before
        assert isinstance(Lasso(), TheirNet)
        assert issubclass(TheirRidge, Ridge)


def test_classes_of_users_derive_from_the_original():
    from sklearn.linear_model import Lasso as Original

    with accelerate.accelerated():
        from sklearn.base import TransformerMixin
        from sklearn.linear_model import Lasso

        class Mine(TransformerMixin, Lasso):
            def transform(self, X):
                return X[:, self.coef_ != 0]

        assert Original in Mine.__mro__
        assert mlreplica.linear_model.Lasso not in Mine.__mro__
        X = np.eye(4)
        assert Mine(alpha=0.1).fit(X, [0.0, 0, 0, 4]).transform(X).shape == (4, 1)


def test_a_parameter_that_ours_lacks_makes_the_original(caplog):
    from sklearn.linear_model import Lasso as Original

    class Odd(mlreplica.linear_model.Lasso):
        def __init__(self, alpha=1.0):
            super().__init__(alpha)

    from mlreplica.accelerate._stand_ins import stand_in_class

    model = stand_in_class(Odd, Original)(alpha=1.0, selection="random")
    assert type(model) is Original
    assert "falls back to sklearn.linear_model" in caplog.text


def refusing(original):
    """A stand-in of a class of ours that refuses to fit negative targets."""
    from mlreplica.accelerate._stand_ins import stand_in_class

    class Refuses(mlreplica.linear_model.Ridge):
        def fit(self, X, y, sample_weight=None):
            if np.min(y) < 0:
                raise ValueError("y must be positive.")
            return super().fit(X, y, sample_weight)

    return stand_in_class(Refuses, original)


def test_where_ours_refuses_the_object_becomes_the_original(caplog):
    from sklearn.linear_model import Ridge as Original

    model = refusing(Original)(alpha=2.0)
    X, y = np.arange(6.0).reshape(3, 2), np.array([-1.0, 0.0, 3.0])
    assert model.fit(X, y) is model
    assert type(model) is Original
    assert_allclose(model.coef_, Original(alpha=2.0).fit(X, y).coef_)
    assert "Ridge.fit falls back to sklearn.linear_model: ValueError: y must be positive." in (
        caplog.text
    )
    text = accelerate.report()
    assert "Ridge.fit: ValueError: y must be positive." in text
    assert "sklearn " in text


def test_what_both_refuse_raises_the_originals_error():
    from sklearn.linear_model import Ridge as Original

    model = refusing(Original)()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(np.eye(3), [-1.0, 2.0])
    assert type(model) is not Original
    assert "left to the original" not in accelerate.report()


def test_functions_lead_to_ours_and_fall_back(monkeypatch, caplog):
    def odd(y_true, y_pred, *, normalize=True):
        raise NotImplementedError("not this one.")

    monkeypatch.setattr(mlreplica.metrics, "accuracy_score", odd)
    with accelerate.accelerated():
        from sklearn.metrics import accuracy_score, f1_score

        assert accuracy_score([0, 1], [0, 0]) == 0.5
        assert f1_score([0, 1], [0, 1]) == 1.0
        assert accuracy_score.__module__.startswith("sklearn.")
        text = accelerate.report()
    assert "accuracy_score falls back to sklearn.metrics: NotImplementedError" in caplog.text
    assert "f1_score        mlreplica" in text


def test_pickles_and_copies_are_ours_and_load_without_it(iris):
    X, y = iris
    with accelerate.accelerated():
        from sklearn.tree import DecisionTreeClassifier

        model = DecisionTreeClassifier(random_state=0).fit(X, y)
        file = pickle.dumps([model, DecisionTreeClassifier])
        copied = copy.deepcopy(model)
    code = (
        "import pickle, sys; model, kind = pickle.load(sys.stdin.buffer); "
        "assert type(model) is kind and kind.__module__.startswith('mlreplica.tree'); "
        "print(model.predict([[5.0, 3.0, 1.0, 0.2]])[0], 'mlreplica.accelerate' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=file, capture_output=True, check=True)
    assert ran.stdout.split() == [b"0", b"False"]
    assert_array_equal(copied.predict(X), model.predict(X))


def test_hmmlearn_and_crfsuite_lead_to_ours():
    with accelerate.accelerated():
        from sklearn_crfsuite import CRF

        model = CRF(max_iterations=5).fit([[{"a": 1}, {"b": 1}]], [["x", "y"]])
    assert type(model).__mro__[1].__module__.startswith("mlreplica.sequence")
    assert [list(labels) for labels in model.predict([[{"a": 1}, {"b": 1}]])] == [["x", "y"]]


SCRIPT = """
import sys
from sklearn.linear_model import Ridge
print(Ridge.__mro__[1].__module__.partition(".")[0], sys.argv[1:], __name__)
Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
"""


@pytest.mark.parametrize("how", ["script", "module", "environment"])
def test_programs_run_on_ours(tmp_path, how):
    (tmp_path / "program.py").write_text(SCRIPT, encoding="utf-8")
    run = {
        "script": ["-m", "mlreplica.accelerate", "--report", "program.py", "--one", "2"],
        "module": ["-m", "mlreplica.accelerate", "--report", "-m", "program", "--one", "2"],
        "environment": ["program.py", "--one", "2"],
    }[how]
    env = os.environ | {"MLREPLICA_ACCELERATE": str(int(how == "environment"))}
    command = [sys.executable, *run]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "mlreplica ['--one', '2'] __main__"
    assert ("Ridge.fit" in done.stderr) == (how != "environment")


@pytest.mark.parametrize("words", [[], ["-m"], ["nowhere.py"], ["--report"]])
def test_a_wrong_call_says_how(words):
    command = [sys.executable, "-m", "mlreplica.accelerate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "python -m mlreplica.accelerate" in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_of_ours_is_imported_before_it_is_used():
    code = (
        "import sys, mlreplica.accelerate as a; a.install(); import sklearn.linear_model, "
        "sklearn.svm; print([m for m in sys.modules if m.startswith('mlreplica.') and "
        "m.count('.') > 2 and 'core' not in m], 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


def test_every_chapter_that_scikit_learn_has_is_changed():
    from importlib.util import find_spec

    import mlreplica

    both = {name for name in mlreplica.__all__ if find_spec(f"sklearn.{name}")}
    both -= {"datasets", "callbacks", "pipeline", "compose"}  # scikit-learn's own names
    assert both <= {name.removeprefix("sklearn.") for name in _modules.OURS}

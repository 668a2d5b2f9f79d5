# ruff: noqa: T201
"""Code as users write it, for Pyright: editors must understand it, and see what is wrong in it

    pyright --project tests/typing

Nothing here runs. A comment that expects an error is an error itself where there is none.
"""

from typing import assert_type

import numpy as np

from mlreplica import callbacks, datasets, inspection, persistence
from mlreplica.cluster import HDBSCAN, KMeans, choose_k
from mlreplica.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from mlreplica.kernels import RBF
from mlreplica.linear_model import Lasso, LogisticRegression, lasso_path
from mlreplica.mcmc import NUTS, Draws, MetropolisHastings
from mlreplica.metrics import accuracy_score, roc_auc_score
from mlreplica.model_selection import GridSearchCV, cross_val_score, train_test_split
from mlreplica.pipeline import Pipeline, make_pipeline
from mlreplica.preprocessing import OneHotEncoder, StandardScaler
from mlreplica.sequence import CRF, GaussianHMM
from mlreplica.svm import SVC
from mlreplica.tree import DecisionTreeClassifier

X, y = datasets.load_iris(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = Lasso(alpha=0.1).fit(X_train, y_train)
print(model.coef_ @ X_test[0] + model.intercept_, model.certificate_)
print(accuracy_score(y_test, LogisticRegression(C=10.0).fit(X_train, y_train).predict(X_test)))
alphas, coefs, gaps = lasso_path(X, y, alphas=10)

pipe = assert_type(make_pipeline(StandardScaler(), SVC(kernel=RBF(0.5))), Pipeline)
search = GridSearchCV(pipe, {"svc__C": [1.0, 10.0]}, cv=3).fit(X_train, y_train)
print(search.best_params_, cross_val_score(search.best_estimator_, X, y).mean())

forest = RandomForestRegressor(max_features=0.5, n_jobs=2, random_state=np.random.RandomState(0))
boosting = HistGradientBoostingClassifier(max_leaf_nodes=None).set_callbacks(callbacks.Trace())
for estimator in (forest, boosting, DecisionTreeClassifier(max_depth=3), OneHotEncoder()):
    estimator.set_params(**estimator.get_params()).fit(X, y)
print(roc_auc_score(y == 1, boosting.predict_proba(X)[:, 1]), inspection.explain(boosting, X))

labels = KMeans(3, init=X[:3], random_state=0).fit_predict(X)
print(choose_k(X).k, HDBSCAN(min_cluster_size=5).fit(X).labels_, labels)
print(GaussianHMM(n_components=2).fit(X, lengths=[100, 50]).score(X), CRF(c2=0.1))


def log_density(x: np.ndarray) -> float:
    return float(-0.5 * x @ x)


draws = assert_type(MetropolisHastings(log_density, scale=1.0).sample(np.zeros(2), 100), Draws)
print(draws.summary(), draws.array.shape, NUTS(log_density, gradient=lambda x: -x))

persistence.save(forest, "forest.mlr")
print(persistence.load("forest.mlr").predict(X))

Lasso(alpa=0.1)  # pyright: ignore[reportCallIssue]
KMeans(clusters=3)  # pyright: ignore[reportCallIssue]
MetropolisHastings()  # pyright: ignore[reportCallIssue]
draws.quantile_table()  # pyright: ignore[reportAttributeAccessIssue]

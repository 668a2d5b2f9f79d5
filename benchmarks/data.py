"""What races are held on: seeded rows of many kinds, known sets, and their way through a file"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

most = {"n": 10**9, "p": 10**9, "new": 10**9}


def cut_down(n: int = 1000, p: int = 300) -> None:
    """Make no data larger than this, to see quickly whether races run at all."""
    most.update(n=n, p=p, new=n)


class Data(NamedTuple):
    """Rows to fit, new rows to judge by, and whatever else a race's contestants share."""

    X: Any
    y: Any = None
    X_new: Any = None
    y_new: Any = None
    more: Any = None


@dataclass(frozen=True)
class Rows:
    """A recipe for n rows of p columns; `str` describes it.

    Kinds of columns: "normal"; "few" distinct values (about 13); "skewed" (lognormal);
    "correlated" (0.9 between neighbours); "offset" (means of 5 standard deviations); "words" (CSR,
    tf-idf of words with Zipf frequencies, rows of length one).
    """

    n: int
    p: int
    kind: str = "normal"
    classes: int = 0  # 0: y is a number
    rare: float | None = None  # share of class 1, or of each class but the first
    bent: bool = False  # y depends on six columns, not linearly
    informative: int | None = None  # columns that matter in a linear y; None: all
    noise: float = 1.0  # its standard deviation relative to the signal's; 0.5 for classes is usual
    missing: float = 0.0
    categories: int = 0  # the last columns, 40 categories each
    new: int = 0  # rows to judge by
    words: int = 50  # a row
    dtype: Any = np.float64

    def __str__(self) -> str:
        parts = [f"{self.n:,} × {self.p:,}"]
        parts += [self.kind] if self.kind != "normal" else []
        parts += [f"{self.classes} classes"] if self.classes > 2 else []
        parts += [f"{100 * self.rare:g} % in a class"] if self.rare else []
        parts += [f"{100 * self.missing:g} % missing"] if self.missing else []
        parts += [f"{self.categories} columns of categories"] if self.categories else []
        parts += [np.dtype(self.dtype).name] if self.dtype is not np.float64 else []
        return ", ".join(parts)

    def __call__(self) -> Data:
        """The rows: every call makes the same."""
        if any(getattr(self, size) > most[size] for size in most):
            return replace(self, **{size: min(getattr(self, size), most[size]) for size in most})()
        rng, m = np.random.default_rng(0), self.n + self.new
        X = words(m, self.p, self.words, rng) if self.kind == "words" else self.columns(m, rng)
        y = self.target(X, rng)
        if self.missing:
            numbers = X[:, : self.p - self.categories]
            numbers[rng.random(numbers.shape) < self.missing] = np.nan
        if not self.classes:
            y = y.astype(self.dtype)
        X, n = X.astype(self.dtype, copy=False), self.n
        return Data(X[:n], y[:n], X[n:], y[n:]) if self.new else Data(X, y)

    def columns(self, n: int, rng: np.random.Generator) -> Any:
        """Dense columns of the kind."""
        X = rng.normal(size=(n, self.p))
        if self.kind == "few":
            X = np.round(2 * X) / 2
        elif self.kind == "skewed":
            X = np.exp(X)
        elif self.kind == "correlated":
            for j in range(1, self.p):
                X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
        elif self.kind == "offset":
            X += 5 * rng.normal(size=self.p)
        elif self.kind != "normal":
            raise ValueError(f"no columns are {self.kind!r}")
        for j in range(self.p - self.categories, self.p):
            X[:, j] = rng.integers(0, 40, size=n)
        return X

    def target(self, X: Any, rng: np.random.Generator) -> Any:
        """Numbers with noise, or classes drawn by their scores."""
        n, k = X.shape[0], max(1, self.classes if self.classes > 2 else 1)
        F = np.column_stack([self.signal(X, rng) for _ in range(k)])
        F = (F - F.mean(axis=0)) / F.std(axis=0)
        if not self.classes:
            return F[:, 0] + self.noise * rng.normal(size=n) + 3.0
        if k == 1:
            f = F[:, 0] + self.noise * rng.logistic(size=n) / 2
            return (f > np.quantile(f, 1 - (self.rare or 0.5))).astype(np.int64)
        F += self.noise * rng.gumbel(size=F.shape) / 2
        F[:, 1:] += np.log(self.rare or 1.0) / 2
        return F.argmax(axis=1)

    def signal(self, X: Any, rng: np.random.Generator) -> Any:
        """What y knows of X."""
        p, numeric = self.p, self.p - self.categories
        if self.bent:
            Z = X[:, rng.permutation(numeric)[np.arange(6) % numeric]]
            Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
            f = 2 * np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 1.5 * np.abs(Z[:, 3])
            f += 0.7 * Z[:, 4] - 1.5 * (Z[:, 5] > 0.5)
            for j in range(numeric, p):
                f += rng.normal(size=40)[X[:, j].astype(int)]
            return f
        w = rng.laplace(size=p) if self.kind == "words" else rng.normal(size=p)
        if self.informative is not None:
            w[rng.permutation(p)[self.informative :]] = 0.0
        return X @ w


def words(n: int, p: int, per_row: int, rng: np.random.Generator) -> Any:
    """Rows of words, the r-th most frequent as 1/r; tf-idf, length one."""
    import scipy.sparse as sp

    length = np.maximum(5, rng.poisson(1.17 * per_row, size=n))
    rank = np.exp(rng.random(length.sum()) * np.log(p + 1.0)).astype(np.int64) - 1
    column = rng.permutation(p)[np.minimum(rank, p - 1)].astype(np.int32)
    X = sp.csr_matrix((np.ones(len(column)), column, np.r_[0, np.cumsum(length)]), shape=(n, p))
    X.sum_duplicates()
    df = np.bincount(X.indices, minlength=p)
    X.data = (1.0 + np.log(X.data)) * np.log((1.0 + n) / (1.0 + df))[X.indices]
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    X.data /= np.sqrt(np.bincount(row, X.data**2))[row]
    return X


def known(name: str) -> Data:
    """A set that scikit-learn ships: iris, wine, digits, breast_cancer, diabetes."""
    import sklearn.datasets

    return Data(*getattr(sklearn.datasets, f"load_{name}")(return_X_y=True))


def shapes(
    *recipes: Rows | str, then: Callable[[Data], Data] | None = None
) -> dict[str, Callable[[], Data]]:
    """{description: maker} of recipes or names of known sets; `then` adds what a race needs."""

    def made(recipe: Rows | str) -> Data:
        data = known(recipe) if isinstance(recipe, str) else recipe()
        return then(data) if then else data

    return {str(recipe): partial(made, recipe) for recipe in recipes}


def save(data: Data, path: Path) -> None:
    """Write data so that `load` reads the arrays into memory of NumPy's own."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(data, protocol=5, buffer_callback=buffers.append)
    with path.open("wb") as file:
        pickle.dump((head, [buffer.raw().nbytes for buffer in buffers]), file)
        for buffer in buffers:
            file.write(buffer.raw())


def load(path: Path) -> Data:
    """What `save` wrote."""
    with path.open("rb") as file:
        head, sizes = pickle.load(file)
        buffers = [np.empty(size, dtype=np.uint8) for size in sizes]
        for buffer in buffers:
            file.readinto(buffer)
    return pickle.loads(head, buffers=buffers)

"""Encoders: categories as columns, numbers and means; large, small and for one row

Every contestant gets the same texts in the container that its users have them in: an array of
texts, an array of objects that equal texts share (as pandas reads files) or do not, a frame.
"""

import numpy as np

from benchmarks.data import Data, most
from benchmarks.race import Race, located

PACKAGES = {"mlreplica": "mlreplica", "scikit-learn": "sklearn"}


def texts(n, p=4, categories=50, kind="texts"):
    """n rows of p columns with Zipf frequencies, in a container of one kind; y depends on them."""

    def make():
        rng, rows = np.random.default_rng(0), min(n, most["n"])
        share = 1 / np.arange(1, categories + 1)
        codes = rng.choice(categories, (rows, p), p=share / share.sum())
        names = np.array([f"category {k:04d}" for k in range(categories)])
        X = {
            "texts": lambda: names[codes],
            "objects": lambda: names[codes].astype(object),
            "shared objects": lambda: names.astype(object)[codes],
            "pandas": lambda: names[codes],
            "polars": lambda: names[codes],
            "whole numbers": lambda: codes * 7,
        }[kind]()
        y = np.sin(codes).sum(axis=1) + rng.standard_normal(rows)
        return Data(X, y, more=(kind, codes))

    return make


def contained(data):
    """The table in its container."""
    kind = data.more[0]
    columns = {f"c{j}": column for j, column in enumerate(data.X.T)}
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if kind == "polars":
        import polars

        return polars.DataFrame(columns)
    return data.X


def encode(name, **options):
    """fit_transform of a class of both packages."""

    def prepare(path):
        def contestant(data):
            make, X = located(f"{path}.preprocessing.{name}"), contained(data)
            return lambda: make(**options).fit_transform(X, data.y)

        return contestant

    return {peer: prepare(path) for peer, path in PACKAGES.items()}


def transform(name, rows=None):
    """A fitted encoder, asked for rows."""

    def prepare(path):
        def contestant(data):
            X = contained(data)
            model = located(f"{path}.preprocessing.{name}")().fit(X, data.y)
            part = X[:rows]
            return lambda: model.transform(part)

        return contestant

    return {peer: prepare(path) for peer, path in PACKAGES.items()}


def pipeline(name, **options):
    """Encoder, scaler and model, fitted, asked for one row."""

    def prepare(path):
        def contestant(data):
            encoder, scaler = (f"{path}.preprocessing.{n}" for n in (name, "StandardScaler"))
            parts = located(encoder)(**options), located(scaler)()
            model = located(f"{path}.linear_model.LogisticRegression")()
            chain = located(f"{path}.pipeline.make_pipeline")(*parts, model)
            chain.fit(data.X, data.y > data.y.mean())
            row = data.X[:1]
            return lambda: chain.predict(row)

        return contestant

    return {peer: prepare(path) for peer, path in PACKAGES.items()}


def one_answer(data, result):
    """Whether there is not one class."""
    return float(len(result) != 1)


def pandas_dummies(data):
    import pandas

    frame = pandas.DataFrame({f"c{j}": column for j, column in enumerate(data.X.T)})
    columns = list(frame.columns)
    return lambda: pandas.get_dummies(frame, columns=columns)


def polars_dummies(data):
    import polars

    frame = polars.DataFrame({f"c{j}": list(column) for j, column in enumerate(data.X.T)})
    return frame.to_dummies


def pandas_factorize(data):
    import pandas

    frame = pandas.DataFrame({f"c{j}": column for j, column in enumerate(data.X.T)})
    return lambda: np.stack([frame[c].factorize(sort=True)[0] for c in frame], axis=1)


def polars_rank(data):
    import polars

    frame = polars.DataFrame({f"c{j}": list(column) for j, column in enumerate(data.X.T)})
    return lambda: frame.select(polars.all().rank("dense") - 1)


def as_array(result):
    """A dense array of any result."""
    if hasattr(result, "toarray"):
        return result.toarray()
    return result.to_numpy() if hasattr(result, "to_numpy") else np.asarray(result)


def wrong_indicators(data, result):
    """Columns that are not those of the categories."""
    codes = data.more[1]
    expected = [codes[:, j] == k for j in range(codes.shape[1]) for k in np.unique(codes[:, j])]
    found = as_array(result)
    rows = len(found)
    if found.shape[1] != len(expected):
        return 1e9
    return float(sum((found[:, k] != e[:rows]).sum() for k, e in enumerate(expected)))


def wrong_numbers(data, result):
    """Entries that are not the number of their category."""
    codes, found = data.more[1], as_array(result)
    expected = [np.unique(column, return_inverse=True)[1] for column in codes.T]
    return float((found != np.stack(expected, axis=1)[: len(found)]).sum())


def loss_of_means(data, result):
    """Squared error of the target by the sum of the encodings, which no row took part in."""
    X = np.column_stack([np.ones(len(result)), result])
    return float(np.mean((data.y - X @ np.linalg.lstsq(X, data.y)[0]) ** 2))


KINDS = "texts", "objects", "shared objects", "pandas", "polars", "whole numbers"
LARGE = {f"200,000 × 4, {kind}": texts(200_000, kind=kind) for kind in KINDS}
LARGE["50,000 × 4, texts, 5,000 categories"] = texts(50_000, categories=5_000)
SMALL = {f"150 × 4, {kind}": texts(150, categories=8, kind=kind) for kind in KINDS[:4]}


def race(name, what, shapes, contestants, quality, **options):
    return Race(
        name=f"encoders-{name}",
        what=what,
        shapes=shapes,
        contestants=contestants,
        quality=quality,
        **options,
    )


RACES = [
    race(
        "one-hot",
        "one-hot encoding",
        LARGE,
        encode("OneHotEncoder")
        | {"pandas, get_dummies": pandas_dummies, "polars, to_dummies": polars_dummies},
        wrong_indicators,
        quality_name="wrong entries",
        start=True,
        readme=True,
    ),
    race(
        "ordinal",
        "ordinal encoding",
        LARGE,
        encode("OrdinalEncoder")
        | {"pandas, factorize": pandas_factorize, "polars, rank": polars_rank},
        wrong_numbers,
        quality_name="wrong entries",
    ),
    race(
        "target",
        "target encoding, cross-fitted",
        LARGE,
        encode("TargetEncoder"),
        loss_of_means,
        quality_name="squared error",
        rtol=0.02,
        readme=True,
    ),
    *(
        race(
            f"{name.removesuffix('Encoder').lower()}-small",
            f"{name}, fit and transform",
            SMALL,
            encode(name),
            quality,
            quality_name="quality",
            rtol=0.2,
            share=0.2,
        )
        for name, quality in (
            ("OneHotEncoder", wrong_indicators),
            ("OrdinalEncoder", wrong_numbers),
            ("TargetEncoder", loss_of_means),
        )
    ),
    *(
        race(
            f"{name.removesuffix('Encoder').lower()}-one-row",
            f"{name}, transform one row",
            SMALL,
            transform(name, rows=1),
            quality,
            quality_name="wrong entries",
            share=0.2,
        )
        for name, quality in (
            ("OneHotEncoder", wrong_indicators),
            ("OrdinalEncoder", wrong_numbers),
        )
    ),
    *(
        race(
            f"{name.removesuffix('Encoder').lower()}-pipeline-one-row",
            f"{name}, scaler and logistic regression, one row",
            {shape: SMALL[shape] for shape in list(SMALL)[:2]},
            pipeline(name, **options),
            one_answer,
            quality_name="missing answers",
            share=0.2,
        )
        for name, options in (
            ("OneHotEncoder", {"sparse_output": False}),
            ("OrdinalEncoder", {}),
            ("TargetEncoder", {"random_state": 0}),
        )
    ),
]

"""Scale: the same estimators on more rows than memory holds

    rows = Rows.from_parquet("data/*.parquet", target="price")
    LinearRegression().fit(rows)

Importing it lets the estimators' own methods take such rows, and Dask collections.

Read `_rows.py` first: a source of blocks of rows that can be walked again and again, and what a
walk can do (`sum`, `fold`, `map`). `_arrow.py` makes blocks of Parquet, CSV and Arrow, `_dask.py`
of Dask collections, whose sums are taken where the blocks lie. Then how models are fitted from
sums, `_fit.py`: `_second_moments.py` (a few rows that stand for all), `_logistic.py`, `_poisson.py`
and `_huber.py` (sums of derivatives), `_clusters.py` (sums of clusters), `_columns.py` (quantiles
digit by digit, values of columns), `_boosting.py` (rows as bytes). `_methods.py` is the way in.
"""

from ._methods import install, uninstall
from ._rows import Rows

__all__ = ["Rows", "install", "uninstall"]

install()

"""Save and load: fitted models in files that hold data and no code

>>> import tempfile
>>> from pathlib import Path
>>> import mlreplica
>>> from mlreplica.datasets import load_iris
>>> from mlreplica.svm import SVC
>>> X, y = load_iris(return_X_y=True)
>>> with tempfile.TemporaryDirectory() as folder:
...     path = mlreplica.save(SVC().fit(X, y), Path(folder) / "iris.skops")
...     model = mlreplica.load(path)
>>> model.predict(X[::50])
array([0, 1, 2])

A file is a skops archive of one dictionary, the schema of format 1:

    format       the version of this schema, a whole number
    mlreplica    the version of the package that wrote the file
    estimator    the public name of the model's class
    model        JSON: the model as nested values (`_values.py` lists them)
    arrays       one array a dtype, in which all arrays of the model stand behind each other

`skops.io.load` reads it as well, without trusting any type, and `skops.io.visualize` shows it.

A file of unknown origin is safe to load: bytes are checked before anything is made of them
(`_container.py`); classes come from a fixed list, never by a name to import (`_types.py`); numbers
that compiled loops take as positions are checked to be in range (`checks/`). Nothing in a file
is ever run. What it cannot promise is that a model is any good: that depends on who made it.

A reader of format n reads formats 1 … n; what is newer is refused in words.
"""

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import mlreplica

from ._container import read, write
from ._types import name_of
from ._values import Reader, Writer

__all__ = ["FORMAT", "Header", "load", "read_header", "save"]

FORMAT = 1


class Header(NamedTuple):
    """What a file says about itself."""

    format: int
    mlreplica: str
    estimator: str


def save(model: Any, path: Any) -> None:
    """Write a model to a file.

    Every estimator of the package can be saved, fitted or not, and so can a scikit-learn
    `Pipeline` (`ColumnTransformer`, `FeatureUnion`) of such estimators and of scikit-learn's
    scalers, encoders and imputers. Callbacks and what can be made again from the rest is left out.
    A fitted search comes back with its scores, folds and distributions. Functions of yours (a
    kernel, a loss, a score) are code and are not saved: an error names them.

    Parameters
    ----------
    model : estimator
        What to save.
    path : str or Path
        Where to; by custom with the ending `.skops`. A file that is there is replaced, at once
        and only after the new one is complete.

    Returns
    -------
    Path
        Where the file is.

    Examples
    --------
    See :func:`load`.
    """
    writer = Writer()
    text = json.dumps(writer(model, type(model).__name__), ensure_ascii=False)
    content = {
        "format": FORMAT,
        "mlreplica": mlreplica.__version__,
        "estimator": name_of(type(model)),
        "model": text,
        "arrays": writer.arrays(),
    }
    path = Path(path)
    beside = path.with_name(f".{path.name}.part")
    try:
        write(beside, content)
        beside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        beside.unlink(missing_ok=True)
    return path


def load(path: Any) -> Any:
    """Read a model from a file that `save` has written.

    Parameters
    ----------
    path : str or Path
        The file. It may come from anywhere: nothing in it is run.

    Returns
    -------
    estimator
        The model; it predicts what it predicted when it was saved.

    Raises
    ------
    ValueError
        If the file is damaged, tampered with, of a newer format, or no model at all.

    Warns
    -----
    UserWarning
        If another version of mlreplica wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mlreplica
    >>> from mlreplica.linear_model import Ridge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mlreplica.save(Ridge(alpha=2.0).fit([[0.0], [1.0]], [0, 1]), Path(folder) / "m")
    ...     mlreplica.load(path)
    Ridge(alpha=2.0)
    """
    content = _content(path)
    if content["mlreplica"] != mlreplica.__version__:
        warnings.warn(
            f"{path} was written by mlreplica {content['mlreplica']}, and this is mlreplica "
            f"{mlreplica.__version__}: check a few predictions, then save the model again.",
            stacklevel=2,
        )
    try:
        model = Reader(content["arrays"])(json.loads(content["model"]))
    except RecursionError:
        raise ValueError(f"{path} is damaged: its values are nested too deeply.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not hasattr(model, "get_params") or name_of(type(model)) != content["estimator"]:
        raise ValueError(f"{path} is damaged: it does not hold a {content['estimator']}.")
    return model


def read_header(path):
    """What a file says about itself, without making the model.

    Parameters
    ----------
    path : str or Path
        A file that `save` has written.

    Returns
    -------
    Header
        `format`, `mlreplica` (the version that wrote it) and `estimator` (the class).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mlreplica
    >>> from mlreplica.linear_model import Ridge
    >>> from mlreplica.persistence import read_header
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_header(mlreplica.save(Ridge(), Path(folder) / "m")).estimator
    'mlreplica.linear_model.Ridge'
    """
    content = _content(path)
    return Header(*(content[name] for name in Header._fields))


def _content(path):
    """The checked dictionary of a file."""
    try:
        content = read(Path(path))
    except ValueError as error:
        raise ValueError(f"{path} is not a model that mlreplica can load: {error}") from error
    if content["format"] > FORMAT:
        raise ValueError(
            f"{path} was written by mlreplica {content['mlreplica']} in format "
            f"{content['format']}; mlreplica {mlreplica.__version__} reads up to format {FORMAT}: "
            "update mlreplica."
        )
    return content

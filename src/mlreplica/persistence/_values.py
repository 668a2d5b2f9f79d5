"""Values: a model as nested JSON, and back

None, numbers, strings and lists of values are themselves. All else is a dictionary with a tag "@":

    array           dtype, at, shape, order: a piece of the one array of this dtype
    masked          data, mask: an array of NumPy with entries that are not there
    objects         shape, items: an array of Python objects, one after the other
    scalar          dtype, value: a number or string of NumPy
    dict, Bunch     items: pairs of key and value
    tuple, set, frozenset, slice        items
    dtype, type     name: a dtype, or NumPy's class of it, or that of a splitter
    sparse          kind, shape, data, indices, indptr of a CSR or CSC matrix
    RandomState, Generator              state
    Tree, HistTree, IsolationTrees      parts: arrays by name (`_trees.py`)
    Loss            name, parameter: one of `mlreplica.losses`
    Kernel          name, fields: one of `mlreplica.kernels`
    function        name, options: one of a short list that kernels use
    splitter        name, state: one of scikit-learn's that cut rows into folds
    distribution    name, args, kwds: one of SciPy's, with its parameters
    again           an attribute that is made again from the others (`_types.py`)

    mlreplica.svm.SVC, sklearn.preprocessing.StandardScaler …    state: the attributes by name
"""

import math
from dataclasses import fields

import numpy as np
import scipy.sparse as sp
from scipy import stats
from sklearn import model_selection
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from mlreplica import kernels, losses
from mlreplica.core.growth.tree import Tree

from ._container import DTYPE, require
from ._trees import TREES
from ._types import (
    AGAIN,
    LEFT_OUT,
    PRIVATE,
    class_of,
    function_of,
    make_again,
    name_of,
    name_of_function,
)
from .checks import check

PLAIN = (bool, int, float, str, type(None))
INDICES = "indices", "indptr"
SEQUENCES = {kind.__name__: kind for kind in (tuple, set, frozenset)}
MAPPINGS = {kind.__name__: kind for kind in (dict, Bunch)}
SPARSE = {
    kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
}
DISTRIBUTIONS = stats.rv_continuous, stats.rv_discrete
SPLITTERS = {
    name: kind
    for name, kind in vars(model_selection).items()
    if isinstance(kind, type) and hasattr(kind, "split") and hasattr(kind, "get_n_splits")
}
NUMBERS = {np.dtype(c).type.__name__: np.dtype(c).type for c in "?bhilqBHILQefd"}
CLASSES = NUMBERS | SPLITTERS
PUBLIC = {name: getattr(kernels, name) for name in kernels.__all__}
KERNELS = {
    name: kind
    for name, kind in PUBLIC.items()
    if isinstance(kind, type) and issubclass(kind, kernels.Kernel) and kind is not kernels.Kernel
}


class Writer:
    """Turns values into JSON and collects their arrays, by dtype."""

    def __init__(self):
        self.pieces, self.lengths, self.places = {}, {}, {}

    def arrays(self):
        """One array a dtype."""
        return {dtype: np.concatenate(pieces) for dtype, pieces in self.pieces.items()}

    def __call__(self, value, where):
        """A value as JSON; `where` names it in an error."""
        if type(value) in PLAIN:
            return value
        if type(value) is list:
            return [self(item, f"{where}[{k}]") for k, item in enumerate(value)]
        if type(value) in SEQUENCES.values():
            return {"@": type(value).__name__, "items": [self(item, where) for item in value]}
        if type(value) in MAPPINGS.values():
            pairs = [[self(k, where), self(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"@": type(value).__name__, "items": pairs}
        if type(value) is np.ndarray:
            return self.array(value, where)
        if type(value) is np.ma.MaskedArray:
            mask = np.ma.getmaskarray(value)
            return {"@": "masked", "data": self(value.data, where), "mask": self(mask, where)}
        if isinstance(value, np.generic) and DTYPE.fullmatch(little(value.dtype).str):
            return {"@": "scalar", "dtype": little(value.dtype).str, "value": value.item()}
        for tag, (kind, _) in TREES.items():
            if type(value) is kind:
                parts = value.__getstate__() if kind is Tree else value._asdict()
                return {"@": tag, "parts": {k: self(v, where) for k, v in parts.items()}}
        if isinstance(value, BaseEstimator):
            return self.state(value, value.__getstate__(), where)
        if type(value) in PRIVATE.values():
            return self.state(value, vars(value), where)
        return self.other(value, where)

    def array(self, a, where):
        """An array as a piece of that of its dtype."""
        if a.dtype == object:
            items = [self(item, where) for item in a.ravel()]
            return {"@": "objects", "shape": list(a.shape), "items": items}
        dtype = little(a.dtype).str
        if not DTYPE.fullmatch(dtype):
            raise TypeError(f"{where} is an array of dtype {a.dtype}, which is not saved.")
        if id(a) not in self.places:
            order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
            at = self.lengths.get(dtype, 0)
            self.pieces.setdefault(dtype, []).append(a.ravel(order).astype(dtype, copy=False))
            self.lengths[dtype] = at + a.size
            place = {"@": "array", "dtype": dtype, "at": at, "shape": list(a.shape), "order": order}
            self.places[id(a)] = place, a  # a is held, so that no other array gets its id
        return self.places[id(a)][0]

    def state(self, value, attributes, where):
        """An object of a class on the list, by its attributes."""
        plain = {}
        for name, attribute in attributes.items():
            if name in AGAIN and attribute is not None:
                plain[name] = {"@": "again"}
            elif name == "memory":
                plain[name] = None  # a folder of pickles is no part of a model
            elif name not in LEFT_OUT:
                plain[name] = self(attribute, f"{where}.{name}")
        return {"@": name_of(type(value), where), "state": plain}

    def other(self, value, where):
        """The few remaining types."""
        if isinstance(value, slice):
            parts = value.start, value.stop, value.step
            return {"@": "slice", "items": [self(part, where) for part in parts]}
        if isinstance(value, np.dtype) and (value.kind == "O" or DTYPE.fullmatch(value.str)):
            return {"@": "dtype", "name": value.str}
        if isinstance(value, type) and CLASSES.get(value.__name__) is value:
            return {"@": "type", "name": value.__name__}
        if type(value) in SPARSE.values():
            parts = {name: self(getattr(value, name), where) for name in ("data", *INDICES)}
            kind = type(value).__name__
            return {"@": "sparse", "kind": kind, "shape": [int(n) for n in value.shape], **parts}
        if type(value) is np.random.RandomState:
            return {"@": "RandomState", "state": self(value.get_state(legacy=False), where)}
        if type(value) is np.random.Generator and type(value.bit_generator) is np.random.PCG64:
            return {"@": "Generator", "state": self(value.bit_generator.state, where)}
        if isinstance(value, losses.Loss):
            name = value.name.partition("(")[0]
            if not is_known(value, name):
                raise TypeError(f"{where} is a loss of yours; code is not saved.")
            return {"@": "Loss", "name": name, "parameter": value.parameter}
        if type(value) in KERNELS.values():
            inside = {f.name: getattr(value, f.name) for f in fields(value)}
            plain = {name: self(part, f"{where}.{name}") for name, part in inside.items()}
            return {"@": "Kernel", "name": type(value).__name__, "fields": plain}
        if type(value) in SPLITTERS.values():
            state = {name: self(part, f"{where}.{name}") for name, part in vars(value).items()}
            return {"@": "splitter", "name": type(value).__name__, "state": state}
        if is_distribution(value):
            args, kwds = self(list(value.args), where), self(dict(value.kwds), where)
            return {"@": "distribution", "name": value.dist.name, "args": args, "kwds": kwds}
        if callable(value) and (known := name_of_function(value)):
            return {"@": "function", "name": known[0], "options": self(known[1], where)}
        if callable(value):
            name = getattr(value, "__qualname__", type(value).__qualname__)
            raise TypeError(f"{where} is the function {name}; code is not saved.")
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(f"{where} is of type {kind}, which is not saved.")


class Reader:
    """Turns JSON back into values; arrays are copied out of those by dtype."""

    def __init__(self, arrays):
        self.arrays = arrays

    def __call__(self, plain):
        """The value of JSON."""
        if type(plain) in PLAIN:
            return plain
        if type(plain) is list:
            return [self(item) for item in plain]
        tag = plain["@"]
        if tag in TREES:
            return TREES[tag][1]({k: self(v) for k, v in plain["parts"].items()})
        if tag in SEQUENCES:
            return SEQUENCES[tag](self(plain["items"]))
        if tag in MAPPINGS:
            made = MAPPINGS[tag]()
            made.update((self(k), self(v)) for k, v in plain["items"])
            return made
        if "state" in plain and tag not in ("RandomState", "Generator", "splitter"):
            return self.state(tag, plain["state"])
        require(isinstance(tag, str) and tag in self.OTHERS, f"a value {tag!r}")
        return self.OTHERS[tag](self, plain)

    def state(self, name, plain):
        """An object of a class on the list; its attributes are checked before it gets them."""
        kind = class_of(name)
        again = [key for key, value in plain.items() if value == {"@": "again"}]
        require(set(again) <= set(AGAIN), f"an attribute of {name}")
        state = {key: self(value) for key, value in plain.items() if key not in again}
        require(state.get("memory") is None, f"the cache of {name}")
        check(kind, state)
        made = kind.__new__(kind)
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            vars(made).update(state)
        for key in again:
            make_again(made, key)
        return made

    def array(self, plain):
        shape = tuple(plain["shape"])
        require(all(type(n) is int and n >= 0 for n in shape), "the shape of an array")
        pool, at, size = self.arrays[plain["dtype"]], plain["at"], math.prod(shape)
        require(type(at) is int and 0 <= at <= at + size <= len(pool), "the place of an array")
        return pool[at : at + size].reshape(shape, order=plain["order"]).copy(order="K")

    def objects(self, plain):
        shape, items = tuple(plain["shape"]), plain["items"]
        require(math.prod(shape) == len(items), "the shape of an array")
        out = np.empty(len(items), dtype=object)
        out[:] = [self(item) for item in items]
        return out.reshape(shape)

    def sparse(self, plain):
        parts = [self(plain[name]) for name in ("data", *INDICES)]
        require(parts[1].dtype.kind == parts[2].dtype.kind == "i", "a sparse matrix")
        made = SPARSE[plain["kind"]](tuple(parts), shape=tuple(plain["shape"]))
        made.check_format(full_check=True)
        return made

    def random_state(self, plain):
        state = self(plain["state"])
        require(state["bit_generator"] == "MT19937", "a random state")
        require(0 <= state["state"]["pos"] <= 624, "a random state")
        made = np.random.RandomState()
        made.set_state(state)
        return made

    def generator(self, plain):
        made = np.random.PCG64()
        made.state = self(plain["state"])
        return np.random.Generator(made)

    def masked(self, plain):
        data, mask = self(plain["data"]), self(plain["mask"])
        require(type(data) is type(mask) is np.ndarray and mask.dtype == bool, "a masked array")
        return np.ma.MaskedArray(data, mask=mask)

    def splitter(self, plain):
        kind = SPLITTERS[plain["name"]]
        made = kind.__new__(kind)
        vars(made).update((name, self(part)) for name, part in plain["state"].items())
        return made

    def distribution(self, plain):
        known = getattr(stats, plain["name"], None)
        require(isinstance(known, DISTRIBUTIONS), "a distribution")
        return known(*self(plain["args"]), **self(plain["kwds"]))

    def loss(self, plain):
        name, parameter = plain["name"], self(plain["parameter"])
        known = losses.NAMES[name]
        return known if isinstance(known, losses.Loss) else known(parameter)

    def kernel(self, plain):
        return KERNELS[plain["name"]](**{k: self(v) for k, v in plain["fields"].items()})

    OTHERS = {
        "array": array,
        "objects": objects,
        "masked": masked,
        "splitter": splitter,
        "distribution": distribution,
        "sparse": sparse,
        "RandomState": random_state,
        "Generator": generator,
        "Loss": loss,
        "Kernel": kernel,
        "scalar": lambda self, plain: dtype_of(plain["dtype"]).type(plain["value"]),
        "slice": lambda self, plain: slice(*self(plain["items"])),
        "dtype": lambda self, plain: dtype_of(plain["name"]),
        "type": lambda self, plain: CLASSES[plain["name"]],
        "function": lambda self, plain: function_of(plain["name"], self(plain["options"])),
    }


def is_distribution(value):
    """Whether a value is one of SciPy's distributions with its parameters filled in."""
    dist = getattr(value, "dist", None)
    known = getattr(stats, getattr(dist, "name", None) or "", None)
    return isinstance(dist, DISTRIBUTIONS) and type(dist) is type(known)


def little(dtype):
    """The dtype in the byte order of files."""
    return dtype.newbyteorder("<")


def dtype_of(name):
    """A dtype that models have."""
    require(isinstance(name, str) and (name == "|O" or DTYPE.fullmatch(name)), "a dtype")
    return np.dtype(name)


def is_known(loss, name):
    """Whether a loss is the one of `mlreplica.losses` that has its name."""
    known = losses.NAMES.get(name)
    if known is None or isinstance(known, losses.Loss):
        return loss is known or loss == known
    return loss == known(loss.parameter)

"""A damaged, tampered or hostile file is refused with a ValueError and runs nothing"""

import io
import json
import pickle
import re
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

import mlreplica
from mlreplica import (
    cluster,
    ensemble,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    svm,
    tree,
)
from mlreplica.datasets import load_iris
from mlreplica.persistence import _container as container

X, y = (a[::3] for a in load_iris(return_X_y=True))


@pytest.fixture
def path(tmp_path):
    return mlreplica.save(svm.SVC().fit(X, y), tmp_path / "model.skops")


VERSION = re.escape(mlreplica.__version__)


def refused(path, match):
    """The error of loading, after a look that nothing was run."""
    with pytest.raises(ValueError, match=match) as caught:
        mlreplica.load(path)
    assert "BOOM" not in "".join(str(f.name) for f in path.parent.iterdir())
    assert str(path) in str(caught.value)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, found, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in found.items():
            archive.writestr(name, data)


def with_schema(path, change):
    """Change the schema of an archive in place."""
    found = members(path)
    schema = json.loads(found["schema.json"])
    change(schema)
    rewrite(path, {**found, "schema.json": json.dumps(schema)})


def with_model(path, change):
    """Change the model's JSON of an archive, which is otherwise as it should be."""
    content = container.read(path)
    model = json.loads(content["model"])
    content["model"] = json.dumps(change(model) or model)
    container.write(path, content)


class Boom:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path('BOOM').touch()",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"hello" * 100,
        pickle.dumps(Boom()),
        pickle.dumps(svm.SVC(), protocol=0),
    ],
    ids=["empty", "magic only", "text", "pickle", "old pickle"],
)
def test_what_is_no_archive(path, data, monkeypatch):
    monkeypatch.chdir(path.parent)
    path.write_bytes(data)
    refused(path, "not a model that mlreplica can load: it is no archive")


def test_every_truncation_is_noticed(path):
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        refused(path, "not a model")


def test_every_flipped_byte_is_noticed_or_harmless(path):
    """The archive has check sums; what they leave out (a time, an id) is not data."""
    whole = path.read_bytes()
    expected = mlreplica.load(path).predict(X)
    for at in range(0, len(whole), 61):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
        try:
            model = mlreplica.load(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(model.predict(X), expected)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        mlreplica.load(tmp_path / "nothing")


def test_a_file_of_another_version_is_read_with_a_warning(path):
    content = container.read(path)
    container.write(path, {**content, "mlreplica": "0.0.1"})
    match = rf"{path.name} was written by mlreplica 0\.0\.1, and this is mlreplica {VERSION}"
    with pytest.warns(UserWarning, match=match):
        mlreplica.load(path)


def test_newer_formats_are_refused_in_words(path):
    content = container.read(path)
    container.write(path, {**content, "format": 2, "mlreplica": "9.0"})
    refused(path, "was written by mlreplica 9.0 in format 2; .* reads up to format 1: update")
    container.write(path, {**content, "format": 0})
    refused(path, "'format' is not as mlreplica writes it")


def node(schema, key):
    return schema["content"][key]


def hostile(loader, module, kind, **more):
    return {"__loader__": loader, "__module__": module, "__class__": kind, **more}


TEXT = hostile("JsonNode", "builtins", "str", content='"echo"')
ONE = hostile("TupleNode", "builtins", "tuple", content=[TEXT])
NODES = {
    "constructor": hostile("ConstructorFromReduceNode", "os", "system", content=ONE),
    "operator": hostile("OperatorFuncNode", "operator", "call", attrs=ONE),
    "methodcaller": hostile("OperatorFuncNode", "operator", "methodcaller", attrs=ONE),
    "function": hostile("FunctionNode", "os", "system"),
    "partial": hostile("PartialNode", "functools", "partial", content={}),
    "method": hostile("MethodNode", "builtins", "str", content={"func": "x", "obj": TEXT}),
    "object": hostile("ObjectNode", "subprocess", "Popen", content=None),
    "type": hostile("TypeNode", "os", "system"),
    "reduce": hostile("ReduceNode", "builtins", "exec", reduce={}),
    "objects": hostile("NdArrayNode", "numpy", "ndarray", type="json", content=[TEXT], shape=ONE),
    "sparse": hostile("SparseMatrixNode", "scipy.sparse", "csr_matrix", type="scipy", file="1.npy"),
    "cached": hostile("CachedNode", "builtins", "str", __id__=1),
    "list": [],
    "nothing": None,
}


@pytest.mark.parametrize("name", NODES)
def test_nodes_that_no_model_has(path, name):
    """Each stands once for a value, once for an array, once for a key and once for everything."""
    whole = path.read_bytes()

    def as_key(schema):
        schema["key_types"]["content"][0] = NODES[name]

    def as_array(schema):
        node(schema, "arrays")["content"]["<f8"] = NODES[name]

    def as_value(schema):
        schema["content"]["model"] = NODES[name]

    for change in (as_key, as_array, as_value):
        path.write_bytes(whole)
        with_schema(path, change)
        refused(path, "is not as mlreplica writes it")
    rewrite(path, {**members(path), "schema.json": json.dumps(NODES[name])})
    refused(path, "is not as mlreplica writes it")


def test_other_skops_files(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RandomForestClassifier(2).fit(X, y)
    skops.io.dump(model, path)
    refused(path, "not as mlreplica writes it|which no model has")
    skops.io.dump(svm.SVC(), path)
    refused(path, "not as mlreplica writes it")


def test_names_that_point_elsewhere(path):
    for name in ("../../BOOM.npy", "/etc/passwd", "a/b.npy", "C:\\x.npy", "1.npy.pkl"):
        found = members(path)
        rewrite(path, {**found, name: b"x"})
        refused(path, "has a member .*, which no model has")
        rewrite(path, found)

    def outside(schema):
        node(schema, "arrays")["content"]["<f8"]["file"] = "../../../etc/passwd"

    with_schema(path, outside)
    refused(path, "truncated or damaged")


def test_bombs(path):
    found = members(path)
    rewrite(path, {**found, "99.npy": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED)
    refused(path, "is compressed")
    assert path.stat().st_size < 10**5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in [*found.items(), ("schema.json", b"{}")]:
                archive.writestr(name, data)
    refused(path, "twice")
    rewrite(path, found)
    data = path.read_bytes()  # many entries for the same bytes: the last says it is larger
    at = data.rindex(b"PK\x01\x02")
    for field in (20, 24):
        data = data[: at + field] + (10**9).to_bytes(4, "little") + data[at + field + 4 :]
    path.write_bytes(data)
    refused(path, "claim to be larger than the file|truncated or damaged")


def npy(array=None, header=None, **options):
    """A .npy file, or one with this header and nothing behind it."""
    file = io.BytesIO()
    if header is None:
        np.lib.format.write_array(file, array, **options)
    else:
        np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


BAD_ARRAYS = {
    "objects": npy(np.array([Boom()], dtype=object), allow_pickle=True),
    "huge": npy(header={"descr": "<f8", "fortran_order": False, "shape": (10**15,)}),
    "matrix": npy(np.zeros((2, 2))),
    "short": npy(np.zeros(9))[:-8],
    "other dtype": npy(np.zeros(9, dtype="<f4")),
    "structure": npy(np.zeros(9, dtype="<f8,<f8")),
    "negative": npy(header={"descr": "<f8", "fortran_order": False, "shape": (-1,)}),
    "version 2": npy(np.zeros(9), version=(2, 0)),
    "code": b"\x93NUMPY\x01\x00\x15\x00__import__('os').exit",
    "deep": b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535,
    "nothing": b"",
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_no_model_has(path, name, monkeypatch):
    monkeypatch.chdir(path.parent)
    found = members(path)
    schema = json.loads(found["schema.json"])
    file = node(schema, "arrays")["content"]["<f8"]["file"]
    rewrite(path, {**found, file: BAD_ARRAYS[name]})
    refused(path, "array is not as mlreplica writes it")


def at(model, *names):
    """A value inside of a model's JSON."""
    for name in names:
        model = model[name]
    return model


def put(*names, value):
    """A change of a model's JSON."""

    def change(model):
        at(model, *names[:-1])[names[-1]] = value

    return change


ARRAY = {"@": "array", "dtype": "<f8", "at": 0, "shape": [2], "order": "C"}
BAD_VALUES = {
    "unknown class": put("@", value="os.system"),
    "class of scikit-learn": put("@", value="sklearn.tree.DecisionTreeClassifier"),
    "private class": put("@", value="mlreplica.svm._svc.SVC"),
    "function as class": put("@", value="mlreplica.load.SVC"),
    "module as class": put("@", value="mlreplica.cli.app"),
    "other class": put("@", value="mlreplica.svm.NuSVC"),
    "list as class": put("@", value=["mlreplica.svm.SVC"]),
    "no class": lambda model: model["state"],
    "number": lambda _: 3,
    "unknown tag": put("state", "C", value={"@": "eval", "items": ["1"]}),
    "no tag": put("state", "C", value={}),
    "unknown again": put("state", "predict", value={"@": "again"}),
    "cache": put("state", "memory", value="folder"),
    "function": put("state", "kernel", value={"@": "function", "name": "system", "options": {}}),
    "options": put(
        "state",
        "kernel",
        value={"@": "function", "name": "chi2", "options": {"@": "dict", "items": [["Y", 1]]}},
    ),
    "kernel": put("state", "_kernel", value={"@": "Kernel", "name": "Kernel", "fields": {}}),
    "kernel field": put(
        "state", "_kernel", value={"@": "Kernel", "name": "RBF", "fields": {"gamma": -1.0}}
    ),
    "loss": put("state", "C", value={"@": "Loss", "name": "get", "parameter": 0.0}),
    "place": put("state", "C", value={**ARRAY, "at": 10**9}),
    "negative place": put("state", "C", value={**ARRAY, "at": -4}),
    "shape": put("state", "C", value={**ARRAY, "shape": [-1, 2]}),
    "huge shape": put("state", "C", value={**ARRAY, "shape": [2**31, 2**31, 4]}),
    "float shape": put("state", "C", value={**ARRAY, "shape": [2.0]}),
    "dtype": put("state", "C", value={**ARRAY, "dtype": "|O"}),
    "object shape": put("state", "C", value={"@": "objects", "shape": [3], "items": []}),
    "scalar": put("state", "C", value={"@": "scalar", "dtype": "M8[s]", "value": 1}),
    "type": put("state", "C", value={"@": "type", "name": "object_"}),
    "random state": put(
        "state",
        "random_state",
        value={
            "@": "RandomState",
            "state": {
                "@": "dict",
                "items": [
                    ["bit_generator", "MT19937"],
                    ["state", {"@": "dict", "items": [["pos", 10**6]]}],
                ],
            },
        },
    ),
    "sparse": put(
        "state",
        "C",
        value={
            "@": "sparse",
            "kind": "csr_array",
            "shape": [1, 1],
            "data": ARRAY,
            "indices": ARRAY,
            "indptr": ARRAY,
        },
    ),
    "columns": put("state", "n_features_in_", value=9),
    "no columns": put("state", "n_features_in_", value=None),
    "more support vectors": lambda model: at(model, "state", "support_")["shape"].append(1),
    "fewer coefficients": put("state", "_dual_coef_", value=ARRAY),
    "no rows": put("state", "support_vectors_", value={**ARRAY, "shape": [0, 0]}),
    "class counts": lambda model: at(model, "state", "_n_support").update(shape=[2]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_VALUES)
def test_values_that_no_model_has(path, name):
    with_model(path, BAD_VALUES[name])
    refused(path, "is damaged")


def test_values_nested_without_end(path):
    content = container.read(path)
    container.write(path, {**content, "model": "[" * 10**5 + "]" * 10**5})
    refused(path, "nested too deeply")


MODELS = {
    "tree": tree.DecisionTreeClassifier(categorical_features=[3]),
    "forest": ensemble.RandomForestRegressor(2, random_state=0),
    "hist": ensemble.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
    "gradient": ensemble.GradientBoostingRegressor(n_estimators=2),
    "isolation": ensemble.IsolationForest(n_estimators=2, random_state=0),
    "logistic": linear_model.LogisticRegression(),
    "ridge": kernel_ridge.KernelRidge(kernel="rbf"),
    "nystroem": kernel_approximation.Nystroem(n_components=5),
    "fourier": kernel_approximation.RBFSampler(n_components=5),
    "density": cluster.HDBSCAN(min_cluster_size=3),
}
GROW = ("tree_", "parts")
WRONG = [
    *(
        ("tree", GROW, name, change)
        for name in ("children_left", "children_right", "feature")
        for change in (lambda a: a + 1000, lambda a: -a - 5)
    ),
    ("tree", GROW, "children_left", np.zeros_like),
    ("tree", GROW, "children_left", lambda a: np.roll(a, 1)),
    ("tree", GROW, "children_right", lambda a: a[:-1]),
    ("tree", GROW, "threshold", lambda a: a.astype(np.float32)),
    ("tree", GROW, "value", lambda a: a[:, :, :1]),
    ("tree", GROW, "value", lambda a: a[1:]),
    ("tree", GROW, "n_classes", lambda a: a + 1),
    ("tree", GROW, "n_classes", lambda a: a[:0]),
    ("tree", GROW, "categories", lambda a: a[:2]),
    ("tree", GROW, "categories", lambda a: a.astype(np.int64)),
    ("forest", ("_trees", 1, "parts"), "feature", lambda a: a + 4),
    ("forest", ("_trees", 0, "parts"), "children_left", lambda a: a * 0 + 2),
    ("gradient", ("estimators_", "items", 1, "state", *GROW), "feature", lambda a: a + 9),
    *(
        ("hist", ("_predictors", 1, 2, "parts"), name, change)
        for name in ("left", "column", "table")
        for change in (lambda a: a + 1000, lambda a: a + np.int32(300))
    ),
    ("hist", ("_predictors", 0, 0, "parts"), "left", lambda a: a * 0),
    ("hist", ("_predictors", 0, 0, "parts"), "tables", lambda a: np.zeros((1, 2), np.uint8)),
    ("hist", ("_predictors", 0, 0, "parts"), "threshold", lambda a: a * np.nan),
    ("hist", (), "_baseline_prediction", lambda a: a[:, :2]),
    ("isolation", ("_forests", 0, "parts"), "link", lambda a: a + 7),
    ("isolation", ("_forests", 0, "parts"), "link", lambda a: a + (1 << 40)),
    ("isolation", ("_forests", 0, "parts"), "size", lambda a: a + 1),
    ("isolation", ("_forests", 0, "parts"), "depth", lambda a: a + 10**6),
    ("isolation", ("_forests", 0, "parts"), "threshold", np.zeros_like),
    ("isolation", (), "_seeds", lambda a: a[:1]),
    ("logistic", (), "coef_", lambda a: a[:, :3]),
    ("logistic", (), "coef_", lambda a: a[:2]),
    ("logistic", (), "intercept_", lambda a: a[:2]),
    ("ridge", (), "dual_coef_", lambda a: a[:5]),
    ("ridge", (), "X_fit_", lambda a: a[:, :2]),
    ("nystroem", (), "components_", lambda a: a[:, :2]),
    ("nystroem", (), "normalization_", lambda a: a[:2]),
    ("fourier", (), "random_weights_", lambda a: a[:2]),
    ("fourier", (), "random_offset_", lambda a: a[:2]),
    ("density", (), "condensed_tree_", lambda a: a[1:]),
    ("density", (), "condensed_tree_", lambda a: a + np.eye(4)[1]),
    ("density", (), "condensed_tree_", lambda a: a + 1000 * np.eye(4)[0]),
    ("density", (), "condensed_tree_", lambda a: a - 1000 * np.eye(4)[0]),
    ("density", (), "condensed_tree_", lambda a: np.vstack([a[0, [1, 1, 2, 3]], a[1:]])),
    ("density", (), "_fit_X", lambda a: a[:5]),
    ("density", (), "_fit_X", lambda a: a[:, :2]),
    ("density", (), "_core_distances", lambda a: a[:5]),
    ("density", (), "_label_of", lambda a: a[:1]),
    ("density", (), "_label_of", lambda a: a - 9),
]  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for name, model in MODELS.items():
        mlreplica.save(model.fit(np.round(X), y), folder / name)
    return folder


@pytest.mark.parametrize(
    ("name", "inside", "array", "change"),
    WRONG,
    ids=[f"{k} {case[0]} {case[2]}" for k, case in enumerate(WRONG)],
)
def test_positions_and_shapes_that_kernels_would_not_check(
    saved, tmp_path, name, inside, array, change
):
    content = container.read(saved / name)
    model = json.loads(content["model"])
    holder = at(model, "state", *inside)
    place = holder[array]
    pool = content["arrays"][place["dtype"]]
    size = int(np.prod(place["shape"]))
    old = pool[place["at"] : place["at"] + size].reshape(place["shape"], order=place["order"])
    new = np.ascontiguousarray(change(old))
    assert new.shape != old.shape or new.dtype != old.dtype or (new != old).any()
    pool = content["arrays"].get(new.dtype.str, np.empty(0, new.dtype))
    holder[array] = {
        **place, "dtype": new.dtype.str, "at": len(pool), "shape": list(new.shape), "order": "C",
    }  # fmt: skip
    content["arrays"][new.dtype.str] = np.concatenate([pool, new.ravel()])
    content["model"] = json.dumps(model)
    path = tmp_path / name
    container.write(path, content)
    refused(path, "is damaged: .* is not as mlreplica writes it")


def test_a_tree_that_is_not_there(saved, tmp_path):
    content = container.read(saved / "forest")
    model = json.loads(content["model"])
    for trees in ([], [1, 2], {"@": "tuple", "items": []}):
        model["state"]["_trees"] = trees
        container.write(tmp_path / "m", {**content, "model": json.dumps(model)})
        refused(tmp_path / "m", "is damaged")


def test_loading_imports_nothing_that_a_file_names(path):
    with_model(path, put("@", value="antigravity.fly"))
    code = f"""
import sys, mlreplica
try:
    mlreplica.load({str(path)!r})
except ValueError:
    sys.exit("antigravity" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

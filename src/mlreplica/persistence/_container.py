"""Container: a skops archive of one dictionary, written and read member by member

skops archives may hold any type that a caller trusts. Ours hold a dictionary of numbers, strings
and arrays, `skops.io.load` needs to trust nothing to read it, and the reader below knows no other
nodes. It refuses what is not as the writer makes it:

- members are stored, not compressed, and together no longer than the file: nothing unfolds;
- their names are `schema.json` and numbers with `.npy`, so none points anywhere;
- the schema has just the nodes that this dictionary needs;
- an array has a plain dtype, no objects, and as many bytes as its shape says.
"""

import ast
import itertools
import json
import re
import struct
import zipfile

import numpy as np

KEYS = {"format": int, "mlreplica": str, "estimator": str, "model": str, "arrays": dict}
PROTOCOL = 2  # of skops: how its nodes are written
DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U\d{1,6}")
MEMBER = re.compile(r"\d{1,20}\.npy")
MAGIC = b"\x93NUMPY\x01\x00"  # of .npy, version 1.0


def write(path, content):
    """Write the archive of a dictionary with the keys of KEYS."""
    number = itertools.count(1)

    def node(loader, kind, **fields):
        module, name = kind.split(".")
        names = {"__class__": name, "__module__": module, "__loader__": loader}
        return {**names, **fields, "__id__": next(number)}

    def dictionary(values):
        types = [node("TypeNode", "builtins.str") for _ in values]
        keys = node("ListNode", "builtins.list", content=types)
        return node("DictNode", "builtins.dict", content=values, key_types=keys)

    with zipfile.ZipFile(path, "w") as archive:
        arrays = {}
        for dtype, array in content["arrays"].items():
            file = f"{next(number)}.npy"
            with archive.open(file, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            arrays[dtype] = node("NdArrayNode", "numpy.ndarray", type="numpy", file=file)
        values = {
            key: node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)
            for key, value in content.items()
            if key != "arrays"
        }
        schema = dictionary({**values, "arrays": dictionary(arrays)})
        schema |= {"protocol": PROTOCOL, "_skops_version": "0.11"}
        archive.writestr("schema.json", json.dumps(schema, indent=1))


def read(path):
    """The dictionary of an archive, or a ValueError that says what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, path.stat().st_size)
            content = values_of(json.loads(archive.read("schema.json")), archive)
    except RecursionError:
        raise ValueError("its schema is nested too deeply.") from None
    except (zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, struct.error) as error:
        raise ValueError(f"it is no archive, truncated or damaged ({error}).") from error
    except RuntimeError as error:
        raise ValueError(f"it is encrypted ({error}).") from error
    for key, kind in KEYS.items():
        require(type(content[key]) is kind, repr(key))
    require(content["format"] >= 1, "'format'")
    return content


def check_members(archive, size):
    """Names, storage and sizes of the members of an archive of `size` bytes."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        raise ValueError("a member is there twice.")
    for member in members:
        if member.filename != "schema.json" and not MEMBER.fullmatch(member.filename):
            raise ValueError(f"it has a member {member.filename!r}, which no model has.")
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise ValueError(f"its member {member.filename!r} is compressed.")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its members claim to be larger than the file.")


def values_of(schema, archive):
    """What the schema of a model says; a schema of any other form is refused."""
    nodes = dictionary_of(schema)
    require(set(nodes) == set(KEYS), "the list of keys")
    content = {}
    for key, kind in KEYS.items():
        if kind is not dict:
            require(loads(nodes[key], "JsonNode", "builtins", "str"), repr(key))
            require(isinstance(nodes[key].get("content"), str), repr(key))
            content[key] = json.loads(nodes[key]["content"])
    content["arrays"] = {}
    for dtype, node in dictionary_of(nodes["arrays"]).items():
        require(DTYPE.fullmatch(dtype), "a dtype")
        require(loads(node, "NdArrayNode", "numpy", "ndarray"), "an array")
        require(node.get("type") == "numpy" and isinstance(node.get("file"), str), "an array")
        content["arrays"][dtype] = array_of(archive.read(node["file"]), dtype)
    return content


def loads(node, *fields):
    """Whether a node has this loader, module and class."""
    names = ("__loader__", "__module__", "__class__")
    return isinstance(node, dict) and tuple(node.get(name) for name in names) == fields


def dictionary_of(node):
    """The nodes in a node that is a plain dictionary with strings as keys."""
    require(loads(node, "DictNode", "builtins", "dict"), "a dictionary")
    content, keys = node.get("content"), node.get("key_types")
    require(isinstance(content, dict), "a dictionary")
    require(loads(keys, "ListNode", "builtins", "list"), "a list of keys")
    types = keys.get("content")
    require(isinstance(types, list) and len(types) == len(content), "a list of keys")
    require(all(loads(kind, "TypeNode", "builtins", "str") for kind in types), "a key")
    return content


def array_of(data, dtype):
    """The array of a .npy member: of this dtype and one dimension, as long as it says."""
    require(len(data) >= 10 and data.startswith(MAGIC), "an array")
    (length,) = struct.unpack("<H", data[8:10])
    try:
        header = ast.literal_eval(data[10 : 10 + length].decode("latin-1").strip())
    except (SyntaxError, ValueError, MemoryError) as error:
        raise ValueError("the header of an array is not as mlreplica writes it.") from error
    require(isinstance(header, dict) and header.get("descr") == dtype, "the dtype of an array")
    shape = header.get("shape")
    require(header.get("fortran_order") is False and isinstance(shape, tuple), "an array")
    require(len(shape) == 1 and type(shape[0]) is int, "the shape of an array")
    wide = np.dtype(dtype).itemsize
    require(wide * shape[0] == len(data) - 10 - length, "the length of an array")
    return np.frombuffer(data, dtype=dtype, offset=10 + length)


def require(right, what):
    """A ValueError unless right."""
    if not right:
        raise ValueError(f"{what} is not as mlreplica writes it.")

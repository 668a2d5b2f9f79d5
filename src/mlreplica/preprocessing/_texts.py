"""Texts: Python strings in a column of objects, compared where they lie in memory

Equal strings are often different objects, and a dictionary asks Python about each of them, one
after the other. CPython keeps the hash and the length of a string behind its head, and its
characters behind these, one byte each if all of them are ASCII:

    head words, the last one its type | length | hash, −1 until somebody asks | … | characters

So a kernel can number the strings of a column, on many columns at once: the cost is a look at each
string. `layout` tries this on strings that are known, and is None where Python keeps them in
another way. Then, and for characters beyond ASCII, a dictionary does the work.
"""

import functools
import logging
import sys

import numpy as np

from mlreplica.core.compile.intrinsics import prefetch_item
from mlreplica.core.compile.jit import kernel

log = logging.getLogger(__name__)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio
SHIFT = np.uint64(32)
AHEAD = 16  # objects that are asked for before their turn: they lie anywhere
FAR = 1 << 32  # words behind the last object: only those of its characters are looked at


@kernel
def number_texts(memory, at, kind, head, begin, table, known, first, codes):
    """Write the number of every object into `codes`; return how many numbers there are.

    Object i begins at word at_i of `memory`, texts have the type `kind`. `table`, a power of two
    long, holds numbers or −1; number c was met `first` at that place, and known[c] is its hash and
    length, or its place and −1 if it is no text. −1: `known` is full; −2: a hash is not there yet.
    """
    mask = np.uint64(len(table) - 1)
    count = 0
    last = len(at) - 1
    for i in range(len(at)):
        ahead = at[min(i + AHEAD, last)]
        prefetch_item(memory, ahead + head)
        prefetch_item(memory, ahead + begin + 1)
        a = at[i]
        h, length = a, -1
        if memory[a + head - 1] == kind:
            h, length = memory[a + head + 1], memory[a + head]
            if h == -1:
                return -2
        slot = np.uint64(h) * MULTIPLIER
        slot = (slot ^ (slot >> SHIFT)) & mask
        while True:
            c = table[slot]
            if c < 0:
                if count == len(known):
                    return -1
                c = count
                count += 1
                table[slot], first[c], known[c, 0], known[c, 1] = c, i, h, length
                break
            if known[c, 0] == h and known[c, 1] == length:
                x, y = a + begin, at[first[c]] + begin
                full, rest = max(length, 0) >> 3, max(length, 0) & 7
                same = True
                for k in range(full):
                    same &= memory[x + k] == memory[y + k]
                if rest > 0:
                    same &= (memory[x + full] ^ memory[y + full]) << (64 - 8 * rest) == 0
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        codes[i] = c
    return count


def words_at(address, count):
    """`count` words of memory from an address on."""
    view = {"version": 3, "data": (address, False), "typestr": "<i8", "shape": (count,)}
    return np.asarray(type("Memory", (), {"__array_interface__": view})())


@functools.cache
def layout():
    """How many words the head of an object has, and where characters begin; None if unlike that."""
    if sys.implementation.name != "cpython" or sys.byteorder != "little":
        return None
    head, begin = object.__basicsize__ // 8, (sys.getsizeof("") - 1) // 8
    for length in (1, 7, 8, 40):
        text = "".join(chr(97 + k % 26) for k in range(length))
        known, memory = hash(text), words_at(id(text), begin + length // 8 + 1)
        if (
            memory[head - 1] != id(str)
            or memory[head] != length
            or memory[head + 1] != known
            or memory[begin:].tobytes()[:length] != text.encode()
        ):
            log.info("strings are not kept as expected; columns of objects take longer to encode")
            return None
    return head, begin


def group_texts(column, addresses):
    """Numbers of objects, and the first one of each; None if there is no layout or too many."""
    if layout() is None:
        return None
    n, low = len(column), int(addresses.min())
    at = (addresses.ravel() - low) >> 3
    memory, codes = words_at(low, int(at.max()) + FAR), np.empty(n, np.int64)
    room = min(1024, n // 2)
    while True:
        table = np.full(1 << (2 * room - 1).bit_length(), -1)
        known, first = np.empty((room, 2), np.int64), np.empty(room, np.int64)
        count = number_texts(memory, at, id(str), *layout(), table, known, first, codes)
        if count >= 0:
            texts = [value for value in column[first[:count]].tolist() if isinstance(value, str)]
            return (codes, first[:count]) if all(text.isascii() for text in texts) else None
        if count == -1 and room == n // 2:
            return None
        if count == -1:
            room = min(16 * room, n // 2)
            continue
        try:
            for value in column.tolist():
                hash(value)  # which CPython keeps
        except TypeError:
            return None

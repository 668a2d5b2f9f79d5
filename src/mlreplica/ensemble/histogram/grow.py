r"""Growing a tree on histograms (equations go on from `binning.py`)

All splits of a leaf with the rows I on one column are judged by sums over rows of equal code:

    G_c = Σ_{i ∈ I, code(x_i) = c} g_i,      H_c = Σ_{i ∈ I, code(x_i) = c} h_i                 (7)

Leaf by leaf: of all leaves the one whose best split gains most is split next, until there are
enough leaves or nothing is gained. Level by level: of all leaves the highest one is split next.
A split costs a pass over the rows of the node, which are sorted into left and right, and a pass
over those of the smaller child, whose histogram is made. The larger child's is a subtraction:

    G_c(larger) = G_c(node) − G_c(smaller),      H_c(larger) = H_c(node) − H_c(smaller)         (8)

    depth of the pass    n rows at the root, at most n/2 in all smaller children of a level

so that a balanced tree of m leaves costs about n·log2(m)/2 rows of histogram.

A category c lowers the loss more on the left, whose value v_L is above v_R, if

    G_c / H_c + ½ (v_L + v_R) < 0                                                               (9)

so that categories are scanned in the order of G_c / H_c, smoothed.

`grow` is the leader of a crew (`core/compile/crew.py`): it decides, the crew shares the three kinds
of work. Rows are partitioned in stretches, histograms and splits are made block by block, values of
leaves leaf by leaf. Every part writes to memory of its own and all sums are of whole numbers or in
a fixed order, hence the tree is the same for any crew.
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.crew import (
    JOB,
    PATIENCE,
    SIZE,
    announce_job,
    await_pieces,
    finish_piece,
    is_stopped,
    take_piece,
)
from mlreplica.core.compile.intrinsics import larger, prefetch_item, smaller, yield_processor
from mlreplica.core.compile.jit import kernel

from .histograms import (
    AT,
    BEST,
    CATEGORICAL,
    CODE,
    COLUMN,
    G_LEFT,
    GAIN,
    H_LEFT,
    HAS_MISSING,
    LAMBDA,
    LEAST_ROWS,
    LOW,
    LOWER,
    MISSING_LEFT,
    MONOTONE,
    ONE,
    RATE,
    ROWS,
    SHIFT,
    SPLIT,
    STEP,
    UNIT_G,
    UNIT_H,
    UPPER,
    VALUE,
    WORTH,
    ZERO,
    G,
    H,
    accumulate,
    count_codes,
    left_codes,
    part,
    scan,
    value_of,
)
from .leaves import (
    DEPTH,
    END,
    FOUND,
    FREE,
    HEAP,
    HIST,
    LEFT,
    MISSING,
    SPLIT_ON,
    START,
    TABLE,
    UP_TO,
    best_block,
    choose_columns,
    new_node,
    pop,
    push,
)  # fmt: skip

PARTITION, CHILDREN, LEAVES = range(3)  # kinds of work
NODE, FROM, TO, SLOT, MADE, SCAN = range(6)  # of a child in the words of the crew
BY_ROWS, BY_SUBTRACTION = np.int64(1), np.int64(2)  # how its histogram is made
STRETCH = 8192  # rows: the least that are worth a part of their own
STRETCHES = 32  # the most parts of a partition
MAX_LEAVES, MAX_DEPTH, BY_LEVEL, SLOTS, CLASSES, CLASS, FINISH, STRETCHED = range(8)
LIMITS, ENDS, WORDS = SIZE, SIZE + 16, SIZE + 16 + STRETCHES  # where they stand in the crew's words


class Work(NamedTuple):
    """All memory of one tree; N nodes, p columns, B blocks, S histograms kept, K classes."""

    words: np.ndarray  # (n · words a row,) codes
    blocks: np.ndarray  # (B, 4)
    columns: np.ndarray  # (p, 6)
    q: np.ndarray  # (n,) packed g and h
    state: np.ndarray  # (3, n·K): g, h, and the scores f to which the tree is added
    rows: np.ndarray  # (2, n) int32: rows in the order of the leaves, and room to sort them
    hist: np.ndarray  # (S + 2, words·1024): two are lent for a moment
    counts: np.ndarray  # (256,) rows of each code of a column
    bests: np.ndarray  # (p, 8) best split of each column, and whether its rows were counted
    nodes: np.ndarray  # (N + 2, 11)
    sums: np.ndarray  # (N, 14)
    scratch: np.ndarray  # (B + 1, 7, 256)
    tables: np.ndarray  # (1 + categorical splits, 256): which codes go left; first the current one
    mask: np.ndarray  # (2 + groups, p): columns for two children, columns that may meet
    active: np.ndarray  # (N, groups) those that a node may still use
    keys: np.ndarray  # (nodes, p) random numbers that choose columns; (0, p) for all columns
    notes: np.ndarray  # (N, p, 256) gain of every split; (0, 0, 0) unless asked for
    rules: np.ndarray  # (8,)


@part
def partition(words, start, step, shift, table, rows, spare, lo, hi):
    """rows[lo:hi] ← those that go left, in order; spare[lo:] ← the others; where the left end."""
    left, right, last = lo, lo, hi - 1
    for i in range(lo, hi):
        prefetch_item(words, start + np.int64(rows[smaller(i + 32, last)]) * step)
        r = rows[i]
        goes = np.int64(table[(np.int64(words[start + np.int64(r) * step]) >> shift) & 255])
        rows[left] = r
        spare[right] = r
        left += goes
        right += 1 - goes
    return left


@part
def work(crew, part, w):
    """One part of the job that the leader has announced."""
    kind = crew[JOB]
    if kind == PARTITION:
        lo, m, column, parts = crew[JOB + 1], crew[JOB + 2], w.columns[crew[JOB + 3]], crew[JOB + 4]
        crew[ENDS + part] = partition(
            w.words, column[AT], column[STEP], column[SHIFT], w.tables[0], w.rows[0], w.rows[1],
            lo + m * part // parts, lo + m * (part + 1) // parts,
        )  # fmt: skip
    elif kind == CHILDREN:
        block, scratch = w.blocks[part], w.scratch[part]
        wide, first, last = block[1], 256 * block[2], 256 * block[2] + 1024 * block[1]
        lesser = w.hist[crew[JOB + 1 + SLOT], first:last]
        for child in range(2):
            job = JOB + 1 + 6 * child
            node, slot, best = crew[job + NODE], crew[job + SLOT], scratch[FOUND + child]
            hist = w.hist[slot, first:last]
            if crew[job + MADE] == BY_ROWS:
                lo, hi = crew[job + FROM], crew[job + TO]
                accumulate(w.words, block[0], wide, w.q, w.rows[0], lo, hi, hist)  # (7)
            elif crew[job + MADE] == BY_SUBTRACTION:
                for k in range(1024 * wide):
                    hist[k] -= lesser[k]  # (8)
            best[GAIN] = 0.0
            for j in range(block[2], block[3] * crew[job + SCAN]):
                if w.mask[child, j]:
                    scan(
                        w.hist[slot], w.counts, ZERO, node, j, w.columns, w.sums, w.rules,
                        w.notes, scratch, best,
                    )  # fmt: skip
    else:
        settle(crew, w.nodes, w.nodes[part, HEAP], w.state, w.rows[0], w.sums, w.rules)


@part
def settle(crew, nodes, leaf, state, rows, sums, rules):
    """Value (2) of a leaf from g and h themselves, times η; added to the scores if wanted."""
    K, k = crew[LIMITS + CLASSES], crew[LIMITS + CLASS]
    lo, hi = nodes[leaf, START], nodes[leaf, END]
    g, h, f, last = state[0], state[1], state[2], len(rows) - 1
    a, b = 0.0, 0.0
    for i in range(lo, hi):
        ahead = np.int64(rows[smaller(i + 32, last)]) * K + k
        prefetch_item(g, ahead)
        prefetch_item(h, ahead)
        r = np.int64(rows[i]) * K + k
        a += g[r]
        b += h[r]
    v = value_of(a, b, rules[LAMBDA], sums[leaf, LOWER], sums[leaf, UPPER]) * rules[RATE]
    v = 0.0 if leaf == 0 else v  # a tree that does not split leaves the scores as they are
    sums[leaf, VALUE] = v
    if crew[LIMITS + FINISH]:
        for i in range(lo, hi):
            prefetch_item(f, np.int64(rows[smaller(i + 32, last)]) * K + k)
            f[np.int64(rows[i]) * K + k] += v


@part
def share(crew, parts, w):
    """Do a job with whoever is there."""
    announce_job(crew, parts)
    while True:
        part = take_piece(crew)
        if part < 0:
            break
        work(crew, part, w)
        finish_piece(crew)
    await_pieces(crew, parts)


@part
def assist(crew, w):
    """What the crew does until it is told to stop."""
    looks = 0
    while not is_stopped(crew):
        part = take_piece(crew)
        if part >= 0:
            work(crew, part, w)
            finish_piece(crew)
            looks = 0
        else:
            looks += 1
            if looks > PATIENCE:
                yield_processor()


@part
def order_child(crew, child, node, nodes, slot, made, scan):
    """Write a child's part of the job CHILDREN."""
    job = JOB + 1 + 6 * child
    crew[JOB] = CHILDREN
    crew[job + NODE], crew[job + SLOT], crew[job + MADE] = node, slot, made
    crew[job + SCAN], crew[job + FROM], crew[job + TO] = scan, nodes[node, START], nodes[node, END]


@part
def divide(crew, w, node):
    """Sort the rows of a node by its split; where the right ones begin."""
    rows, spare, this, hist = w.rows[0], w.rows[1], w.sums[node], w.hist[w.nodes[node, HIST]]
    lo, m = w.nodes[node, START], w.nodes[node, END] - w.nodes[node, START]
    j = np.int64(this[BEST + COLUMN])
    left_codes(hist, j, w.columns, this, w.rules, w.scratch[len(w.blocks)], w.tables[0])
    parts = larger(ONE, smaller(crew[LIMITS + STRETCHED], m // STRETCH))
    crew[JOB], crew[JOB + 1], crew[JOB + 2] = PARTITION, lo, m
    crew[JOB + 3], crew[JOB + 4] = j, parts
    share(crew, parts, w)
    middle = crew[ENDS]
    for t in range(1, parts):  # move the left rows of each stretch together, then the right ones
        for i in range(lo + m * t // parts, crew[ENDS + t]):
            rows[middle] = rows[i]
            middle += 1
    at = middle
    for t in range(parts):
        first, stop = lo + m * t // parts, lo + m * (t + 1) // parts
        for i in range(first, first + stop - crew[ENDS + t]):
            rows[at] = spare[i]
            at += 1
    return middle


@part
def recount(w, node):
    """The best split of a node whose sides have enough rows; whether there is one.

    Column by column, the one with the largest gain next, until that gain is of counted rows.
    """
    choose_columns(w.mask, ZERO, node, w.active, w.keys, w.rules)
    hist, counts, scratch = w.hist[w.nodes[node, HIST]], w.counts, w.scratch[len(w.blocks)]
    lo, hi, p = w.nodes[node, START], w.nodes[node, END], len(w.columns)
    for j in range(p):
        w.bests[j, GAIN], w.bests[j, SPLIT] = 0.0, 0.0
        if w.mask[0, j]:
            scan(
                hist, counts, ZERO, node, j, w.columns, w.sums, w.rules, w.notes, scratch,
                w.bests[j],
            )  # fmt: skip
    while True:
        top = ZERO
        for j in range(1, p):
            top = j if w.bests[j, GAIN] > w.bests[top, GAIN] else top
        best = w.bests[top]
        if best[GAIN] == 0.0 or best[SPLIT] > 0.0:
            break
        count_codes(w.words, w.columns[top], w.rows[0], lo, hi, counts)
        best[GAIN], best[SPLIT] = 0.0, 1.0
        scan(hist, counts, ONE, node, top, w.columns, w.sums, w.rules, w.notes, scratch, best)
    for k in range(SPLIT):
        w.sums[node, BEST + k] = best[k]
    return best[GAIN] > 0.0


@part
def branch(nodes, sums, columns, mask, active, rules, node, middle, first):
    """Make the children `first` and `first` + 1 of a node, whose split is taken."""
    this, depth = sums[node], nodes[node, DEPTH] + 1
    start, end = nodes[node, START], nodes[node, END]
    j = np.int64(this[BEST + COLUMN])
    nodes[node, SPLIT_ON], nodes[node, UP_TO], nodes[node, LEFT] = j, this[BEST + CODE], first
    nodes[node, MISSING] = this[BEST + MISSING_LEFT] > 0.0
    if not columns[j, HAS_MISSING]:  # a missing value that was never met: the larger child
        nodes[node, MISSING] = middle - start > end - middle
    this[WORTH] = this[BEST + GAIN]
    new_node(nodes, sums, first, start, middle, depth)
    new_node(nodes, sums, first + 1, middle, end, depth)
    left, right = sums[first], sums[first + 1]
    left[G], left[H] = this[BEST + G_LEFT], this[BEST + H_LEFT]
    right[G], right[H] = this[G] - left[G], this[H] - left[H]
    for child in range(first, first + 2):
        new = sums[child]
        new[LOWER], new[UPPER] = this[LOWER], this[UPPER]
        new[VALUE] = value_of(new[G], new[H], rules[LAMBDA], this[LOWER], this[UPPER])
    half = 0.5 * (left[VALUE] + right[VALUE])
    if columns[j, MONOTONE] > 0:
        left[UPPER] = right[LOWER] = half
    elif columns[j, MONOTONE] < 0:
        left[LOWER] = right[UPPER] = half
    for k in range(len(mask) - 2):
        active[first, k] = active[first + 1, k] = active[node, k] & mask[2 + k, j]


@part
def release(nodes, free, slot, kept):
    """Give a histogram back, unless it was only lent; how many are free."""
    if slot < kept:
        nodes[free, FREE] = slot
        free += 1
    return free


@part
def keep_table(nodes, columns, tables, node, n_tables):
    """Keep which codes a categorical split sends left; how many tables that takes: 0 or 1."""
    column = columns[nodes[node, SPLIT_ON]]
    if column[CATEGORICAL] == 0:
        return 0
    if column[HAS_MISSING]:
        nodes[node, MISSING] = tables[0, 0]
    for code in range(256):
        tables[n_tables, code] = tables[0, code]
    tables[n_tables, 0] = nodes[node, MISSING]
    nodes[node, TABLE] = n_tables - 1
    return 1


@part
def plant(crew, w):
    """Make the root of all rows and find its best split; the size of the heap: 0 or 1."""
    nodes, sums, rules, n, size = w.nodes, w.sums, w.rules, w.rows.shape[1], ZERO
    for i in range(n):
        w.rows[0, i] = i
    new_node(nodes, sums, ZERO, ZERO, n, ZERO)
    sums[0, VALUE], sums[0, LOWER], sums[0, UPPER], nodes[0, HIST] = 0.0, -np.inf, np.inf, 0
    for k in range(len(w.mask) - 2):
        w.active[0, k] = 1
    if n >= 2 * rules[LEAST_ROWS] and crew[LIMITS + MAX_LEAVES] > 1:
        total = ZERO
        for i in range(n):
            total += w.q[i]
        sums[0, G] = rules[UNIT_G] * np.float64(total >> 32)
        sums[0, H] = rules[UNIT_H] * np.float64(total & LOW)
        choose_columns(w.mask, ZERO, ZERO, w.active, w.keys, rules)
        order_child(crew, ZERO, ZERO, nodes, ZERO, BY_ROWS, ONE)
        order_child(crew, ONE, ZERO, nodes, ZERO, ZERO, ZERO)
        share(crew, len(w.blocks), w)
        if best_block(w.scratch, ZERO, sums[0]):
            size = push(nodes, sums, crew[LIMITS + BY_LEVEL], size, ZERO)
    return size


@kernel(borrow=True)
def grow(crew, leads, w):
    """Grow one tree, or help the one who does; how many nodes and tables of categories it has."""
    if not leads:  # one kernel for both: its parts are compiled once
        assist(crew, w)
        return ZERO, ZERO
    nodes, sums, rules, blocks = w.nodes, w.sums, w.rules, len(w.blocks)
    kept, most, by_level = crew[LIMITS + SLOTS], crew[LIMITS + MAX_LEAVES], crew[LIMITS + BY_LEVEL]
    count, n_leaves, n_tables, free = ONE, ONE, ONE, ZERO
    for s in range(kept - 1, 0, -1):
        free = release(nodes, free, s, kept)
    size = plant(crew, w)
    while size > 0 and n_leaves < most:
        node = pop(nodes, sums, by_level, size)
        size -= 1
        if nodes[node, HIST] < 0:  # given up for lack of room
            order_child(crew, ZERO, node, nodes, kept, BY_ROWS, ZERO)
            order_child(crew, ONE, node, nodes, kept, ZERO, ZERO)
            share(crew, blocks, w)
            nodes[node, HIST] = kept
        slot = nodes[node, HIST]
        middle = divide(crew, w, node)
        fewest = smaller(middle - nodes[node, START], nodes[node, END] - middle)
        if fewest < rules[LEAST_ROWS]:
            again = recount(w, node)
            if slot == kept:
                nodes[node, HIST] = -1
            if again:
                size = push(nodes, sums, by_level, size, node)
            else:
                free = release(nodes, free, slot, kept)
            continue
        branch(nodes, sums, w.columns, w.mask, w.active, rules, node, middle, count)
        n_tables += keep_table(nodes, w.columns, w.tables, node, n_tables)
        small, large = count, count + 1
        if sums[small, ROWS] > sums[large, ROWS]:
            small, large = large, small
        count += 2
        n_leaves += 1
        deep = crew[LIMITS + MAX_DEPTH] > 0 and nodes[small, DEPTH] >= crew[LIMITS + MAX_DEPTH]
        if deep or n_leaves >= most or sums[large, ROWS] < 2 * rules[LEAST_ROWS]:
            free = release(nodes, free, slot, kept)
            continue
        other = kept + 1
        if free > 0:
            free -= 1
            other = nodes[free, FREE]
        both = np.int64(sums[small, ROWS] >= 2 * rules[LEAST_ROWS])
        for child in range(2):
            choose_columns(w.mask, child, large if child else small, w.active, w.keys, rules)
        order_child(crew, ZERO, small, nodes, other, BY_ROWS, both)
        order_child(crew, ONE, large, nodes, slot, BY_SUBTRACTION, ONE)
        share(crew, blocks, w)
        for child in range(2):
            leaf, hist = (large, slot) if child else (small, other)
            if (child or both) and best_block(w.scratch, child, sums[leaf]):
                size = push(nodes, sums, by_level, size, leaf)
                nodes[leaf, HIST] = hist if hist < kept else -1
            else:
                free = release(nodes, free, hist, kept)
    leaves = ZERO
    for node in range(count):
        if nodes[node, SPLIT_ON] < 0:
            nodes[leaves, HEAP] = node
            leaves += 1
    crew[JOB] = LEAVES
    share(crew, leaves, w)
    return count, n_tables - 1

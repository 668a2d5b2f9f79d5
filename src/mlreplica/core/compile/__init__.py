"""How a loop becomes machine code and runs on threads

Read `jit.py` first: `@kernel` and `@formula` are all that an algorithm needs. Then `threads.py`
(kernels on a pool of threads), `crew.py` (threads inside one kernel), `intrinsics.py` (functions
that become single instructions) and `events.py` (what Numba compiles, and when). `user.py` compiles
functions that users write, and `addresses.py` is how kernels call them. `layers.py` says
what is built on Numba's private names and can be switched off: `cache.py` (where machine code is
kept) with `fingerprint.py` (what it depends on), `parts.py`, `borrow.py` and `readonly.py`. The
folder `ahead/` builds a library of all kernels, which runs without Numba. No other folder imports
Numba or llvmlite.
"""

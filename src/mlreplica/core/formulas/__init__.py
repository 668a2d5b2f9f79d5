"""Each formula once

Losses: `loss_formulas.py` (scalar formulas), `losses.py` (objects that combine them),
`constants.py` (best constant predictions), `fused.py` (gradient and Hessian at once),
`check_loss.py` (numerical checks of a loss). Penalties: `penalties.py`. Mercer kernels:
`kernels.py`, then `kernel_algebra.py`, `kernel_loops.py`, `kernel_words.py`. Vectors:
`vectors.py`, `exp.py`, `cos.py`. Random draws and sorting: `draws.py`, `sorting.py`.
"""

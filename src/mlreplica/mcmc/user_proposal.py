"""A user's own proposal, with its density: the Hastings correction in full"""

import math

import numpy as np

from .user_loops import (
    compile_loop,
    generator_from,
    hastings_loop,
    keep_generator,
    new_generator_words,
)


def no_density(y, x):
    """log q of a symmetric proposal: it cancels."""
    return 0.0


class UserProposal:
    """Chains of `MetropolisHastings(proposal=…)`, on the natural scale of the vector."""

    def __init__(self, sampler):
        self.sampler, self.steps = sampler, None
        if sampler.density.by_name or (
            sampler.density.layout is not None and len(sampler.density.layout.blocks)
        ):
            raise ValueError(
                "A proposal of your own goes with a log_density of one vector and no supports: "
                "return -np.inf outside of the support."
            )

    def new_chain(self, u, words):
        """A chain at u."""
        value = self.sampler.density.in_python(u)
        chain = {
            "u": u, "trial": u.copy(), "value": np.array([value]), "rng":
            new_generator_words(words), "counts": np.zeros(2, dtype=np.int64),
        }  # fmt: skip
        self.prepare(u)
        return chain

    def prepare(self, u):
        """Check the proposal at u and compile the loop, once."""
        if self.steps is not None:
            return
        s = self.sampler
        try:
            y = np.asarray(s.proposal(u.copy(), np.random.default_rng(0)), dtype=np.float64)
            log_q = 0.0 if s.log_proposal is None else s.log_proposal(y, u.copy())
        except Exception as error:
            where = s.density.describe(u)
            error.add_note(f"proposal or log_proposal raised this at the start {where}.")
            raise
        if y.shape != u.shape:
            raise ValueError(f"proposal(x, rng) returned shape {y.shape} for x of {u.shape}.")
        if np.ndim(log_q) != 0:
            raise ValueError(f"log_proposal(y, x) must return one number, got {log_q!r}.")
        symmetric = s.log_proposal is None
        loop = hastings_loop(s.log_density, s.proposal, s.log_proposal or no_density, symmetric)
        nothing = (
            u.copy(), u.copy(), np.zeros(1), np.zeros(2, dtype=np.int64), np.random.default_rng(0),
            np.empty((0, len(u))), np.empty((0, 1)), 0, 1,
        )  # fmt: skip
        self.steps, _ = compile_loop(lambda unit: ("", unit.add(loop)), loop, s.proposal, nothing)

    def advance(self, chain, out, stats, n, thin):
        """n draws of a chain, or n steps of its warm-up."""
        rng = generator_from(chain["rng"])
        if out is None:
            out, stats = np.empty((0, len(chain["u"]))), np.empty((0, 1))
        names = "u", "trial", "value", "counts"
        try:
            bad = self.steps(*(chain[name] for name in names), rng, out, stats, n, thin)
        except Exception as error:
            where = self.sampler.density.describe(chain["u"])
            error.add_note(f"log_density, proposal or log_proposal raised this at {where}.")
            raise
        keep_generator(rng, chain["rng"])
        if bad:
            self.refuse(chain)

    def refuse(self, chain):
        """Raise the error of a step whose ratio (1) is not a number."""
        s, x, y = self.sampler, chain["u"], chain["trial"]
        from_to = f"from {s.density.describe(x)} to {s.density.describe(y)}"
        if not np.isfinite(y).all():
            raise ValueError(f"proposal goes {from_to}.")
        if math.isfinite(s.density.in_python(y)):
            there, back = s.log_proposal(y.copy(), x.copy()), s.log_proposal(x.copy(), y.copy())
            raise ValueError(f"log_proposal is {there} {from_to}, and {back} for the way back.")
        s.refuse(chain)

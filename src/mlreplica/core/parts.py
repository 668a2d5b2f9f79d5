"""Parts: kernels inside of kernels, which are optimised once, with the whole

Numba by itself takes a kernel that others call all the way to machine code, with a way in from
Python, and then optimises it again within every caller, and theirs. Here it stops half way: a part
is checked, typed and written down in LLVM's language, and the kernel that Python calls is optimised
with all its parts in it. The result is the same, and sooner there.

Nor is garbage collected meanwhile: a compiler makes many objects that live until it is done, and to
walk them again and again takes a tenth of its time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import codegen, compiler


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage until done."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Part(codegen.JITCodeLibrary):
    """The code of one part and of those that it calls, to be linked into a kernel."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """As it was written: to optimise is the kernel's."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Gather what is called; make nothing that could run."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Nowhere."""
        if not self._finalized:
            self.finalize()
        return 0

    @property
    def codegen(self) -> Any:
        """Whom Numba tells the environment of a function that runs."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """A part has none."""


class PartCompiler(compiler.Compiler):
    """Numba's compiler, whose work goes to a Part."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a Python function."""
        library: Any = Part
        parent: Any = super()
        self.state.library = library(self.state.targetctx.codegen(), function.__qualname__)
        return parent.compile_extra(function)

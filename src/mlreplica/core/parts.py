"""Parts: kernels inside of kernels, which are optimised once, with the whole

Numba by itself takes a kernel that others call all the way to machine code, with a way in from
Python, and then optimises it again within every caller, and theirs. Here it stops half way: a part
is checked, typed and written down in LLVM's language, and the kernel that Python calls is optimised
with all its parts in it. The result is the same, and sooner there.

More things are left out, most of them a tenth of the time:

    steps       for what no kernel has, and none may: closures, comprehensions, `with`, tuples to
                unroll; where a kernel only borrows, also expressions of whole arrays, and the end
                of every variable's life
    branches    that are not taken, as an argument is None, or is not: Numba cuts off the first
                kind only
    questions   of what type a sum or an element is, put anew at every sign: answers are remembered
    garbage     is not collected: a compiler makes many objects that live until it is done, and to
                walk them again and again takes long
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from llvmlite.binding import Linkage
from numba.core import analysis, codegen, compiler, types
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.compiler_machinery import register_pass
from numba.core.typing.context import Context

NEEDLESS = {
    untyped.WithLifting,
    untyped.InlineClosureLikes,
    untyped.MakeFunctionToJitFunction,
    untyped.InlineInlinables,
    untyped.RewriteDynamicRaises,
    untyped.FindLiterallyCalls,
    untyped.LiteralUnroll,
    untyped.LiteralPropagationSubPipelinePass,
    typed.InlineOverloads,
    typed.NoPythonSupportedFeatureValidation,
    typed.DumpParforDiagnostics,
}
BORROWED = {typed.NopythonRewrites, typed.IRLegalization}
PLAIN = types.Number, types.Boolean, types.Array


class Something:
    """The type of an argument that is not None, as Numba's search for branches knows it."""

    def __init__(self, kind: Any) -> None:
        self.literal_type = kind


@register_pass(mutates_CFG=True, analysis_only=False)
class CutBranches(untyped.DeadBranchPrune):
    """Cut off the branches behind `x is None` if x is a number, an array or a tuple of them."""

    _name = "cut_branches"

    def run_pass(self, state: Any) -> bool:
        """Change `state.func_ir`; say so."""
        known = (*PLAIN, types.BaseTuple)
        args = [Something(kind) if isinstance(kind, known) else kind for kind in state.args]
        analysis.dead_branch_prune(state.func_ir, args)
        return True


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
    """The code of one part, to be linked into a kernel with that of all it calls."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """As it was written: to optimise is the kernel's."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Make nothing that could run."""
        for library in self.called():
            self._reload_init.update(library._reload_init)
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        self._finalized = True

    def called(self) -> dict[Any, None]:
        """What this part calls, and what that calls, each once."""
        found: dict[Any, None] = {}
        for library in self._linking_libraries:
            found[library] = None
            if isinstance(library, Part):
                found |= library.called()
        return found

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            for library in self.called():
                is_part = isinstance(library, Part)
                code = library._final_module if is_part else library._get_module_for_linking()
                self._shared_module.link_in(code, preserve=True)
        return self._shared_module

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


class Memory(Context):
    """Numba's rules of types, in whose place it stands, with the answers they gave."""

    known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, rules: Context) -> None:
        self.__dict__ = rules.__dict__

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a function for such arguments; operators of PLAIN ones have no other."""
        rules: Any = super()
        function = getattr(func, "typing_key", func)
        is_operator = function is bool or getattr(function, "__module__", None) == "_operator"
        if not is_operator or not all(isinstance(kind, PLAIN) for kind in args):
            return rules.resolve_function_type(func, args, kws)
        question = func, *args
        if question not in self.known:
            self.known[question] = rules.resolve_function_type(func, args, kws)
        return self.known[question]


remembering = functools.cache(Memory)


class KernelCompiler(compiler.CompilerBase):
    """Numba's compiler, less what no kernel needs."""

    def __init__(self, typingctx: Any, *rest: Any) -> None:
        parent: Any = super()
        parent.__init__(typingctx, *rest)
        self.state.typingctx = remembering(typingctx)

    def define_pipelines(self) -> list[Any]:
        """Numba's own steps that are needed, each once."""
        steps = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        needless = NEEDLESS if self.state.flags.nrt else NEEDLESS | BORROWED
        kept = {step: text for step, text in steps.passes if step not in needless}
        cut = {untyped.DeadBranchPrune: CutBranches}
        steps.passes = [(cut.get(step, step), text) for step, text in kept.items()]
        steps.finalize()
        return [steps]


class PartCompiler(KernelCompiler):
    """The same for a Part."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a Python function."""
        library: Any = Part
        parent: Any = super()
        self.state.library = library(self.state.targetctx.codegen(), function.__qualname__)
        return parent.compile_extra(function)

"""Build: what Numba compiled becomes a shared library that needs no Numba

Numba has typed and optimised a kernel; its LLVM text is still there. To it is added an entry that
takes all arguments as words of 64 bits in one array:

    define i32 @kernel_7(ptr %words, ptr %result, ptr %raised)

The text is compiled once more, as position-independent code for a level of instruction sets, and
linked with `runtime.c` and a table of all kernels (`kernels.h`). Only the table has a name that
others see.

A kernel is compiled for the types it was called with during a warm-up; `mlreplica.warmup` hands
over the kernels, and the processes that compile for the levels.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from .describe import UnsupportedTypeError, argument_codes, result_text, sources
from .library import name_of, stamp_of

HERE = Path(__file__).parent
COMPILER = shlex.split(os.environ.get("CC", "cc"))
C_OPTIONS = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
HARDEN = ["-Wl,-z,noexecstack", "-Wl,-z,text", "-Wl,-z,relro", "-Wl,-z,now", "-s"]
LINK_OPTIONS = HARDEN if sys.platform == "linux" else ["-Wl,-undefined,dynamic_lookup"]
ROUTINES = "numba_xx"  # how Numba names its ways into BLAS
INTERPRETERS = "Py", "_Py", "NRT_", "numba_"  # whose functions a library has only from runtime.c


class Compiled(NamedTuple):
    """A kernel for arguments of certain types, as an object file."""

    name: str
    codes: tuple[int, ...]
    result: str
    entry: str
    path: Path
    needs_routines: bool


def compile_variant(
    kernel: Any, signature: Any, machine: Any, folder: Path, classes: list[str]
) -> Compiled:
    """Compile a kernel for a signature; UnsupportedTypeError if the caller could not call it."""
    codes = [code for kind in signature for code in argument_codes(kind, classes)]
    dispatcher = kernel.dispatcher
    if signature not in dispatcher.overloads:
        dispatcher.compile(signature)
    code = dispatcher.overloads[signature]
    result = result_text(code.signature.return_type)
    bitcode = code.library._get_module_for_linking().as_bitcode()
    name = code.fndesc.llvm_func_name
    stamp = hashlib.sha256(bitcode + machine.triple.encode() + str(codes).encode()).hexdigest()[:24]
    entry, path = f"kernel_{stamp}", folder / f"{stamp}.o"
    module = with_entry(binding.parse_bitcode(bitcode), name, entry)
    outside = [f.name for f in [*module.functions, *module.global_variables] if f.is_declaration]
    if lacking := [f for f in outside if f.startswith(INTERPRETERS) and f not in runtime_names()]:
        raise UnsupportedTypeError(f"calls {', '.join(lacking)}")
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(machine.emit_object(module))
        draft.replace(path)
    needs = any(f.startswith(ROUTINES) for f in outside)
    return Compiled(name_of(kernel), tuple(codes), result, entry, path, needs)


@functools.cache
def runtime_names() -> frozenset[str]:
    """Return what is named in `runtime.c`."""
    return frozenset(re.findall(r"\b\w+\b", (HERE / "runtime.c").read_text(encoding="utf-8")))


def with_entry(module: Any, name: str, entry: str) -> Any:
    """Add the entry of the caller to a module, and drop all that it does not reach."""
    kinds = [str(argument.type) for argument in module.get_function(name).arguments][2:]
    module.link_in(binding.parse_assembly(entry_text(name, entry, kinds)))
    for thing in [*module.functions, *module.global_variables]:
        if not thing.is_declaration and thing.name != entry:
            thing.linkage = "internal"
    module.get_function(entry).visibility = "hidden"
    machine = binding.Target.from_default_triple().create_target_machine()
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    options = binding.create_pipeline_tuning_options()
    passes.run(module, binding.create_pass_builder(machine, options))
    return module


def entry_text(name: str, entry: str, kinds: Sequence[str]) -> str:
    """Return the LLVM text of a function that unpacks words and calls a kernel."""
    lines = [
        f'declare i32 @"{name}"(ptr, ptr{"".join(f", {kind}" for kind in kinds)})',
        f"define i32 @{entry}(ptr %words, ptr %result, ptr %raised) {{",
    ]
    for k, kind in enumerate(kinds):
        lines.append(f"  %p{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  %a{k} = load {kind}, ptr %p{k}")
    given = "".join(f", {kind} %a{k}" for k, kind in enumerate(kinds))
    lines.append(f'  %status = call i32 @"{name}"(ptr %result, ptr %raised{given})')
    return "\n".join([*lines, "  ret i32 %status", "}", ""])


def target_machine(level: str) -> Any:
    """Return LLVM's compiler for a level of instruction sets."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=level, opt=3, reloc="pic", codemodel="small")


def build_library(
    kernels: Iterable[tuple[Any, Any]], level: str, path: Path, work: Path
) -> tuple[int, list[str]]:
    """Build the library of (kernel, signature) pairs; return their number and what is left out.

    Parameters
    ----------
    kernels : iterable
        Kernels, each with a tuple of Numba's types.
    level : str
        What LLVM calls the CPU.
    path : Path
        Where the library goes.
    work : Path
        A folder for object files; those of an earlier build are used again.
    """
    machine, classes = target_machine(level), list[str]()
    work.mkdir(parents=True, exist_ok=True)
    made: dict[tuple[str, tuple[int, ...]], Compiled] = {}
    files: dict[str, list[str]] = {}
    left_out = []
    for kernel, signature in kernels:
        try:
            variant = compile_variant(kernel, signature, machine, work, classes)
        except UnsupportedTypeError as error:
            left_out.append(f"{name_of(kernel)}: {error}")
            continue
        made.setdefault((variant.name, variant.codes), variant)
        if variant.name not in files:
            files[variant.name] = sources(kernel)
    table, objects = work / f"{level}.c", work / f"{level}.txt"
    table.write_text(table_text(list(made.values()), files, classes), encoding="utf-8")
    objects.write_text("\n".join(dict.fromkeys(str(v.path) for v in made.values())))
    link(path, [str(table), str(HERE / "runtime.c"), f"@{objects}"], "-lm")
    return len(made), left_out


def build_caller(path: Path) -> None:
    """Build the extension module that calls kernels."""
    include = [sysconfig.get_path("include"), np.get_include()]
    link(path, [str(HERE / "caller.c"), *(f"-I{folder}" for folder in include)])


def link(path: Path, inputs: Sequence[str], *after: str) -> None:
    """Compile and link, replacing a library that may be in use in one step."""
    draft = path.with_suffix(f".{os.getpid()}.draft")
    command = [*COMPILER, *C_OPTIONS, f"-I{HERE}", *LINK_OPTIONS, *inputs, *after, "-o", str(draft)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    draft.replace(path)


def quoted(text: str) -> str:
    """Return a text as a constant of C."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def table_text(
    made: Sequence[Compiled], files: dict[str, list[str]], classes: Sequence[str]
) -> str:
    """Return the C text of the table of a library."""
    lines = ['#include "kernels.h"']
    lines += [f"int32_t {v.entry}(const int64_t *, void *, Raised **);" for v in made]
    kernels = []
    for k, name in enumerate(sorted(files)):
        variants = [v for v in made if v.name == name]
        for i, v in enumerate(variants):
            numbers = ", ".join(map(str, v.codes)) or "0"
            lines.append(f"static const uint32_t codes_{k}_{i}[] = {{{numbers}}};")
        rows = ", ".join(
            f"{{{v.entry}, codes_{k}_{i}, {len(v.codes)}, {quoted(v.result)}}}"
            for i, v in enumerate(variants)
        )
        lines.append(f"static const Variant variants_{k}[] = {{{rows}}};")
        texts = quoted(name), quoted(stamp_of(files[name])), quoted("\n".join(files[name]))
        needs = int(any(v.needs_routines for v in variants))
        kernels.append(f"{{{', '.join(texts)}, variants_{k}, {len(variants)}, {needs}}}")
    made_by = f"Numba {numba.__version__}, llvmlite {llvmlite.__version__}, {platform.machine()}"
    lines.append(
        f"static const char *const classes[] = {{{', '.join(map(quoted, classes)) or 0}}};"
    )
    lines.append(f"static const Kernel kernels[] = {{{', '.join(kernels)}}};")
    lines.append("extern const char *const routine_names[];\nextern void *routines[];")
    lines.append("extern const int32_t n_routines;")
    lines.append(
        '__attribute__((visibility("default"))) const Library mlreplica_kernels = {LAYOUT, '
        f"{quoted(made_by)}, classes, kernels, {len(classes)}, {len(kernels)}, &n_routines, "
        "routine_names, routines};"
    )
    return "\n".join(lines) + "\n"

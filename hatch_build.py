"""Build hook: MLREPLICA_BOOK=1 puts the built book into the wheel, MLREPLICA_AHEAD=1 machine code

`make book` comes before; `mlreplica book` opens that copy.

The machine code is a library of all kernels per level of instruction sets (x86-64-v2, v3 and v4, or
the generic CPU elsewhere), with an extension module that calls them through Python's stable
interface: one wheel per platform, for every Python from 3.11 on, which starts without Numba. The
build needs a C compiler. Names of chapters or estimators instead of 1, separated by commas, choose
whose kernels. Wheels and editable installs built without the variable are pure Python.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHOICE = os.environ.get("MLREPLICA_AHEAD", "0")
AHEAD = CHOICE not in ("", "0")
BOOK = os.environ.get("MLREPLICA_BOOK", "0") not in ("", "0")
X86 = platform.machine().lower() in ("x86_64", "amd64")
LEVELS = os.environ.get("MLREPLICA_LEVELS", "x86-64-v2,x86-64-v3,x86-64-v4" if X86 else "generic")


class AheadOfTime(BuildHookInterface[Any]):
    """Build the libraries into a folder and ship it as `mlreplica/_ahead`."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What compiling needs at build time: the package's own dependencies."""
        return list(self.metadata.core.dependencies) if AHEAD else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take the book along; compile, and tag the wheel for this platform."""
        if BOOK and version != "editable":
            site = Path(self.root) / "book" / "_build" / "html"
            if not (site / "index.html").exists():
                raise FileNotFoundError("MLREPLICA_BOOK is set, but there is no book: `make book`.")
            for path in site.iterdir():
                if path.name not in (".doctrees", ".buildinfo"):
                    build_data["force_include"][str(path)] = f"mlreplica/_book/{path.name}"
        if not AHEAD or version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        env = os.environ | {"PYTHONPATH": str(Path(self.root) / "src"), "MLREPLICA_AHEAD": "0"}
        names = [] if CHOICE == "1" else CHOICE.split(",")
        module = "mlreplica.core.compile.ahead.levels"
        command = [sys.executable, "-m", module, self.folder.name, *names, "--levels", LEVELS]
        subprocess.run(command, env=env, check=True)
        build_data["force_include"][self.folder.name] = "mlreplica/_ahead"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform_tag(Path(self.folder.name))}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder once the wheel holds its files."""
        if AHEAD and version != "editable":
            self.folder.cleanup()


def platform_tag(folder: Path) -> str:
    """Return the platform that libraries run on; on Linux with the oldest glibc that has all."""
    if sys.platform != "linux":
        return re.sub(r"[.-]", "_", sysconfig.get_platform())
    needed = [(2, 17)]
    for path in folder.glob("*.so"):
        found = re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes())
        needed += [(int(major), int(minor)) for major, minor in found]
    major, minor = max(needed)
    return f"manylinux_{major}_{minor}_{platform.machine()}"

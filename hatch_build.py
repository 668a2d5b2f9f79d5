"""Build hook: MLREPLICA_BOOK=1 puts the built book into the wheel, MLREPLICA_PREBUILT=1 kernels

`make book` comes before; `mlreplica book` opens that copy.

The kernels are compiled for a common instruction-set level (x86-64-v3, or the generic CPU
elsewhere), so that one wheel per Python and platform starts without a compilation on every such
machine. They are used with the version of Numba that compiled them; with any other they are
ignored and compiled at first call. Names of chapters or estimators instead of 1, separated by
commas, choose whose kernels. Wheels and editable installs built without the variable are pure
Python.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

CHOICE = os.environ.get("MLREPLICA_PREBUILT", "0")
PREBUILT = CHOICE not in ("", "0")
BOOK = os.environ.get("MLREPLICA_BOOK", "0") not in ("", "0")
X86 = platform.machine().lower() in ("x86_64", "amd64")


class PrebuiltKernels(BuildHookInterface[Any]):
    """Compile every kernel into a folder and ship it as `mlreplica/_kernels`."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What compiling needs at build time: the package's own dependencies."""
        return list(self.metadata.core.dependencies) if PREBUILT else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take the book along; compile, and tag the wheel for this Python and platform."""
        if BOOK and version != "editable":
            site = Path(self.root) / "book" / "_build" / "html"
            if not (site / "index.html").exists():
                raise FileNotFoundError("MLREPLICA_BOOK is set, but there is no book: `make book`.")
            for path in site.iterdir():
                if path.name not in (".doctrees", ".buildinfo"):
                    build_data["force_include"][str(path)] = f"mlreplica/_book/{path.name}"
        if not PREBUILT or version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        env = os.environ | {
            "PYTHONPATH": str(Path(self.root) / "src"),
            "NUMBA_CPU_NAME": "x86-64-v3" if X86 else "generic",
            "NUMBA_CPU_FEATURES": "",
            "MLREPLICA_SHIP_TO": self.folder.name,
        }
        names = [] if CHOICE == "1" else CHOICE.split(",")
        subprocess.run([sys.executable, "-m", "mlreplica.warmup", *names], env=env, check=True)
        build_data["force_include"][self.folder.name] = "mlreplica/_kernels"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if sys.platform == "linux":  # kernels link to nothing, so any glibc will do
            tag = next(sys_tags())
            platform_tag = f"manylinux_2_17_{platform.machine()}"
            build_data["tag"] = f"{tag.interpreter}-{tag.abi}-{platform_tag}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder once the wheel holds its files."""
        if PREBUILT and version != "editable":
            self.folder.cleanup()

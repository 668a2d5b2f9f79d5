"""What a build needs around the pages: styles and fonts from npm's packages, a quiet kernel."""

import json
import re
import shutil
import sys
from pathlib import Path

BOOK = Path(__file__).parents[2]
STATIC = BOOK / "_build" / "static"  # joins _static in the site; also holds long recordings
FACE = re.compile(r"@font-face\s*\{[^}]*?files/([\w-]+\.woff2)[^}]*\}")


def write_kernel():
    """A Jupyter kernel of this interpreter that keeps notices of compiling out of the pages."""
    quiet = "import logging, used_files; logging.getLogger('mlreplica').setLevel('ERROR')"
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    start += ["--log-level=40", f"--IPKernelApp.exec_lines={quiet}"]
    folder = BOOK / "_build" / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True, exist_ok=True)
    kernel = {"argv": start, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(kernel), encoding="utf-8")
    return folder.parents[1]


def copy_assets():
    """KaTeX's stylesheet and fonts, and the text faces in the alphabets the book uses.

    They are copied so that no page asks the network for anything.
    """
    modules = BOOK / "node_modules"
    if not modules.exists():
        raise FileNotFoundError("npm's packages are missing; run `npm ci --prefix book`.")
    katex, fonts = modules / "katex" / "dist", STATIC / "fonts"
    shutil.copytree(
        katex / "fonts",
        STATIC / "katex" / "fonts",
        ignore=shutil.ignore_patterns("*.ttf", "*.woff"),
        dirs_exist_ok=True,
    )
    shutil.copy(katex / "katex.min.css", STATIC / "katex")
    fonts.mkdir(parents=True, exist_ok=True)
    rules = []
    for family in ("source-serif-4", "source-sans-3", "source-code-pro"):
        package = modules / "@fontsource-variable" / family
        for sheet in ("wght.css", "wght-italic.css"):
            for face in FACE.finditer((package / sheet).read_text(encoding="utf-8")):
                if re.search(r"-(latin|latin-ext|greek)-wght", face[1]):
                    shutil.copy(package / "files" / face[1], fonts)
                    rules.append(face[0].replace("./files/", ""))
    (fonts / "fonts.css").write_text("\n".join(rules), encoding="utf-8")

"""`python -m mlreplica.accelerate [--report] script.py [args]`, or `-m module [args]`"""

import runpy
import sys
from pathlib import Path

from . import install, report

USAGE = """usage: python -m mlreplica.accelerate [--report] (script.py | -m module) [arguments]

Run a program written for scikit-learn on mlreplica. --report says at the end what ran where.
"""


def main(arguments: list[str]) -> None:
    """Run a script or a module on mlreplica."""
    asked = arguments[:1] == ["--report"]
    program = arguments[asked:]
    if program[:1] in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return
    if program in ([], ["-m"]):
        raise SystemExit(USAGE)
    install()
    try:
        if program[0] == "-m":
            sys.argv = program[1:]
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        elif not Path(program[0]).exists():
            raise SystemExit(f"python -m mlreplica.accelerate: no such file: {program[0]}")
        else:
            sys.argv = program
            sys.path.insert(0, str(Path(program[0]).resolve().parent))
            runpy.run_path(program[0], run_name="__main__")
    finally:
        if asked:
            sys.stderr.write(f"\n{report()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The `mlreplica` command; it needs `pip install "mlreplica[cli]"`"""

import os
import signal
import sys


def main():
    """Run the command line, or say in one line what to install for it."""
    signal.signal(signal.SIGINT, end_at_once)
    try:
        from mlreplica.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name.startswith("mlreplica"):
            raise
        sys.exit(
            f"mlreplica: the command line needs {missing.name}; "
            'install it by: pip install "mlreplica[cli]"'
        )
    app(prog_name="mlreplica")


def end_at_once(*_):
    """Ctrl-C: no waiting for fits on other threads, which no signal reaches."""
    show_cursor = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # a progress bar hides it
    sys.stderr.write(f"{show_cursor}mlreplica: interrupted\n")
    sys.stderr.flush()
    os._exit(130)

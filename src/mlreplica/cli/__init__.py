"""The `mlreplica` command; it needs `pip install "mlreplica[cli]"`"""

import os
import signal
import sys
import threading


def main():
    """Run the command line, or say in one line what to install for it."""
    listen_for_ctrl_c()
    try:
        from .app import app
    except ModuleNotFoundError as missing:
        if missing.name.startswith("mlreplica"):
            raise
        sys.exit(
            f"mlreplica: the command line needs {missing.name}; "
            'install it by: pip install "mlreplica[cli]"'
        )
    app(prog_name="mlreplica")


def listen_for_ctrl_c():
    """A thread listens, for the main one may wait for fits that no signal reaches."""
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.set_wakeup_fd(mouth)

    def listen():
        while os.read(ear, 1)[0] != signal.SIGINT:
            pass  # another signal that somebody handles
        end_at_once()

    threading.Thread(target=listen, daemon=True).start()


def end_at_once():
    """One line, and no waiting for what other threads are at."""
    show_cursor = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # a progress bar hides it
    sys.stderr.write(f"{show_cursor}mlreplica: interrupted\n")
    sys.stderr.flush()
    os._exit(130)

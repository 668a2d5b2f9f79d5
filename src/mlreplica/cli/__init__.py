"""The `mlreplica` command; it needs `pip install "mlreplica[cli]"`"""

import os
import signal
import sys
import threading

ending = threading.Lock()
at_interrupt = []  # what a command still does at Ctrl-C, in another thread than the main one


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
        try:
            threading.Thread(target=end_at_next, args=(ear,), daemon=True).start()
            for action in at_interrupt:
                action()
        finally:
            end_at_once()

    threading.Thread(target=listen, daemon=True).start()


def end_at_next(ear):
    """Another Ctrl-C waits for nothing."""
    while os.read(ear, 1)[0] != signal.SIGINT:
        pass
    end_at_once()


def end_at_once():
    """One line, and no waiting for what other threads are at."""
    ending.acquire()  # for ever: who comes second says nothing
    show_cursor = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # a progress bar hides it
    sys.stderr.write(f"{show_cursor}mlreplica: interrupted\n")
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(130)

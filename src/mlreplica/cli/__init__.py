"""The `mlreplica` command; it needs `pip install "mlreplica[cli]"`"""

import sys


def main():
    """Run the command line, or say in one line what to install for it."""
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

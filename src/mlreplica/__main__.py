"""`python -m mlreplica` is the `mlreplica` command"""

from mlreplica.cli import main

main()

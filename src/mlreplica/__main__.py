"""`python -m mlreplica` is the `mlreplica` command"""

from .cli import main

main()

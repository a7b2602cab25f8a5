"""`python -m agrun_host`: the command `agrun`, where no script of that name is on the path."""

from agrun_host.cli import main

main()

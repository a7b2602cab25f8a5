"""The tasks behind build.py, standard library only, one module for each kind of work."""

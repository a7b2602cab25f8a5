"""The runtime: composition of host parts, the run's handle, sessions, and inspection without a model."""

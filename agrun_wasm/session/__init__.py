"""A session: its history, what a model is shown of a run, approvals, the journal, and saved states."""

"""The virtual workspace: versioned text files in memory, patches on them, and the actions that change them (2.11)."""

"""Research: the actions web_search and read_url, the registry of sources, citations and their review (2.10)."""

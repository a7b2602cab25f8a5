"""Skills whose tools are trusted by what they say: the content hashes of the bundled ones. Written by
`python -m tests.skills.write_trusted`; a test recomputes them."""

#: content hash (`Skill.content_hash`) -> name
TRUSTED: dict[str, str] = {}

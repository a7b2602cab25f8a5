"""Agent Skills: the SKILL.md document, the skill and its tools, the catalog, the skill actions. It reads no files."""

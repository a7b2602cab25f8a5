"""Skills whose tools are trusted by what they say: the content hashes of the bundled ones.

Written by `python -m tests.skills.write_trusted`; a test recomputes them.
"""

#: content hash (`Skill.content_hash`) -> name
TRUSTED: dict[str, str] = {
    "8fe72729ca44297d6f2286e6bc23a7747703f9308ecfb97267d7cfb4428b8a19": "text-stats",
    "317748f31f294e46e7de8c7e7febfebd29d1bb95d50f523737ea3bf31188b8c2": "unit-convert",
}

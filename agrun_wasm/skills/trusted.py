"""Skills whose tools are trusted by what they say: the content hashes of the bundled ones.

Written by `python -m tests.skills.write_trusted`; a test recomputes them.
"""

#: content hash (`Skill.content_hash`) -> name
TRUSTED: dict[str, str] = {
    "8fe72729ca44297d6f2286e6bc23a7747703f9308ecfb97267d7cfb4428b8a19": "text-stats",
    "168546631c5978e17ae232f77f236293e0baa749f8f039055189b3eca933e98f": "unit-convert",
}

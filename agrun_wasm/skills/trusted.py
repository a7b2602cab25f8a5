"""Skills whose tools are trusted by what they say: the content hashes of the bundled ones.

Written by `python -m tests.skills.write_trusted`; a test recomputes them.
"""

#: content hash (`Skill.content_hash`) -> name
TRUSTED: dict[str, str] = {
    "3377cb0e0526ac967ade2b67618b28664be220e5b33d654bbebc3a12f09b1288": "data-table",
    "bb497bcb6c790bfebd33f9bc4d9c138e4b12fa2216d289dc92df0d2b8f520114": "report-writer",
    "8fe72729ca44297d6f2286e6bc23a7747703f9308ecfb97267d7cfb4428b8a19": "text-stats",
    "168546631c5978e17ae232f77f236293e0baa749f8f039055189b3eca933e98f": "unit-convert",
    "923016b1b5445d34cdc0e993af5ad109ea3ce87e2ee7842be1fe8cf55af66417": "web-research",
}

"""Property tests here import parsers lazily and share two cores: no deadline for one example."""

from hypothesis import settings

settings.register_profile("parsers", deadline=None)
settings.load_profile("parsers")

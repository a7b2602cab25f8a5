"""Headers of the providers' dialects: which ones sign in, and which ones say how a call is meant."""

from __future__ import annotations

__all__ = ["AUTH_HEADERS", "DIALECT_HEADERS"]

#: whoever sets one of these has said how to sign in, and to whom
AUTH_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
DIALECT_HEADERS = ("anthropic-version", "anthropic-beta", "openai-beta")

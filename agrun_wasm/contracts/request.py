"""What a run is asked: the prompt, its parts, the turns before it. Rules: document 2, 2.1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agrun_wasm.contracts.base import Contract


class TextPart(Contract):
    type: Literal["text"]
    text: str


class ImagePart(Contract):
    """An image by URL (`https:` or `data:`)."""

    type: Literal["image"]
    url: str
    mime_type: str | None = None


Part = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class Turn(Contract):
    """One turn of the conversation before the prompt."""

    role: Literal["user", "assistant"]
    parts: list[Part]

    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class PastTurn(Turn):
    """A turn of a session, with the run that added it."""

    run_id: str | None = None


class RequestedCitations(Contract):
    """How many distinct read pages an answer should cite, and how often it may be reviewed for that (2.10)."""

    min_url_count: int = Field(ge=1)
    max_reviews: int = Field(default=2, ge=0, le=5)


class RunInput(Contract):
    """One run's input. `system` is the host's persona; `parts` belong to the prompt, `conversation` precedes it."""

    prompt: str
    system: str | None = None
    parts: list[Part] = []
    conversation: list[Turn] = []
    requested_citations: RequestedCitations | None = None

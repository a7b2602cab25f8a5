"""Where the page's tests lie, and where their pictures go."""

from pathlib import Path

HERE = Path(__file__).parent
SHOTS = HERE.parent / "shots"

# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""What a model writes can do nothing to the page, and never makes it wait."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.chat import MOUNT, answered, ask

INERT = r"""Look: <script>window.hit = 1</script> <img src=x onerror="window.hit = 2"> <b onclick="window.hit=3">bold</b>

[one](javascript:window.hit=4) [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>alert(1)</script>) [four](vbscript:x)
![pixel](https://evil.example/x.png) ![bad](javascript:alert(1)) <javascript:alert(1)>

<iframe src="https://evil.example"></iframe><style>*{display:none}</style><svg onload="window.hit=5"></svg>

[five](/relative) [ok](https://example.org/?q="><img src=x onerror=window.hit=6>) [mail](mailto:a@example.org)
"""


async def test_what_a_model_writes_stays_inert(demo: Page) -> None:
    asked: list[str] = []
    demo.on("request", lambda request: asked.append(request.url))
    await demo.evaluate("window.hit = 0")
    await demo.evaluate(MOUNT, [{"text": INERT}])
    await ask(demo, "<img src=x onerror='window.hit = 7'>")
    await answered(demo)
    turn = demo.locator(".turn.agent")
    for tag in ("script", "img", "iframe", "style", "svg:not(.icon)", "b"):
        assert await turn.locator(f".markdown {tag}").count() == 0, tag
    links = await turn.locator(".markdown a").evaluate_all("(links) => links.map((link) => link.href)")
    assert [link.partition("?")[0] for link in links] == [
        "https://evil.example/x.png",  # a picture is a link
        "https://evil.example/",  # an address in what is plain text
        "https://example.org/",
        "mailto:a@example.org",
    ]
    await expect(turn).to_contain_text("<script>window.hit = 1</script>")
    await expect(turn).to_contain_text("[one](javascript:window.hit=4)")
    for link in await turn.locator(".markdown a").all():
        assert await link.evaluate("(element) => element.getAttributeNames().sort().join()") == "href,rel,target"
    await expect(demo.locator(".turn.user")).to_have_text("<img src=x onerror='window.hit = 7'>")
    assert await demo.evaluate("window.hit") == 0
    assert [url for url in asked if "evil.example" in url] == []

"""The registry of sources: one record a page, states that only get better, candidates of the latest search."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.contracts.state import ResearchContext
from agrun_wasm.research.sources import add_read, add_search_results, reading_order

NORTH = "https://mills.example/north"
SOUTH = "https://mills.example/south"


def found(*urls: str) -> list[dict[str, Any]]:
    return [{"title": f"About {url[-5:]}", "url": url, "snippet": ""} for url in urls]


def read(url: str, title: str = "", **more: Any) -> dict[str, Any]:
    return {"kind": "read_url_result", "ok": True, "url": url, "title": title, "text": "x", "bytes": 1, **more}


def failed(url: str, error: str = "http_error") -> dict[str, Any]:
    return {"kind": "read_url_result", "ok": False, "url": url, "error": error, "text": ""}


def test_a_search_makes_sources_and_candidates() -> None:
    research = ResearchContext()
    add_search_results(research, found(NORTH, SOUTH, NORTH + "/#top"))
    assert [(s.id, s.url, s.state) for s in research.sources] == [("s1", NORTH, "found"), ("s2", SOUTH, "found")]
    assert research.auto_read_candidates == [NORTH, SOUTH]
    assert len(research.search_results) == 3


def test_the_latest_search_replaces_the_candidates_and_keeps_the_sources() -> None:
    research = ResearchContext()
    add_search_results(research, found(NORTH))
    add_search_results(research, found(SOUTH))
    assert research.auto_read_candidates == [SOUTH]
    assert [s.url for s in research.sources] == [NORTH, SOUTH]
    add_search_results(research, [])
    assert research.auto_read_candidates == []


def test_two_spellings_are_one_source() -> None:
    research = ResearchContext()
    add_read(research, read("https://harbor.example/guide/?utm_source=mail#berths", "Berth guide"))
    add_read(research, read("HTTPS://Harbor.Example:443/guide", "Berth guide"))
    assert len(research.sources) == 1
    assert len(research.read_sources) == 2
    assert research.sources[0].url == "https://harbor.example/guide/?utm_source=mail#berths"


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([read(NORTH)], "read"),
        ([failed(NORTH)], "failed"),
        ([failed(NORTH, "blocked_page")], "blocked"),
        ([failed(NORTH, "private_address")], "failed"),
        ([failed(NORTH), read(NORTH)], "read"),
        ([read(NORTH), failed(NORTH)], "read"),
        ([read(NORTH), failed(NORTH, "blocked_page")], "read"),
        ([read(NORTH, method="HEAD")], "found"),
        ([failed(NORTH), read(NORTH, method="HEAD")], "failed"),
        ([read(NORTH), read(NORTH, method="HEAD")], "read"),
        ([failed(NORTH), failed(NORTH, "blocked_page")], "blocked"),
    ],
)
def test_states(results: list[dict[str, Any]], state: str) -> None:
    research = ResearchContext()
    for result in results:
        add_read(research, result)
    assert [s.state for s in research.sources] == [state]
    assert research.read_sources == results


@pytest.mark.parametrize("result", [failed("ftp://x.example/a", "invalid_url"), failed("", "invalid_url")])
def test_what_names_no_page_is_a_result_and_no_source(result: dict[str, Any]) -> None:
    research = ResearchContext()
    add_read(research, result)
    assert research.sources == []
    assert research.read_sources == [result]


def test_a_page_is_cited_as_it_was_asked_for_not_as_a_search_spelled_it() -> None:
    research = ResearchContext()
    add_search_results(research, [{"title": "Found", "url": NORTH + "/", "snippet": ""}])
    add_read(research, read(NORTH, "North mill"))
    add_read(research, read(NORTH + "#later"))
    assert [(s.url, s.title) for s in research.sources] == [(NORTH, "North mill")]


def test_the_found_title_stays_where_the_page_has_none() -> None:
    research = ResearchContext()
    add_search_results(research, [{"title": "Found", "url": NORTH, "snippet": ""}])
    add_read(research, read(NORTH))
    assert research.sources[0].title == "Found"


def test_reading_order_is_the_order_of_first_success() -> None:
    research = ResearchContext()
    add_search_results(research, found(NORTH, SOUTH))
    add_read(research, failed(NORTH))
    add_read(research, read(SOUTH))
    add_read(research, read(NORTH))
    assert [s.url for s in reading_order(research)] == [SOUTH, NORTH]


_URLS = st.builds(
    "{}://{}/{}{}".format,
    st.sampled_from(["http", "https", "HTTPS"]),
    st.sampled_from(["a.example", "A.example", "b.example:443"]),
    st.sampled_from(["", "x", "x/", "y"]),
    st.sampled_from(["", "#f", "?utm_source=z", "?q=1"]),
)


@given(st.lists(_URLS))
def test_merging_is_idempotent_and_ids_are_places(urls: list[str]) -> None:
    once, twice = ResearchContext(), ResearchContext()
    for url in urls:
        add_read(once, read(url))
    for url in urls * 2:
        add_read(twice, read(url))
    assert once.sources == twice.sources
    assert len({s.canonical for s in once.sources}) == len(once.sources)
    assert [s.id for s in once.sources] == [f"s{n}" for n in range(1, len(once.sources) + 1)]

# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""agrun.d.ts says what the page's API is: a program that uses it as documented type-checks, a wrong one does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.browser.serving import DIST, ROOT

TSC = ROOT / "web" / "node_modules" / ".bin" / "tsc"
OPTIONS = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"]
USE = """
import { AgrunError, createRuntime, defineAction, type RunEvent, type RunResult } from "%s";

export async function use(): Promise<RunResult> {
  const add = defineAction({
    name: "add", description: "Adds.", tier: 0, argsSchema: { a: { type: "integer", required: true } },
    execute: async (args: { a: number }, context) => ({ control: "continue", output: args.a + 1, summary: context.idempotencyKey }),
  });
  const agent = await createRuntime({
    provider: { name: "openai", model: "m", apiKey: async () => "k" }, actions: [add], skills: "skills.json",
    maxSteps: 4, store: { name: "mine" }, onStorage: ({ notice }) => console.log(notice), onBoot: ({ stage, loaded }) => console.log(stage, loaded),
  });
  const run = agent.run("What changed?");
  for await (const event of run) {
    const seen: RunEvent = event;
    if (seen.type === "text-delta") break;
  }
  run.stop("after_step");
  const result = await run.result;
  if (result.error) throw new AgrunError();
  document.querySelector("agrun-chat")?.addEventListener("agrun-result", (event) => console.log(event.detail.status));
  const [kept] = await agent.runs.list();
  const found = await agent.runs.get(kept.id);
  if (found && agent.storage?.notice) await agent.import(new Blob([JSON.stringify(await agent.export())]));
  await agent.resume(kept.id, {}, { extend: { maxSteps: 2 } });
  return agent.resume(result.state, { id: "approve", other: { decision: "deny", note: "no" } });
}
"""
WRONG = """
import { createRuntime } from "%s";
void createRuntime({ provider: "offline", maxStep: 3 });
"""


def check(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    file = folder / "use.ts"
    file.write_text(source % (DIST / "agrun"), encoding="utf-8")
    command = [TSC, *OPTIONS, "--lib", "es2022,dom,dom.asynciterable", "--types", "", "--ignoreConfig", file]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not TSC.exists(), reason="web/node_modules is not there")
def test_the_documented_use_type_checks(tmp_path: Path) -> None:
    found = check(tmp_path, USE)
    assert found.returncode == 0, found.stdout


@pytest.mark.skipif(not TSC.exists(), reason="web/node_modules is not there")
def test_an_unknown_option_does_not(tmp_path: Path) -> None:
    found = check(tmp_path, WRONG)
    assert found.returncode != 0
    assert "maxStep" in found.stdout

"""The scripted conversation of ours on this interpreter; each line that comes in asks for one."""

import asyncio
import sys

from tests.bench.subjects.script_agrun import time_cycles


async def main() -> None:
    for line in sys.stdin:
        print(await time_cycles(int(line)), flush=True)


asyncio.run(main())

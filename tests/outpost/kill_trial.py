"""Kill a large batch again and again, and count: `python -m tests.outpost.kill_trial 500 10`.

The first number is of jobs, the second of kills, each when a random job has just been asked for.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.helpers.patience import HANG_S
from tests.helpers.providers import LoopbackProvider
from tests.outpost.rig import garden, results, state, write_jobs
from tests.outpost.test_batch import started, writes


def main(jobs: int, kills: int) -> int:
    """Return 0 if each job has one result, and the folder is as it was."""
    chance, asked = random.Random(1), 2 * jobs
    with (
        tempfile.TemporaryDirectory() as place,
        LoopbackProvider("openai", otherwise=writes) as provider,
    ):
        os.environ["DESKTOP_AGENT_HOME"] = f"{place}/home"
        folder, out = garden(Path(place) / "garden"), Path(place) / "out"
        before, began = state(folder), time.monotonic()
        said = {"workspace": str(folder), "mode": "free", "model": provider.model}
        said["api_base"] = provider.api_base
        wanted = [f"write n{number}" for number in range(jobs)]
        file = write_jobs(Path(place) / "jobs", *({"prompt": one, **said} for one in wanted))
        for kill in range(kills):
            process = started(file, out)
            count = len(provider.requests) + chance.randint(1, asked // (kills + 1))
            provider.wait_for(count, HANG_S)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"killed {kill + 1}: {len(out.read_bytes().splitlines())} lines", flush=True)
        process = started(file, out)
        _, errors = process.communicate()
        found = Counter(one["prompt"] for one in results(out))
        twice = [prompt for prompt, times in found.items() if times > 1]
        print(f"{errors.strip()} · {len(found)} of {jobs} have a result, {len(twice)} twice")
        print(f"{time.monotonic() - began:.0f} s, exit code {process.returncode}")
        return int(found != Counter(wanted) or state(folder) != before or process.returncode != 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

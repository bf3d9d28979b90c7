"""Attempts to get out of a sandbox. Runs by itself, inside and, as a control, outside.

`python -I -S attempts.py WHAT` with a JSON object of targets; answers with one of
`{name: "" or why it failed}`. Each attempt has a process of its own, and leaves things as they
were where it succeeds: it opens, or it works on files that were made for it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from os import _exit

sys.path.insert(0, os.path.dirname(__file__))

import attempts_files
import attempts_kernel
from attempts_base import ATTEMPTS

PARTS = (attempts_files, attempts_kernel)


def main(what):
    results = {}
    for name, function in ATTEMPTS.items():
        with tempfile.TemporaryFile() as told:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                words = "succeeded"
                try:
                    function(what)
                except (OSError, ValueError, KeyError, TypeError) as error:
                    words = f"{type(error).__name__}: {error}"
                os.write(told.fileno(), words.encode())
                _exit(0)
            status = os.waitpid(child, 0)[1]
            told.seek(0)
            words = told.read().decode() or f"ended with {status}"
            results[name] = "" if words == "succeeded" else words
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

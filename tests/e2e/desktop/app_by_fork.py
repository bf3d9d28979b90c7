"""The app, whose hosts need not import everything again: `… HOSTS ARGUMENT…`, where those fork."""

from __future__ import annotations

import sys

from desktop_agent.__main__ import main
from tests.helpers.forked import fork_hosts_at

if __name__ == "__main__":
    fork_hosts_at(sys.argv.pop(1))
    sys.exit(main())

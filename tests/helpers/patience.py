"""How long a test waits for what must come: as long as it takes.

A machine may be slow, so no test is decided by time. The one limit only gives a hang a name, and
ends it; nothing that works needs a hundredth of it.
"""

HANG_S = 900.0
HANG_MS = 900_000

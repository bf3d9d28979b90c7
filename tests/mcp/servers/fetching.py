"""A server that fetches addresses: those in its arguments at the start, others by its tool."""

import sys
from urllib.error import HTTPError
from urllib.request import urlopen

from mcp.server.mcpserver import MCPServer

server = MCPServer("fetching", log_level="ERROR")


@server.tool()
def fetch(address: str) -> str:
    """Fetch an address."""
    try:
        return urlopen(address).read().decode()
    except HTTPError as error:
        return f"{error.code}: {error.read().decode()}"


if __name__ == "__main__":
    for one in sys.argv[1:]:
        print(fetch(one), file=sys.stderr, flush=True)
    server.run()

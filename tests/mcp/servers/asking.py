"""A server of the newest protocol that asks the user in the middle of a call, by the SDK."""

from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

server = MCPServer("asking", log_level="ERROR")


class Order(BaseModel):
    """What to plant."""

    plant: str = Field(title="Plant", description="Its name", min_length=2)
    count: int = Field(default=3, ge=1, le=99)
    is_watered: bool = Field(default=True, title="Water it")
    bed: Literal["north", "south"] = "north"


def order() -> Elicit[Order]:
    return Elicit("What shall be planted?", Order)


@server.tool()
def plant(order: Annotated[Order, Resolve(order)]) -> str:
    """Ask what to plant."""
    return f"{order!r}"


if __name__ == "__main__":
    server.run()

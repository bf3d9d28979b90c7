"""How many cans of water a bed needs."""

import math

LITRES_PER_CAN = 10
LITRES_PER_SQUARE_METRE = 12


def cans_for(square_metres, rain_mm=0):
    """Return the number of full cans, after the rain of the last days is taken off."""
    # One millimetre of rain is one litre on a square metre.
    missing = LITRES_PER_SQUARE_METRE - rain_mm
    return max(0, math.ceil(square_metres * missing / LITRES_PER_CAN))


if __name__ == "__main__":
    for bed, size in {"tomatoes": 4, "beans": 3, "pumpkins": 6}.items():
        print(f"{bed}: {cans_for(size)} cans")

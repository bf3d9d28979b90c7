"""Measurements, run by `scripts/bench`; pytest does not collect them."""

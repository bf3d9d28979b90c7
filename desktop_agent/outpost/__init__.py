"""Many jobs at once, unattended, each in a copy of its folder: here, or at another machine."""

"""The shell tool, its background jobs and its processes."""

"""The built-in tools, one async function each."""

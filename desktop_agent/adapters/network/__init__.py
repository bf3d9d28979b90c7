"""The network of commands in the sandbox, as the app sees it."""

"""Commands in a sandbox: bubblewrap, a filter of system calls, one network per session."""

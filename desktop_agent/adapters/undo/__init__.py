"""The history of files, as the engine has it: a process of its own."""

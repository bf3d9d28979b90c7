"""`python -m desktop_agent`: the window, or `run` without one."""

from desktop_agent.app import main

if __name__ == "__main__":
    raise SystemExit(main())

"""The tree of agents: started, messaged, budgeted, reported, stopped."""

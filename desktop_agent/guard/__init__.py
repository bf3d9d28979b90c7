"""The process through which commands in the sandbox reach the network; core and Python alone."""

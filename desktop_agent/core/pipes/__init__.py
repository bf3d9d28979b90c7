"""What goes over the pipes between the app and the processes that it starts."""

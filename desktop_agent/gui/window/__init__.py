"""The main window, its actions, shortcuts, tray and close dialog."""

"""What may be reached over the network, and the words between the app and its guard."""

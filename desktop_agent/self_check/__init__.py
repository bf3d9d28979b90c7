"""`desktop-agent --self-check`: whether everything that the app is made of works here."""

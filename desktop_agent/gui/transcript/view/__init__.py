"""The scrolling view of the document, with find, copy and menus."""

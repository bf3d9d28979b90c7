"""Item models, delegates and filtered lists."""

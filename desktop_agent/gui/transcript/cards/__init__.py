"""Cards: what stands in the transcript as a widget."""

"""The window on the library: widgets, charts and caches, without any logic of its own."""

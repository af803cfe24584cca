"""The page Train and the launcher in the sidebar."""

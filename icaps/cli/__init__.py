"""The `icaps` command, a module per subcommand."""

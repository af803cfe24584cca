"""Attribution methods: scores of a text's words for its class; one module per method."""

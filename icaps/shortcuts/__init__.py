"""Words that predictions depend on although they are not what a class is about."""

"""From strings to numbers: tokenizer, vocabulary, sentences, batches and word vectors."""

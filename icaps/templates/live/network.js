// The network: word ids to scores, and the account of a score, as icaps.model and
// icaps.interpret.account compute them. Names and equations are those of the paper.

const model = JSON.parse(document.getElementById("model").textContent);
const UNKNOWN = 1;

/** The arrays of the network and the list of its words, from the compressed data of the page. */
async function unpack() {
  const binary = atob(document.getElementById("weights").textContent.trim());
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
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
    if (this.rows.size >= 20_000) this.rows.clear(); // so that memory has a bound
    this.rows.set(id, row);
    return row;
  }

  /** The forward pass of one text of N word ids, with all that the account needs. */
  read(ids) {
    const { heads, size, width } = this;
    const taps = model.kernel_size;
    const left = Math.floor((taps - 1) / 2);
    const rows = ids.map((id) => this.row(id));
    const windows = ids.map((_, n) => {
      const sum = new Float64Array(width);
      for (let k = 0; k < taps; k += 1) {
        const row = rows[n + k - left];
        if (row) for (let c = 0; c < width; c += 1) sum[c] += row[k * width + c];
      }
      return sum;
    });
    const attention = softmaxOverWords(windows, heads); // alpha^i_n (N, I), eq. 3
    const primary = Float64Array.from(this.arrays.value_bias.values); // pc_i (I, d_p), eq. 4
    windows.forEach((window, n) => {
      for (let p = 0; p < size; p += 1) {
        for (let i = 0; i < heads; i += 1) {
          primary[i * size + p] += attention[n][i] * window[heads + p * heads + i];
        }
      }
    });
    const squashScale = new Float64Array(heads).fill(1); // g_i
    if (model.squash_primary) {
      for (let i = 0; i < heads; i += 1) {
        const part = primary.subarray(i * size, (i + 1) * size);
        const norm = Math.hypot(...part);
        squashScale[i] = norm / (1 + norm * norm);
        for (let p = 0; p < size; p += 1) part[p] *= squashScale[i];
      }
    }
    return { ids, rows, attention, squashScale, ...this.route(primary) };
  }

  /** Dynamic routing (Algorithm 1): class capsules cc_j, their norms and beta_ij. */
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
        const row = logits.subarray(i * classes, (i + 1) * classes);
        const weights = row.map((value) => Math.exp(value - Math.max(...row))); // eq. 9
        const total = weights.reduce((sum, value) => sum + value, 0);
        for (let j = 0; j < classes; j += 1) {
          routing[i * classes + j] = weights[j] / total;
          for (let c = 0; c < classSize; c += 1) {
            const place = j * classSize + c;
            capsules[place] +=
              (model.vote_scale * weights[j] * votes[i * classes * classSize + place]) / total;
          }
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
    return { routing, capsules, lengths, norms };
  }

  /** The account of class j: shares (N, I) of words through capsules, and biases (I,). */
  account(reading, j) {
    const { heads, size, classes, classSize, width } = this;
    const { ids, rows, attention, squashScale, routing, capsules, lengths, norms } = reading;
    const weight = this.arrays.capsule_weight.values;
    const bias = this.arrays.capsule_bias.values;
    const valueBias = this.arrays.value_bias.values;
    const scale = (model.vote_scale * lengths[j]) / (1 + lengths[j] ** 2);
    const unit = Array.from(
      capsules.subarray(j * classSize, (j + 1) * classSize),
      (value) => (norms[j] > 0 ? value / norms[j] : 0), // u_j
    );
    const along = new Float64Array(size); // W_j^T u_j
    for (let c = 0; c < classSize; c += 1) {
      for (let p = 0; p < size; p += 1) {
        along[p] += unit[c] * weight[(j * classSize + c) * size + p];
      }
    }
    const biases = new Float64Array(heads);
    const factors = new Float64Array(heads);
    for (let i = 0; i < heads; i += 1) {
      const beta = scale * routing[i * classes + j];
      factors[i] = beta * squashScale[i];
      for (let c = 0; c < classSize; c += 1) {
        biases[i] += beta * unit[c] * bias[(i * classes + j) * classSize + c];
      }
      for (let p = 0; p < size; p += 1) biases[i] += factors[i] * along[p] * valueBias[i * size + p];
    }
    const left = Math.floor((model.kernel_size - 1) / 2);
    const shares = ids.map((_, m) => {
      const share = new Float64Array(heads);
      for (let k = 0; k < model.kernel_size; k += 1) {
        const weights = attention[m - k + left];
        if (!weights) continue;
        for (let i = 0; i < heads; i += 1) {
          let added = 0;
          for (let p = 0; p < size; p += 1) {
            added += along[p] * rows[m][k * width + heads + p * heads + i];
          }
          share[i] += factors[i] * weights[i] * added;
        }
      }
      return share;
    });
    return { shares, biases };
  }

  /** What the windows of the text add to class j through each capsule, for their K-grams' capsule. */
  windowCapsule(reading, j, n) {
    const { heads, size, classes, classSize, width } = this;
    const { rows, attention, squashScale, routing, capsules } = reading;
    const weight = this.arrays.capsule_weight.values;
    const left = Math.floor((model.kernel_size - 1) / 2);
    const added = new Float64Array(heads);
    for (let p = 0; p < size; p += 1) {
      let along = 0;
      for (let c = 0; c < classSize; c += 1) {
        along += capsules[j * classSize + c] * weight[(j * classSize + c) * size + p];
      }
      for (let k = 0; k < model.kernel_size; k += 1) {
        const row = rows[n + k - left];
        for (let i = 0; row && i < heads; i += 1) {
          added[i] += along * row[k * width + heads + p * heads + i];
        }
      }
    }
    const weighted = added.map(
      (value, i) => value * attention[n][i] * squashScale[i] * routing[i * classes + j],
    );
    return weighted.indexOf(Math.max(...weighted));
  }
}

/** The softmax over words of the first I numbers of each window. */
function softmaxOverWords(windows, heads) {
  const weights = windows.map((window) => window.slice(0, heads));
  for (let i = 0; i < heads; i += 1) {
    const largest = weights.reduce((most, row) => Math.max(most, row[i]), -Infinity);
    let total = 0;
    for (const row of weights) total += row[i] = Math.exp(row[i] - largest);
    for (const row of weights) row[i] /= total;
  }
  return weights;
}

/** The K-grams that add most to a score; see icaps.interpret.kgrams.kgrams_by_account. */
function selectKGrams(network, reading, j, shares, count) {
  const words = shares.length;
  const taps = model.kernel_size;
  const left = Math.floor((taps - 1) / 2);
  const limit = Math.max(Math.floor(words / 2), taps);
  const least = reading.norms[j] / 100;
  const covered = new Uint8Array(words);
  const found = [];
  for (let rank = 0; rank < count; rank += 1) {
    let best = { added: 0 };
    for (let n = 0; n < words; n += 1) {
      const [first, last] = [Math.max(0, n - left), Math.min(words, n - left + taps)];
      let added = 0;
      for (let m = first; m < last; m += 1) added += covered[m] ? 0 : shares[m];
      if (added > best.added + 1e-12) best = { added, middle: n, first, last };
    }
    if (best.middle === undefined) break;
    let { first, last } = best;
    while (first < last && shares[first] < least) first += 1;
    while (first < last && shares[last - 1] < least) last -= 1;
    const withIt = covered.slice().fill(1, first, last);
    if (withIt.reduce((sum, value) => sum + value, 0) > limit || first === last) continue;
    covered.set(withIt);
    const share = shares.slice(first, last).reduce((sum, value) => sum + value, 0);
    found.push({ first, last, share, capsule: network.windowCapsule(reading, j, best.middle) });
  }
  return found;
}

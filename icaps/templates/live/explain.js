// From a text to its explanation, as `ICapsClassifier.explain` with the ranking "account".

const MOST_CHARACTERS = 100_000; // of a text that are read, in UTF-16
const KGRAMS = 4;
let network; // set when the weights are unpacked
let splitter = null; // into sentences; null if the network does not split texts

/** The number of words of each sentence that is read; see icaps.text.sentences.encode. */
function sentenceLengths(words, text) {
  const most = model.max_words ?? Infinity; // words of a sentence
  if (!splitter) return words.length ? [Math.min(words.length, most)] : [];
  const lengths = [];
  let n = 0;
  const add = (end) => {
    let length = 0;
    for (; n < words.length && words[n].place < end; n += 1) length += 1;
    for (; length > 0; length -= most) lengths.push(Math.min(length, most));
  };
  for (const start of splitter.starts(text)) {
    add(start);
    if (lengths.length >= (model.max_sentences ?? Infinity)) break;
  }
  add(Infinity);
  return lengths.slice(0, model.max_sentences ?? Infinity);
}

/** Calibrated probabilities of norms: a softmax of their multiples, or of each class by itself. */
function probabilitiesOf(norms) {
  if (model.thresholds) {
    const { slopes, offsets } = model.thresholds;
    return norms.map((norm, j) => 1 / (1 + Math.exp(-slopes[j] * norm - offsets[j])));
  }
  const most = Math.max(...norms);
  const weights = norms.map((norm) => Math.exp(model.inverse_temperature * (norm - most)));
  const total = sum(weights);
  return weights.map((weight) => weight / total);
}

/** The numbers of the predicted classes, the most probable first: with one label per text, one. */
function predictedClasses(norms, probabilities) {
  if (!model.thresholds) return [norms.indexOf(Math.max(...norms))];
  if (norms.every((norm) => norm === 0)) return [];
  const { thresholds } = model.thresholds;
  const reached = [...norms.keys()].filter((j) => probabilities[j] >= thresholds[j]);
  return reached.sort((a, b) => probabilities[b] - probabilities[a]);
}

/** Values by the names of the classes. */
const byClass = (values) => Object.fromEntries(model.classes.map((name, j) => [name, values[j]]));

/** What all explanations of a text have in common: its words and what the network read. */
function readText(text) {
  const whole = String(text);
  const { words, clean } = splitWords(whole.slice(0, MOST_CHARACTERS));
  const lengths = sentenceLengths(words, clean);
  const read = words.slice(0, sum(lengths));
  const ids = read.map((word) => network.id(word.text));
  const blank = ids.every((id) => id === UNKNOWN);
  const reading = network.read(ids, lengths);
  const norms = blank ? model.classes.map(() => 0) : reading.norms;
  const probabilities = probabilitiesOf(norms);
  const predicted = predictedClasses(norms, probabilities);
  const truncated = read.length < words.length || whole.length > MOST_CHARACTERS;
  return { words: read, lengths, ids, blank, truncated, reading, norms, probabilities, predicted };
}

/**
 * Explains a text for one class: `target` is its name; by default the first that is predicted, or if
 * none reaches its threshold the most probable one.
 *
 * Returns the predicted class, or a list of them if the model gives a text several labels; the
 * target; norms and probabilities by class; words with spans in code points and signed shares that
 * add up, with the bias, to the norm of the target; sentences, if the model splits texts; K-grams.
 */
function explain(text, target) {
  return explainReading(readText(text), target).result;
}

/** The explanation of a text that was read, and the shares of its words by capsule (N, I). */
function explainReading(read, target) {
  const { words, lengths, ids, blank, truncated, reading, norms, probabilities, predicted } = read;
  const first = predicted[0] ?? probabilities.indexOf(Math.max(...probabilities));
  const number = target === undefined ? first : model.classes.indexOf(target);
  if (number < 0) throw new RangeError(`The model has no class ${JSON.stringify(target)}.`);
  const names = predicted.map((j) => model.classes[j]);
  const isEdited = blank ? ids.map(() => false) : network.neutralWords(ids, reading.bounds, number);
  const result = {
    predicted: model.thresholds ? names : names[0],
    target: model.classes[number],
    scores: byClass(norms),
    probabilities: byClass(probabilities),
    words: words.map(({ start, end }, m) => ({
      start, end, share: 0, known: ids[m] !== UNKNOWN, neutral: isEdited[m],
    })),
    bias: 0,
    kgrams: [],
    capsules: model.capsules.map(() => 0),
    sentences: [],
    blank,
    truncated,
  };
  if (model.thresholds) result.thresholds = byClass(model.thresholds.thresholds);
  const account = blank ? { shares: [] } : network.account(reading, number);
  if (!blank) addAccount(result, account, reading, norms[number]);
  if (splitter) result.sentences = sentencesOf(result.words, lengths);
  return { result, shares: account.shares };
}

/** Sets the shares, the bias, the sums by capsule and the K-grams of a result. */
function addAccount(result, account, reading, norm) {
  const { shares, biases } = account;
  shares.forEach((byCapsule, m) => (result.words[m].share = sum(byCapsule)));
  result.bias = sum(biases);
  result.capsules = Array.from(biases, (bias, i) => shares.reduce((total, share) => total + share[i], bias));
  result.kgrams = selectKGrams(network, reading, account, norm, KGRAMS).map((kgram) => ({
    start: result.words[kgram.first].start,
    end: result.words[kgram.last - 1].end,
    share: kgram.share,
    capsule: kgram.capsule,
  }));
}

/** Each sentence with its share. */
function sentencesOf(words, lengths) {
  let n = 0;
  return lengths.map((length) => {
    const part = words.slice(n, (n += length));
    return { start: part[0].start, end: part.at(-1).end, share: sum(part.map((word) => word.share)) };
  });
}

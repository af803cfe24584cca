// The page: what is typed is read, explained and drawn. All texts are set as text, never as HTML.

const $ = (id) => document.getElementById(id);
const SERIES = [1, 2, 5];
const MAX_LEVEL = 5;
const MAX_ROWS = 10;
const KGRAMS = 4;
let network;

/** An element with classes and content: strings, elements, or nothing. */
function make(tag, classes = "", ...content) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...content);
  return element;
}

const signed = (value, digits) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
const percent = (share) => (share > 0 && share < 0.01 ? "< 1%" : `${Math.round(share * 100)}%`);
const wordCount = (count, kind = "") => `${count.toLocaleString("en")} ${kind}word${count === 1 ? "" : "s"}`;

/** Calibrated probabilities of norms: a softmax of their multiples. */
function probabilitiesOf(norms) {
  const most = Math.max(...norms);
  const weights = norms.map((norm) => Math.exp(model.inverse_temperature * (norm - most)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/**
 * Explains a text as `ICapsClassifier.explain` does, with K-grams ranked by the account.
 *
 * Returns the predicted class, the target (the class that is explained), norms and probabilities by
 * class, words with spans in code points and signed shares that add up, with the bias, to the norm
 * of the target, and the K-grams.
 */
function explain(text, target) {
  const all = splitWords(String(text));
  const words = model.max_words === null ? all : all.slice(0, model.max_words);
  const ids = words.map((word) => network.id(word.text));
  const blank = ids.every((id) => id === UNKNOWN);
  const reading = network.read(ids);
  const norms = blank ? model.classes.map(() => 0) : reading.norms;
  const probabilities = probabilitiesOf(norms);
  const predicted = model.classes[norms.indexOf(Math.max(...norms))];
  const number = model.classes.indexOf(target ?? predicted);
  if (number < 0) throw new RangeError(`The model has no class ${JSON.stringify(target)}.`);
  const result = {
    predicted,
    target: model.classes[number],
    scores: Object.fromEntries(model.classes.map((name, j) => [name, norms[j]])),
    probabilities: Object.fromEntries(model.classes.map((name, j) => [name, probabilities[j]])),
    words: words.map(({ start, end }, m) => ({ start, end, share: 0, known: ids[m] !== UNKNOWN })),
    bias: 0,
    kgrams: [],
    capsules: model.capsules.map(() => 0),
    blank,
    truncated: words.length < all.length,
  };
  if (blank) return result;
  const { shares, biases } = network.account(reading, number);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const totals = shares.map(sum);
  result.words.forEach((word, m) => (word.share = totals[m]));
  result.bias = sum(biases);
  result.capsules = Array.from(biases, (bias, i) => bias + sum(shares.map((share) => share[i])));
  result.kgrams = selectKGrams(network, reading, number, totals, KGRAMS).map((kgram) => ({
    start: words[kgram.first].start,
    end: words[kgram.last - 1].end,
    share: kgram.share,
    capsule: kgram.capsule,
  }));
  return result;
}

/** The smallest share of each shade: round numbers up to the largest share. */
function scaleOf(words) {
  const largest = Math.max(0, ...words.map((word) => Math.abs(word.share)));
  if (!(largest > 0)) return [];
  const top = Math.floor(Math.log10(largest));
  const steps = [];
  for (let power = top - 3; power <= top; power += 1) {
    steps.push(...SERIES.map((n) => n * 10 ** power).filter((step) => step <= largest * (1 + 1e-9)));
  }
  return steps.slice(-MAX_LEVEL);
}

const levelOf = (share, scale) => scale.filter((step) => Math.abs(share) >= step * (1 - 1e-9)).length;

/** The text with its words shaded by their shares; words of K-grams have a line below. */
function drawText(characters, result, scale, digits) {
  const block = $("text");
  block.replaceChildren();
  let place = 0;
  const upTo = (end) => characters.slice(place, end).join("");
  for (const { start, end, share, known } of result.words) {
    block.append(upTo(start));
    place = start;
    const level = levelOf(share, scale);
    const word = make(level ? "mark" : "span", level ? `${share < 0 ? "a" : "f"}${level}` : "", upTo(end));
    if (!known) word.classList.add("unknown");
    if (result.kgrams.some((kgram) => kgram.start <= start && end <= kgram.end)) word.classList.add("k");
    word.title = `${signed(share, digits + 1)} ${share < 0 ? "against" : "for"} ${result.target}`;
    if (!known) word.title += ", unknown to the model";
    block.append(word);
    place = end;
  }
  const rest = make("span", result.truncated ? "unread" : "", upTo(characters.length));
  if (result.truncated) rest.title = "not read: the model reads a limited number of words";
  block.append(rest);
}

/** The sentence that says how much of the score the shaded words carry. */
function drawSummary(result, scale, digits) {
  const score = result.scores[result.target];
  const shaded = result.words.filter((word) => levelOf(word.share, scale) > 0);
  const sum = (words) => words.reduce((total, word) => total + word.share, 0);
  const others = result.words.length - shaded.length;
  const points = `${signed(sum(shaded), digits)} of ${score.toFixed(digits)}`;
  const of = percent(sum(shaded) / (score || 1));
  const rest = others ? `, ${wordCount(others, "other ")} ${signed(sum(result.words) - sum(shaded), digits)}` : "";
  $("summary").replaceChildren(
    make("strong", "", `The ${wordCount(shaded.length, "shaded ")} carry ${of} of the score (${points}).`),
    ` Not shaded: bias ${signed(result.bias, digits)}${rest}.`,
  );
}

/** A table of bars from 0 to a score: rows of label and share. */
function drawBars(table, caption, rows, score, digits) {
  let place = 0;
  const ends = [0];
  for (const [, share] of rows) ends.push((place += share));
  const low = Math.min(0, ...ends);
  const span = Math.max(0, ...ends) - low || 1;
  const body = make("tbody");
  const addRow = (label, share, from, to, kind) => {
    const bar = make("div", kind);
    bar.style.setProperty("--from", `${(100 * (Math.min(from, to) - low)) / span}%`);
    bar.style.setProperty("--width", `${(100 * Math.abs(to - from)) / span}%`);
    const text = kind === "t" ? share.toFixed(digits) : signed(share, digits);
    const head = make("th", "", label);
    head.dir = "auto";
    head.scope = "row";
    body.append(make("tr", "", head, make("td", "n", text), make("td", "bar", bar)));
  };
  rows.forEach(([label, share], n) => addRow(label, share, ends[n], ends[n + 1], share < 0 ? "a" : "f"));
  addRow("score", score, 0, score, "t");
  table.replaceChildren(make("caption", "", caption), body);
}

/** The rows of the words that add most, by spelling in any case, and of all others. */
function wordRows(characters, result, scale) {
  const groups = new Map();
  for (const { start, end, share } of result.words) {
    const word = characters.slice(start, end).join("");
    const group = groups.get(word.toLowerCase()) ?? { word, share: 0, count: 0 };
    group.share += share;
    group.count += 1;
    groups.set(word.toLowerCase(), group);
  }
  const ordered = [...groups.values()].sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
  const first = ordered.slice(0, MAX_ROWS).filter(({ share }) => levelOf(share, scale) > 0);
  const rest = ordered.filter((group) => !first.includes(group));
  const rows = first
    .sort((a, b) => b.share - a.share)
    .map(({ word, share, count }) => [count > 1 ? `${word} ×${count}` : word, share]);
  if (rest.length) {
    const count = rest.reduce((total, group) => total + group.count, 0);
    rows.push([wordCount(count, "other "), rest.reduce((total, group) => total + group.share, 0)]);
  }
  return [["bias", result.bias], ...rows];
}

/** The rows of the capsules that add most, and of all others. */
function capsuleRows(result) {
  const ordered = result.capsules
    .map((share, i) => [model.capsules[i].label, share])
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const first = ordered.slice(0, 5).sort((a, b) => b[1] - a[1]);
  const rest = ordered.slice(5);
  if (!rest.length) return first;
  return [...first, [`${rest.length} other capsules`, rest.reduce((sum, [, share]) => sum + share, 0)]];
}

/** The probability of each class, the largest first; at most eight, and how many are left. */
function drawClasses(result) {
  const ordered = Object.entries(result.probabilities).sort((a, b) => b[1] - a[1]);
  const rows = ordered.slice(0, 8).map(([name, share]) => {
    const bar = make("div", "probability");
    bar.style.setProperty("--width", `${100 * share}%`);
    bar.style.setProperty("--class", model.colors[model.classes.indexOf(name)]);
    const button = make("button", "", name);
    button.type = "button";
    button.setAttribute("aria-pressed", String(name === result.target));
    button.title = `Explain ${name}`;
    button.addEventListener("click", () => draw(name));
    return make("li", "", button, bar, make("span", "n", percent(share)));
  });
  if (ordered.length > 8) rows.push(make("li", "more", `and ${ordered.length - 8} more classes`));
  $("classes").replaceChildren(...rows);
}

function drawKGrams(characters, result, digits) {
  const rows = result.kgrams.map(({ start, end, share, capsule }) =>
    make(
      "tr",
      "",
      make("td", "", characters.slice(start, end).join("")),
      make("td", "n", signed(share, digits)),
      make("td", "", model.capsules[capsule].label),
    ),
  );
  $("kgrams").hidden = !rows.length;
  $("kgrams").tBodies[0].replaceChildren(...rows);
}

function drawLegend(scale, digits) {
  const steps = [...scale.map((step, n) => [-step, n + 1]).reverse(), ...scale.map((step, n) => [step, n + 1])];
  const marks = steps.map(([step, level]) => make("mark", `${step < 0 ? "a" : "f"}${level}`, signed(step, digits)));
  $("legend").replaceChildren("Share of the score from ", ...marks.flatMap((mark) => [mark, " "]));
  $("legend").hidden = !scale.length;
}

/** Explains what is typed; `target` is the class to explain, the predicted one by default. */
function draw(target) {
  const text = $("input").value;
  const characters = Array.from(text);
  const started = performance.now();
  const result = explain(text, target);
  const took = performance.now() - started;
  const scale = scaleOf(result.words);
  const digits = scale.length ? Math.max(2, -Math.floor(Math.log10(scale[0]) + 1e-9)) : 2;
  const number = model.classes.indexOf(result.predicted);
  $("verdict").textContent = result.blank ? "No known word" : result.predicted;
  $("verdict").style.setProperty("--class", result.blank ? "gray" : model.colors[number]);
  $("about").textContent = result.blank
    ? "The model knows none of these words, so that all classes are alike."
    : `${percent(result.probabilities[result.predicted])} probability` +
      (result.target === result.predicted ? "" : `; explained: ${result.target}`);
  $("time").textContent = `${wordCount(result.words.length)} in ${took.toFixed(0)} ms, on this device`;
  $("result").classList.toggle("blank", result.blank);
  drawClasses(result);
  drawText(characters, result, scale, digits);
  drawLegend(scale, digits);
  drawKGrams(characters, result, digits);
  if (result.blank) return;
  drawSummary(result, scale, digits);
  drawBars($("by-word"), "From bias to score", wordRows(characters, result, scale), result.scores[result.target], digits);
  drawBars($("by-capsule"), "The same by capsule", capsuleRows(result), result.scores[result.target], digits);
}

/** The card of a capsule: what it wins, its words and its K-grams. */
function showCapsule(i) {
  const { label, about, words, kgrams, color } = model.capsules[i];
  const list = (title, items) =>
    items.length ? [make("h4", "", title), make("ul", "words", ...items.map((item) => make("li", "", item)))] : [];
  const card = $("capsule");
  card.style.setProperty("--class", color);
  card.replaceChildren(make("h3", "", label), make("p", "", about), ...list("Words", words), ...list("K-grams", kgrams));
  for (const cell of document.querySelectorAll("#matrix [data-capsule]")) {
    cell.setAttribute("aria-pressed", String(Number(cell.dataset.capsule) === i));
  }
}

/** The matrix C: texts of each class (rows) that each capsule (columns) wins. */
function drawMatrix() {
  if (!model.frequency.length) return;
  const most = Math.max(...model.frequency.flat());
  const order = model.capsules.map((_, i) => i).filter((i) => model.frequency.some((row) => row[i]));
  const mainClass = (i) => model.frequency.reduce((best, row, j) => (row[i] > model.frequency[best][i] ? j : best), 0);
  order.sort((a, b) => mainClass(a) - mainClass(b) || model.frequency[mainClass(b)][b] - model.frequency[mainClass(a)][a]);
  const head = make("tr", "", make("td"));
  for (const i of order) {
    const button = make("button", "", model.capsules[i].label);
    button.type = "button";
    button.dataset.capsule = i;
    button.addEventListener("click", () => showCapsule(i));
    const cell = make("th", "", button);
    cell.scope = "col";
    head.append(cell);
  }
  const rows = model.frequency.map((row, j) => {
    const name = make("th", "", model.classes[j]);
    name.scope = "row";
    const cells = order.map((i) => {
      const cell = make("td", "", row[i] ? String(row[i]) : "");
      cell.style.setProperty("--part", `${Math.round((55 * row[i]) / most)}%`);
      cell.title = `${model.capsules[i].label} wins ${row[i]} texts of ${model.classes[j]}`;
      return cell;
    });
    return make("tr", "", name, ...cells);
  });
  $("matrix").replaceChildren(make("thead", "", head), make("tbody", "", ...rows));
  if (order.length) showCapsule(order[0]);
}

async function start() {
  network = new Network(await unpack());
  for (const [label, text] of model.examples) {
    const button = make("button", "", label);
    button.type = "button";
    button.addEventListener("click", () => {
      $("input").value = text;
      draw();
    });
    $("examples").append(button);
  }
  $("input").addEventListener("input", () => draw());
  $("input").disabled = false;
  drawMatrix();
  if (!$("input").value && model.examples.length) [[, $("input").value]] = model.examples;
  draw();
  document.documentElement.dataset.ready = "true";
}

/** For scripts: `icaps.explain(text)`, after `icaps.ready`. */
window.icaps = {
  explain,
  ready: start().catch((error) => {
    $("about").textContent = `This browser cannot run the page: ${error.message}. Use a current one.`;
    throw error;
  }),
};

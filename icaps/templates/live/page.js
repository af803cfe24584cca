// The page: what is typed is read, explained and drawn. All texts are set as text, never as HTML.

const $ = (id) => document.getElementById(id);
const SERIES = [1, 2, 5];
const MAX_LEVEL = 5;
const MAX_SHADED = 600; // words
const MAX_ROWS = 10; // of words in a list of bars
const MAX_CAPSULES = 5; // rows, and in a tip 3
const MAX_CLASSES = 6; // rows of probabilities
const MAX_ACCOUNTS = 5; // of a text with several labels, until more are chosen
const FAINT = 0.01; // part of the score; neighbouring sentences of less share a row
const MAX_WORDS = 3_000; // in a text of more, only words with a shade are elements
const MAX_UNREAD = 2_000; // characters that are shown of what is not read
const LONG_TEXT = 5_000; // characters; from there on the page waits until typing pauses
const WAIT = 250; // milliseconds

/** An element with classes and content: strings, elements, or nothing. */
function make(tag, classes = "", ...content) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...content);
  return element;
}

const signed = (value, digits) => {
  const size = Math.abs(value).toFixed(digits);
  return Number(size) ? (value < 0 ? "−" : "+") + size : size;
};
const percent = (share) => {
  if (share < 0.005) return "< 1%";
  return share > 0.995 ? "> 99%" : `${Math.round(share * 100)}%`;
};
const wordCount = (count, kind = "") => `${count.toLocaleString("en")} ${kind}word${count === 1 ? "" : "s"}`;
const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join());
const colorOf = (name) => model.colors[model.classes.indexOf(name)];

/** Rounds numbers so that they sum to their rounded total (method of largest remainders). */
function addUp(values, total, digits) {
  const unit = 10 ** digits;
  const units = values.map((value) => Math.floor(value * unit));
  const missing = Math.round(total * unit) - sum(units);
  const order = values.map((_, n) => n).sort((a, b) => units[a] - values[a] * unit - (units[b] - values[b] * unit));
  for (let n = 0; n < Math.abs(missing); n += 1) units[order[n % order.length]] += Math.sign(missing);
  return units.map((value) => value / unit);
}

/** How an account is drawn: the smallest share of each shade, the shade of each word, digits. */
function shadesOf(words) {
  const sizes = words.map((word) => Math.abs(word.share));
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const scale = [];
  const top = largest > 0 ? Math.floor(Math.log10(largest)) : 0;
  for (let power = top - 3; largest > 0 && power <= top; power += 1) {
    scale.push(...SERIES.map((n) => n * 10 ** power).filter((step) => step <= largest * (1 + 1e-9)));
  }
  scale.splice(0, scale.length - MAX_LEVEL);
  const least = [...sizes].sort((a, b) => b - a)[MAX_SHADED] ?? -1; // not more are shaded
  const levelOf = (size) => scale.filter((step) => size >= step * (1 - 1e-9)).length;
  const levels = words.map(({ share }, m) => (sizes[m] > least ? levelOf(sizes[m]) * Math.sign(share) : 0));
  const digits = scale.length ? Math.max(2, -Math.floor(Math.log10(scale[0]) + 1e-9)) : 2;
  return { scale, levels, digits };
}

const shadeClass = (level) => `${level < 0 ? "a" : "f"}${Math.abs(level)}`;

/** One explanation on the page: the account of a text for one class. */
class AccountView {
  constructor(characters, result, shares, titled) {
    Object.assign(this, { characters, result, shares }, shadesOf(result.words));
    this.score = result.scores[result.target];
    this.rows = this.wordRows();
    this.section = $("account").content.firstElementChild.cloneNode(true);
    this.section.classList.toggle("long", result.sentences.length > 1);
    this.section.setAttribute("aria-label", `Account of ${result.target}`);
    const title = this.part(".of");
    title.hidden = !titled;
    title.textContent = `Why ${result.target}?`;
    title.style.setProperty("--class", colorOf(result.target));
    this.drawSummary();
    this.drawText();
    this.drawLegend();
    this.drawBars(this.part(".by-word"), "From bias to score", this.rows);
    this.drawBars(this.part(".by-capsule"), "The same by capsule", this.capsuleRows());
    this.drawKGrams();
  }

  part(selector) {
    return this.section.querySelector(selector);
  }

  spell(start, end) {
    return this.characters.slice(start, end).join("");
  }

  /** How much of the score the shaded words carry, what is not shaded, and what is neutral. */
  drawSummary() {
    const { result, score, levels, digits } = this;
    const count = levels.filter(Boolean).length;
    const others = result.words.length - count;
    const shareOf = (isShaded) => sum(result.words.map(({ share }, m) => (Boolean(levels[m]) === isShaded ? share : 0)));
    const round = (value) => Number(value.toFixed(digits)); // what is shown adds up
    const [bias, small] = [this.rows[0].share, round(shareOf(false))];
    const shaded = signed(round(score) - bias - small, digits);
    const covered = shareOf(true) / (score || 1);
    const who = count === 1 ? "The shaded word" : `The ${wordCount(count, "shaded ")}`;
    const first =
      covered >= 0 && covered <= 1.2
        ? `${who} ${count === 1 ? "carries" : "carry"} ${Math.round(100 * covered)}% of the score (${shaded} of ${score.toFixed(digits)}).`
        : `${who} ${count === 1 ? "adds" : "add"} ${shaded} to a score of ${score.toFixed(digits)}.`;
    const rest = others ? `, ${wordCount(others, "other ")} ${signed(small, digits)}` : "";
    this.part(".summary").replaceChildren(
      make("strong", "", count ? first : "No word is shaded."),
      ` Not shaded: bias ${signed(bias, digits)}${rest}.`,
    );
    const neutral = new Set(result.words.filter((word) => word.neutral).map(({ start, end }) => this.spell(start, end)));
    const quoted = [...neutral].map((word) => `“${word}”`);
    this.part(".neutral-words").textContent =
      neutral.size ? `Neutral for ${result.target}, by an edit of the model: ${quoted.join(", ")}.` : "";
  }

  /** The text with its words shaded; a long text by sentence. */
  drawText() {
    const { result, score, characters } = this;
    const block = this.part(".text");
    this.marks = []; // the element of each word; null for none
    const rows = this.sentenceRows();
    const widest = Math.max(...rows.map((row) => Math.abs(row.share))) || 1;
    let place = rows.length ? rows[0].start : 0;
    block.append(this.spell(0, place));
    for (const { start, end, share } of rows.length ? rows : [{ start: 0, end: characters.length }]) {
      const line = rows.length ? make("div") : block;
      line.dir = "auto";
      this.appendWords(line, start, end);
      if (!rows.length) continue;
      const bar = make("div", `share ${share < 0 ? "a" : "f"}`);
      bar.style.setProperty("--weight", `${(100 * Math.abs(share)) / widest}%`);
      bar.title = signed(share, this.digits);
      bar.setAttribute("role", "img");
      bar.setAttribute("aria-label", `share ${signed(share, this.digits)}`);
      block.append(make("div", "sentence", bar, line));
    }
    block.addEventListener("keydown", (event) => this.moveFocus(event));
  }

  /** The lines of a long text; neighbours of less than a hundredth of the score share one. */
  sentenceRows() {
    const { sentences } = this.result;
    if (sentences.length < 2) return [];
    const rows = [];
    let isFaint = false;
    sentences.forEach(({ start, share }, n) => {
      const end = sentences[n + 1]?.start ?? this.characters.length;
      const wasFaint = isFaint;
      isFaint = Math.abs(share) < Math.abs(this.score) * FAINT;
      const last = rows.at(-1);
      if (n && isFaint && wasFaint) Object.assign(last, { end, share: last.share + share });
      else rows.push({ start, end, share });
    });
    return rows;
  }

  /** The words within a part of the text, and all between them. */
  appendWords(line, from, to) {
    const { result, levels } = this;
    let place = from;
    for (let m = this.marks.length; m < result.words.length && result.words[m].start < to; m += 1) {
      const { start, end, known, neutral } = result.words[m];
      if (result.words.length > MAX_WORDS && !levels[m]) {
        this.marks.push(null);
        continue;
      }
      if (place < start) line.append(this.spell(place, start));
      place = end;
      const word = make(levels[m] ? "mark" : "span", levels[m] ? shadeClass(levels[m]) : "", this.spell(start, end));
      word.classList.toggle("unknown", !known);
      word.classList.toggle("neutral", neutral);
      word.classList.toggle("k", result.kgrams.some((kgram) => kgram.start <= start && end <= kgram.end));
      if (levels[m] || !known || neutral) this.addTip(word, m);
      this.marks.push(word);
      line.append(word);
    }
    if (to < this.characters.length || !result.truncated) {
      line.append(this.spell(place, to));
      return;
    }
    const unread = make("span", "unread", this.spell(place, Math.min(to, place + MAX_UNREAD)));
    unread.title = "not read: the model reads a limited number of words";
    const more = to - place - MAX_UNREAD;
    line.append(unread, more > 0 ? ` … and ${more.toLocaleString("en")} more characters` : "");
  }

  addTip(word, m) {
    word.tabIndex = -1;
    word.addEventListener("pointerenter", () => showTip(word, this.tipOf(m)));
    word.addEventListener("pointerleave", hideTip);
    word.addEventListener("focus", () => showTip(word, this.tipOf(m)));
    word.addEventListener("blur", hideTip);
  }

  /** What a word adds, and through which capsules; lines. */
  tipOf(m) {
    const { result, score, digits } = this;
    const { share, known, neutral } = result.words[m];
    const lines = [`${signed(share, digits + 1)} ${share < 0 ? "against" : "for"} ${result.target}`];
    if (score > 0) lines[0] += ` (${Math.round((100 * Math.abs(share)) / score)}% of the score)`;
    if (!known) lines.push("unknown to the model");
    if (neutral) lines.push("neutral, by an edit of the model");
    const row = this.rows.find((one) => one.words.includes(m) && !one.rest);
    if (row?.words.length > 1) lines.push(`${row.words.length} occurrences: ${signed(row.share, digits)}`);
    const byCapsule = Array.from(this.shares[m], (value, i) => [value, model.capsules[i].label]);
    const first = byCapsule.sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 3);
    for (const [value, label] of first) if (value) lines.push(`${signed(value, digits + 1)} through ${label}`);
    return lines.join("\n");
  }

  /** Arrow keys move through the words that have something to tell. */
  moveFocus(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    if (!(event.key in steps)) return;
    const words = this.marks.filter((word) => word?.hasAttribute("tabindex"));
    const at = words.indexOf(document.activeElement);
    const next = words[at < 0 ? 0 : at + steps[event.key]];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  drawLegend() {
    const { scale, levels, digits } = this;
    const used = [...new Set(levels)].filter(Boolean).sort((a, b) => a - b);
    const marks = used.map((level) =>
      make("mark", shadeClass(level), signed(Math.sign(level) * scale[Math.abs(level) - 1], digits)),
    );
    const legend = this.part(".legend");
    legend.replaceChildren("Share of the score from ", ...marks);
    legend.hidden = !used.length;
  }

  /** The bias, the words that add most, by spelling in any case, and all others. */
  wordRows() {
    const groups = new Map();
    this.result.words.forEach(({ start, end, share }, m) => {
      const word = this.spell(start, end);
      const key = word.toLowerCase();
      if (!groups.has(key)) groups.set(key, { word, share: 0, words: [] });
      const group = groups.get(key);
      group.share += share;
      group.words.push(m);
    });
    const ordered = [...groups.values()].sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
    const least = (this.scale[0] ?? 0) * (1 - 1e-9);
    let first = ordered.slice(0, MAX_ROWS).filter(({ share }) => Math.abs(share) >= least);
    if (first.length === ordered.length - 1) first = ordered;
    const rest = ordered.filter((group) => !first.includes(group));
    const rows = first
      .sort((a, b) => b.share - a.share)
      .map(({ word, share, words }) => ({ label: words.length > 1 ? `${word} ×${words.length}` : word, share, words }));
    if (rest.length) {
      const words = rest.flatMap((group) => group.words);
      const share = sum(rest.map((group) => group.share));
      rows.push({ label: wordCount(words.length, "other "), share, words, rest: true });
    }
    return this.rounded([{ label: "bias", share: this.result.bias, words: [], rest: true }, ...rows]);
  }

  /** The capsules that add most, and all others. */
  capsuleRows() {
    const main = Array.from(this.shares, (byCapsule, m) => {
      const sign = this.result.words[m].share < 0 ? -1 : 1; // the capsule through which it adds most
      return byCapsule.reduce((best, value, i) => (sign * value > sign * byCapsule[best] ? i : best), 0);
    });
    const ordered = this.result.capsules
      .map((share, i) => ({ label: model.capsules[i].label, share, capsule: i }))
      .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
    const count = ordered.length <= MAX_CAPSULES + 1 ? ordered.length : MAX_CAPSULES;
    const rows = ordered.slice(0, count).filter(({ share }) => share).sort((a, b) => b.share - a.share);
    for (const row of rows) row.words = main.map((_, m) => m).filter((m) => main[m] === row.capsule);
    const rest = ordered.slice(count);
    if (rest.length) {
      rows.push({ label: `${rest.length} other capsules`, share: sum(rest.map(({ share }) => share)), words: [], rest: true });
    }
    return this.rounded(rows);
  }

  /** Rows whose shares sum to the rounded score. */
  rounded(rows) {
    const isSplit = this.score > 0; // a norm that edits would lower below 0 is 0
    const total = isSplit ? this.score : sum(rows.map(({ share }) => share));
    const shares = addUp(rows.map(({ share }) => share), total, this.digits);
    return rows.map((row, n) => ({ ...row, share: shares[n] }));
  }

  /** A table of bars from 0 to the score; a row and its words are marked together. */
  drawBars(table, caption, rows) {
    let place = 0;
    const ends = [0];
    for (const { share } of rows) ends.push((place += share));
    const low = Math.min(0, ...ends);
    const span = Math.max(0, ...ends) - low || 1;
    const body = make("tbody");
    const addRow = (label, share, from, to, kind) => {
      const bar = make("div", kind);
      bar.style.setProperty("--from", `${(100 * (Math.min(from, to) - low)) / span}%`);
      bar.style.setProperty("--width", `${(100 * Math.abs(to - from)) / span}%`);
      const text = kind === "t" ? share.toFixed(this.digits) : signed(share, this.digits);
      const head = make("th", "", label);
      head.dir = "auto";
      head.scope = "row";
      head.title = label;
      const row = make("tr", "", head, make("td", "n", text), make("td", "bar", bar));
      body.append(row);
      return row;
    };
    rows.forEach(({ label, share, words, rest }, n) => {
      const row = addRow(label, share, ends[n], ends[n + 1], `${share < 0 ? "a" : "f"}${rest ? " rest" : ""}`);
      const mark = (isOn) => words.forEach((m) => this.marks[m]?.classList.toggle("lit", isOn));
      row.addEventListener("pointerenter", () => mark(true));
      row.addEventListener("pointerleave", () => mark(false));
    });
    addRow("score", this.score, 0, this.score, "t");
    table.replaceChildren(make("caption", "", caption), body);
  }

  drawKGrams() {
    const rows = this.result.kgrams.map(({ start, end, share, capsule }) => {
      const text = make("td", "", this.spell(start, end));
      text.dir = "auto";
      return make("tr", "", text, make("td", "n", signed(share, this.digits)), make("td", "", model.capsules[capsule].label));
    });
    this.part(".kgrams").hidden = !rows.length;
    this.part(".kgrams").tBodies[0].replaceChildren(...rows);
  }
}

function showTip(word, text) {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  const place = word.getClientRects()[0];
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left), document.documentElement.clientWidth - width - 8);
  const above = place.top - height - 6;
  tip.style.setProperty("left", `${left}px`);
  tip.style.setProperty("top", `${above < 4 ? place.bottom + 6 : above}px`);
}

function hideTip() {
  $("tip").hidden = true;
}

/** The predicted classes, what the model did not read or know, and the classes by probability. */
function drawAnswer(read, result, shown) {
  const { blank, truncated, words } = result;
  const names = [result.predicted].flat();
  const chance = (name) => percent(result.probabilities[name]);
  const verdict = blank
    ? [words.length ? "No known word" : "No text"]
    : names.map((name) => {
        const span = make("span", "", name, names.length > 1 ? make("i", "", ` ${chance(name)}`) : "");
        span.style.setProperty("--class", colorOf(name));
        return span;
      });
  $("verdict").replaceChildren(...(verdict.length ? verdict : ["No class"]));
  const lines = [];
  if (blank) {
    lines.push(words.length ? "The model knows none of the words, so no class is predicted." : "Type a text, or choose an example.");
  } else if (!model.thresholds) {
    lines.push(`${chance(names[0])} probability${shown[0] === names[0] ? "" : `; explained: ${shown[0]}`}`);
  } else if (names.length) {
    const reach = names.length === 1 ? "reaches its threshold" : "reach their thresholds";
    lines.push(`${names.length} of ${model.classes.length} classes ${reach}; explained: ${listed(shown)}`);
  } else {
    const most = model.classes.reduce((a, b) => (result.probabilities[b] > result.probabilities[a] ? b : a));
    lines.push(`The most probable is ${most}: ${chance(most)}, its threshold is ${percent(result.thresholds[most])}; explained: ${listed(shown)}`);
  }
  if (truncated && words.length) lines.push(`Only the first ${wordCount(words.length)} are read; what follows is faint.`);
  const unknown = words.filter((word) => !word.known).length;
  if (unknown && !blank) lines.push(`${percent(unknown / words.length)} of the words are unknown to the model (dotted).`);
  $("about").replaceChildren(...lines.flatMap((line) => [line, make("br")]).slice(0, -1));
  drawClasses(result, shown);
}

/** The probability of each class, the largest first; not all, and how many are left. */
function drawClasses(result, shown) {
  const ordered = Object.entries(result.probabilities).sort((a, b) => b[1] - a[1]);
  const isFirst = ([name], n) => n < MAX_CLASSES || shown.includes(name) || [result.predicted].flat().includes(name);
  const rows = ordered.filter(isFirst).map(([name, share]) => {
    const bar = make("div", "probability");
    bar.style.setProperty("--width", `${100 * share}%`);
    bar.style.setProperty("--class", colorOf(name));
    const place = make("div", "place", bar);
    const button = make("button", "", name);
    button.type = "button";
    button.setAttribute("aria-pressed", String(shown.includes(name) && !result.blank));
    button.title = `Explain ${name}`;
    button.disabled = result.blank;
    button.addEventListener("click", () => choose(name, shown));
    if (model.thresholds) {
      const threshold = result.thresholds[name];
      place.style.setProperty("--threshold", `${100 * threshold}%`);
      place.classList.add("has-threshold");
      place.title = `predicted from ${percent(threshold)}`;
      button.title += `, which is predicted from ${percent(threshold)}`;
    }
    return make("li", "", button, place, make("span", "n", percent(share)));
  });
  const more = ordered.length - rows.length;
  if (more) rows.push(make("li", "more", `and ${more} more ${more === 1 ? "class" : "classes"}`));
  $("classes").replaceChildren(...rows);
}

/** Explains a class that is chosen: with several labels beside the others, or no longer. */
function choose(name, shown) {
  const others = shown.filter((one) => one !== name);
  if (!model.thresholds || (shown.includes(name) && !others.length)) draw([name]);
  else draw(shown.includes(name) ? others : [...shown, name]);
  for (const button of $("classes").querySelectorAll("button")) if (button.textContent === name) button.focus();
}

/** Explains what is typed; `targets` are the classes to explain, by default those predicted. */
function draw(targets) {
  const text = $("input").value;
  const started = performance.now();
  const read = readText(text);
  const { result } = explainReading(read);
  const names = [result.predicted].flat().slice(0, MAX_ACCOUNTS);
  const shown = targets ?? (names.length ? names : [result.target]);
  const explained = shown.map((name) => explainReading(read, name));
  const took = performance.now() - started;
  const characters = Array.from(text);
  hideTip();
  drawAnswer(read, result, shown);
  const views = read.blank ? [] : explained.map((one) => new AccountView(characters, one.result, one.shares, shown.length > 1));
  $("accounts").replaceChildren(...views.map((view) => view.section));
  $("meaning").hidden = read.blank;
  $("time").textContent = `${wordCount(result.words.length)} in ${took.toFixed(0)} ms, on this device`;
  $("limit").hidden = text.length <= MOST_CHARACTERS;
  $("limit").textContent = `The text has ${text.length.toLocaleString("en")} characters; the page reads the first ${MOST_CHARACTERS.toLocaleString("en")}.`;
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

/** The first example in place of what was typed: the page keeps no text, also not for "back". */
function reset() {
  $("input").value = model.examples.length ? model.examples[0][1] : "";
  draw();
}

async function start() {
  network = new Network(await unpack());
  if (model.sentence_rules) splitter = new SentenceSplitter(model.sentence_rules);
  for (const [label, text] of model.examples) {
    const button = make("button", "", label);
    button.type = "button";
    button.addEventListener("click", () => {
      $("input").value = text;
      draw();
    });
    $("examples").append(button);
  }
  let timer;
  $("input").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, $("input").value.length > LONG_TEXT ? WAIT : 0);
  });
  addEventListener("pageshow", (event) => event.persisted && reset());
  addEventListener("scroll", hideTip, { passive: true });
  addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
  $("input").disabled = false;
  drawMatrix();
  reset();
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

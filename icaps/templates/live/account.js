// The account of a text for one class as a person reads it, as icaps.word_account and icaps.html
// draw it. What is shown adds up. All texts are set as text, never as HTML.

const $ = (id) => document.getElementById(id);
const SERIES = [1, 2, 5];
const MAX_LEVEL = 5;
const MAX_SHADED = 600; // words
const MAX_ROWS = 10; // of words in a list of bars
const MAX_CAPSULES = 5; // rows, and in a tip 3
const PERCENT_UP_TO = 1.2; // more than this part of the score is shown in points alone
const FAINT = 0.01; // part of the score; neighbouring sentences of less share a row
const MAX_WORDS = 3_000; // in a text of more, only words with a shade are elements
const MAX_UNREAD = 2_000; // characters that are shown of what is not read

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
const listed = (parts) =>
  parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join();
const colorOf = (name) => model.colors[model.classes.indexOf(name)];

/** Rounds numbers so that they sum to their rounded total (method of largest remainders). */
function addUp(values, total, digits) {
  const unit = 10 ** digits;
  const units = values.map((value) => Math.floor(value * unit));
  const missing = Math.round(total * unit) - sum(units);
  const remainder = (n) => values[n] * unit - units[n];
  const order = values.map((_, n) => n).sort((a, b) => remainder(b) - remainder(a));
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
    const shareOf = (isShaded) =>
      sum(result.words.map(({ share }, m) => (Boolean(levels[m]) === isShaded ? share : 0)));
    const round = (value) => Number(value.toFixed(digits)); // what is shown adds up
    const [bias, small] = [this.rows[0].share, round(shareOf(false))];
    const shaded = signed(round(score) - bias - small, digits);
    const covered = shareOf(true) / (score || 1);
    const who = count === 1 ? "The shaded word" : `The ${wordCount(count, "shaded ")}`;
    const [carries, adds] = count === 1 ? ["carries", "adds"] : ["carry", "add"];
    const whole = score.toFixed(digits);
    const first =
      covered >= 0 && covered <= PERCENT_UP_TO
        ? `${who} ${carries} ${Math.round(100 * covered)}% of the score (${shaded} of ${whole}).`
        : `${who} ${adds} ${shaded} to a score of ${whole}.`;
    const rest = others ? `, ${wordCount(others, "other ")} ${signed(small, digits)}` : "";
    this.part(".summary").replaceChildren(
      make("strong", "", count ? first : "No word is shaded."),
      ` Not shaded: bias ${signed(bias, digits)}${rest}.`,
    );
    const neutral = result.words.filter((word) => word.neutral);
    const quoted = new Set(neutral.map(({ start, end }) => `“${this.spell(start, end)}”`));
    const all = `Neutral for ${result.target}, by an edit of the model: ${[...quoted].join(", ")}.`;
    this.part(".neutral-words").textContent = quoted.size ? all : "";
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
      const spelled = this.spell(start, end);
      const word = levels[m] ? make("mark", shadeClass(levels[m]), spelled) : make("span", "", spelled);
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
      .map(({ word, share, words }) => {
        const times = words.length > 1 ? ` ×${words.length}` : "";
        return { label: `${word}${times}`, share, words };
      });
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
      const share = sum(rest.map((row) => row.share));
      rows.push({ label: `${rest.length} other capsules`, share, words: [], rest: true });
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
      const kind = `${share < 0 ? "a" : "f"}${rest ? " rest" : ""}`;
      const row = addRow(label, share, ends[n], ends[n + 1], kind);
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
      const added = make("td", "n", signed(share, this.digits));
      return make("tr", "", text, added, make("td", "", model.capsules[capsule].label));
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

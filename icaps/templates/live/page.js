// The page: what is typed is read, explained and drawn. All texts are set as text, never as HTML.

const MAX_CLASSES = 6; // rows of probabilities
const MAX_ACCOUNTS = 5; // of a text with several labels, until more are chosen
const LONG_TEXT = 5_000; // characters; from there on the page waits until typing pauses
const WAIT = 250; // milliseconds

/** The predicted classes, what the model did not read or know, and the classes by probability. */
function drawAnswer(result, shown) {
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
    const none = "The model knows none of the words, so no class is predicted.";
    lines.push(words.length ? none : "Type a text, or choose an example.");
  } else if (!model.thresholds) {
    lines.push(`${chance(names[0])} probability${shown[0] === names[0] ? "" : `; explained: ${shown[0]}`}`);
  } else if (names.length) {
    const reach = names.length === 1 ? "reaches its threshold" : "reach their thresholds";
    lines.push(`${names.length} of ${model.classes.length} classes ${reach}; explained: ${listed(shown)}`);
  } else {
    const most = model.classes.reduce((a, b) => (result.probabilities[b] > result.probabilities[a] ? b : a));
    const threshold = percent(result.thresholds[most]);
    lines.push(`The most probable is ${most}: ${chance(most)}, its threshold is ${threshold}`);
    lines.push(`Explained: ${listed(shown)}`);
  }
  if (truncated && words.length) {
    lines.push(`Only the first ${wordCount(words.length)} are read; what follows is faint.`);
  }
  const unknown = words.filter((word) => !word.known).length;
  if (unknown && !blank) {
    lines.push(`${percent(unknown / words.length)} of the words are unknown to the model (dotted).`);
  }
  $("about").replaceChildren(...lines.flatMap((line) => [line, make("br")]).slice(0, -1));
  drawClasses(result, shown);
}

/** The probability of each class, the largest first; not all, and how many are left. */
function drawClasses(result, shown) {
  const ordered = Object.entries(result.probabilities).sort((a, b) => b[1] - a[1]);
  const always = [...shown, ...[result.predicted].flat()];
  const isFirst = ([name], n) => n < MAX_CLASSES || always.includes(name);
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
  const buttons = [...$("classes").querySelectorAll("button")];
  buttons.find((button) => button.textContent === name).focus();
}

/** Explains what is typed; `targets` are the classes to explain, by default those predicted. */
function draw(targets) {
  const text = $("input").value;
  const started = performance.now();
  const read = readText(text);
  const predicted = read.predicted.map((j) => model.classes[j]).slice(0, MAX_ACCOUNTS);
  const chosen = targets ?? (predicted.length ? predicted : [undefined]); // the most probable class
  const explained = chosen.map((name) => explainReading(read, name));
  const took = performance.now() - started;
  const shown = explained.map(({ result }) => result.target);
  const characters = Array.from(text);
  hideTip();
  drawAnswer(explained[0].result, shown);
  const isTitled = shown.length > 1;
  const view = (one) => new AccountView(characters, one.result, one.shares, isTitled).section;
  $("accounts").replaceChildren(...(read.blank ? [] : explained.map(view)));
  $("meaning").hidden = read.blank;
  $("time").textContent = `${wordCount(read.words.length)} in ${took.toFixed(0)} ms, on this device`;
  $("limit").hidden = text.length <= MOST_CHARACTERS;
  const [length, most] = [text.length, MOST_CHARACTERS].map((count) => count.toLocaleString("en"));
  $("limit").textContent = `The text has ${length} characters; the page reads the first ${most}.`;
}

/** The card of a capsule: what it wins, its words and its K-grams. */
function showCapsule(i) {
  const { label, about, words, kgrams, color } = model.capsules[i];
  const list = (title, texts) => {
    const items = texts.map((item) => make("li", "", item));
    return items.length ? [make("h4", "", title), make("ul", "words", ...items)] : [];
  };
  const card = $("capsule");
  card.style.setProperty("--class", color);
  const lists = [...list("Words", words), ...list("K-grams", kgrams)];
  card.replaceChildren(make("h3", "", label), make("p", "", about), ...lists);
  for (const cell of document.querySelectorAll("#matrix [data-capsule]")) {
    cell.setAttribute("aria-pressed", String(Number(cell.dataset.capsule) === i));
  }
}

/** The matrix C: texts of each class (rows) that each capsule (columns) wins. */
function drawMatrix() {
  if (!model.frequency.length) return;
  const most = Math.max(...model.frequency.flat());
  const order = model.capsules.map((_, i) => i).filter((i) => model.frequency.some((row) => row[i]));
  const { frequency } = model; // C (J, I)
  const mainClass = (i) => frequency.reduce((best, row, j) => (row[i] > frequency[best][i] ? j : best), 0);
  const wins = (i) => frequency[mainClass(i)][i];
  order.sort((a, b) => mainClass(a) - mainClass(b) || wins(b) - wins(a));
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

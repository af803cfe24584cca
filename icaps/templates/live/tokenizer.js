// Splits a text into words as icaps.text.tokenizer does; its docstring has the rules.

const DAMAGED = "amp|quot|apos|lt|gt|nbsp|hellip|[lr][sd]quo|[mn]dash";
const ENTITY = new RegExp(
  String.raw`&(?:amp;)*(?<again>(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|${DAMAGED});)` +
    String.raw`|&(?<name>[A-Za-z][A-Za-z0-9]{1,31};)` +
    String.raw`|(?:(?<=[nN])\x20(?=#39;[tT](?![\p{L}\p{N}_])))?(?<number>#0*(?:3[2-9]|[4-9]\d|[1-9]\d{2,6});)` +
    String.raw`|(?<![\p{L}\p{N}])(?:amp;)*(?<damaged>(?:${DAMAGED});)`,
  "gu",
);
const decoder = document.createElement("textarea");

/** What an entity is read as; the match itself if there is no such entity. */
function entityText(match) {
  const groups = match.groups;
  decoder.innerHTML = `&${groups.again ?? groups.name ?? groups.number ?? groups.damaged}`;
  const text = decoder.value;
  if (groups.name && text === `&${groups.name}`) return match[0];
  const joiner = text === "\u200c" || text === "\u200d";
  return joiner || /^(?:[^\p{C}\p{Z}]| )+$/u.test(text) ? text : " ";
}

/** A text without entities and lone surrogates, and where each entity was (UTF-16 offsets). */
function clean(text) {
  text = text.replace(/\p{Surrogate}/gu, "\ufffd");
  const entities = [];
  const pieces = [];
  let done = 0;
  let length = 0;
  for (const match of text.matchAll(ENTITY)) {
    const read = entityText(match);
    if (read === match[0]) continue;
    const [start, end] = [match.index, match.index + match[0].length];
    pieces.push(text.slice(done, start), read);
    length += start - done;
    entities.push({ from: length, to: length + read.length, start, end });
    length += read.length;
    done = end;
  }
  pieces.push(text.slice(done));
  return { text: pieces.join(""), original: text, entities };
}

/** The place in the original text of a place in the clean one; inside of an entity, its edge. */
function originalPlace(place, entities, isEnd) {
  const count = partitionPoint(entities, ({ from }) => from <= place - (isEnd ? 1 : 0));
  const before = entities[count - 1] ?? { to: 0, end: 0, from: 0, start: 0 };
  const character = isEnd ? place - 1 : place;
  if (character < before.to) return isEnd ? before.end : before.start;
  return place - before.to + before.end;
}

const SINGLE = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const LETTER = String.raw`(?![${SINGLE}])\p{L}`;
const START = String.raw`(?![${SINGLE}])[\p{L}\p{N}]`;
const EXTEND = String.raw`\p{M}\p{Grapheme_Extend}\u200c\u200d\u0e33\u0eb3\u{1f3fb}-\u{1f3ff}`;
const REST = String.raw`(?:${START}|[${EXTEND}])`;
const VIRAMA =
  "\\u094d\\u09cd\\u0acd\\u0b4d\\u0c4d\\u0d4d\\u1039\\u17d2\\u1a60\\u1b44\\u1bab\\ua9c0\\uaaf6" +
  "\\u{10a3f}\\u{11133}\\u{113d0}\\u{1193e}\\u{11a47}\\u{11a99}\\u{11f42}";
const sticky = (pattern) => new RegExp(pattern, "uy");
const NEGATION = sticky(String.raw`[nN]['’][tT](?!${REST})`);
const CLITIC = sticky(String.raw`['’](?:[sSſdDmM]|[rR][eE]|[vV][eE]|[lL][lL])(?!${REST})`);
const INITIAL = sticky(String.raw`${LETTER}\.`);
const ONE_LETTER = sticky(LETTER);
const ONE_REST = sticky(REST);
const KEYCAP = sticky(String.raw`[0-9#*]\ufe0f?\u20e3`);
const RUN = sticky(String.raw`${START}${REST}*(?:(?<=\p{Nd})[.,](?=\p{Nd})${REST}+)*`);
const OF_NEGATION = sticky(String.raw`(?<=[nN])['’][tT](?!${REST})`);
const JOINS = sticky(String.raw`(?<=[${VIRAMA}][${EXTEND}]{0,8})(?=\p{Lo})`);
const FLAG = sticky(String.raw`[\u{1f1e6}-\u{1f1ff}]{2}[${EXTEND}]*`);
const SPACE = sticky(String.raw`\p{White_Space}`);
const LINE_END = sticky(String.raw`\r\n`);

/** The end of a sticky pattern's match at a place; -1 if there is none. */
function matchEnd(pattern, text, place) {
  pattern.lastIndex = place;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Words of a clean text as [start, end] in UTF-16 offsets. */
function findWords(text) {
  const boundary = new Uint8Array(text.length + 1);
  for (const { index } of graphemes.segment(text)) boundary[index] = 1;
  boundary[text.length] = 1;
  const nextBoundary = (place) => {
    do place += 1;
    while (!boundary[place]);
    return place;
  };
  const join = (end) => {
    while (end < text.length && matchEnd(JOINS, text, end) >= 0) end = nextBoundary(end);
    return end;
  };
  const words = [];
  let place = 0;
  while (place < text.length) {
    const end = wordEnd(text, place, boundary, nextBoundary, join);
    if (end > place) words.push([place, end]);
    place = end > place ? end : place + (text.codePointAt(place) > 0xffff ? 2 : 1);
  }
  return words;
}

/** The end of the word that starts at a place; -1 if none does. */
function wordEnd(text, place, boundary, nextBoundary, join) {
  for (const pattern of [NEGATION, CLITIC]) {
    const end = matchEnd(pattern, text, place);
    if (end >= 0) return end;
  }
  let end = initialsEnd(text, place, boundary);
  if (end >= 0) return end;
  end = matchEnd(KEYCAP, text, place);
  if (end >= 0 && boundary[end]) return end;
  end = runEnd(text, place, boundary);
  if (end >= 0) return join(end);
  end = matchEnd(FLAG, text, place);
  if (end >= 0) return join(end);
  if (matchEnd(LINE_END, text, place) >= 0) return -1;
  const space = matchEnd(SPACE, text, place);
  if (space >= 0 && boundary[space]) return -1;
  return join(nextBoundary(place));
}

/** The end of single letters with periods, such as "U.S."; -1 if there are none. */
function initialsEnd(text, place, boundary) {
  const starts = [];
  for (let next = matchEnd(INITIAL, text, place); next >= 0; next = matchEnd(INITIAL, text, next)) {
    starts.push(next);
  }
  for (const start of starts.reverse()) {
    const end = matchEnd(ONE_LETTER, text, start);
    if (end < 0) continue;
    if (text[end] === "." && boundary[end + 1]) return end + 1;
    if (boundary[end] && matchEnd(ONE_REST, text, end) < 0) return end;
  }
  return -1;
}

/** The end of a run of letters and digits, without the n of "n't"; -1 if there is none. */
function runEnd(text, place, boundary) {
  const longest = matchEnd(RUN, text, place);
  for (let end = longest; end > place; end -= 1) {
    const inPair = /[\udc00-\udfff]/.test(text[end] ?? "") && /[\ud800-\udbff]/.test(text[end - 1]);
    const afterMark = end < longest && /[.,]/.test(text[end - 1]);
    if (!inPair && !afterMark && boundary[end] && matchEnd(OF_NEGATION, text, end) < 0) return end;
  }
  return -1;
}

/**
 * The words of a text as they are looked up, with spans in code points of the text as given; the
 * place where each starts is in UTF-16 as well, in the text without lone surrogates (`clean`).
 */
function splitWords(text) {
  const { text: read, original, entities } = clean(text);
  const codePoints = new Uint32Array(original.length + 1);
  for (let place = 0, count = 0; place < original.length; count += 1) {
    const size = original.codePointAt(place) > 0xffff ? 2 : 1;
    codePoints[place] = count;
    codePoints[place + size] = count + 1;
    place += size;
  }
  const words = findWords(read).map(([from, to]) => {
    const place = originalPlace(from, entities, false);
    const end = codePoints[originalPlace(to, entities, true)];
    return { text: read.slice(from, to), place, start: codePoints[place], end };
  });
  return { words, clean: original };
}

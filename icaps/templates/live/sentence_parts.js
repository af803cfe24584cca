// Parts of a paragraph that matter for its sentences, as the package sentencex finds them: quotes,
// brackets, addresses and lists. All places are UTF-16 offsets in the paragraph.
// Rules: Copyright (c) 2025 Santhosh Thottingal, MIT License.

const NOT_OF_WORDS = String.raw`[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`;
const OF_WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const BLANKS = new Set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000");
for (let code = 0x2000; code <= 0x200a; code += 1) BLANKS.add(String.fromCharCode(code));

const QUOTES = [
  ["``", "''"], ["``", "``"], ["''", "''"], ["`", "'"], ["`", "`"], ["'", "'"], ['"', '"'],
  ["«", "»"], ["‘", "’"], ["‚", "‚"], ["“", "”"], ["‛", "‛"], ["„", "“"], ["»", "«"],
  ["‟", "‟"], ["‹", "›"], ["《", "》"], ["「", "」"],
];
const GUARDED = new Set(["`", "'"]); // quotes that are apostrophes and ticks as well
const CLOSERS = ["’", "‚", "”", "‛", "“", "‟", "›", "》", "」", "''", "``", "»", "«", "'", "`", '"'];
const SYMMETRIC = new Set(QUOTES.filter(([open, close]) => open === close).map(([open]) => open));
const MIN_GAP = 4; // UTF-8 bytes between two items of a list
const BULLETS = "•◦▪▫■□●○⁃⁌⁍◆◇★☆➤➢➣▶▸►";

const isCapital = (text) => /^[A-Z]/.test(text);
const afterBlanks = (text, place) => {
  while (BLANKS.has(text[place])) place += 1;
  return place;
};
const beforeBlanks = (text, place) => {
  while (BLANKS.has(text[place - 1])) place -= 1;
  return place;
};
const trimmedStart = (text) => text.slice(afterBlanks(text, 0));
const characterBefore = (text, place) => {
  if (!place) return "";
  const isLow = /[\udc00-\udfff]/.test(text[place - 1]) && /[\ud800-\udbff]/.test(text[place - 2] ?? "");
  return text.slice(place - (isLow ? 2 : 1), place);
};
const characterAt = (text, place) =>
  place < text.length ? String.fromCodePoint(text.codePointAt(place)) : "";
const isOfWord = (text, place) => OF_WORD.test(characterAt(text, place));
const byteCount = (text) => new TextEncoder().encode(text).length;

/**
 * The number of items before the first for which a property does not hold, by halving. If it does
 * not hold for all later ones, the number is that of Rust's `partition_point`.
 */
function partitionPoint(items, holds) {
  if (!items.length) return 0;
  let base = 0;
  for (let size = items.length; size > 1; ) {
    const half = Math.floor(size / 2);
    if (holds(items[base + half])) base += half;
    size -= half;
  }
  return base + (holds(items[base]) ? 1 : 0);
}

/** Places where a token occurs in a text, without overlap. */
function* occurrences(text, token) {
  for (let at = text.indexOf(token); at >= 0; at = text.indexOf(token, at + token.length)) yield at;
}

/** Quoted parts of a text as `[start, end]`, from left to right. */
function* quotedParts(text) {
  const lasts = new Map();
  const find = (token, from) => {
    if (!lasts.has(token)) lasts.set(token, text.lastIndexOf(token));
    return lasts.get(token) < from ? -1 : text.indexOf(token, from);
  };
  const guardedPlaces = new Map(); // where a guarded quote can end
  const findGuarded = (token, from) => {
    if (!guardedPlaces.has(token)) {
      const follows = (at) => at > 0 && text[at - 1] !== token && !BLANKS.has(text[at - 1]);
      const ends = (at) => follows(at) && !isOfWord(text, at + 1);
      guardedPlaces.set(token, [...occurrences(text, token)].filter(ends));
    }
    const places = guardedPlaces.get(token);
    return places[partitionPoint(places, (at) => at < from)] ?? -1;
  };
  const endOf = (start) => {
    for (const [open, close] of QUOTES) {
      if (!text.startsWith(open, start)) continue;
      const guarded = GUARDED.has(open);
      if (guarded && (OF_WORD.test(characterBefore(text, start)) || !isOfWord(text, start + 1))) continue;
      const end = guarded ? findGuarded(close, start + 2) : find(close, start + open.length);
      if (end >= 0) return end + close.length;
    }
    if (start && text[start - 1] !== "\n") return -1;
    const lineEnd = (text.indexOf("\n", start) + 1 || text.length + 1) - 1; // a guarded quote may be a line
    const fits = ([open, close]) => GUARDED.has(open) && text[start] === open && text[lineEnd - 1] === close;
    return lineEnd > start + 2 && QUOTES.some(fits) ? lineEnd : -1;
  };
  const openers = /[`'"«‘‚“‛„»‟‹《「]/g;
  for (let match = openers.exec(text); match; match = openers.exec(text)) {
    const end = endOf(match.index);
    if (end < 0) continue;
    yield [match.index, end];
    openers.lastIndex = end;
  }
}

/** Whether a place is in a quoted range. */
function isQuoted(ranges, place) {
  const count = partitionPoint(ranges, (range) => range.start <= place);
  for (let n = count - 1; n >= 0; n -= 1) if (ranges[n].quote && place < ranges[n].end) return true;
  return false;
}

/** Whether a mark can be a quote: it is neither within a quote nor within a word such as "don't". */
function mayQuote(text, place, token, ranges) {
  const alphanumeric = (character) => /[\p{Alphabetic}\p{N}]/u.test(character);
  const [before, after] = [characterBefore(text, place), characterAt(text, place + token.length)];
  return !(alphanumeric(before) && alphanumeric(after)) && !isQuoted(ranges, place);
}

const hasBreakWithin = (span) => /\.[ \t]+[A-Z]/.test(span);
const startsUtterance = (text, place) => {
  const utterance = /[ \t]+[A-Z]/y;
  utterance.lastIndex = place;
  return utterance.test(text);
};

/** Quotes with a blank inside, such as ' this ', which are guarded and so not yet found. */
function addPaddedQuotes(text, ranges) {
  for (const token of ["`", "'"]) {
    const opens = (place) => {
      const before = characterBefore(text, place);
      return (!before || BLANKS.has(before)) && BLANKS.has(text[place + 1]);
    };
    const opensCleanly = (place) => {
      if (!opens(place)) return false;
      for (let at = text.indexOf(token, place + 1); at >= 0; at = text.indexOf(token, at + 1)) {
        if (mayQuote(text, at, token, ranges)) return !hasBreakWithin(text.slice(place + 1, at));
      }
      return false;
    };
    let opener = -1;
    for (const at of occurrences(text, token)) {
      if (!mayQuote(text, at, token, ranges)) continue;
      const twoUtterances = () => startsUtterance(text, at + 1) && hasBreakWithin(text.slice(opener + 1, at));
      if (opener >= 0 && opens(opener) && !(twoUtterances() && opensCleanly(at))) {
        ranges.push({ start: opener, end: at + 1, quote: token, symmetric: true, mispaired: "" });
        opener = -1;
      } else {
        opener = at;
      }
    }
  }
}

/** Parts in brackets, from the first bracket that opens to the first that closes. */
function* bracketedParts(text) {
  const opening = /[(（<{[]/g;
  const closing = /[)\]}>）]/g;
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    closing.lastIndex = match.index + 1;
    if (!closing.test(text)) return;
    yield [match.index, closing.lastIndex];
    opening.lastIndex = closing.lastIndex;
  }
}

/** Addresses of mail. */
function* mailAddresses(text) {
  const host = /[A-Za-z0-9.-]+\.[A-Z|a-z]{2,7}/y;
  let least = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    let start = at;
    while (start > least && /[A-Za-z0-9._%+-]/.test(text[start - 1])) start -= 1;
    host.lastIndex = at + 1;
    if (start === at || !host.test(text)) continue;
    least = host.lastIndex;
    yield [start, least];
    at = least - 1;
  }
}

/** Quotes, brackets and addresses, in which marks end no sentence, by their starts. */
function protectedRanges(text) {
  const ranges = [];
  for (const [start, end] of quotedParts(text)) {
    const [quote, close] = QUOTES.find(([open]) => text.startsWith(open, start));
    ranges.push({ start, end, quote, symmetric: quote === close, mispaired: "" });
  }
  addPaddedQuotes(text, ranges);
  const brackets = [...bracketedParts(text)].map(([start, end]) => ({ start, end }));
  const addresses = [...mailAddresses(text)].map(([start, end]) => ({ start, end }));
  const around = (place) => {
    const bracket = brackets[partitionPoint(brackets, ({ start }) => start < place) - 1];
    return bracket && place < bracket.end ? bracket : undefined;
  };
  const isOdd = new Map();
  for (const range of ranges) {
    if (!range.symmetric) continue;
    if (!isOdd.has(range.quote)) isOdd.set(range.quote, [...occurrences(text, range.quote)].length % 2 === 1);
    const crosses = around(range.start)?.end < range.end || around(range.end)?.start > range.start;
    range.mispaired = crosses ? "certainly" : isOdd.get(range.quote) ? "possibly" : "";
  }
  return [...ranges, ...brackets, ...addresses].sort((a, b) => a.start - b.start);
}

/** The length of what closes a list's number at a place: ".", ")" or ".)"; 0 for nothing. */
const closingLength = (text, place) => {
  if (text.startsWith(".)", place)) return 2;
  return text[place] === "." || text[place] === ")" ? 1 : 0;
};
const isRoman = (text) => /^[ivxlcdm]+$/i.test(text);

/** The mark of a list's item at the start of a line or part: its kind and length; null for none. */
function itemMark(text) {
  if (text && BULLETS.includes(text[0])) return ["sure", 1];
  const inBrackets = /^\(([^)]*)\)/.exec(text);
  if (inBrackets && /^(?:[0-9]{1,2}|[A-Za-z]|[ivxlcdmIVXLCDM]+)$/.test(inBrackets[1])) {
    return ["sure", inBrackets[0].length];
  }
  for (const [kind, pattern] of [["roman", /^[ivxlcdmIVXLCDM]{2,}/], ["number", /^[0-9]+/]]) {
    const digits = pattern.exec(text)?.[0].length;
    if (digits && closingLength(text, digits)) return [kind, digits + closingLength(text, digits)];
  }
  if (/^[*+-]/.test(text)) return ["bullet", 1];
  const letter = /^[A-Za-z](?:\)|\.\))/.exec(text);
  if (letter) return ["letter)", letter[0].length];
  return /^[a-z]\./.test(text) ? ["letter.", 2] : null;
}

/** Whether text follows a mark after at least one blank; `pattern` is for its first character. */
const hasContent = (text, pattern) => {
  const content = text.replace(/^[ \t]+/, "");
  return content !== text && pattern.test(content);
};

/** Places where the items of a list start; none if the paragraph has no list. */
function listItems(text) {
  let items = [];
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf("\n", start) + 1 || text.length;
    const line = text.slice(start, next);
    const content = /^[ \t]*/.exec(line)[0].length;
    const mark = itemMark(line.slice(content));
    if (mark && hasContent(line.slice(content + mark[1]), /^[^\n\r]/)) {
      items.push({ place: start, kind: mark[0], letter: line[content], starts: true });
    }
    if (/[)\u2000-\u2fff]/.test(line)) items.push(...itemsWithin(line, start, content));
    start = next;
  }
  items = items.sort((a, b) => a.place - b.place || Number(b.starts) - Number(a.starts));
  items = items.filter((item, n) => !n || item.place !== items[n - 1].place);
  if (items.some((item) => item.kind === "roman")) {
    for (const item of items) if (item.kind.startsWith("letter") && isRoman(item.letter)) item.kind = "roman";
  }
  const last = new Map(); // marks side by side, as in "e. e. cummings", are none
  items = items.filter((item) => {
    const before = last.get(item.kind);
    const between = text.slice(before, Math.min(item.place, before + MIN_GAP));
    const apart = before === undefined || byteCount(between) >= MIN_GAP;
    if (apart) last.set(item.kind, item.place);
    return apart;
  });
  const kind = listKind(items);
  return items.filter((item) => item.kind === kind).map((item) => item.place);
}

/** Items after blanks within a line. */
function itemsWithin(line, start, content) {
  const items = [];
  const blanks = /[ \t]+/g;
  blanks.lastIndex = content;
  for (let match = blanks.exec(line); match; match = blanks.exec(line)) {
    const place = blanks.lastIndex;
    if (place >= line.length || /[\n\r]/.test(line[place])) break;
    const rest = line.slice(place);
    const mark = itemMark(rest);
    if (!mark || mark[0] === "bullet") continue;
    const [kind, length] = mark;
    const isPeriod = rest[length - 1] === "." && ["number", "letter.", "roman"].includes(kind);
    if (isPeriod || !hasContent(rest.slice(length), /^[^\n\r\p{Lowercase}]/u)) continue;
    items.push({ place: start + place, kind, letter: rest[0], starts: false });
  }
  return items;
}

/** The kind of marks that makes a list; undefined for none. */
function listKind(items) {
  const count = (kind) => items.filter((item) => item.kind === kind).length;
  if (items.some((item) => item.kind === "sure" && item.starts) || count("sure") >= 2) return "sure";
  let most = 1; // items are in order, so the kind that comes first wins
  let winner;
  for (const kind of new Set(items.map((item) => item.kind))) {
    if (kind !== "sure" && count(kind) > most) [most, winner] = [count(kind), kind];
  }
  return winner;
}

/** Whether a closing quote has no partner. */
function isOrphan(text, boundary, closer, ranges) {
  if (!SYMMETRIC.has(closer)) return true;
  const places = [...occurrences(text, closer)].filter((at) => mayQuote(text, at, closer, ranges));
  const before = places.filter((at) => at < boundary).length;
  return before % 2 === 1 || (before === 0 && places.length === 1);
}

/** Whether a quote without a partner opens the next sentence. */
function opensNext(text, boundary, closer, ranges) {
  const before = characterBefore(text, boundary);
  const opens =
    SYMMETRIC.has(closer) &&
    (!before || BLANKS.has(before)) &&
    startsUtterance(text, boundary + closer.length);
  const isEarlier = (range) =>
    range.end <= boundary && range.symmetric && text.startsWith(closer, range.start);
  return opens && ranges.some(isEarlier);
}

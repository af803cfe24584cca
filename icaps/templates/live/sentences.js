// Splits a text into sentences as the package sentencex does, which icaps.text.sentences uses.
// The tables of the language are `model.sentence_rules`; see icaps.portable.sentence_rules.
// Rules and tables: Copyright (c) 2025 Santhosh Thottingal, MIT License. All places are UTF-16 offsets in a paragraph, or in the text where it is said.

const NOT_OF_WORDS = String.raw`[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`;
const OF_WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const BLANKS = new Set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000");
for (let code = 0x2000; code <= 0x200a; code += 1) BLANKS.add(String.fromCharCode(code));
const LATER_SMALL = new RegExp(`^${NOT_OF_WORDS}*[0-9a-z]`, "u");
const REFERENCES = /^(?:\p{White_Space}*\[\p{Nd}+\])+/u;
const AFTER_CAPITAL = /[A-Z][\p{White_Space}.]+/gu;
const WIDE_BLANK = /[^\P{White_Space}\0-\x7f](?=\.)/gu; // read as a space, as in icaps.text.sentences
const EXCLAMATIONS = new Set(["Yahoo", "Yum"]); // names that end in "!"
const LONGEST_WORD = 100; // the start of a longer one is not read: no table has it
const NEXT_BYTES = 30; // of what follows a mark, in UTF-8

const QUOTES = [
  ["``", "''"], ["``", "``"], ["''", "''"], ["`", "'"], ["`", "`"], ["'", "'"], ['"', '"'],
  ["«", "»"], ["‘", "’"], ["‚", "‚"], ["“", "”"], ["‛", "‛"], ["„", "“"], ["»", "«"],
  ["‟", "‟"], ["‹", "›"], ["《", "》"], ["「", "」"],
];
const GUARDED = new Set(["`", "'"]); // quotes that are apostrophes and ticks as well
const CLOSERS = ["’", "‚", "”", "‛", "“", "‟", "›", "》", "」", "''", "``", "»", "«", "'", "`", '"'];
const SYMMETRIC = new Set(QUOTES.filter(([open, close]) => open === close).map(([open]) => open));
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
const isOfWord = (text, place) => place < text.length && OF_WORD.test(String.fromCodePoint(text.codePointAt(place)));
const characterBefore = (text, place) => {
  if (!place) return "";
  const isLow = /[\udc00-\udfff]/.test(text[place - 1]) && /[\ud800-\udbff]/.test(text[place - 2] ?? "");
  return text.slice(place - (isLow ? 2 : 1), place);
};
const characterAt = (text, place) => (place < text.length ? String.fromCodePoint(text.codePointAt(place)) : "");
const byteCount = (text) => new TextEncoder().encode(text).length;

/** The first number for which a property does not hold, by halving; it need not be monotonous. */
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

/** What follows a place: some words. */
function nextWords(text, start) {
  let end = start;
  for (let bytes = 0; bytes < NEXT_BYTES && end < text.length; ) {
    const code = text.codePointAt(end);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    end += code < 0x10000 ? 1 : 2;
  }
  return text.slice(start, end);
}

/** The last word before a place; `breaks` are the marks that end words, besides blanks. */
function lastWord(text, place, breaks) {
  const end = beforeBlanks(text, place);
  let start = end;
  const least = Math.max(0, end - LONGEST_WORD);
  while (start > least && !BLANKS.has(text[start - 1]) && !breaks.includes(text[start - 1])) start -= 1;
  return text.slice(start, end);
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
      const ends = (at) => at && !BLANKS.has(text[at - 1]) && text[at - 1] !== token && !isOfWord(text, at + 1);
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
  const within = alphanumeric(characterBefore(text, place)) && alphanumeric(characterAt(text, place + token.length));
  return !within && !isQuoted(ranges, place);
}

const hasBreakWithin = (span) => /\.[ \t]+[A-Z]/.test(span);
const startsUtterance = (text, place) => /^[ \t]+[A-Z]/.test(text.slice(place, place + 200));

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
const closingLength = (text, place) => (text.startsWith(".)", place) ? 2 : /[.)]/.test(text[place] ?? "") ? 1 : 0);
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
    const apart = before === undefined || byteCount(text.slice(before, Math.min(item.place, before + 4))) >= 4;
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

class SentenceSplitter {
  /** `rules` are those of a language; see icaps.portable.sentence_rules. */
  constructor(rules) {
    this.rules = rules;
    this.terminators = new Set(rules.terminators);
    for (const name of ["abbreviations", "starters", "fronting"]) this[name] = new Set(rules[name]);
    const spaced = rules.spaced_runs ? String.raw`\.(?:[ \t]+\.){2,}|[!?…](?:[ \t]+[!?…])+|` : "";
    this.runs = new RegExp(`${spaced}[${rules.break_marks}]+`, "gu");
    this.runHere = new RegExp(this.runs.source, "uy");
    const marks = rules.after_marks ? `${NOT_OF_WORDS}*` : "";
    this.continuing = rules.continuing ? new RegExp(`^${marks}[${rules.continuing}]`, "u") : null;
    this.months = new Set(rules.months);
  }

  /** Where sentences of a text start, as offsets in the text, in order. */
  *starts(text) {
    text = text.replace(AFTER_CAPITAL, (run) => run.replace(WIDE_BLANK, " "));
    let start = 0;
    for (const { index, 0: separator } of text.matchAll(/\n\r*\n/g)) {
      yield* this.paragraphStarts(text.slice(start, index), start);
      start = index + separator.length;
    }
    yield* this.paragraphStarts(text.slice(start), start);
  }

  *paragraphStarts(text, offset) {
    const ranges = protectedRanges(text);
    const items = listItems(text);
    items.forEach((start, n) => ranges.push({ start, end: items[n + 1] ?? text.length }));
    const starts = [0];
    for (const [start, end] of this.terminatorRuns(text)) {
      const boundary = this.boundary(text, start, end);
      if (boundary < 0) continue;
      const around = ranges.find(
        (range) =>
          range.start < boundary && boundary < range.end && !this.isMispaired(text, range, start, end),
      );
      const place = around ? this.afterQuote(text, around, boundary) : this.afterCloser(text, boundary, ranges);
      if (place > starts.at(-1)) starts.push(place);
    }
    const all = new Set([...starts, ...items]);
    for (const place of [...all].sort((a, b) => a - b)) yield offset + place;
  }

  /** Runs of marks that may end a sentence, as `[start, end]`; "! ..." is one. */
  terminatorRuns(text) {
    const found = [];
    for (const { index, 0: run } of text.matchAll(this.runs)) {
      const last = found.at(-1);
      const folds =
        last &&
        /[!?…]/.test(text[last[1] - 1]) &&
        /^\.[. \t]*$/.test(run) &&
        index - last[1] < LONGEST_WORD &&
        /^[ \t]+$/.test(text.slice(last[1], index));
      if (folds) last[1] = index + run.length;
      else found.push([index, index + run.length]);
    }
    return found;
  }

  /** The place where the next sentence starts, if the marks from start to end end one; else -1. */
  boundary(text, start, end) {
    const marks = text.slice(start, end);
    const next = nextWords(text, end);
    const references = REFERENCES.exec(next);
    if (references) return end + references[0].length;
    if (this.continues(text, start, marks, next)) return -1;
    const word = this.wordBefore(text, start);
    if (marks === ".") {
      const isCode = /[0-9]/.test(text[start - 1] ?? "") && /^\p{Alphabetic}/u.test(next) && /[0-9]/.test(next);
      if (isCode || this.isAbbreviated(text, start, word, next)) return -1;
    }
    if (EXCLAMATIONS.has(word)) return -1;
    return end + afterBlanks(next, 0);
  }

  /** Whether the sentence goes on after marks that end at a place. */
  continues(text, start, marks, next) {
    const before = characterBefore(text, start);
    if (Array.from(marks).length > 1) {
      if (/^\p{White_Space}+[0-9a-z]/u.test(next)) return true;
      if (this.rules.ellipsis_before_i && /^\p{White_Space}+I(?:[\p{White_Space}'\u2019]|$)/u.test(next)) return true;
      return before !== "" && !BLANKS.has(before) && /^[0-9a-z]/.test(next);
    }
    return this.goesOn(next) || (/[!?]/.test(marks) && /[ \t]/.test(before) && LATER_SMALL.test(next));
  }

  /** Whether these words go on with a sentence. */
  goesOn(next) {
    if (!this.continuing) {
      if (/^[0-9a-z]/.test(next)) return true;
      const rest = trimmedStart(next);
      const quote = [...SYMMETRIC].find((token) => rest.startsWith(token)) ?? "";
      return trimmedStart(rest.slice(quote.length)).startsWith(",");
    }
    if (this.continuing.test(next)) return true;
    if (!this.months.size) return false;
    const word = (trimmedStart(next).split(/\p{White_Space}/u)[0] ?? "").replace(/^[.!?]+|[.!?]+$/g, "");
    const [first = "", ...rest] = word;
    return this.months.has(word) || this.months.has(first.toUpperCase() + rest.join(""));
  }

  /** The last word before a place, without what is before its last period. */
  wordBefore(text, place) {
    if (this.rules.last_word === "it") {
      if (BLANKS.has(text[place - 1])) return "";
      return lastWord(text, place, ".").split("l'").at(-1);
    }
    if (this.rules.last_word === "kk") {
      let end = place;
      while (end && (BLANKS.has(text[end - 1]) || text[end - 1] === ".")) end -= 1;
      return lastWord(text, end, ".");
    }
    return lastWord(text, place, "./");
  }

  /** Whether a period after a word is of an abbreviation or an initial, and so ends no sentence. */
  isAbbreviated(text, place, word, next) {
    const abbreviated = this.isInitial(text, place, word, next) || this.isListed(word);
    const mark = this.trailingMark(text, place);
    if (!abbreviated && !mark) return false;
    const starts = this.startsSentence(next);
    if (mark && this.endsAtMark(text, mark, next, starts)) return false;
    if (!starts) return true;
    const whole = lastWord(text, place, "/");
    const isWhole = whole.length > word.length && this.isListed(whole);
    return !(isCapital(word) || isWhole || (Array.from(word).length > 1 && this.abbreviations.has(word)));
  }

  isListed(word) {
    return word !== "" && this.abbreviations.has(word.toLowerCase());
  }

  /** Whether a single capital letter is an initial of a name. */
  isInitial(text, place, word, next) {
    if (!/^[A-Z]$/.test(word)) return false;
    let end = place - word.length; // as of a word right before the period
    while (end && (BLANKS.has(text[end - 1]) || /[./]/.test(text[end - 1]))) end -= 1;
    if (isCapital(this.wordBefore(text, end))) return true;
    return /^[A-Z]\.(?:\p{White_Space}|$)/u.test(trimmedStart(next));
  }

  /** Whether the next word is one that nearly always starts a sentence. */
  startsSentence(next) {
    if (!this.starters.size) return false;
    const rest = Array.from(trimmedStart(next));
    const end = rest.findIndex((c) => BLANKS.has(c) || c === "," || this.isTerminator(c));
    return this.starters.has((end < 0 ? rest : rest.slice(0, end)).join(""));
  }

  isTerminator(character) {
    return this.terminators.has(character);
  }

  /** The mark after a number or a name, such as "a.m", before a place; undefined for none. */
  trailingMark(text, place) {
    const end = beforeBlanks(text, place);
    for (const mark of this.rules.markers) {
      const start = end - mark.suffix.length;
      if (start < 0) continue;
      const ending = text.slice(start, end);
      const same = ending === mark.suffix || (mark.any_case && ending.toLowerCase() === mark.suffix.toLowerCase());
      if (!same) continue;
      const before = mark.after_digit ? text[beforeBlanks(text, start) - 1] : text[start - 1];
      const fits = before === undefined ? !mark.after_digit : /[0-9]/.test(before) || BLANKS.has(before);
      if (fits) return { ...mark, start };
    }
    return undefined;
  }

  /** Whether a sentence ends at such a mark. */
  endsAtMark(text, mark, next, starts) {
    const rest = trimmedStart(next);
    if (/^[A-Z]\./.test(rest)) return false;
    if (/^[0-9]/.test(rest)) return mark.digit_breaks;
    if (!/^\p{Uppercase}/u.test(rest)) return false;
    if (starts) return true;
    if (!mark.capital_breaks) return false;
    let end = mark.start;
    while (end && (/[0-9:]/.test(text[end - 1]) || BLANKS.has(text[end - 1]))) end -= 1;
    return !isCapital(lastWord(text, end, "")) && !this.isFronting(text.slice(0, mark.start));
  }

  /** Whether a text is no more than what precedes a sentence, such as "On Jan. 5, at 6". */
  isFronting(text) {
    if (!this.fronting.size) return false;
    const isPart = (word) => {
      const bare = word.replace(/\.+$/, "");
      if (/^[0-9:]*$/.test(bare) || /^\p{Uppercase}/u.test(bare)) return true;
      return this.fronting.has(bare.toLowerCase()) || this.isListed(bare);
    };
    const isWhole = (part) => part.split(/[\p{White_Space},;\u2013\u2014]/u).every(isPart);
    let place = 0;
    for (const [start, end] of quotedParts(text)) {
      if (!isWhole(text.slice(place, start))) return false;
      place = end;
    }
    return isWhole(text.slice(place));
  }

  /** Whether a quote is none, since it crosses a bracket, or a sentence seems to end within it. */
  isMispaired(text, range, start, end) {
    if (range.mispaired !== "possibly") return range.mispaired === "certainly";
    if (text.slice(start, end) !== ".") return false;
    const next = trimmedStart(nextWords(text, end));
    const word = this.wordBefore(text, start);
    if (!isCapital(next) || !word || /^[A-Z]$/.test(word) || this.isListed(word)) return false;
    const whole = lastWord(text, start, "/");
    if (whole.length > word.length && this.isListed(whole)) return false;
    return SYMMETRIC.has(word) || this.startsSentence(next);
  }

  /** The start of the next sentence if a boundary is right before the end of a quote; else -1. */
  afterQuote(text, range, boundary) {
    const isInner = (token) => text.startsWith(token, boundary) && boundary + token.length === range.end;
    if (!range.quote || !CLOSERS.some(isInner)) return -1;
    const next = nextWords(text, range.end);
    if (this.goesOn(next.slice(0, beforeBlanks(next, next.length)).slice(afterBlanks(next, 0))) || LATER_SMALL.test(next)) {
      return -1;
    }
    let length = 0;
    for (const character of next) {
      if (!BLANKS.has(character) && !this.isTerminator(character)) break;
      length += character.length;
    }
    return range.end + length;
  }

  /** A boundary, or the place after a quote without a partner that stands there. */
  afterCloser(text, boundary, ranges) {
    if (ranges.some((range) => range.start === boundary)) return boundary;
    const closer = CLOSERS.find(
      (token) => text.startsWith(token, boundary) && isOrphan(text, boundary, token, ranges),
    );
    if (!closer || opensNext(text, boundary, closer, ranges)) return boundary;
    let place = afterBlanks(text, boundary + closer.length);
    for (;;) {
      this.runHere.lastIndex = place;
      if (!this.runHere.test(text)) return place;
      place = afterBlanks(text, this.runHere.lastIndex);
    }
  }
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
  const opens = SYMMETRIC.has(closer) && (!before || BLANKS.has(before)) && startsUtterance(text, boundary + closer.length);
  const isEarlier = (range) =>
    range.end <= boundary && range.symmetric && text.startsWith(closer, range.start);
  return opens && ranges.some(isEarlier);
}

// Splits a text into sentences as the package sentencex does, which icaps.text.sentences uses.
// The tables of the language are `model.sentence_rules`; see icaps.portable.sentence_rules.
// Rules and tables: Copyright (c) 2025 Santhosh Thottingal, MIT License.
// All places are UTF-16 offsets in a paragraph, or in the text where it is said.

const LATER_SMALL = new RegExp(`^${NOT_OF_WORDS}*[0-9a-z]`, "u");
const SAYS_I = /^\p{White_Space}+I(?:[\p{White_Space}'\u2019]|$)/u;
const REFERENCES = /^(?:\p{White_Space}*\[\p{Nd}+\])+/u;
const AFTER_CAPITAL = /[A-Z][\p{White_Space}.]+/gu;
const WIDE_BLANK = /[^\P{White_Space}\0-\x7f](?=\.)/gu; // read as a space, as in icaps.text.sentences
const EXCLAMATIONS = new Set(["Yahoo", "Yum"]); // names that end in "!"
const LONGEST_WORD = 100; // the start of a longer one is not read: no table has it
const NEXT_BYTES = 30; // of what follows a mark, in UTF-8

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
      const place = around
        ? this.afterQuote(text, around, boundary)
        : this.afterCloser(text, boundary, ranges);
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
      const followsDigit = /[0-9]/.test(text[start - 1] ?? ""); // as in the chess move 7.Bg5
      const isCode = followsDigit && /^\p{Alphabetic}/u.test(next) && /[0-9]/.test(next);
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
      if (this.rules.ellipsis_before_i && SAYS_I.test(next)) return true;
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
      const inAnyCase = mark.any_case && ending.toLowerCase() === mark.suffix.toLowerCase();
      if (ending !== mark.suffix && !inAnyCase) continue;
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
    const trimmed = trimmedStart(next.slice(0, beforeBlanks(next, next.length)));
    if (this.goesOn(trimmed) || LATER_SMALL.test(next)) return -1;
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

import { isSameList } from './caches.ts';
import { spelledText } from '../json/names.ts';
import { kindOf, lensOf } from '../rules/kinds/kinds.ts';
import type { RequestRule, Path } from '../rules/rule.ts';

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const DOT = 0x2e;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** Words before a name, even before a name that is an ordinary word. */
const BEFORE_NAME = /(?:attribute|column|field|key|member|name|param|parameter|property)s? $/i;

/** Verbs after a name, and words before a noun that is not a name. */
const BEHIND_NAME = /^ (?:are|can't|cannot|has|have|is|isn't|may|must|needs|should|was|were)(?![\w'])/;
const BEFORE_NOUN = /(?:^|\W)(?:an?|any|each|no|of|some|that|the|this|what|which|your) $/i;

/** Characters before and after a text that are tested for signs of a name. */
const BEFORE_LENGTH = 16;

/** Prefixes that validators write before a path into the body. */
const ROOTS: ReadonlySet<string> = new Set([
  'attributes',
  'body',
  'data',
  'input',
  'instance',
  'json',
  'params',
  'payload',
  'request',
  'root',
]);

/** Maximum tokens before a path into the body, in pointers of a service that places errors as JSON:API does. */
export const MAX_ROOTS = 2;

/** A text of V2 for one or several names, and V1's text for the same names. */
interface Phrase {
  readonly v2: string;
  readonly v1: string;
  /** True for an ordinary word, which counts as a name only at the beginning of a text. */
  readonly isOnlyFirst: boolean;
}

/**
 * Converts names of V2 in texts for people to V1's, in all spellings: `street_address`, `streetAddress`, `StreetAddress`,
 * `street-address`, `STREET_ADDRESS`, `Street address`; and paths: `a.b`, `a[b]`, `a['b']`, `a/b`, `aB`, `A b`. Everything else stays. An
 * ordinary English word counts only as part of a path, in quotes, after a word such as `field`, or at the beginning.
 */
export class NameSpellings {
  private readonly v1: V1Names;
  /** The same with all names in small letters and underscores. */
  private readonly plain: V1Names;
  /** The names of V1 as its rules spell them, by their plain form. */
  private readonly spelled: ReadonlyMap<string, string>;
  private readonly others: readonly string[];
  /** The longest first, by their first word. */
  private readonly phrases: ReadonlyMap<string, readonly Phrase[]>;
  private readonly longestWord: number;

  /** `rules` are the request rules of the operation. */
  constructor(rules: readonly NamedRule[], v1: V1Names) {
    this.v1 = v1;
    this.plain = new V1Names(rules.map(plain));
    this.spelled = new Map(v1NamesOf(rules).map((name) => [plainName(name), name]));
    this.others = [
      ...new Set(
        placesInV2(rules)
          .flat()
          .filter((name) => v1.isOther(name))
          .map(squeezed),
      ),
    ];
    this.phrases = phrasesOf(placesInV2(rules.map(plain)), this.plain);
    this.longestWord = Math.max(0, ...[...this.phrases.keys()].map((word) => word.length));
  }

  /** Converts the names in the text of a JSON string; escapes stay as they are. */
  text(raw: string): string {
    const letters = squeezed(raw);
    if (!this.others.some((name) => letters.includes(name))) return raw;
    let text = '';
    let kept = 0;
    let at = 0;
    while (at < raw.length) {
      const unit = raw.charCodeAt(at);
      if (unit === BACKSLASH) {
        at += raw.charCodeAt(at + 1) === LETTER_U ? 6 : 2;
        continue;
      }
      if (!isWordUnit(unit) || isDigit(unit)) {
        at += 1;
        continue;
      }
      const end = pathEnd(raw, at);
      const path = raw.slice(at, end);
      const turned = this.path(raw, at, path);
      const phrase = turned === path ? this.phraseAt(raw, at) : undefined;
      if (phrase !== undefined || turned !== path) {
        text += raw.slice(kept, at) + spelledText(phrase?.v1 ?? turned);
        kept = phrase === undefined ? end : at + phrase.v2.length;
      }
      at = phrase === undefined ? end : kept;
    }
    return text + raw.slice(kept);
  }

  /** A name, or names joined by dots and brackets. */
  private path(raw: string, at: number, path: string): string {
    const isWord = /^[a-z]+$/.test(path);
    if (isWord && path !== raw && !isNamePosition(raw, at, at + path.length)) return path;
    const exact = path.includes('[') ? this.v1.attribute(path) : this.v1.name(path);
    if (exact !== path) return exact;
    // A word with one capital letter may begin a sentence.
    if (/^[A-Z]?[a-z]*$/.test(path)) return path;
    const tokens = tokensOf(path);
    const names = tokens.map(({ text }) => plainName(text));
    let roots = 0;
    while (roots < tokens.length - 1 && ROOTS.has(names[roots] ?? '')) roots += 1;
    let within = names.slice(roots);
    let turned = this.plain.loosely(within);
    if (isSameList(turned, within) && tokens[roots + 1]?.isBracketed === true) {
      // Forms put the resource before the brackets: `order[highlight_type]`. The brackets contain a place in the whole body.
      roots += /^\d/.test(names[roots + 1] ?? '') ? 2 : 1;
      within = names.slice(roots);
      turned = this.plain.path(within, false);
    }
    if (isSameList(turned, within)) return path;
    const style = styleOf(tokens.map(({ text }) => text));
    let next = roots;
    const spelled = turned.map((name): Token => {
      const found = names.indexOf(name, next);
      if (found !== -1) {
        next = found + 1;
        return tokens[found] ?? { text: name, isBracketed: false };
      }
      const isBracketed = tokens.slice(1).some((token) => token.isBracketed && !/^\d/.test(token.text));
      return { text: style === undefined ? (this.spelled.get(name) ?? name) : style(name), isBracketed };
    });
    return joined([...tokens.slice(0, roots), ...spelled]);
  }

  /** Converts the names and indexes of a pointer into V2's body to V1's; `isWrapped` says whether the request had the wrapper. */
  pointer(names: readonly string[], isWrapped: boolean): readonly string[] {
    if (names[0] === 'data' && names[1] === 'attributes')
      return ['data', 'attributes', ...this.within(names.slice(2), false)];
    // Some services name a wrapper in errors although their bodies have none; the name after it must then be a known one.
    const rest = names[0] === 'data' ? names.slice(1) : [];
    const turned = this.within(rest, false);
    return isSameList(turned, rest) ? this.within(names, isWrapped) : ['data', ...turned];
  }

  private within(names: readonly string[], isWrapped: boolean): readonly string[] {
    const plain = names.map(plainName);
    const isExact = !isSameList(this.v1.path(names, false), names);
    if (isExact || isSameList(this.plain.path(plain, false), plain)) return this.v1.path(names, isWrapped);
    const style = styleOf(names);
    return this.plain.path(plain, isWrapped).map((name) => {
      const found = plain.indexOf(name);
      return found === -1 ? (style?.(name) ?? name) : (names[found] ?? name);
    });
  }

  private phraseAt(raw: string, at: number): Phrase | undefined {
    const before = raw[at - 1] ?? '';
    if (/[.[_-]/.test(before) || (before === '/' && isWordUnit(raw.charCodeAt(at - 2)))) return undefined;
    let end = at;
    while (end - at <= this.longestWord && isWordUnit(raw.charCodeAt(end))) end += 1;
    return this.phrases
      .get(raw.slice(at, end))
      ?.find(
        ({ v2, isOnlyFirst }) =>
          (!isOnlyFirst || at === 0) && raw.startsWith(v2, at) && !isWordUnit(raw.charCodeAt(at + v2.length)),
      );
  }
}

/** A name in a path, or an index. */
interface Token {
  readonly text: string;
  readonly isBracketed: boolean;
}

function tokensOf(path: string): readonly Token[] {
  return path.split(/(?=[.[])/).map((part) => {
    if (part.startsWith('[')) return { text: part.slice(1, -1), isBracketed: true };
    return { text: part.startsWith('.') ? part.slice(1) : part, isBracketed: false };
  });
}

function joined(tokens: readonly Token[]): string {
  return tokens
    .map(({ text, isBracketed }, at) => (at === 0 ? text : isBracketed ? `[${text}]` : `.${text}`))
    .join('');
}

/** Returns the end of the names that begin at `start`, joined by dots and brackets. */
function pathEnd(raw: string, start: number): number {
  let at = start;
  for (;;) {
    while (isWordUnit(raw.charCodeAt(at))) at += 1;
    if (raw.charCodeAt(at) === DOT && isWordUnit(raw.charCodeAt(at + 1))) at += 1;
    else if (raw.charCodeAt(at) === OPEN) {
      let end = at + 1;
      while (isWordUnit(raw.charCodeAt(end))) end += 1;
      if (end === at + 1 || raw.charCodeAt(end) !== CLOSE) return at;
      at = end + 1;
      if (raw.charCodeAt(at) !== OPEN && raw.charCodeAt(at) !== DOT) return at;
    } else return at;
  }
}

/** True in a position for names, where even an ordinary word is one. */
function isNamePosition(raw: string, start: number, end: number): boolean {
  const before = raw[start - 1] ?? '';
  const behind = raw[end] ?? '';
  if (start === 0 || behind === ':') return true;
  if (/["'`]/.test(before) && (/["'`]/.test(behind) || raw.startsWith('\\"', end))) return true;
  const earlier = raw.slice(Math.max(0, start - BEFORE_LENGTH), start);
  if (before === ' ' && BEFORE_NAME.test(earlier)) return true;
  return BEHIND_NAME.test(raw.slice(end, end + BEFORE_LENGTH)) && !BEFORE_NOUN.test(earlier);
}

type Style = (name: string) => string;

const snake: Style = (name) => name;
const constant: Style = (name) => name.toUpperCase();
/** The name with a capital letter in place of each underscore and the letter behind it. */
export const camel: Style = (name) =>
  name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const pascal: Style = (name) => capitalised(camel(name));
const kebab: Style = (name) => name.replaceAll('_', '-');

/** The style of names: that of the first name that has one. */
function styleOf(names: readonly string[]): Style | undefined {
  for (const name of names) {
    if (/^[A-Z][A-Z0-9_]+$/.test(name)) return constant;
    if (name.includes('_')) return snake;
    if (/^[a-z]+[A-Z]/.test(name)) return camel;
    if (/^[A-Z][a-z]/.test(name)) return pascal;
  }
  return undefined;
}

/** A name in small letters, its words joined by underscores. */
function plainName(name: string): string {
  if (/^[A-Z0-9_]+$/.test(name)) return name.toLowerCase();
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

/** A rule's effect on names, in plain form. */
function plain({ wrapper, in: objects, moves }: NamedRule): NamedRule {
  return {
    wrapper,
    in: objects.map(plainName),
    moves: moves.map(({ from, to, isInside }) => ({
      from: from.map(plainName),
      to: to.map(plainName),
      isInside,
    })),
  };
}

/** The names of V1 that differ in V2. */
function v1NamesOf(rules: readonly NamedRule[]): readonly string[] {
  return rules.flatMap(({ moves }) =>
    moves.flatMap(({ from, to }) => from.filter((name) => !to.includes(name))),
  );
}

/** All spellings of the places of V2 that contain no dots, with V1's. */
function phrasesOf(
  places: readonly (readonly string[])[],
  v1: V1Names,
): ReadonlyMap<string, readonly Phrase[]> {
  const found = new Map<string, Phrase | undefined>();
  const add = (phrase: Phrase): void => {
    const known = found.get(phrase.v2);
    // If several V1 names fit one text, none is used.
    const isOther = found.has(phrase.v2) && known?.v1 !== phrase.v1;
    found.set(phrase.v2, isOther ? undefined : phrase);
  };
  for (const place of places) {
    for (let from = place.lastIndexOf('0') + 1; from < place.length; from += 1) {
      const path = place.slice(from);
      const turned = v1.loosely(path);
      if (turned.length === 0 || isSameList(turned, path)) continue;
      for (const spell of SPELLINGS) {
        const [v2, inV1] = [spell(path), spell(turned)];
        const isWord = /^[A-Za-z]?[a-z]*$/.test(v2);
        if (v2 !== inV1) add({ v2, v1: inV1, isOnlyFirst: isWord });
      }
    }
  }
  const phrases = [...found.values()].filter((phrase) => phrase !== undefined);
  const sorted = phrases.toSorted((one, other) => other.v2.length - one.v2.length);
  return Map.groupBy(sorted, ({ v2 }) => /^\w*/.exec(v2)?.[0] ?? '');
}

const words = (path: readonly string[]): string => path.join('_').replaceAll('_', ' ');

/** Spellings of a path as a single word. */
const SPELLINGS: readonly ((path: readonly string[]) => string)[] = [
  (path) => snake(path.join('_')),
  (path) => camel(path.join('_')),
  (path) => pascal(path.join('_')),
  (path) => kebab(path.join('_')),
  (path) => constant(path.join('_')),
  (path) => path.join('/'),
  (path) => path.map(camel).join('/'),
  (path) => path.map(kebab).join('.'),
  (path) => path.map((name, at) => (at === 0 ? name : `['${name}']`)).join(''),
  (path) => path.map((name, at) => (at === 0 ? camel(name) : `['${camel(name)}']`)).join(''),
  words,
  (path) => capitalised(words(path)),
  (path) => words(path).split(' ').map(capitalised).join(' '),
];

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The letters and digits of a text, in lower case. */
function squeezed(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** True for a letter of ASCII, a digit or `_`; false for the NaN of `charCodeAt` at the end of a text. */
export function isWordUnit(unit: number): boolean {
  const lower = unit | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || isDigit(unit) || unit === 0x5f;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** The effect of a request rule on names. */
export interface NamedRule {
  /** The member that replaces the body. */
  readonly wrapper: string | undefined;
  readonly in: Path;
  /** The paths of members in both versions, from the objects at `in`. */
  readonly moves: readonly {
    readonly from: Path;
    readonly to: Path;
    /** True for a member that another move moves with its container. */
    readonly isInside: boolean;
  }[];
}

/** The effects of request rules on names, in order. */
export function namedRules(rules: readonly RequestRule[]): readonly NamedRule[] {
  return rules.map((rule) => {
    const lens = lensOf(rule);
    const moves = lens.moves(rule).flatMap(({ from, to, inside = [] }) => [
      ...inside.map((one) => ({
        from: [...from, ...one.from],
        to: [...to, ...one.to],
        isInside: true,
      })),
      { from, to, isInside: false },
    ]);
    return { wrapper: kindOf(rule).unwraps?.(rule), in: 'in' in rule ? rule.in : [], moves };
  });
}

/** Maximum tokens before a place at any depth: errors are about members that people know. */
const MAX_LEVELS_ANYWHERE = 32;

/** Converts pointers and names in a V2 body to V1's, by applying the request rules of an operation in reverse. */
export class V1Names {
  /** Number of tokens of a pointer that rules depend on; those after them stay. */
  readonly depth: number;
  /** Maximum characters of a pointer, as spelled in JSON, up to the last of those tokens. */
  readonly spelledLength: number;
  private readonly rules: readonly NamedRule[];
  /** The first names of V2's places: a text without any of them stays as it is. */
  private readonly others: ReadonlySet<string>;

  /** `rules` are the request rules of the operation, in order. */
  constructor(rules: readonly NamedRule[]) {
    this.rules = rules.toReversed();
    const places = rules.flatMap(({ in: objects, moves }) =>
      moves.map(({ from, to }) => ({ objects, from, to })),
    );
    this.others = new Set(places.flatMap(({ to }) => to.slice(0, 1)));
    const isAnywhere = rules.some(({ in: objects }) => objects[0] === '**');
    // The longest place, and the number of levels by which rules may move a member away from its place in V1.
    this.depth =
      (isAnywhere ? MAX_LEVELS_ANYWHERE : 0) +
      Math.max(0, ...places.map(({ objects, to }) => objects.length + to.length)) +
      rules.reduce(
        (sum, { moves }) => sum + Math.max(0, ...moves.map(({ from, to }) => to.length - from.length)),
        0,
      );
    const named = places.flatMap(({ objects, to }) => [...objects, ...to]);
    // A character of a name takes at most two in a pointer, each of which may be an escape of six. An index has at most 16 digits.
    this.spelledLength = this.depth * 12 * Math.max(16, ...named.map((name) => name.length + 1));
  }

  /** True for a name that differs in V1, in at least one place. */
  isOther(name: string): boolean {
    return this.others.has(name);
  }

  /** True for a text with a name that may differ in V1. */
  mayRename(text: string): boolean {
    for (const name of this.others) if (text.includes(name)) return true;
    return false;
  }

  /** Converts the names and indexes of a path into V2's body to V1's; `isWrapped` says whether the request had the wrapper. */
  path(path: readonly string[], isWrapped: boolean, loose = false): readonly string[] {
    let tokens = path;
    for (const rule of this.rules) {
      const turned = reverseRule(rule, tokens, loose);
      tokens = turned === tokens && isBetween(rule, tokens, loose, path) ? path : turned;
      if (isWrapped && rule.wrapper !== undefined) tokens = [rule.wrapper, ...tokens];
    }
    return tokens;
  }

  /** The V1 spelling of a name or of names joined by dots, such as `address.suburb`; the same text if V1 has no other. */
  name(text: string): string {
    return this.loosely(text.split('.')).join('.');
  }

  /** Converts the names and indexes of a path that may begin anywhere in V2's body to V1's. */
  loosely(path: readonly string[]): readonly string[] {
    return this.path(path, false, true);
  }

  /** The V1 spelling of the name of an attribute: `a.b`, `a[0].b` or `a[b]`, each in its own style. */
  attribute(text: string): string {
    if (!this.mayRename(text)) return text;
    const isBracketed = text.includes('[');
    if (!isBracketed) return this.name(text);
    if (!/^[^.[\]]+(?:\.[^.[\]]+|\[[^.[\]]+\])*$/.test(text)) return text;
    const tokens = text.replaceAll(']', '').split(/[.[]/);
    const inBrackets = /\[(?!\d+\])/.test(text);
    const v1 = this.loosely(tokens);
    return v1.reduce((name, token, at) => {
      if (at === 0) return token;
      return inBrackets || /^\d+$/.test(token) ? `${name}[${token}]` : `${name}.${token}`;
    }, '');
  }
}

/** V2's places for members that V1 has elsewhere or under another name; an index stands for any element. */
export function placesInV2(rules: readonly NamedRule[]): readonly Path[] {
  return rules.flatMap(({ in: objects, moves }) =>
    moves.map(({ to }) =>
      [...objects.filter((step) => step !== '**'), ...to].map((step) => (step === '*' ? '0' : step)),
    ),
  );
}

/**
 * Reverses one rule on a path of `tokens` into a body, by the first of its moves that matches. A `loose` path may begin anywhere on the
 * rule's path. An error about an object that only V2 has becomes one about the surrounding object.
 */
function reverseRule(
  { in: objects, moves }: NamedRule,
  tokens: readonly string[],
  loose: boolean,
): readonly string[] {
  if (objects[0] === '**') return reverseAnywhere(moves, tokens);
  for (const { from, to, isInside } of moves) {
    const at = tokens.findIndex(
      (_, index) =>
        to.every((name, step) => isStep(name, tokens[index + step])) &&
        matchesPath(objects, tokens, index, loose),
    );
    if (at !== -1) return reverseMove({ from, to }, tokens, at);
    if (isInside) continue;
    const { length } = objects;
    const rest = tokens.slice(length);
    const isAround = rest.length < to.length && rest.every((name, step) => name === to[step]);
    const parted = rest.findIndex((name, step) => name !== from[step]);
    // On its own, the name of such an object may be a plain word.
    if (isAround && parted !== -1 && (!loose || length > 0) && matchesPath(objects, tokens, length, loose))
      return tokens.slice(0, length + parted);
  }
  return tokens;
}

/**
 * True for a path to, or into, an object that a rule makes, and that the path into V2's body does not name: later rules have renamed the
 * object, so neither version has this name.
 */
function isBetween(
  { in: objects, moves }: NamedRule,
  tokens: readonly string[],
  loose: boolean,
  path: readonly string[],
): boolean {
  return moves.some(
    ({ from: [old], to: [made = '', ...inner] }) =>
      inner.length > 0 &&
      old !== made &&
      !path.includes(made) &&
      tokens.some((name, index) => name === made && matchesPath(objects, tokens, index, loose)),
  );
}

/** Reverses a rule for any depth wherever one of its moves matches a part of the path, the last part first. */
function reverseAnywhere(moves: NamedRule['moves'], tokens: readonly string[]): readonly string[] {
  let path = tokens;
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    const move = moves.find(({ to }) => to.every((name, step) => isStep(name, path[at + step])));
    if (move !== undefined) path = reverseMove(move, path, at);
  }
  return path;
}

/** Reverses a move that matches the tokens from `at` on. */
function reverseMove(
  { from, to }: Pick<NamedRule['moves'][number], 'from' | 'to'>,
  tokens: readonly string[],
  at: number,
): readonly string[] {
  const element = tokens[at + to.indexOf('*')] ?? '';
  return tokens.toSpliced(at, to.length, ...from.map((name) => (name === '*' ? element : name)));
}

/** Whether the first `length` of `tokens` are the path, or for a `loose` path its end. */
function matchesPath(path: Path, tokens: readonly string[], length: number, loose: boolean): boolean {
  if (loose ? length > path.length : length !== path.length) return false;
  return path.slice(path.length - length).every((step, at) => isStep(step, tokens[at]));
}

/** Whether a token matches a step of a path, or stands for any element of an array. */
function isStep(step: string | undefined, token: string | undefined): boolean {
  return step === '*' ? token !== undefined && /^\d+$/.test(token) : step === token;
}

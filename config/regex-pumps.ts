import { analyse, type AnalysisResult } from 'scslre';

type Pattern = AnalysisResult['parsed']['pattern'];
type Alternative = Pattern['alternatives'][number];
type Element = Alternative['elements'][number];

/**
 * Returns texts whose repetition makes the time of a regular expression grow faster than their number, each with what reads them
 * twice; empty for one of linear time. Two analyses, since neither finds all: scslre knows repetitions of one character and what
 * engines do with them; the other one, below, those of several characters, such as `\"`. Both may report what no input can reach.
 */
export function pumps(source: string, flags: string): readonly string[] {
  const { reports, parsed } = analyse({ source, flags });
  const single = reports.map(({ character }) => character.pick);
  const several = new Automaton(parsed.pattern, flags).pumps();
  return [...new Set([...single, ...several])];
}

/** Repetitions up to this number are written out; more of them are without limit, and so much text that it makes no difference. */
const MAX_COPIES = 40;

/** How a part of an expression that matches nothing may be passed: freely, or only where an assertion holds. */
const FREE = 0;
/** Behind `^`, a word's edge or a look-behind: a search does not begin there at each place. */
const ANCHORED = 1;
/** Before `$`, a word's edge or a look-ahead: a match may fail there. */
const CONDITIONAL = 2;

/** A part of an expression: the positions that can be its first and its last, with their assertions, and how it can match nothing. */
interface Part {
  readonly first: ReadonlyMap<number, number>;
  readonly last: ReadonlyMap<number, number>;
  readonly empty: ReadonlySet<number>;
}

const NOTHING: Part = { first: new Map(), last: new Map(), empty: new Set([FREE]) };

/** The position before a match, where a search without an anchor passes over any character. */
const SEARCH = 0;

/**
 * The position automaton of an expression (Glushkov): a state for each character of it. The time is quadratic or worse where a word
 * leads from a state back to itself, from there to another, and from that one back to itself (Weber and Seidl, 1991: "IDA"): a run
 * of that word can be divided between the two in as many ways as it is long.
 */
class Automaton {
  private readonly follow: Set<number>[] = [new Set()];
  /** The text of the character or class at a position. */
  private readonly texts: string[] = ['[^]'];
  private readonly letters: readonly Letter[];
  private readonly masks: readonly bigint[];
  /** Positions at which a match has succeeded: what comes behind them cannot make it fail. */
  private readonly accepting: ReadonlySet<number>;

  constructor(pattern: Pattern, flags: string) {
    const whole = this.alternatives(pattern.alternatives);
    for (const [position, assertion] of whole.first)
      if ((assertion & ANCHORED) === 0) this.follow[SEARCH]?.add(position);
    this.follow[SEARCH]?.add(SEARCH);
    if (flags.includes('y')) this.follow[SEARCH]?.clear();
    const ends = [...whole.last].filter(([, assertion]) => (assertion & CONDITIONAL) === 0);
    this.accepting = new Set(ends.map(([position]) => position));
    this.letters = lettersOf(this.texts, flags);
    this.masks = this.texts.map((text) => maskOf(text, this.letters));
  }

  pumps(): readonly string[] {
    const found: string[] = [];
    const looping = this.texts.map((_, position) => position).filter((position) => this.loops(position));
    for (const one of looping) {
      for (const other of looping) {
        if (one === other || !this.reachable(one).has(other)) continue;
        const word = this.dividedWord(one, other);
        if (word !== undefined) found.push(word);
      }
      if (found.length > 0) break;
    }
    return found.slice(0, 1);
  }

  /** A word that leads from `one` to `one`, from `one` to `other` and from `other` to `other`. */
  private dividedWord(one: number, other: number): string | undefined {
    const size = this.texts.length;
    const start = (one * size + one) * size + other;
    const end = (one * size + other) * size + other;
    const before = new Map<number, readonly [from: number, letter: string]>();
    const open = [start];
    for (const state of open) {
      const [a, b, c] = [Math.floor(state / size / size), Math.floor(state / size) % size, state % size];
      for (const nextA of this.nextWithin(a, one)) {
        for (const nextC of this.nextWithin(c, other)) {
          const both = (this.masks[nextA] ?? 0n) & (this.masks[nextC] ?? 0n);
          if (both === 0n) continue;
          for (const nextB of this.next(b)) {
            const shared = both & (this.masks[nextB] ?? 0n);
            const next = (nextA * size + nextB) * size + nextC;
            if (shared === 0n || before.has(next) || !this.reachable(nextB).has(other)) continue;
            before.set(next, [state, this.letterOf(shared)]);
            if (next === end) return wordTo(end, start, before);
            open.push(next);
          }
        }
      }
    }
    return undefined;
  }

  private next(position: number): readonly number[] {
    return [...(this.follow[position] ?? [])].filter((next) => !this.accepting.has(next));
  }

  /** The next positions from which there is a way back to `home`. */
  private nextWithin(position: number, home: number): readonly number[] {
    return this.next(position).filter((next) => this.reachable(next).has(home));
  }

  private loops(position: number): boolean {
    return (
      !this.accepting.has(position) && this.next(position).some((next) => this.reachable(next).has(position))
    );
  }

  private readonly reached = new Map<number, ReadonlySet<number>>();

  /** The positions to which a way leads, and the position itself. */
  private reachable(position: number): ReadonlySet<number> {
    const known = this.reached.get(position);
    if (known !== undefined) return known;
    const reached = new Set([position]);
    for (const one of reached) for (const next of this.next(one)) reached.add(next);
    this.reached.set(position, reached);
    return reached;
  }

  private letterOf(mask: bigint): string {
    return this.letters.find((_, at) => (mask & (1n << BigInt(at))) !== 0n)?.example ?? '';
  }

  private alternatives(alternatives: readonly Alternative[]): Part {
    const parts = alternatives.map(({ elements }) =>
      elements.reduce((part: Part, element) => this.joined(part, this.part(element)), NOTHING),
    );
    return {
      first: merged(parts.map(({ first }) => first)),
      last: merged(parts.map(({ last }) => last)),
      empty: new Set(parts.flatMap(({ empty }) => [...empty])),
    };
  }

  private joined(one: Part, other: Part): Part {
    for (const last of one.last.keys()) for (const first of other.first.keys()) this.follow[last]?.add(first);
    return {
      first: merged([one.first, ...[...one.empty].map((assertion) => asserted(other.first, assertion))]),
      last: merged([other.last, ...[...other.empty].map((assertion) => asserted(one.last, assertion))]),
      empty: new Set([...one.empty].flatMap((first) => [...other.empty].map((second) => first | second))),
    };
  }

  private part(element: Element): Part {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return this.alternatives(element.alternatives);
      case 'Quantifier': {
        const { element: repeated, min, max } = element;
        return this.repeated(() => this.part(repeated), min, max);
      }
      case 'Assertion':
        if (element.kind === 'lookahead') {
          // What it reads is read again behind it: a branch that leads nowhere.
          const { first } = this.alternatives(element.alternatives);
          return { first, last: new Map(), empty: new Set([CONDITIONAL]) };
        }
        if (element.kind === 'end') return { ...NOTHING, empty: new Set([CONDITIONAL]) };
        return { ...NOTHING, empty: new Set([element.kind === 'word' ? ANCHORED | CONDITIONAL : ANCHORED]) };
      case 'Backreference':
        return NOTHING;
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass': {
        const position = this.texts.push(element.raw) - 1;
        this.follow[position] = new Set();
        return { first: new Map([[position, FREE]]), last: new Map([[position, FREE]]), empty: new Set() };
      }
    }
  }

  private repeated(part: () => Part, min: number, max: number): Part {
    let whole = NOTHING;
    const copies = Math.min(min, MAX_COPIES);
    for (let k = 0; k < copies; k += 1) whole = this.joined(whole, part());
    if (max <= MAX_COPIES) {
      let rest = NOTHING;
      for (let k = copies; k < max; k += 1) rest = optional(this.joined(part(), rest));
      return this.joined(whole, rest);
    }
    const endless = part();
    return this.joined(whole, optional(this.joinedToItself(endless)));
  }

  private joinedToItself(part: Part): Part {
    this.joined(part, part);
    return part;
  }
}

function optional(part: Part): Part {
  return { ...part, empty: new Set([...part.empty, FREE]) };
}

function asserted(positions: ReadonlyMap<number, number>, assertion: number): ReadonlyMap<number, number> {
  return new Map([...positions].map(([position, own]) => [position, own | assertion]));
}

/** Of several ways to a position, the one with fewer assertions counts. */
function merged(all: readonly ReadonlyMap<number, number>[]): ReadonlyMap<number, number> {
  const positions = new Map<number, number>();
  for (const one of all)
    for (const [position, assertion] of one)
      positions.set(position, (positions.get(position) ?? ANCHORED | CONDITIONAL) & assertion);
  return positions;
}

function wordTo(
  end: number,
  start: number,
  before: ReadonlyMap<number, readonly [from: number, letter: string]>,
): string {
  let word = '';
  let state = end;
  do {
    const [from, letter] = before.get(state) ?? [start, ''];
    word = letter + word;
    state = from;
  } while (state !== start);
  return word;
}

/** Characters that no class of the expression tells apart. */
interface Letter {
  readonly example: string;
  readonly classes: ReadonlySet<string>;
}

/** ASCII from the readable to the others, Latin, and some that case folding, `\s` or `\p{…}` treat as special. */
const EXAMPLES = [
  ...Array.from({ length: 0x180 }, (_, k) => String.fromCodePoint((k + 0x61) % 0x180)),
  '\u2028',
  '\u200d',
  '\u212a',
  '\ufeff',
  '\uff10',
  '\uff1d',
  '\ud800',
  '\ue000',
  '\u0660',
  '😀',
];

function lettersOf(texts: readonly string[], flags: string): readonly Letter[] {
  const classes = [...new Set(texts)].map((text) => ({
    text,
    matches: new RegExp(`^(?:${text})$`, flags.replaceAll(/[gy]/g, '')),
  }));
  const letters = new Map<string, Letter>();
  for (const example of EXAMPLES) {
    const own = classes.filter(({ matches }) => matches.test(example)).map(({ text }) => text);
    const key = own.join('\n');
    if (!letters.has(key)) letters.set(key, { example, classes: new Set(own) });
  }
  return [...letters.values()];
}

function maskOf(text: string, letters: readonly Letter[]): bigint {
  let mask = 0n;
  for (const [at, { classes }] of letters.entries()) if (classes.has(text)) mask |= 1n << BigInt(at);
  return mask;
}

/** Bounds the work of one check. */
export interface WorkBound {
  /** Counts `steps` of work, each some tens of nanoseconds; throws when there were too many. */
  spend(steps: number): void;
}

/** A compiled pattern: true where it matches somewhere in `text`. */
export type LinearPattern = (text: string, work: WorkBound) => boolean;

/** Maximum instructions of a pattern, which bounds memory and time for `(a{1,1000}){1,1000}`: a bounded repetition is written out. */
const MAX_INSTRUCTIONS = 10_000;

/** Maximum nesting of groups, because the parser is recursive. */
const MAX_DEPTH = 200;

/** Operations of a program. A character class has its index in `left`; the other fields are addresses. */
const CLASS = 0;
const SPLIT = 1;
const START = 2;
const END = 3;
const BOUNDARY = 4;
const NO_BOUNDARY = 5;
const MATCH = 6;

/**
 * Compiles a pattern of a schema (ECMA-262 with the flag `u`, JSON Schema 2020-12 core §6.4) for an engine whose time is at most the length
 * of the pattern times that of the text: it follows all alternatives side by side (Thompson, 1968). The platform's engine backtracks, and
 * takes a time exponential in the text for `(a+)+$`. Returns a sentence for an invalid pattern, and for one that needs backtracking.
 * `re2js` was rejected: it adds 45 KiB (gzipped) to the edge, and verdicts of its dialect would differ from V2's.
 */
export function compilePattern(source: string): LinearPattern | { readonly fault: string } {
  try {
    // The platform's parser validates the pattern, so `Parser` need not.
    // Not proven linear: the platform never runs it.
    RegExp(source, 'u');
    return matcher(new Parser(source).parse());
  } catch (error) {
    if (error instanceof UnsupportedPattern) return { fault: error.message };
    return { fault: 'it is not a regular expression of ECMAScript with the flag u' };
  }
}

class UnsupportedPattern extends Error {}

interface Instruction {
  readonly operation: number;
  left: number;
  right: number;
}

interface Program {
  readonly instructions: readonly Instruction[];
  readonly classes: readonly CharacterClass[];
}

/** The code points that an atom matches. The platform's engine tests one code point at a time, so it cannot backtrack. */
class CharacterClass {
  private readonly expression: RegExp;
  /** For each ASCII character: 0 if not tested yet, 1 for no, 2 for yes. */
  private readonly ascii = new Uint8Array(128);

  constructor(source: string) {
    // Not proven linear: it reads one code point.
    this.expression = new RegExp(`^${source}$`, 'u');
  }

  has(codePoint: number): boolean {
    if (codePoint >= 128) return this.expression.test(String.fromCodePoint(codePoint));
    const known = this.ascii[codePoint] ?? 0;
    if (known !== 0) return known === 2;
    const has = this.expression.test(String.fromCodePoint(codePoint));
    this.ascii[codePoint] = has ? 2 : 1;
    return has;
  }
}

/** A part of a pattern. */
type Node =
  | { readonly kind: 'class'; readonly index: number }
  | { readonly kind: 'assertion'; readonly operation: number }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly least: number; readonly most: number };

/** Reads a pattern that the platform has accepted (ECMA-262 §22.2.1), and writes its program. */
class Parser {
  private readonly source: string;
  private at = 0;
  private depth = 0;
  private readonly classes: CharacterClass[] = [];
  private readonly classIndexes = new Map<string, number>();
  private readonly instructions: Instruction[] = [];

  constructor(source: string) {
    this.source = source;
  }

  parse(): Program {
    this.emit(this.disjunction());
    this.add(MATCH);
    return { instructions: this.instructions, classes: this.classes };
  }

  private disjunction(): Node {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw new UnsupportedPattern('its groups are nested too deeply');
    const parts = [this.alternative()];
    while (this.take('|')) parts.push(this.alternative());
    this.depth -= 1;
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'any', parts };
  }

  private alternative(): Node {
    const parts: Node[] = [];
    while (this.at < this.source.length && !'|)'.includes(this.source.charAt(this.at))) {
      parts.push(this.repeated(this.term()));
    }
    return { kind: 'all', parts };
  }

  private term(): Node {
    if (this.take('^')) return { kind: 'assertion', operation: START };
    if (this.take('$')) return { kind: 'assertion', operation: END };
    if (this.take('\\b')) return { kind: 'assertion', operation: BOUNDARY };
    if (this.take('\\B')) return { kind: 'assertion', operation: NO_BOUNDARY };
    if (this.take('(')) return this.group();
    return this.atom();
  }

  private group(): Node {
    if (this.take('?=') || this.take('?!') || this.take('?<=') || this.take('?<!'))
      throw new UnsupportedPattern('it looks ahead or behind');
    if (this.take('?<')) this.at = this.source.indexOf('>', this.at) + 1;
    else if (this.take('?') && !this.take(':')) throw new UnsupportedPattern('it sets flags');
    const inside = this.disjunction();
    this.at += 1;
    return inside;
  }

  /** A character, an escape or a class, by its text. */
  private atom(): Node {
    const text = this.atomText();
    let index = this.classIndexes.get(text);
    if (index === undefined) {
      index = this.classes.push(new CharacterClass(text)) - 1;
      this.classIndexes.set(text, index);
    }
    return { kind: 'class', index };
  }

  private atomText(): string {
    const rest = this.source.slice(this.at, this.at + 16);
    const start = this.at;
    if (rest.startsWith('[')) {
      // Without the flag `v`, classes do not nest.
      for (this.at += 1; this.source[this.at] !== ']'; this.at += 1) {
        if (this.source[this.at] === '\\') this.at += 1;
      }
      this.at += 1;
    } else if (!rest.startsWith('\\')) {
      this.at += String.fromCodePoint(this.source.codePointAt(this.at) ?? 0).length;
    } else if (/^\\[1-9k]/.test(rest)) {
      throw new UnsupportedPattern('it refers back to a group');
    } else if (/^\\[pPu]\{/.test(rest)) {
      this.at = this.source.indexOf('}', this.at) + 1;
    } else {
      // A pair of escaped surrogates is one code point.
      const escape =
        /^\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|.)/u;
      this.at += escape.exec(rest)?.[0].length ?? 2;
    }
    return this.source.slice(start, this.at);
  }

  private repeated(part: Node): Node {
    const bounds = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(this.source.slice(this.at, this.at + 64))?.[0];
    if (bounds === undefined) {
      if (this.source[this.at] === '{') throw new UnsupportedPattern('it repeats a part too often');
      return part;
    }
    this.at += bounds.length;
    // Lazy repetitions match the same texts.
    this.take('?');
    if (bounds === '*') return { kind: 'repeat', part, least: 0, most: Infinity };
    if (bounds === '+') return { kind: 'repeat', part, least: 1, most: Infinity };
    if (bounds === '?') return { kind: 'repeat', part, least: 0, most: 1 };
    const [least = '', most] = bounds.slice(1, -1).split(',');
    const limit = most === undefined ? Number(least) : most === '' ? Infinity : Number(most);
    return { kind: 'repeat', part, least: Number(least), most: limit };
  }

  private take(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private add(operation: number, left = 0): Instruction {
    if (this.instructions.length >= MAX_INSTRUCTIONS)
      throw new UnsupportedPattern('it repeats a part too often');
    const instruction = { operation, left, right: 0 };
    this.instructions.push(instruction);
    return instruction;
  }

  /** Writes the instructions of a node; the next node begins at the next address. */
  private emit(node: Node): void {
    switch (node.kind) {
      case 'class':
        this.add(CLASS, node.index);
        return;
      case 'assertion':
        this.add(node.operation);
        return;
      case 'all':
        for (const part of node.parts) this.emit(part);
        return;
      case 'any':
        this.emitAlternatives(node.parts);
        return;
      case 'repeat':
        this.emitRepetition(node.part, node.least, node.most);
    }
  }

  private emitAlternatives(parts: readonly Node[]): void {
    const ends: Instruction[] = [];
    for (const [index, part] of parts.entries()) {
      const split = index === parts.length - 1 ? undefined : this.add(SPLIT, this.instructions.length + 1);
      this.emit(part);
      if (split === undefined) break;
      ends.push(this.add(SPLIT));
      split.right = this.instructions.length;
    }
    for (const end of ends) end.left = end.right = this.instructions.length;
  }

  private emitRepetition(part: Node, least: number, most: number): void {
    const before = this.instructions.length;
    for (let times = 0; times < least; times += 1) {
      this.emit(part);
      // A repeated part without instructions matches the empty text: `(){4000000000}` ends here.
      if (this.instructions.length === before) return;
    }
    if (most === Infinity) {
      const start = this.instructions.length;
      const split = this.add(SPLIT, start + 1);
      this.emit(part);
      const again = this.add(SPLIT);
      again.left = again.right = start;
      split.right = this.instructions.length;
      return;
    }
    const splits: Instruction[] = [];
    for (let times = least; times < most; times += 1) {
      splits.push(this.add(SPLIT, this.instructions.length + 1));
      this.emit(part);
    }
    for (const split of splits) split.right = this.instructions.length;
  }
}

/** Follows all ways through the program at once: each address is visited once for each code point of the text. */
function matcher({ instructions, classes }: Program): LinearPattern {
  const { length } = instructions;
  /** The position at which an address was visited last, one more than its index. */
  const visited = new Uint32Array(length);
  let [current, next] = [new Uint32Array(length), new Uint32Array(length)];
  const pending: number[] = [];
  return (text, work) => {
    visited.fill(0);
    // A check that exceeded its bound may have left addresses here.
    pending.length = 0;
    work.spend(1 + (length >> 4));
    let count = 0;
    for (let at = 0; ;) {
      // A match may begin anywhere, so the first address is entered at each position.
      count = enter(0, at, count);
      if (count < 0) return true;
      work.spend(1 + count);
      if (at >= text.length) return false;
      const codePoint = text.codePointAt(at) ?? 0;
      const after = at + (codePoint > 0xffff ? 2 : 1);
      const before = current;
      const entered = count;
      [current, next] = [next, current];
      count = 0;
      for (let index = 0; index < entered; index += 1) {
        const address = before[index] ?? 0;
        if (classes[instructions[address]?.left ?? 0]?.has(codePoint) !== true) continue;
        count = enter(address + 1, after, count);
        if (count < 0) return true;
      }
      at = after;
    }

    /** Adds the classes that can be reached from an address without a character; -1 for the end of the pattern. */
    function enter(first: number, at: number, listed: number): number {
      let size = listed;
      pending.push(first);
      for (let address = pending.pop(); address !== undefined; address = pending.pop()) {
        if (visited[address] === at + 1) continue;
        visited[address] = at + 1;
        work.spend(1);
        const { operation = MATCH, left = 0, right = 0 } = instructions[address] ?? {};
        if (operation === MATCH) return -1;
        if (operation === CLASS) {
          current[size] = address;
          size += 1;
        } else if (operation === SPLIT) {
          pending.push(right, left);
        } else if (holds(operation, text, at)) {
          pending.push(address + 1);
        }
      }
      return size;
    }
  };
}

function holds(operation: number, text: string, at: number): boolean {
  if (operation === START) return at === 0;
  if (operation === END) return at === text.length;
  return (isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))) === (operation === BOUNDARY);
}

/** True for a character of `\w`; false for NaN, the value beyond the ends of a text. */
function isWord(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
  );
}

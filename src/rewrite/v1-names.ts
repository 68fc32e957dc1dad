import type { MoveRule, Path, RequestRule } from '../rules/rule.ts';

/** Converts pointers and names of a V2 body back to those of V1: applies the request rules of an operation in reverse. */
export class V1Names {
  /** Tokens of a pointer that decide what becomes of it: those behind them stay as they are. */
  readonly depth: number;
  /** Maximum characters of the text of a pointer, as spelled in JSON, up to the last of those tokens. */
  readonly spelledLength: number;
  private readonly rules: readonly RequestRule[];
  /** Names of V2 that V1 has otherwise: a text without any of them stays as it is. */
  private readonly others: ReadonlySet<string>;

  /** `rules` are the request rules of the operation, in order. */
  constructor(rules: readonly RequestRule[]) {
    this.rules = rules.toReversed();
    const renames = rules.filter((rule) => rule.rule === 'rename');
    const nests = rules.filter((rule) => rule.rule === 'nest');
    const moves = rules.flatMap((rule) => movesOf(rule));
    this.others = new Set([
      ...renames.map(({ to }) => to),
      ...nests.map(({ under }) => under),
      ...moves.flatMap(({ to }) => to),
    ]);
    // Each object that V1 does not have moves what is behind it one token forward, and a move as many as its paths have.
    const moved = moves.reduce((tokens, { from, to }) => tokens + Math.max(from.length, to.length), 0);
    const placed = [...renames, ...nests, ...moves];
    this.depth = Math.max(0, ...placed.map((rule) => rule.in.length)) + nests.length + moved + 2;
    const named = placed.flatMap((rule) => [
      ...rule.in,
      ...('members' in rule ? [...rule.members, rule.under] : [rule.to].flat()),
    ]);
    // A character of a name is two of a pointer at most, and each of them an escape of six. No index has more than 16 digits.
    this.spelledLength = this.depth * 12 * Math.max(16, ...named.map((name) => name.length + 1));
  }

  /** True for a name that V1 has otherwise, in some place. */
  isOther(name: string): boolean {
    return this.others.has(name);
  }

  /** True for a text with a name that V1 may have otherwise. */
  mayRename(text: string): boolean {
    for (const name of this.others) if (text.includes(name)) return true;
    return false;
  }

  /** The names and indexes in V1's body for those of a path into V2's; `isWrapped` says whether the request had the wrapper. */
  path(path: readonly string[], isWrapped: boolean): readonly string[] {
    let tokens = path;
    for (const rule of this.rules) {
      if (rule.rule !== 'unwrap') tokens = reverseRule(rule, tokens, false);
      else if (isWrapped) tokens = [rule.member, ...tokens];
    }
    return tokens;
  }

  /** The V1 spelling of a name or of names joined by dots, such as `address.suburb`; the same text if V1 has no other. */
  name(text: string): string {
    return this.loosely(text.split('.')).join('.');
  }

  /** The names and indexes in V1's body for those of a path that may begin anywhere in V2's. */
  loosely(path: readonly string[]): readonly string[] {
    let tokens = path;
    for (const rule of this.rules) tokens = reverseRule(rule, tokens, true);
    return tokens;
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

/** The places in V2's body of what V1 has elsewhere or by another name; an index stands for any element. */
export function placesInV2(rules: readonly RequestRule[]): readonly Path[] {
  return rules
    .flatMap((rule): readonly Path[] => {
      if (rule.rule === 'rename') return [[...rule.in, rule.to]];
      if (rule.rule === 'nest') return rule.members.map((member) => [...rule.in, rule.under, member]);
      return movesOf(rule).map(({ in: inside, to }) => [...inside, ...to]);
    })
    .map((place) => place.map((step) => (step === '*' ? '0' : step)));
}

/** Reverses one rule on a path of `tokens` into a body. A `loose` path may begin anywhere on the rule's path. */
function reverseRule(rule: RequestRule, tokens: readonly string[], loose: boolean): readonly string[] {
  if (rule.rule === 'rename') {
    const at = tokens.findIndex(
      (token, index) => token === rule.to && matchesPath(rule.in, tokens, index, loose),
    );
    return at === -1 ? tokens : tokens.with(at, rule.member);
  }
  const moves = movesOf(rule);
  if (moves.length > 0) return moves.reduce((path, move) => reverseMove(move, path, loose), tokens);
  if (rule.rule !== 'nest') return tokens;
  const at = tokens.findIndex(
    (token, index) => token === rule.under && matchesPath(rule.in, tokens, index, loose),
  );
  const next = tokens[at + 1];
  if (at === -1 || (next !== undefined && !rule.members.includes(next))) return tokens;
  // V1 has no such object: an error about all of it becomes one about the object around it. Alone, its name may be a plain word.
  if (next === undefined) return loose && (at === 0 || at < rule.in.length) ? tokens : tokens.slice(0, at);
  return tokens.toSpliced(at, 1);
}

/** A rule as moves, where that is what it does to names: a list has its one element, joined and split texts each of their parts. */
function movesOf(rule: RequestRule): readonly NameMove[] {
  if (rule.rule === 'move') return [rule];
  if (rule.rule === 'list') {
    const { in: inside, member, to } = rule;
    return [[to, '0'], [to]].map((path) => ({ in: inside, from: [member], to: path }));
  }
  if (rule.rule === 'join')
    return rule.members.slice(0, 1).map((member) => ({ in: rule.in, from: [member], to: [rule.to] }));
  if (rule.rule !== 'split') return [];
  return rule.to.map((part) => ({ in: rule.in, from: [rule.member], to: [part] }));
}

/** The paths of a member in both versions, from the objects at `in`. */
type NameMove = Pick<MoveRule, 'in' | 'from' | 'to'>;

/** Reverses a move. An error about an object that V1 does not have becomes one about the object around it. */
function reverseMove(
  { in: inside, from, to }: NameMove,
  tokens: readonly string[],
  loose: boolean,
): readonly string[] {
  const at = tokens.findIndex(
    (_, index) =>
      to.every((name, step) => tokens[index + step] === name) && matchesPath(inside, tokens, index, loose),
  );
  if (at !== -1) return tokens.toSpliced(at, to.length, ...from);
  const { length } = inside;
  const rest = tokens.slice(length);
  const isAround =
    !loose &&
    rest.length > 0 &&
    rest.length < to.length &&
    rest.every((name, step) => name === to[step]) &&
    rest.at(-1) !== from[rest.length - 1];
  return isAround && matchesPath(inside, tokens, length, false) ? tokens.slice(0, -1) : tokens;
}

/** Whether the first `length` of `tokens` are the path, or for a `loose` path its end. */
function matchesPath(path: Path, tokens: readonly string[], length: number, loose: boolean): boolean {
  if (loose ? length > path.length : length !== path.length) return false;
  const skipped = path.length - length;
  for (let at = 0; at < length; at += 1) {
    const segment = path[skipped + at];
    const token = tokens[at] ?? '';
    if (segment === '*' ? !/^\d+$/.test(token) : segment !== token) return false;
  }
  return true;
}

import { pointerOf, pointerSteps } from '../json/json-pointer.ts';
import type { Path, RequestRule } from '../rules/rule.ts';

/** Converts pointers and names of a V2 body back to those of V1: applies the request rules of an operation in reverse. */
export class V1Names {
  /** Tokens of a pointer that decide what becomes of it: those behind them stay as they are. */
  readonly depth: number;
  private readonly rules: readonly RequestRule[];
  /** Names of V2 that V1 has otherwise: a text without any of them stays as it is. */
  private readonly others: ReadonlySet<string>;

  /** `rules` are the request rules of the operation, in order. */
  constructor(rules: readonly RequestRule[]) {
    this.rules = rules.toReversed();
    const renames = rules.filter((rule) => rule.rule === 'rename');
    const nests = rules.filter((rule) => rule.rule === 'nest');
    this.others = new Set([...renames.map(({ to }) => to), ...nests.map(({ under }) => under)]);
    // Each object that V1 does not have moves what is behind it one token forward.
    this.depth = Math.max(0, ...[...renames, ...nests].map((rule) => rule.in.length)) + nests.length + 2;
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

  /** The V1 pointer for an RFC 6901 pointer into the V2 body; `isWrapped` says whether the request had the wrapper. */
  pointer(pointer: string, isWrapped: boolean): string {
    if (pointer !== '' && !pointer.startsWith('/')) return pointer;
    let tokens: readonly string[] = pointerSteps(pointer);
    for (const rule of this.rules) {
      if (rule.rule !== 'unwrap') tokens = reverseRule(rule, tokens, false);
      else if (isWrapped) tokens = [rule.member, ...tokens];
    }
    return pointerOf(tokens);
  }

  /** The V1 spelling of a name or of names joined by dots, such as `address.suburb`; the same text if V1 has no other. */
  name(text: string): string {
    let tokens: readonly string[] = text.split('.');
    for (const rule of this.rules) tokens = reverseRule(rule, tokens, true);
    return tokens.join('.');
  }
}

/** Reverses one rule on a path of `tokens` into a body. A `loose` path may begin anywhere on the rule's path. */
function reverseRule(rule: RequestRule, tokens: readonly string[], loose: boolean): readonly string[] {
  if (rule.rule === 'rename') {
    const at = tokens.findIndex(
      (token, index) => token === rule.to && matchesPath(rule.in, tokens, index, loose),
    );
    return at === -1 ? tokens : tokens.with(at, rule.member);
  }
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

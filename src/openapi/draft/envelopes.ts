import { readPath } from '../../rules/rule.ts';
import { type BookRule, undoingRules } from './book-rules.ts';
import { isProposed, pathText } from './compare-shapes.ts';
import type { ProposedOperation, ProposedRuleBook } from './print-rule-book.ts';
import { type Envelope, type ProposedChange, withOwnIds } from './propose-changes.ts';
import { responsePair } from './taken-places.ts';
import { earlyRules } from './written-rules.ts';

/** The rules that move the members of a body into an envelope. */
export function movesInto(around: string, members: Iterable<string>): readonly BookRule[] {
  return [...members].map((name) => ({ move: pathText([name]), to: pathText([around, name]) }));
}

/**
 * The draft with the members that each envelope gets under the names that they have once the rules before it have run: those that apply, and
 * also those that are still questions. Operations in which these names differ become a change each.
 */
export function withEnvelopes(book: ProposedRuleBook): ProposedRuleBook {
  const changes = book.changes.flatMap((change, at): readonly ProposedChange[] => {
    const [rule] = change.response ?? [];
    const envelope = rule?.envelope;
    if (rule === undefined || envelope === undefined || change.on === 'every') return [change];
    const names = new Map(change.on.map((id) => [id, namesThen(book, at, id, envelope)] as const));
    const groups = Map.groupBy(change.on, (id) => JSON.stringify([...(names.get(id) ?? [])]));
    return [...groups.values()].map((on) => ({
      ...change,
      on,
      response: [{ ...rule, rules: movesInto(envelope.around, names.get(on[0] ?? '') ?? []) }],
    }));
  });
  return { ...book, changes: changes.length === book.changes.length ? changes : withOwnIds(changes) };
}

/** The names in the body when the change at this place of the book runs: `inverse` comes before all other rules. */
function namesThen(
  { changes, operations, written = [] }: ProposedRuleBook,
  at: number,
  id: string,
  { around, members }: Envelope,
): ReadonlySet<string> {
  const names = new Set(members);
  const resources = new Map(operations.map((operation) => [operation.id, resourcesOf(operation)]));
  const own = resources.get(id) ?? [];
  const isOfResource = ({ on }: ProposedChange): boolean =>
    on === 'every' || on.some((one) => resources.get(one)?.some((key) => own.includes(key)) === true);
  const isActive = changes[at]?.response?.some(isProposed) === true;
  for (const change of changes.toReversed()) {
    if (change.isInverse !== true || !isOfResource(change)) continue;
    for (const rule of change.rules.toReversed()) {
      // The inverse of a default removes only the default value.
      if (rule.found.rule === 'default') continue;
      // A question has the names of its answer: `check` refuses to move what an inverse has renamed.
      const isSure = change.isShown !== true && (isProposed(rule) || !isActive);
      for (const undoing of undoingRules(rule.found)) rename(names, undoing, isSure);
    }
  }
  for (const { on, response = [], isShown } of changes.slice(0, at)) {
    if (on !== 'every' && !on.includes(id)) continue;
    for (const rule of response)
      for (const own of rule.rules) rename(names, own, isShown !== true && isProposed(rule));
  }
  for (const change of written) {
    if (change.on !== 'every' && !change.on.includes(id)) continue;
    for (const rule of earlyRules(change)) rename(names, rule, true);
  }
  names.delete(around);
  return names;
}

/** The paths of an operation's resource at V2: that of V1 as well until a person has said where it is. */
function resourcesOf({ template, moved }: ProposedOperation): readonly string[] {
  const [, young] = moved?.to.split(' ') ?? [];
  const all = moved === undefined || moved.doubt !== undefined ? [template, young] : [young];
  return all.flatMap((path) => (path === undefined ? [] : withoutNames(path).replace(/\/\{\}$/, '')));
}

/** A path, which may put something before a parameter, without the names of its parameters and its query. */
function withoutNames(path: string): string {
  const [plain = ''] = path.split('?', 1);
  const segments = plain.split('/').map((segment) => (segment.includes('{') ? '{}' : segment));
  return segments.join('/');
}

/** Changes the names in the body as a rule of responses does; one that is not sure removes none. */
function rename(names: Set<string>, rule: BookRule, isSure: boolean): void {
  const { strip, copy, alias, lookup, unnest, default: added, as, to, members, status } = rule;
  if (status !== undefined) return;
  if (Array.isArray(added)) for (const [path] of added) add(names, path);
  const pair = responsePair(rule);
  const [from, ...inner] = namesIn(pair?.path ?? strip ?? copy ?? alias ?? lookup ?? unnest);
  if (from === undefined || !names.has(from)) return;
  const isWhole = inner.length === 0;
  if (isWhole && isSure && (pair ?? strip) !== undefined) names.delete(from);
  const further = Array.isArray(members) ? members : [as];
  for (const path of [pair?.old, ...(copy === undefined ? [] : [to]), ...(isWhole ? further : [])])
    add(names, path);
}

/** Adds the member of the body that a path begins with. */
function add(names: Set<string>, path: unknown): void {
  for (const name of namesIn(path).slice(0, 1)) names.add(name);
}

function namesIn(path: unknown): readonly string[] {
  return typeof path === 'string' ? readPath(path) : [];
}

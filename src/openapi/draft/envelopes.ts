import { readPath } from '../../rules/rule.ts';
import { isProposed, pathText } from './compare-shapes.ts';
import {
  ANYWHERE,
  printUndone,
  type ProposedOperation,
  type ProposedRuleBook,
  scalar,
} from './print-rule-book.ts';
import { type Envelope, type ProposedChange, withOwnIds } from './propose-changes.ts';
import { plainPath, responsePair } from './taken-places.ts';

/** The rules that move the members of a body into an envelope. */
export function movesInto(around: string, members: Iterable<string>): readonly string[] {
  return [...members].map(
    (name) => `{ move: ${scalar(pathText([name]))}, to: ${scalar(pathText([around, name]))} }`,
  );
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
    const texts = new Map(
      change.on.map((id) => [id, movesInto(envelope.around, namesThen(book, at, id, envelope))] as const),
    );
    const groups = Map.groupBy(change.on, (id) => texts.get(id)?.join('\n'));
    return [...groups.values()].map((on) => ({
      ...change,
      on,
      response: [{ ...rule, texts: texts.get(on[0] ?? '') ?? [] }],
    }));
  });
  return { ...book, changes: changes.length === book.changes.length ? changes : withOwnIds(changes) };
}

/** The names in the body when the change at this place of the book runs: `inverse` comes before all other rules. */
function namesThen(
  { changes, operations }: ProposedRuleBook,
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
      for (const line of printUndone(rule.found, [])) rename(names, line, isSure);
    }
  }
  for (const { on, response = [], isShown } of changes.slice(0, at)) {
    if (on !== 'every' && !on.includes(id)) continue;
    for (const rule of response)
      for (const line of rule.texts) rename(names, line, isShown !== true && isProposed(rule));
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
function rename(names: Set<string>, line: string, isSure: boolean): void {
  if (/, status: [45]xx \}$/.test(line)) return;
  const pair = responsePair(line.replace(`, ${ANYWHERE}`, ''));
  if (pair !== undefined) {
    const [[from = '', ...inner], [to = '']] = [readPath(pair.path), readPath(pair.old)];
    if (!names.has(from)) return;
    if (inner.length === 0 && isSure) names.delete(from);
    names.add(to);
    return;
  }
  const colon = line.indexOf(': ');
  const kind = line.slice(2, colon);
  const [first = '', ...inner] = namesAt(line.slice(colon + 2).replace(/^\{ /, ''));
  const [name = ''] = ['as', 'to'].flatMap((key) => namesAfter(line, `, ${key}: `).slice(0, 1));
  switch (kind) {
    case 'strip':
      if (inner.length === 0 && isSure) names.delete(first);
      break;
    case 'default':
      names.add(first);
      break;
    case 'copy':
      if (names.has(first)) names.add(name);
      break;
    case 'alias':
    case 'lookup':
      if (names.has(first) && inner.length === 0) names.add(name);
      break;
    case 'unnest': {
      if (!names.has(first) || inner.length > 0) break;
      let at = line.indexOf(', members: [') + ', members: ['.length;
      for (let text = scalarAt(line.slice(at)); text !== ''; text = scalarAt(line.slice(at))) {
        names.add(readPath(plainPath(text))[0] ?? '');
        at += text.length + ', '.length;
      }
      break;
    }
    default:
  }
}

/** The names in the path after a key of a rule; none without the key. */
function namesAfter(line: string, key: string): readonly string[] {
  const at = line.lastIndexOf(key);
  return at < 0 ? [] : namesAt(line.slice(at + key.length));
}

function namesAt(text: string): readonly string[] {
  return readPath(plainPath(scalarAt(text)));
}

/** The scalar of YAML that a text begins with. */
function scalarAt(text: string): string {
  return (/^(?:"(?:[^"\\]|\\.)*"|[^",:}\]]+)/.exec(text)?.[0] ?? '').trimEnd();
}

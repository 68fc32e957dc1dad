import { decodeQueryText, queryParts, valueOf, valuesInQuery, withValueInQuery } from '../http/target.ts';
import { inverseConversion, textConverterOf } from '../rules/kinds/convert.ts';
import { type Destination, parametersOf, type ParameterStep, type PatternText } from '../rules/move.ts';
import type { Operation } from '../rules/rule-book.ts';
import { looseSpelling, plainSpelling, readTemplate } from '../rules/rule.ts';
import { type EditRecord, MOVED } from './records.ts';

/** A path below a prefix, with its query: raw, with a question mark unless it is empty. */
export interface PathAndQuery {
  readonly path: string;
  readonly query: string;
}

/** V1's place for a link, and the operation there. */
interface LedBack extends PathAndQuery {
  readonly operation: Operation;
}

/** A moved request: its place at V2, and the parameters of its query that V1 ignored and that would override those of the path. */
export interface MovedTarget extends PathAndQuery {
  readonly records: readonly EditRecord[];
}

/**
 * The moved operations of a rule book, in both directions: requests go to their place at V2, and V2's links lead back. Parameters keep
 * their spelling wherever it means the same in both places.
 */
export class Moves {
  private readonly operations: readonly Operation[];
  private readonly links: LinkBranch = newBranch();
  private readonly compiled = new Map<string, CompiledMove>();

  constructor(operations: readonly Operation[]) {
    this.operations = operations;
    for (const operation of operations) {
      const { id, to } = operation;
      if (to !== undefined) this.compiled.set(id, { template: readTemplate(operation.template), to });
    }
    const order = new Map(operations.map((operation, at) => [operation, at]));
    // Clients follow a link with GET: operations that read the linked resource come first, then those that match more of the query.
    const ranked = operations.toSorted(
      (one, other) =>
        Number(isReading(other)) - Number(isReading(one)) ||
        (other.to?.query.length ?? 0) - (one.to?.query.length ?? 0) ||
        (order.get(one) ?? 0) - (order.get(other) ?? 0),
    );
    for (const operation of ranked) addLink(this.links, operation);
  }

  /** Returns V2's place for a request of `operation` with this raw path and query; undefined if the operation did not move. */
  forward(operation: Operation, { path, query }: PathAndQuery): MovedTarget | undefined {
    const move = this.compiled.get(operation.id);
    if (move === undefined) return undefined;
    const { to, template } = move;
    // The table has matched one of the two forms.
    const captured = capture(template, path) ?? capture(template, looseSpelling(path));
    if (captured === undefined) return undefined;
    const named = valuesByName(operation.template, captured.values);
    let left = query;
    for (const { name, value } of operation.query ?? []) {
      const decoded = decodeQueryText(name);
      if (value.parameter !== undefined)
        named.set(value.parameter, encodeURIComponent(valuesInQuery(left, decoded)[0] ?? ''));
      left = withValueInQuery(left, decoded, undefined);
    }
    if (to.steps?.every((step) => convert(named, step, false)) === false) return undefined;
    const segments = to.path.map((segment) => filled(segment, named, asIs));
    const parts = to.query.map(({ name, value }) => `${name}=${filled(value, named, inQuery)}`);
    const rest = withoutOwn(left, to);
    if (rest.query !== '') parts.push(rest.query);
    return {
      path: `/${segments.join('/')}${captured.suffix}`,
      query: parts.length > 0 ? `?${parts.join('&')}` : query === '?' ? '?' : '',
      records: rest.records,
    };
  }

  /** The first operation in the rule book that has this raw path, with any method; for requests about the path as a whole. */
  anyAt(path: string): Operation | undefined {
    return this.operations.find(({ template }) => {
      const segments = readTemplate(template);
      return (capture(segments, path) ?? capture(segments, looseSpelling(path))) !== undefined;
    });
  }

  /**
   * Returns V1's place for a link of V2, and the operation that reads it; undefined if no moved operation matches: V1 then has the same
   * path.
   */
  back({ path, query }: PathAndQuery): LedBack | undefined {
    const { body, suffix } = splitSuffix(path);
    const segments = body === '' || body === '/' ? [] : body.slice(1).split('/');
    const found = findLink(this.links, segments, 0, [], query);
    return found === undefined || found === SAME ? undefined : { ...found, path: `${found.path}${suffix}` };
  }
}

interface CompiledMove {
  readonly template: readonly (string | undefined)[];
  readonly to: Destination;
}

function isReading({ method, to }: Operation): boolean {
  return method === 'GET' && (to === undefined || to.method === 'GET');
}

interface Captured {
  /** The raw texts of the parameters, in order. */
  readonly values: readonly string[];
  /** An optional `.json` and slash at the end of the path, as received. */
  readonly suffix: string;
}

/** Reads the parameters of a raw path; undefined if the template does not match. */
function capture(template: readonly (string | undefined)[], path: string): Captured | undefined {
  const { body, suffix } = splitSuffix(path);
  const segments = body === '' || body === '/' ? [] : body.slice(1).split('/');
  if (segments.length !== template.length) return undefined;
  const values: string[] = [];
  for (const [at, segment] of segments.entries()) {
    const literal = template[at];
    if (segment === '') return undefined;
    if (literal === undefined) values.push(segment);
    else if (plainSpelling(segment) !== literal) return undefined;
  }
  return { values, suffix };
}

/** Splits off the optional end of a path. An encoded `.json` means the same (RFC 3986 §6.2.2.2). */
function splitSuffix(path: string): { readonly body: string; readonly suffix: string } {
  const slash = path.length > 1 && path.endsWith('/') ? '/' : '';
  const whole = path.slice(0, path.length - slash.length);
  const at = whole.lastIndexOf('/') + 1;
  const last = plainSpelling(whole.slice(at));
  if (!last.endsWith('.json')) return { body: whole, suffix: slash };
  const raw = whole.endsWith('.json') ? whole.slice(at) : last;
  return { body: whole.slice(0, at) + raw.slice(0, -'.json'.length), suffix: `.json${slash}` };
}

function valuesByName(template: string, values: readonly string[]): Map<string, string> {
  const names = template.split('/').filter((segment) => segment.startsWith('{'));
  return new Map(names.map((name, at) => [name.slice(1, -1), values[at] ?? '']));
}

/** Converts a raw parameter for `to`, or back for a link; false if a path segment cannot contain it. */
function convert(named: Map<string, string>, step: ParameterStep, isBack: boolean): boolean {
  const set = (name: string, text: string): boolean => {
    named.set(name, encodeURIComponent(text));
    return !/^\.{0,2}$/.test(text);
  };
  const textOf = (name: string): string => decodeQueryText((named.get(name) ?? '').replaceAll('+', '%2B'));
  const { parameter } = step;
  const text = textOf(parameter);
  if ('to' in step) {
    if (isBack) return set(parameter, step.to.map(textOf).join(step.with));
    const parts = text.split(step.with);
    const extra = parts.length - step.to.length;
    if (extra < 0) return false;
    // Surplus separators stay in the first part if the rule splits at the last ones, otherwise in the last part.
    const at = step.at === 'last' ? 0 : step.to.length - 1;
    parts.splice(at, extra + 1, parts.slice(at, at + extra + 1).join(step.with));
    return parts.every((part, index) => set(step.to[index] ?? '', part));
  }
  if ('values' in step) {
    const found = step.values.find(({ from, to }) => (isBack ? to : from) === text);
    return found === undefined || set(parameter, isBack ? found.from : found.to);
  }
  const conversion = isBack ? inverseConversion(step) : step;
  const converted = typeof conversion === 'string' ? undefined : textConverterOf(conversion)(text);
  return converted === undefined || set(parameter, converted);
}

function filled(
  { before, parameter, after }: PatternText,
  named: ReadonlyMap<string, string>,
  spell: (text: string) => string,
): string {
  return parameter === undefined ? before : before + spell(named.get(parameter) ?? '') + after;
}

function asIs(text: string): string {
  return text;
}

/**
 * Encodes the characters that a path segment may contain as data (RFC 3986 §3.3), but that separate parameters in a query (the semicolon
 * in older parsers) or mean a space; `#` is in no raw path. All others mean the same in both (§3.4).
 */
function inQuery(segment: string): string {
  return segment.replaceAll(/[&+;]/g, (character) => encodeURIComponent(character));
}

/** Converts a value of a query to a path segment: encodes what would end the segment. Undefined if no segment can contain it. */
function inPath(value: string): string | undefined {
  const segment = value
    .replaceAll('+', '%20')
    .replaceAll(/[/?#\\]/g, (character) => encodeURIComponent(character))
    .replaceAll(/%(?![0-9a-f]{2})/gi, '%25');
  const plain = plainSpelling(segment);
  return plain === '' || plain === '.' || plain === '..' ? undefined : segment;
}

/**
 * Drops the parameters of a request that its destination sets. V1 ignored them, but a service that uses the last value, or treats
 * `name[]` as the same name, would read another resource than the path names.
 */
function withoutOwn(
  query: string,
  { query: own }: Destination,
): { readonly query: string; readonly records: readonly EditRecord[] } {
  if (query.length < 2 || own.length === 0) return { query: query.slice(1), records: NO_RECORDS };
  const names = own.map(({ name }) => decodeQueryText(name));
  const records: EditRecord[] = [];
  const kept = queryParts(query.slice(1)).filter(({ name }) => {
    const isOwn = names.some((one) => name === one || name.startsWith(`${one}[`));
    if (isOwn && !records.some(({ from }) => from === `?${name}`))
      records.push({ change: MOVED, rule: 'strip', from: `?${name}`, note: 'conflict' });
    return !isOwn;
  });
  return { query: kept.map(({ raw }) => raw).join('&'), records };
}

const NO_RECORDS: readonly EditRecord[] = [];

/** A segment of V2's paths, and its possible continuations. */
interface LinkBranch {
  readonly literals: Map<string, LinkBranch>;
  /** The longest surrounding text first. */
  patterns: { readonly before: string; readonly after: string; readonly next: LinkBranch }[];
  /** In the order of trying. */
  readonly ends: LinkEnd[];
}

interface LinkEnd {
  readonly operation: Operation;
  /** The name of each parameter of the path, in order. */
  readonly names: readonly string[];
}

function newBranch(): LinkBranch {
  return { literals: new Map(), patterns: [], ends: [] };
}

function addLink(root: LinkBranch, operation: Operation): void {
  const { to, template } = operation;
  const path = to === undefined ? template.slice(1).split('/').map(segmentOf) : to.path;
  const segments = template === '/' && to === undefined ? [] : path;
  let branch = root;
  const names: string[] = [];
  for (const { before, parameter, after } of segments) {
    if (parameter !== undefined) names.push(parameter);
    branch = parameter === undefined ? literalBelow(branch, before) : patternBelow(branch, before, after);
  }
  const known = new Set([...names, ...(to?.query ?? []).map(({ value }) => value.parameter)]);
  for (const step of to?.steps?.toReversed() ?? [])
    if ('to' in step && step.to.every((name) => known.has(name))) known.add(step.parameter);
  // A link to this place lacks a part of V1's path or query.
  const isWhole = parametersOf(operation).every((name) => known.has(name));
  if (isWhole && namesWhatItReads(operation, segments)) branch.ends.push({ operation, names });
}

/**
 * False for an action on the resource that V2's path names, such as POST /loans/{id}/return, which is PATCH /loans/{id} at V2. A client
 * that follows a link to the loan does not want to return it.
 */
function namesWhatItReads(operation: Operation, segments: readonly PatternText[]): boolean {
  const endsWithParameter = segments.at(-1)?.parameter !== undefined;
  return isReading(operation) || operation.template.endsWith('}') === endsWithParameter;
}

function segmentOf(segment: string): PatternText {
  return segment.startsWith('{')
    ? { before: '', parameter: segment.slice(1, -1), after: '' }
    : { before: segment, parameter: undefined, after: '' };
}

function literalBelow(branch: LinkBranch, text: string): LinkBranch {
  const plain = plainSpelling(text);
  const known = branch.literals.get(plain) ?? newBranch();
  branch.literals.set(plain, known);
  return known;
}

function patternBelow(branch: LinkBranch, rawBefore: string, rawAfter: string): LinkBranch {
  const [before, after] = [plainSpelling(rawBefore), plainSpelling(rawAfter)];
  const known = branch.patterns.find((pattern) => pattern.before === before && pattern.after === after);
  if (known !== undefined) return known.next;
  const next = newBranch();
  branch.patterns = [...branch.patterns, { before, after, next }].sort(
    (one, other) => other.before.length + other.after.length - one.before.length - one.after.length,
  );
  return next;
}

/** V1 has the linked resource at the same path. */
const SAME = 'same';

/** Descends at most to the depth of the deepest path, and tries the few patterns of the rule book at each segment. */
function findLink(
  branch: LinkBranch,
  segments: readonly string[],
  at: number,
  values: readonly string[],
  query: string,
): LedBack | typeof SAME | undefined {
  const segment = segments[at];
  if (segment === undefined) {
    for (const end of branch.ends) {
      if (end.operation.to === undefined) return SAME;
      const found = ledBack(end, end.operation.to, values, query);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const literal = branch.literals.get(plainSpelling(segment));
  const found = literal && findLink(literal, segments, at + 1, values, query);
  if (found !== undefined) return found;
  for (const { before, after, next } of branch.patterns) {
    const value = inside(segment, before, after);
    const below =
      value === undefined ? undefined : findLink(next, segments, at + 1, [...values, value], query);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** The raw text of a segment between two texts; undefined if the segment does not match, or the text is empty. */
function inside(segment: string, before: string, after: string): string | undefined {
  const isAsWritten = segment.startsWith(before) && segment.endsWith(after);
  const text = isAsWritten ? segment : plainSpelling(segment);
  if (!text.startsWith(before) || !text.endsWith(after)) return undefined;
  const value = text.slice(before.length, text.length - after.length);
  return value === '' || text.length < before.length + after.length ? undefined : value;
}

function ledBack(
  { operation, names }: LinkEnd,
  { query: own, steps = [] }: Destination,
  values: readonly string[],
  query: string,
): LedBack | undefined {
  const named = new Map(names.map((name, at) => [name, values[at] ?? '']));
  const left = query.length < 2 ? [] : [...queryParts(query.slice(1))];
  for (const { name, value } of own) {
    const decoded = decodeQueryText(name);
    const at = left.findIndex((part) => part.name === decoded);
    const [part] = at === -1 ? [] : left.splice(at, 1);
    const text = part === undefined ? undefined : valueOf(part);
    if (part === undefined || text === undefined) return undefined;
    const [before, after] = [decodeQueryText(value.before), decodeQueryText(value.after)];
    if (value.parameter === undefined) {
      if (text !== before) return undefined;
      continue;
    }
    if (text.length < before.length + after.length || !text.startsWith(before) || !text.endsWith(after))
      return undefined;
    const raw = part.raw.slice(part.raw.indexOf('=') + 1);
    // The text around the value may be spelled in another way: the value's own spelling is then unknown.
    const isAsWritten = raw.startsWith(value.before) && raw.endsWith(value.after);
    const spelled = isAsWritten
      ? raw.slice(value.before.length, raw.length - value.after.length)
      : encodeURIComponent(text.slice(before.length, text.length - after.length));
    const segment = inPath(spelled);
    if (segment === undefined) return undefined;
    named.set(value.parameter, segment);
  }
  if (!steps.toReversed().every((step) => convert(named, step, true))) return undefined;
  const path = operation.template.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => named.get(name) ?? '');
  const asked = (operation.query ?? []).map(({ name, value }) => `${name}=${filled(value, named, inQuery)}`);
  const rest = [...asked, ...left.map(({ raw }) => raw)].join('&');
  return { operation, path: path === '/' ? '' : path, query: rest === '' ? '' : `?${rest}` };
}

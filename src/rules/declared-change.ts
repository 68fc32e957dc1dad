import { readPath } from './path-text.ts';
import type { Change } from './rule-book.ts';
import type { SourcePath } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import type {
  ExplicitResponseRule,
  InverseRule,
  Path,
  RequestRule,
  ResponseRule,
  StatusPattern,
  StripRule,
} from './rule.ts';

/** A request rule and its position in the source. */
export interface DeclaredRule {
  readonly rule: RequestRule;
  /** The path of the rule's object in the source. */
  readonly inside: SourcePath;
  /** The path of each of the rule's members in the source. */
  readonly members: readonly SourcePath[];
}

/** A response rule and its position in the source. */
export interface DeclaredResponseRule {
  readonly rule: ResponseRule;
  readonly path: SourcePath;
}

/** A change and the positions of its parts in the source. */
export interface DeclaredChange {
  readonly change: Change;
  readonly path: SourcePath;
  readonly request: readonly DeclaredRule[];
  readonly response: readonly DeclaredResponseRule[];
  /** False when the source has neither request nor response rules, not even an empty list. */
  readonly hasRules: boolean;
}

type ChangeSource = RuleBookSource['changes'][number];
type RequestSource = NonNullable<ChangeSource['request']>[number];
type ResponseSource = Exclude<Exclude<NonNullable<ChangeSource['response']>, 'inverse'>[number], 'inverse'>;

/** Converts the source of a change to a change; `index` is its position in the source. */
export function declareChange(source: ChangeSource, index: number): DeclaredChange {
  const path = ['changes', index];
  const request = (source.request ?? []).flatMap((rule, at) => declareRule(rule, [...path, 'request', at]));
  const response = declareResponse(source.response, [...path, 'response']);
  const change: Change = {
    id: source.id,
    summary: source.summary,
    on: source.on,
    request: request.map(({ rule }) => rule),
    response: response.map(({ rule }) => rule),
    policies: source.policies ?? {},
    assumed: source.assumed ?? false,
  };
  const hasRules = source.request !== undefined || source.response !== undefined;
  return { change, path, request, response, hasRules };
}

function declareRule(source: RequestSource, path: SourcePath): readonly DeclaredRule[] {
  if ('unwrap' in source) {
    const at = [...path, 'unwrap'];
    return [{ rule: { rule: 'unwrap', member: oneName(source.unwrap) }, inside: at, members: [at] }];
  }
  const base = source.in === undefined ? [] : readPath(source.in);
  if ('rename' in source) {
    const [inside, member] = split([...base, ...readPath(source.rename)]);
    const at = [...path, 'rename'];
    return [
      { rule: { rule: 'rename', member, in: inside, to: oneName(source.to) }, inside: at, members: [at] },
    ];
  }
  if ('strip' in source) return declareStrip(source.strip, base, [...path, 'strip']);
  const inside = source.in === undefined ? path : [...path, 'in'];
  if ('nest' in source) {
    const members = source.nest.map(oneName);
    const rule: RequestRule = { rule: 'nest', members, in: base, under: oneName(source.under) };
    return [{ rule, inside, members: members.map((_, at) => [...path, 'nest', at]) }];
  }
  const members = source.only.map(oneName);
  const rule: RequestRule = { rule: 'only', members, in: base };
  return [{ rule, inside, members: members.map((_, at) => [...path, 'only', at]) }];
}

/** Returns one rule for each object that members are removed from, in the order in which the objects first appear. */
function declareStrip(
  source: string | readonly string[],
  base: Path,
  path: SourcePath,
): readonly DeclaredRule[] {
  const entries: { readonly text: string; readonly at: SourcePath }[] =
    typeof source === 'string'
      ? [{ text: source, at: path }]
      : source.map((text, index) => ({ text, at: [...path, index] }));
  const groups = new Map<string, { inside: Path; names: string[]; at: SourcePath[] }>();
  for (const { text, at } of entries) {
    const [inside, member] = split([...base, ...readPath(text)]);
    const key = JSON.stringify(inside);
    const group = groups.get(key) ?? { inside, names: [], at: [] };
    groups.set(key, group);
    group.names.push(member);
    group.at.push(at);
  }
  return [...groups.values()].map(({ inside, names, at }) => {
    const rule: StripRule = { rule: 'strip', members: names, in: inside };
    return { rule, inside: at[0] ?? path, members: at };
  });
}

/** The word `inverse` may stand alone, or in the list. */
function declareResponse(
  source: ChangeSource['response'] = [],
  path: SourcePath,
): readonly DeclaredResponseRule[] {
  if (source === 'inverse') return [{ rule: INVERSE, path }];
  return source.map((rule, at) => ({
    rule: rule === 'inverse' ? INVERSE : responseRule(rule),
    path: [...path, at],
  }));
}

const INVERSE: InverseRule = { rule: 'inverse', status: ['2xx'] };

function responseRule(source: ResponseSource): ExplicitResponseRule {
  const status = statuses(source.status, 'errors' in source ? ['4xx', '5xx'] : ['2xx']);
  if ('rename' in source)
    return { rule: 'rename', path: readPath(source.rename), to: oneName(source.to), status };
  if ('alias' in source)
    return { rule: 'alias', path: readPath(source.alias), as: oneName(source.as), status };
  if ('deprecations' in source) return { rule: 'deprecations', path: readPath(source.deprecations), status };
  if ('errors' in source)
    return { rule: 'errors', details: source.errors === true ? {} : source.errors.details, status };
  const members = source.members?.map(oneName);
  if ('unnest' in source) return { rule: 'unnest', path: readPath(source.unnest), members, status };
  return { rule: 'flatten', path: readPath(source.flatten), members, status };
}

function statuses(
  source: StatusPattern | readonly StatusPattern[] | undefined,
  usual: readonly StatusPattern[],
): readonly StatusPattern[] {
  if (source === undefined) return usual;
  return typeof source === 'object' ? source : [source];
}

function split(path: Path): readonly [Path, string] {
  return [path.slice(0, -1), path.at(-1) ?? ''];
}

function oneName(text: string): string {
  return readPath(text)[0] ?? '';
}

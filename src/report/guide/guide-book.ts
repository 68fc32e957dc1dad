import { Prefixes, queryParts, withName, withValueInQuery } from '../../http/target.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { Moves } from '../../rewrite/moves.ts';
import { type EditRecord, isOfQuery } from '../../rewrite/records.ts';
import { printDestination } from '../../rules/move.ts';
import { ReleaseMedia } from '../../rules/release-place.ts';
import { type Change, type RuleBook, versionPlace } from '../../rules/rule-book.ts';
import type { StripProposal } from '../census.ts';
import type { ResponseMember } from '../client-report.ts';
import type { Ending } from '../endings.ts';
import type { GuideCall, GuideChange, GuideDocument, GuideMistake } from './guide-document.ts';
import { MASKED } from './guide-fields.ts';
import type { GuideSamples } from './guide-samples.ts';

/** The parts of a rule book that a guide uses. */
export interface GuideBook
  extends
    GuidePrefixes,
    Pick<RuleBook, 'client' | 'version' | 'versionField' | 'rollout' | 'operations' | 'zone'> {
  readonly changes: readonly GuidedChange[];
}

/** A change, with the rules from which a guide reads values; absent in a saved report. */
export type GuidedChange = GuideChange &
  Partial<Pick<Change, 'on' | 'request' | 'query' | 'headers' | 'response'>>;

/** The path prefixes of both versions. */
interface GuidePrefixes {
  readonly from: string;
  readonly alsoFrom?: readonly string[];
  readonly to: string;
}

/** What a guide knows beside the requests of its client. */
export interface GuideContext {
  /** Hash of the rule book whose dry runs count; by default that of the latest dry run. */
  readonly inForce?: string | undefined;
  /** The members that V2 does not know by the requests of all clients. */
  readonly unknown?: readonly StripProposal[];
  /** What kept exchanges show of the client's calls. */
  readonly samples?: GuideSamples | undefined;
  /** When the guide is made, RFC 3339; by default at the client's last request. */
  readonly now?: string | undefined;
}

/** Names what ends before V1 in words of its clients: neither ids of the rule book nor its changes are known to them. */
export function nameInV1(kind: Ending['kind'], id: string, { operations, changes }: GuideBook): string {
  const { method, template } = operations.find((one) => one.id === id) ?? {};
  if (kind === 'operation') return template === undefined ? id : `${method} ${template}`;
  const summary = changes
    .find((change) => change.id === id)
    ?.summary.trim()
    .replace(/\.$/, '');
  return `V1's form of what changed (${summary ?? id})`;
}

export function placeOfOperation(name: string, { from, operations }: GuideBook): Pick<GuideMistake, 'place'> {
  const operation = operations.find(({ id }) => id === name);
  return operation === undefined ? {} : { place: `${operation.method} ${from}${operation.template}` };
}

/** Method and path of a call in both versions, if V2 has the operation elsewhere, and its paths in both. */
export function placesOfCall(
  name: string,
  { from, to, operations }: GuideBook,
): Pick<GuideCall, 'moved' | 'paths'> {
  const operation = operations.find(({ id }) => id === name);
  if (operation === undefined) return {};
  const { method, template } = operation;
  const v1 = from + template;
  if (operation.to === undefined) return { paths: { v1, v2: to + template } };
  const [v2Method, path] = printDestination(operation.to).split(' ');
  const v2 = to + path;
  return { moved: { v1: `${method} ${v1}`, v2: `${v2Method} ${v2}` }, paths: { v1, v2 } };
}

/** Members of responses in the order in which the rule book's requests have them: inverse rules apply in the reverse order. */
export function inOrder(
  members: readonly ResponseMember[],
  changes: readonly GuidedChange[],
): readonly ResponseMember[] {
  const byChange = Map.groupBy(members, ({ change }) => change);
  const known = changes.flatMap(({ id, response }) => {
    const own = byChange.get(id) ?? [];
    return response?.some(({ rule }) => rule === 'inverse') === true ? own.toReversed() : own;
  });
  return [...new Set([...known, ...members])];
}

/** The header field with V2's release, and its value; undefined if the book has none, or the query names it. */
export function guideField(book: GuideBook): GuideDocument['version'] {
  const { version, versionField } = book;
  if (version === undefined || versionField?.query !== undefined) return undefined;
  const { accept } = versionField ?? {};
  return accept === undefined
    ? { field: versionPlace(book), value: version }
    : { field: 'Accept', value: new ReleaseMedia(accept).of(version) };
}

/**
 * The target at V2, with V2's names of query parameters, and its release if the query names it; undefined if the place of a moved
 * operation depends on a value.
 */
export function v2Target(
  v1Target: string,
  operation: GuideBook['operations'][number] | undefined,
  edits: readonly EditRecord[],
  { from, alsoFrom, to, version, versionField }: GuideBook,
): string | undefined {
  const prefix = new Prefixes(from, to, alsoFrom).find(v1Target);
  if (prefix?.version !== 'v1') return v1Target;
  const rest = v1Target.slice(prefix.text.length);
  const [path = ''] = rest.split('?', 1);
  const at = { path, query: v2Query(rest.slice(path.length), edits) };
  const moved = operation?.to === undefined ? at : new Moves([operation]).forward(operation, at);
  if (moved === undefined) return undefined;
  const { query: release } = versionField ?? {};
  // A parameter of the query that is in V2's path has its masked value there.
  const own = `${moved.path}${moved.query}`.replaceAll(encodeURIComponent(MASKED), MASKED);
  if (release === undefined) return to + own;
  const [ownPath = ''] = own.split('?', 1);
  return to + ownPath + withValueInQuery(own.slice(ownPath.length), release, version);
}

/** The raw query of a request after the edits, with the parameters that rules add. */
function v2Query(query: string, edits: readonly EditRecord[]): string {
  const ofQuery = edits.filter((edit) => isOfQuery(edit));
  if (ofQuery.length === 0) return query;
  const parts = query.length < 2 ? [] : queryParts(query.slice(1));
  const written = new Map<string, string>();
  const left = parts.flatMap((part) => {
    const places = ofQuery.filter(({ from }) => from === `?${part.name}`);
    if (places.length === 0) return [part];
    const names = new Set(places.flatMap(({ path }) => (path === undefined ? [] : [path.slice(1)])));
    // Two parameters that become one are written once.
    const isFirst = (name: string): boolean => (written.get(name) ?? part.name) === part.name;
    const renamed = [...names].filter(isFirst).map((name) => withName(part, name));
    for (const { name } of renamed) written.set(name, part.name);
    return renamed;
  });
  const added = ofQuery.flatMap(({ from, path = '' }) =>
    from === undefined && !left.some(({ name }) => name === path.slice(1))
      ? [`${path.slice(1)}=${MASKED}`]
      : [],
  );
  const raw = [...left.map((part) => part.raw), ...new Set(added)];
  return raw.length === 0 ? '' : `?${raw.join('&')}`;
}

export function atV2({ origin, method, upstreamMethod = method, upstreamPath }: Entry): string | undefined {
  return origin === undefined && upstreamPath !== undefined ? `${upstreamMethod} ${upstreamPath}` : undefined;
}

import type { Entry } from '../../rewrite-log/entry.ts';

/** The members of an entry that a tally reads. Similar entries should share lists, because each list is summarised once. */
export interface TallyEntry {
  readonly time: string;
  readonly client?: string | undefined;
  readonly route: Entry['route'];
  readonly side?: Entry['side'];
  readonly operation?: string | undefined;
  /** Method and path are read if there is no operation. */
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Absent if the request was not forwarded; the path itself is read if the client disconnected without a response. */
  readonly upstreamPath?: string | undefined;
  /** Read if the client disconnected without a response. */
  readonly sent?: boolean | undefined;
  readonly verdict: Entry['verdict'];
  readonly status: number;
  /** Hash of the rule book. */
  readonly ruleBook?: string | undefined;
  readonly edits: Entry['edits'];
  readonly apiVersion?: Entry['apiVersion'] | undefined;
  readonly attributes?: Entry['attributes'] | undefined;
  readonly origin?: Entry['origin'];
  readonly mode?: string | undefined;
  readonly would?: Entry['would'];
  readonly comparison?: Entry['comparison'];
  readonly failure?: string | undefined;
  /** Read if the gateway gave up, to tell who chose the status. */
  readonly cause?: string | undefined;
  readonly incomplete?: true | undefined;
  readonly totalMs?: number | undefined;
  readonly upstreamMs?: number | undefined;
  /** The id of the brownout that refused the request, or why its body was not read. */
  readonly note?: string | undefined;
  readonly responseEdits?: Entry['responseEdits'];
  readonly responseNote?: string | undefined;
  readonly responseWould?: Entry['responseWould'];
  /** Where the gateway found a fault in the request. */
  readonly pointer?: string | undefined;
  readonly errorPointers?: Entry['errorPointers'];
  readonly deprecated?: Entry['deprecated'];
  readonly unechoed?: Entry['unechoed'];
  readonly newcomer?: Entry['newcomer'];
}

/** Refusals that are not caused by the request: the gateway would have refused any request of the client at that moment. */
const PASSING_REFUSALS: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
  'newcomer',
  'overloaded',
  'buffer-full',
  'circuit-open',
  'no-v1-origin',
  'loop-detected',
  'internal',
]);

/** The code with which the gateway refused a request, or the migration would have; undefined if neither. */
export function refusalOf({
  verdict,
  failure,
  would,
}: Pick<TallyEntry, 'verdict' | 'failure' | 'would'>): string | undefined {
  if (verdict === 'refused') return failure ?? 'refused';
  return would?.verdict === 'refused' ? (would.failure ?? 'refused') : undefined;
}

/** Whether the gateway did not read the request in full: V1 received it unchanged, or the client disconnected while sending. */
export function isUnread({
  origin,
  would,
  status,
  upstreamPath,
}: Pick<TallyEntry, 'origin' | 'would' | 'status' | 'upstreamPath'>): boolean {
  return origin === 'v1' ? would === undefined : status === 0 && upstreamPath === undefined;
}

/** Notes of bodies that were forwarded although they are no JSON, or no form: the codes with which they would have been refused. */
const MALFORMED: ReadonlySet<string> = new Set(['malformed-json', 'malformed-form']);

/** The client's mistake for which a request was refused, or the migration would have: by the gateway, or by a service that got it malformed. */
export function mistakeOf(
  entry: Pick<TallyEntry, 'verdict' | 'failure' | 'would' | 'note' | 'status'>,
): string | undefined {
  const refusal = refusalOf(entry);
  if (refusal !== undefined) return isMistake(refusal) ? refusal : undefined;
  const { note = '', failure, status } = entry;
  return failure === undefined && status >= 400 && status < 500 && MALFORMED.has(note) ? note : undefined;
}

/** Whether a refusal is the client's mistake. */
function isMistake(code: string): boolean {
  return !PASSING_REFUSALS.has(code);
}

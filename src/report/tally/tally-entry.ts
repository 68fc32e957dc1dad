import type { Entry } from '../../rewrite-log/entry.ts';

/**
 * Members of an entry that a tally reads. Lists should be shared between similar entries: they are summarised once per list.
 */
export interface TallyEntry {
  readonly time: string;
  readonly client?: string | undefined;
  readonly route: Entry['route'];
  readonly operation?: string | undefined;
  /** Method and path are read where there is no operation. */
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** These two are read where the client disconnected without a response. */
  readonly upstreamPath?: string | undefined;
  readonly sent?: boolean | undefined;
  readonly verdict: Entry['verdict'];
  readonly status: number;
  /** Hash of the rule book; read where there was a dry run. */
  readonly ruleBook?: string | undefined;
  readonly edits: Entry['edits'];
  readonly apiVersion?: Entry['apiVersion'] | undefined;
  readonly attributes?: Entry['attributes'] | undefined;
  readonly origin?: Entry['origin'];
  readonly would?: Entry['would'];
  readonly comparison?: Entry['comparison'];
  readonly failure?: string | undefined;
  /** Read where a brownout refused the request: its id. */
  readonly note?: string | undefined;
  readonly responseEdits?: Entry['responseEdits'];
  readonly responseNote?: string | undefined;
  readonly responseWould?: Entry['responseWould'];
  readonly errorPointers?: Entry['errorPointers'];
  readonly deprecated?: Entry['deprecated'];
  readonly unechoed?: Entry['unechoed'];
  readonly newcomer?: Entry['newcomer'];
}

/** Refusals that say nothing about the request: others of the client's would be refused at that moment as well. */
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

/** Code of the refusal of a request, by the gateway or by the migration that was not carried out; undefined when it was fine. */
export function refusalOf({
  verdict,
  failure,
  would,
}: Pick<TallyEntry, 'verdict' | 'failure' | 'would'>): string | undefined {
  if (verdict === 'refused') return failure ?? 'refused';
  return would?.verdict === 'refused' ? (would.failure ?? 'refused') : undefined;
}

/** Whether the gateway did not read the request in full: V1 received it as it was, or the client left in the middle of it. */
export function isUnread({
  origin,
  would,
  status,
  upstreamPath,
}: Pick<TallyEntry, 'origin' | 'would' | 'status' | 'upstreamPath'>): boolean {
  return origin === 'v1' ? would === undefined : status === 0 && upstreamPath === undefined;
}

/** Whether a refusal is due to the request itself: a mistake of the client. */
export function isMistake(code: string): boolean {
  return !PASSING_REFUSALS.has(code);
}

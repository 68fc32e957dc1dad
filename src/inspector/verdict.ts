import { OTHER_CALLS } from '../rewrite-log/entry.ts';
import { lengthWords } from '../report/text.ts';
import { counted, listed } from '../rules/words.ts';
import type { LastHour } from '../rewrite-log/history.ts';
import type { RolloutView } from '../rollout/rollout-tally.ts';
import type { TroubleEvidence } from '../rewrite-log/health/trouble.ts';
import { type Condition, type ConditionLevel, RECENT_MINUTES } from './condition.ts';
import type { FreshFailures } from './problems.ts';

/** Maximum calls that a sentence lists. */
const MOST_CALLS = 3;

const MINUTE_MS = 60_000;

/** The overall state in one sentence: the same on the page, in `GET /status` and in the command `status`. */
export interface Verdict {
  /** The subject; absent if all is well, or nothing is known. */
  readonly about?: Condition['about'];
  /** `bad`: requests fail, or will soon; `note`: worth knowing; `unknown`: no traffic yet; `good`: all is well. */
  readonly level: ConditionLevel;
  /** A few words for the header. */
  readonly label: string;
  readonly sentence: string;
  /** The sentence without what it says of other conditions, for a view that shows them beside it. */
  readonly own: string;
  /** RFC 3339: since when it has been so; absent if unknown. */
  readonly since?: string;
  /** The evidence for it, and what would end it. */
  readonly evidence?: TroubleEvidence;
  readonly action?: Condition['action'];
}

/** Facts for the verdict in addition to the conditions. */
interface Seen {
  /** Requests since the start. */
  readonly requests: number;
  readonly lastHour: LastHour;
  /** Number of replicas that counted these facts, if there are several. */
  readonly replicas?: number | undefined;
  /** Start of the time in which no operation failed more than before: milliseconds since 1970. */
  readonly since: number;
  /** The last change of the modes: milliseconds since 1970; absent without any. */
  readonly changedAt?: number | undefined;
  /** In a brownout requests are refused on purpose. */
  readonly brownouts?: RolloutView['brownouts'] | undefined;
  /** Failures that are new or back, and go on; absent without any. */
  readonly fresh?: FreshFailures | undefined;
  readonly now: number;
}

/** Summarises everything by the worst condition. No time counts as well at which it said something else. */
export class Verdicts {
  /** When a verdict was last `bad` or a `note`: milliseconds since 1970. */
  private toldAt = 0;

  of(conditions: readonly Condition[], seen: Seen): Verdict {
    const verdict = verdictOf(conditions, seen, this.toldAt);
    if (verdict.level === 'bad' || verdict.level === 'note') this.toldAt = seen.now;
    return verdict;
  }
}

function verdictOf(
  conditions: readonly Condition[],
  { requests, lastHour, replicas = 1, since, changedAt = 0, brownouts = [], fresh, now }: Seen,
  toldAt: number,
): Verdict {
  const all = conditions.filter(
    ({ level, isRepeated }) => (level === 'bad' || level === 'note') && isRepeated !== true,
  );
  const ended = conditions.find(({ about }) => about === 'end');
  // After the end of V1 nothing shows that a fault is mended, and nothing is left to mend.
  const [worst, ...rest] = all.filter(
    ({ past, until }) => past === undefined && (ended === undefined || until === undefined),
  );
  if (worst !== undefined) return worstVerdict(worst, rest, ended);
  if (requests === 0)
    return { level: 'unknown', label: 'No request yet', ...saying('No request yet, so nothing is known.') };
  const before = ended === undefined ? '' : `${ended.sentence} `;
  const { failed, lastFailed = 0 } = lastHour;
  // A few failures are not trouble of an operation, but "all well" would be wrong, unless they are older, or a fault that is past explains them.
  const ends = [...all, ...brownouts].map(({ until = '' }) => Date.parse(until) || 0);
  const latest = Math.max(since, changedAt, toldAt, ...ends.filter((end) => end <= now));
  const isAll = lastFailed <= latest || failed <= all.reduce((sum, { past = 0 }) => sum + past, 0);
  const from = isAll ? Math.max(latest, lastFailed) : latest;
  const age = lengthWords(now - from);
  const length = from === changedAt ? `${age}, since the modes were changed` : age;
  const whose = replicas === 1 ? '' : ` at ${counted(replicas, 'replica')}`;
  const state = isAll
    ? `All well for ${length}${whose}.`
    : `For ${length}${from === changedAt ? ',' : ''} no operation has failed more than before${whose}. In the last hour ${counted(failed, 'request')} failed.`;
  // The other faults that are past are notes. One that V1 took over from V2 is not mended, as far as is known.
  const hidden = all.find(({ left }) => left !== undefined);
  const over = hidden === undefined ? all.slice(0, 1).map(({ sentence }) => sentence) : [];
  if (fresh !== undefined) return freshVerdict(fresh, before, now - Math.max(since, changedAt), over);
  return {
    level: 'good',
    label: ended?.label ?? (isAll ? 'All well' : 'Failures as before'),
    ...saying(`${before}${state}${hidden === undefined ? '' : ` ${hidden.sentence}`}`, over),
    since: new Date(from).toISOString(),
  };
}

/**
 * Reports the worst condition in full, and names the others of its level. What the operator does to all clients meanwhile, a brownout or the
 * end of V1, comes first.
 */
function worstVerdict(worst: Condition, rest: readonly Condition[], ended: Condition | undefined): Verdict {
  const { about, level, sentence, since, evidence, action } = worst;
  const meant = [...(ended === undefined ? [] : [ended]), ...rest.filter((one) => one.about === 'brownout')];
  const others = rest.filter((one) => one.level === level && !meant.includes(one)).map(({ label }) => label);
  // An unreachable store makes no request fail, so it must not hide conditions that do.
  const hidden = about === 'replicas' ? rest.find(isOfRequests) : undefined;
  return {
    about,
    level,
    label: [
      ...meant.map((one) => one.label),
      worst.label,
      ...(others.length > 1 ? [`${others.length} more`] : others),
    ].join('; '),
    ...saying(
      [
        ...meant.map((one) => one.sentence),
        sentence,
        ...(hidden === undefined ? [] : [hidden.sentence]),
      ].join(' '),
      others.length === 0 ? [] : [`Also: ${others.join('; ')}.`],
    ),
    ...(since === undefined ? {} : { since }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(action === undefined ? {} : { action }),
  };
}

/** A sentence with those about other conditions after it. */
function saying(own: string, others: readonly string[] = []): Pick<Verdict, 'sentence' | 'own'> {
  return { own, sentence: [own, ...others].join(' ') };
}

/** Reports failures that are too few, or too rare, to be trouble of an operation; `known` is the time to which they can be compared. */
function freshVerdict(
  { requests, calls, since }: FreshFailures,
  before: string,
  known: number,
  over: readonly string[],
): Verdict {
  const at = new Date(since).toISOString();
  const compared =
    known < RECENT_MINUTES * MINUTE_MS
      ? 'It is too early to say whether more fail than before.'
      : 'No operation fails clearly more often than before.';
  const which = listed(
    calls.map((call) => (call === '' ? OTHER_CALLS : call)),
    MOST_CALLS,
  );
  return {
    level: 'note',
    label: counted(requests, 'new failure'),
    // What failed before may be part of it.
    ...saying(
      [`${before}${counted(requests, 'new failure')} since ${at}, in ${which}. ${compared}`, ...over].join(
        ' ',
      ),
    ),
    since: at,
  };
}

/** The conditions that the verdict's sentence does not contain. */
export function beyondVerdict(
  { sentence: verdict }: Pick<Verdict, 'sentence'>,
  conditions: readonly Condition[],
): readonly Condition[] {
  return conditions.filter(({ isRepeated, sentence }) => isRepeated !== true && !verdict.includes(sentence));
}

function isOfRequests({ about, until }: Condition): boolean {
  return (about === 'v1' || about === 'v2' || about === 'operation') && until === undefined;
}

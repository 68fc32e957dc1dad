import {
  type CanaryOutcome,
  canaryOutcome,
  failsMoreOften,
  isSharedFailure,
} from '../rollout/canary-window.ts';
import type { Sample } from '../rollout/evidence.ts';
import {
  addBaselines,
  type BaselinesData,
  baselinesData,
  ClientBaselines,
  ENOUGH,
} from '../rollout/rollout-control.ts';
import { DEFAULT_ROLLBACK } from '../rules/declared-rollout.ts';
import { clientOf, type Entry, isOfClients, isOfV1, statusFrom } from './entry.ts';

/**
 * What an exchange was to its client. `failed`: the gateway or a service failed it, or V2 or the gateway refused what V1 did not refuse
 * before. `refused`: a refusal that V1 gave as well, or that is the client's own. `on-purpose`: the operator ended V1 for it, for a time or
 * for good. `left`: the client did not wait for the whole response.
 */
export type Answer = 'well' | 'failed' | 'refused' | 'on-purpose' | 'left';

/** The members of an entry that decide. */
export type AnsweredEntry = Pick<
  Entry,
  'route' | 'verdict' | 'status' | 'failure' | 'cause' | 'incomplete' | 'origin' | 'client' | 'operation'
> & { readonly path?: string | undefined; readonly side?: Entry['side'] };

/** Refusals by which a client notices the end of V1, by failure code; header fields alone do not count. */
const NOTICES: ReadonlySet<string> = new Set(['brownout', 'sunset', 'newcomer']);

/** Failures that an operator has asked for: notices, and operations that have ended. */
const ON_PURPOSE: ReadonlySet<string> = new Set([...NOTICES, 'operation-gone']);

/** Whether a client notices the end of V1 by a refusal with this failure code. */
export function isNotice(failure: string | undefined): boolean {
  return failure !== undefined && NOTICES.has(failure);
}

/** Whether the operator has asked for the requests that are refused with this failure code. */
export function isOnPurpose(failure: string | undefined): boolean {
  return failure !== undefined && ON_PURPOSE.has(failure);
}

/** Failures that the client caused, with any status. */
const BY_CLIENT: ReadonlySet<string> = new Set(['client-timeout', 'bad-framing']);

/** Whether the gateway refused a request, and thereby did not fail it. */
export function isRefusedByGateway({ verdict }: Pick<AnsweredEntry, 'verdict'>, answer: Answer): boolean {
  return verdict === 'refused' && answer !== 'failed';
}

/** Refusals because of the state of a resource, which no rewriting of a request causes (RFC 9110 §15.5.10, §15.5.13). */
const OF_STATE: ReadonlySet<CanaryOutcome> = new Set(['409', '412']);

/** Represents all clients of an operation. */
const ALL_CLIENTS = '*';

/** The test of a canary, by which refusals are compared with V1's; the same for a running gateway and for its log. */
const RULE = DEFAULT_ROLLBACK;

/** What a judge knows of V1, as data that can be sent from a thread. */
export interface AnswersData {
  readonly byClient: BaselinesData;
  readonly byOperation: BaselinesData;
}

/**
 * Decides what counts as failed, for all numbers that people see. A 5xx and a response that breaks off always do. A refusal (3xx, 4xx) of
 * a V1 request does if V1 never gave it in this operation, or if the test of a canary shows that it is more frequent than on V1, for this
 * client or for all. A client with few requests on V1 may have escaped refusals by chance, so it is compared with all clients of the
 * operation, unless the test shows that V1 treated it differently. If V1 served too few requests of the operation to compare, a refusal
 * that V1 gave, or that clients often cause, such as 404 or 409, does not count; any other, such as 422, does.
 */
export class AnswerJudge {
  readonly byClient = new ClientBaselines();
  readonly byOperation = new ClientBaselines();
  knowsV1 = false;
  private readonly awaitsPast: () => boolean;

  /**
   * `awaitsPast` is called for a refusal if V1 served too few requests of the operation; it is true while the log from before this run is
   * read, which may have more: until then the refusal does not count as failed.
   */
  constructor(awaitsPast: () => boolean = () => false) {
    this.awaitsPast = awaitsPast;
  }

  /** Evaluates exchanges in the order in which they ended. */
  judge(entry: AnsweredEntry): Answer {
    const { failure = '', verdict, status, incomplete, origin } = entry;
    if (ON_PURPOSE.has(failure)) return 'on-purpose';
    if (status === 0) return 'left';
    if (BY_CLIENT.has(failure) || (verdict === 'refused' && !isOfClients(entry))) return 'refused';
    if (status >= 500 || (incomplete === true && failure !== '')) return 'failed';
    if (incomplete === true) return 'left';
    const isRefusal = status >= 300 && status !== 304;
    if (!isRefusal && !this.knowsV1 && origin !== 'v1') return 'well';
    if (!isOfV1(entry) || entry.route !== 'migrate') return isRefusal ? 'refused' : 'well';
    if (origin === 'v1' && statusFrom(entry) === 'v1') {
      this.learn(entry);
      return isRefusal ? 'refused' : 'well';
    }
    return this.isNew(entry) ? 'failed' : isRefusal ? 'refused' : 'well';
  }

  private learn(entry: AnsweredEntry): void {
    this.knowsV1 = true;
    const outcome = canaryOutcome(entry.status, undefined) ?? 'success';
    this.byClient.addV1(subjectOf(entry, clientOf(entry)), outcome, false);
    this.byOperation.addV1(subjectOf(entry, ALL_CLIENTS), outcome, false);
  }

  /** Whether this is a refusal that V1 did not give, or gave less often. */
  private isNew(entry: AnsweredEntry): boolean {
    const outcome = canaryOutcome(entry.status, entry.failure) ?? 'success';
    if (!this.knowsV1) return outcome !== 'success' && this.isNewToUnknown(outcome);
    const [own, all] = [subjectOf(entry, clientOf(entry)), subjectOf(entry, ALL_CLIENTS)];
    this.byClient.addV2(own, outcome);
    if (outcome === 'success') {
      this.byOperation.addV2(all, outcome);
      return false;
    }
    const before = this.byOperation.samplesOf(all, outcome)?.v1;
    if (before === undefined || before.requests < ENOUGH)
      return (before?.failures ?? 0) === 0 && this.isNewToUnknown(outcome);
    if (before.failures === 0) return true;
    const ofClient = this.byClient.samplesOf(own, outcome);
    const isOfClient = ofClient && isMoreForClient(ofClient, before);
    if (isOfClient !== undefined) return isOfClient;
    // What a client alone explains says nothing about the others.
    this.byOperation.addV2(all, outcome);
    const now = this.byOperation.samplesOf(all, outcome)?.v2;
    return now !== undefined && failsMoreOften(before, now, RULE);
  }

  /** Whether this is a refusal that clients seldom cause themselves, where it is not known what V1 did. */
  private isNewToUnknown(outcome: CanaryOutcome): boolean {
    return !isSharedFailure(outcome) && !OF_STATE.has(outcome) && !this.awaitsPast();
  }
}

export function answersData({ byClient, byOperation }: AnswerJudge): AnswersData {
  return { byClient: baselinesData(byClient), byOperation: baselinesData(byOperation) };
}

/** Adds what was known of V1 before this run. */
export function addAnswers(judge: AnswerJudge, { byClient, byOperation }: AnswersData): void {
  addBaselines(judge.byClient, byClient);
  addBaselines(judge.byOperation, byOperation);
  judge.knowsV1 ||= byOperation.some(([, [requests]]) => requests > 0);
}

/**
 * Whether V2 refuses a client more often than V1 did; undefined if all clients together decide. `before` is the past of all clients.
 */
function isMoreForClient({ v1, v2 }: Record<'v1' | 'v2', Sample>, before: Sample): boolean | undefined {
  const isMore = failsMoreOften(v1, v2, RULE);
  if (failsMoreOften(before, v1, RULE)) return isMore;
  if (failsMoreOften(v1, before, RULE)) return v1.failures === 0 || isMore;
  const isKnown = v1.requests >= RULE.requests;
  return failsMoreOften(before, v2, RULE) && (isMore || !isKnown) ? true : undefined;
}

function subjectOf(
  { operation }: AnsweredEntry,
  client: string,
): {
  readonly client: string;
  readonly operation: string | undefined;
  readonly pointer: undefined;
} {
  return { client, operation, pointer: undefined };
}

import { canaryOutcome, isSharedFailure } from '../rollout/canary-window.ts';
import { ClientBaselines } from '../rollout/rollout-control.ts';
import { type Entry, isOfV1, statusFrom } from './entry.ts';

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
> & { readonly path?: string | undefined };

/** Failures that an operator has asked for: brownouts, the end of V1 or of an operation, and new clients that V1 does not take. */
const ON_PURPOSE: ReadonlySet<string> = new Set(['brownout', 'sunset', 'operation-gone', 'newcomer']);

/** Failures that the client caused, with any status. */
const BY_CLIENT: ReadonlySet<string> = new Set(['client-timeout', 'bad-framing']);

/** Whether the gateway refused a request on purpose or for its content. A 5xx is its failure, or that of a service, unless an operator asked for it. */
export function isRefusedByGateway({
  verdict,
  status,
  failure = '',
}: Pick<AnsweredEntry, 'verdict' | 'status' | 'failure'>): boolean {
  if (verdict !== 'refused') return false;
  return status < 500 || ON_PURPOSE.has(failure) || BY_CLIENT.has(failure);
}

/** Represents all clients of an operation, for a client whose requests V1 did not serve before. */
const ALL_CLIENTS = '*';

/**
 * Decides what counts as failed, for all numbers that people see. A 5xx and a response that breaks off always do. A refusal (3xx, 4xx) of
 * a V1 request does if V1 refused less often: for this client in this operation, or, if V1 did not serve it, for all clients of the
 * operation. If V1 served neither, a status that clients often cause, such as 404, does not count, and any other, such as 422, does.
 */
export class AnswerJudge {
  private readonly byClient = new ClientBaselines();
  private readonly byOperation = new ClientBaselines();
  private knowsV1 = false;

  /** Evaluates exchanges in the order in which they ended. */
  judge(entry: AnsweredEntry): Answer {
    const { failure = '', status, incomplete, origin } = entry;
    if (ON_PURPOSE.has(failure)) return 'on-purpose';
    if (status === 0) return 'left';
    if (BY_CLIENT.has(failure)) return 'refused';
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
    this.byClient.addV1(subjectOf(entry, entry.client), outcome, false);
    this.byOperation.addV1(subjectOf(entry, ALL_CLIENTS), outcome, false);
  }

  /** Whether this is a refusal that V1 gave less often. */
  private isNew(entry: AnsweredEntry): boolean {
    const outcome = canaryOutcome(entry.status, entry.failure) ?? 'success';
    if (!this.knowsV1) return outcome !== 'success' && !isSharedFailure(outcome);
    const isOfClient = this.byClient.addV2(subjectOf(entry, entry.client), outcome);
    const isOfOperation = this.byOperation.addV2(subjectOf(entry, ALL_CLIENTS), outcome);
    if (outcome === 'success') return false;
    const isAsBefore = isOfClient ?? isOfOperation;
    return isAsBefore === undefined ? !isSharedFailure(outcome) : !isAsBefore;
  }
}

function subjectOf(
  { operation }: AnsweredEntry,
  client: string | undefined,
): {
  readonly client: string | undefined;
  readonly operation: string | undefined;
  readonly pointer: undefined;
} {
  return { client, operation, pointer: undefined };
}

import { isOnPurpose } from '../../rewrite-log/answers.ts';
import { askedService, callName, type Entry, isUnfit, statusFrom } from '../../rewrite-log/entry.ts';
import { clientField, clientFieldAtV2, printClientField } from '../../rewrite/client-key.ts';
import { GONE, wouldFail } from '../../rollout/body-checks.ts';
import { outcomesOf } from '../client-report.ts';
import { BodyCheckCounts, Outcomes } from '../tally/outcomes.ts';
import { firstUse, recordUse, type Span } from '../tally/span.ts';
import { mistakeOf } from '../tally/tally-entry.ts';
import { fittingOperations } from '../text.ts';
import { type GuideBook, type GuideContext, guideField, nameInV1, placeOfOperation } from './guide-book.ts';
import { CallGuide } from './guide-call.ts';
import { endOfV1, type GuideDocument, type ServedByV2 } from './guide-document.ts';
import { guideFacts } from './guide-facts.ts';

/** Maximum kinds of calls, and of mistakes, in a guide, which is for human readers. */
const MAX_CALLS = 100;
const MAX_MISTAKES = 50;

/** Maximum places of one mistake. */
const MAX_POINTERS = 5;

interface Mistake extends Span {
  readonly call: string;
  readonly code: string;
  readonly pointers: Set<string>;
  /** How many of the requests the gateway refused; it would have refused the others. */
  refused: number;
}

/** How a client's owner corrects a refused request, by failure code. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['malformed-json', 'Send valid JSON in UTF-8.'],
  ['malformed-form', 'Send a form whose Content-Type and body are well-formed, with fields in UTF-8.'],
  ['duplicate-member', 'Send each member of an object once.'],
  ['wrapper-not-object', 'Send the parameters as an object.'],
  ['body-too-large', 'Send a smaller body.'],
  ['too-deep', 'Nest the body less deeply.'],
  ['unsupported-charset', 'Send JSON in UTF-8.'],
  ['unsupported-coding', 'Send the body without this content coding.'],
  ['digest-mismatch', 'Send a digest of the bytes of the body, as they are sent, or none.'],
  ['undecodable-body', 'Send a body in the coding that Content-Encoding names.'],
  ['bad-target', 'Send a path without dot segments, backslashes and control characters.'],
  ['bad-framing', 'Send well-formed chunks, or a body as long as its Content-Length.'],
  ['client-timeout', 'Send the request faster.'],
]);

/** Collects the V1 calls of one client, and describes the changes it has to make. */
export class Guide {
  /** The client hash or a prefix of it: other clients' entries do not count. */
  readonly client: string;
  /** V1 requests that were examined. */
  requests = 0;
  private readonly calls = new Map<string, CallGuide>();
  private readonly mistakes = new Map<string, Mistake>();
  private clientHashes = new Set<string>();
  private readonly dryRuns = new BodyCheckCounts();
  private readonly onV2 = new RequestsOnV2();
  private readonly onPurpose = new Outcomes();
  private first = '';
  private latest = '';
  private omitted = 0;

  constructor(client: string) {
    this.client = client;
  }

  /** Clients whose hash begins with `client`; more than one means that the prefix is too short. */
  get clients(): readonly string[] {
    return [...this.clientHashes];
  }

  /** Counts an entry; false if it is not one of the client's V1 requests. */
  add(entry: Entry): boolean {
    if (entry.route !== 'migrate' || entry.client?.startsWith(this.client) !== true) return false;
    this.clientHashes.add(entry.client);
    this.requests += 1;
    if (this.first === '' || entry.time < this.first) this.first = entry.time;
    if (entry.time > this.latest) this.latest = entry.time;
    const name = callName(entry.operation, entry.method, entry.path);
    this.dryRuns.add(name, entry);
    this.onV2.add(entry);
    if (isOnPurpose(entry.failure) && entry.failure !== GONE) this.onPurpose.add(entry);
    const mistake = mistakeOf(entry);
    if (mistake !== undefined) {
      this.addMistake(name, mistake, entry);
      return true;
    }
    const known = this.calls.get(name);
    if (known === undefined && this.calls.size >= MAX_CALLS) {
      this.omitted += 1;
      return true;
    }
    const call = known ?? new CallGuide(name, entry.method, entry.path);
    this.calls.set(name, call);
    call.add(entry);
    return true;
  }

  /** All operations that the client calls; undefined where it may call more than are kept. */
  private get called(): ReadonlySet<string> | undefined {
    if (this.omitted > 0 || this.mistakes.size >= MAX_MISTAKES) return undefined;
    return new Set([...this.calls.keys(), ...[...this.mistakes.values()].map(({ call }) => call)]);
  }

  /**
   * The guide for a rule book.
   */
  document(book: GuideBook, name?: string, context: GuideContext = {}): GuideDocument {
    const { inForce = this.dryRuns.latest?.ruleBook, unknown = [], samples, now = this.latest } = context;
    const { from, alsoFrom, to, changes } = book;
    const field = guideField(book);
    const [client = this.client] = this.clientHashes;
    const all = callsUnder(book, [...this.calls.values()]);
    const unserved = all.flatMap((call) => call.unserved(book) ?? []);
    const gone = new Set(book.operations.flatMap((one) => (one.gone === undefined ? [] : one.id)));
    const calls = all.filter(({ name }) => !gone.has(name) && unserved.every((call) => call.name !== name));
    const used = new Set(calls.flatMap((call) => [...call.changes]));
    const facts = guideFacts(changes, (id) => used.has(id));
    return {
      client,
      ...(name === undefined ? {} : { name }),
      requests: this.requests,
      first: this.first,
      latest: this.latest,
      from,
      ...(alsoFrom === undefined ? {} : { alsoFrom }),
      to,
      ...(field === undefined ? {} : { version: field }),
      changes: facts.map(({ ids: [id = ''], summary, prose }) => ({ id, summary, prose })),
      end: endOfV1(book.rollout, client, {
        calls: this.called,
        zone: book.zone,
        now,
        nameOf: (kind, id) => nameInV1(kind, id, book),
      }),
      ...(book.zone === undefined ? {} : { zone: book.zone }),
      calls: calls.map((call) => call.document(book, facts, { inForce, unknown, samples })),
      ...(unserved.length === 0 ? {} : { unserved }),
      mistakes: this.mistakesAndGone(all.filter(({ name }) => gone.has(name))).map(
        ({ call, code, pointers, count, refused, last }) => ({
          call,
          ...placeOfOperation(call, book),
          code,
          pointers: [...pointers],
          count,
          refused,
          last,
          remedy:
            (code === GONE ? book.operations.find(({ id }) => id === call)?.gone : REMEDIES.get(code)) ??
            'Correct the request; the response says what is wrong.',
        }),
      ),
      ...this.onV2.result,
      ...(this.onPurpose.all.size === 0 ? {} : { onPurpose: outcomesOf(this.onPurpose) }),
      key: { v1: printClientField(clientField(book)), v2: printClientField(clientFieldAtV2(book)) },
      dryRuns: wouldFail([...this.dryRuns.under(inForce).values()]),
      omitted: this.omitted,
    };
  }

  /** The mistakes, with the requests for operations that are gone in V2, which went to V1 or to no service: a row for each operation. */
  private mistakesAndGone(gone: readonly CallGuide[]): readonly Mistake[] {
    const mistakes = new Map(this.mistakes);
    for (const { name, count, first, last } of gone) {
      const key = JSON.stringify([name, GONE]);
      const known = mistakes.get(key) ?? {
        call: name,
        code: GONE,
        pointers: new Set(),
        count: 0,
        refused: 0,
        first,
        last,
      };
      mistakes.set(key, {
        ...known,
        count: known.count + count,
        last: last > known.last ? last : known.last,
      });
    }
    return [...mistakes.values()];
  }

  private addMistake(call: string, code: string, { time, pointer, verdict }: Entry): void {
    const key = JSON.stringify([call, code]);
    const known = this.mistakes.get(key);
    if (known === undefined && this.mistakes.size >= MAX_MISTAKES) return;
    const mistake = known ?? { ...firstUse(time), call, code, pointers: new Set<string>(), refused: 0 };
    if (known !== undefined) recordUse(known, time);
    this.mistakes.set(key, mistake);
    if (verdict === 'refused') mistake.refused += 1;
    if (pointer !== undefined && mistake.pointers.size < MAX_POINTERS) mistake.pointers.add(pointer);
  }
}

/** Counts the V1 requests that went to V2: V2's responses, and the gateway's where V2 did not respond. */
class RequestsOnV2 {
  private readonly statuses = new Map<number, number>();
  private readonly unserved = new Map<number, number>();
  private first = '';
  private last = '';
  private lastOnV1 = '';
  /** Requests that V1 served after the first of these: before their last one, and since. */
  private between = 0;
  private since = 0;

  add(entry: Entry): void {
    const { time, status } = entry;
    const service = askedService(entry);
    if (service === 'v1' && time > this.lastOnV1) this.lastOnV1 = time;
    if (service === 'v1' && this.first !== '') this.since += 1;
    if (service !== 'v2' || status === 0) return;
    if (this.first === '' || time < this.first) this.first = time;
    if (time > this.last) this.last = time;
    this.between += this.since;
    this.since = 0;
    const statuses = statusFrom(entry) === 'v2' ? this.statuses : this.unserved;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  get result(): Pick<GuideDocument, 'onV2'> {
    const { first, last, between } = this;
    if (first === '') return {};
    const others = countedStatuses(this.statuses).filter(({ status }) => status >= 400);
    const all = [...this.statuses.values()].reduce((sum, times) => sum + times, 0);
    const succeeded = others.reduce((left, one) => left - one.count, all);
    const unserved = countedStatuses(this.unserved);
    return { onV2: { first, last, isOver: this.lastOnV1 > last, between, succeeded, others, unserved } };
  }
}

/** The most frequent first. */
function countedStatuses(statuses: ReadonlyMap<number, number>): ServedByV2['others'] {
  return [...statuses]
    .map(([status, times]) => ({ status, count: times }))
    .sort((one, other) => other.count - one.count);
}

/**
 * The calls by the operations of a rule book, most used first. Requests that no operation fitted, and that one fits now, are of that
 * operation.
 */
function callsUnder(book: GuideBook, calls: readonly CallGuide[]): readonly CallGuide[] {
  const operationOf = fittingOperations(book);
  const placed = new Map<string, CallGuide>();
  for (const call of calls.toSorted(
    (one, other) => Number(isUnfit(one.name)) - Number(isUnfit(other.name)),
  )) {
    const fitting = isUnfit(call.name) ? operationOf(call.name, call.path) : undefined;
    const id = fitting ?? call.name;
    placed.set(id, placed.get(id)?.withEarlier(call) ?? (fitting === undefined ? call : call.under(fitting)));
  }
  return [...placed.values()].sort((one, other) => other.count - one.count);
}

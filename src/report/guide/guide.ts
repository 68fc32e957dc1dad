import { Prefixes, queryParts, withName, withValueInQuery } from '../../http/target.ts';
import { isOnPurpose } from '../../rewrite-log/answers.ts';
import {
  askedService,
  callName,
  type Entry,
  isOutage,
  isUnfit,
  statusFrom,
} from '../../rewrite-log/entry.ts';
import { clientField, clientFieldAtV2, printClientField } from '../../rewrite/client-key.ts';
import { printDestination } from '../../rules/move.ts';
import { MovedMembers } from '../../rewrite-log/response-findings.ts';
import { Moves } from '../../rewrite/moves.ts';
import { type EditRecord, isOfBody, isOfQuery, placesOfEdit } from '../../rewrite/records.ts';
import { inverseConversion } from '../../rules/kinds/convert.ts';
import { generalPointer, pointerToken } from '../../json/pointer.ts';
import { lensOf } from '../../rules/kinds/kinds.ts';
import { conversionRemark, ruleRemark } from '../../rules/kinds/words.ts';
import { ReleaseMedia } from '../../rules/release-place.ts';
import { type Change, type RuleBook, versionPlace } from '../../rules/rule-book.ts';
import type { MappedValue, QueryRule, RequestRule } from '../../rules/rule.ts';
import { GONE, wouldFail } from '../../rollout/body-checks.ts';
import type { StripProposal } from '../census.ts';
import { bodyChecksOf, outcomesOf, type ResponseMember, responsesOf } from '../client-report.ts';
import {
  BodyCheckCounts,
  type DifferingMembers,
  haveNothing,
  isMissing,
  ofServices,
  Outcomes,
  ResponseChanges,
} from '../tally/outcomes.ts';
import { firstUse, recordUse, type Span } from '../tally/span.ts';
import { isUnread, mistakeOf } from '../tally/tally-entry.ts';
import { sketchJson } from '../entry-request.ts';
import type { Ending } from '../endings.ts';
import { fittingOperations } from '../text.ts';
import { count } from '../../rules/words.ts';
import {
  ADDED,
  emptyEvidence,
  endOfV1,
  evidenceOfSchema,
  type GuideBody,
  type GuideCall,
  type GuideChange,
  type GuideDocument,
  type GuideExample,
  type GuideMistake,
  type GuideResponse,
  type GuideShape,
  learnCheck,
  NOT_KNOWN,
  OTHER_SHAPE,
  printedRequest,
  type ServedByV2,
  shapeKey,
  type UnservedCall,
  unreadNote,
  wholeEvidence,
} from './guide-document.ts';
import { type Fact, guideFacts } from './guide-facts.ts';
import { fieldForm, fieldRule, fieldsAtV2, fieldsOfV1, formWords, MASKED } from './guide-fields.ts';
import type { CallSample, GuideSamples } from './guide-samples.ts';
import { currentShapes, type ExampleShape, exampleShapes, withTemplate } from './guide-shapes.ts';
import { type ExampleValues, lastName, requestValues, responseValues } from './guide-values.ts';

/** Maximum kinds of calls, and of mistakes, in a guide, which is for human readers. */
const MAX_CALLS = 100;
const MAX_MISTAKES = 50;

const NO_VALUES: ReadonlyMap<string, string> = new Map();

/** Maximum operations that a guide names instead of a call that no service takes. */
const MAX_SIMILAR = 3;

/** Maximum places of one mistake. */
const MAX_POINTERS = 5;

/** The parts of a rule book that a guide uses. */
interface GuideBook
  extends
    GuidePrefixes,
    Pick<RuleBook, 'client' | 'version' | 'versionField' | 'rollout' | 'operations' | 'zone'> {
  readonly changes: readonly GuidedChange[];
}

/** A change, with the rules from which a guide reads values; absent in a saved report. */
type GuidedChange = GuideChange & Partial<Pick<Change, 'on' | 'request' | 'query' | 'headers' | 'response'>>;

/** The path prefixes of both versions. */
interface GuidePrefixes {
  readonly from: string;
  readonly alsoFrom?: readonly string[];
  readonly to: string;
}

/** What a guide knows beside the requests of its client. */
interface GuideContext {
  /** Hash of the rule book whose dry runs count; by default that of the latest dry run. */
  readonly inForce?: string | undefined;
  /** The members that V2 does not know by the requests of all clients. */
  readonly unknown?: readonly StripProposal[];
  /** What kept exchanges show of the client's calls. */
  readonly samples?: GuideSamples | undefined;
  /** When the guide is made, RFC 3339; by default at the client's last request. */
  readonly now?: string | undefined;
}

interface Mistake extends Span {
  readonly call: string;
  readonly code: string;
  readonly pointers: Set<string>;
  /** How many of the requests the gateway refused; it would have refused the others. */
  refused: number;
}

/** Maximum shapes of bodies that are kept for a call, and that are shown. */
const MAX_SHAPES = 50;
const MAX_SHOWN = 4;

/** Maximum names in an entry: a body with that many may have more. */
const MAX_ATTRIBUTES = 64;

/** The remark for an edit with one of these notes, and for the result of a transform. */
const REMARKS: ReadonlyMap<string, string> = new Map([
  ['value', 'this value could not be converted'],
  ['unmapped', 'it contains a word of V1, which V2 gets unchanged'],
  ['byte-order-mark', 'JSON does not allow it'],
  ['transform', "today the operator's own program converts it to V2's form: ask for its logic"],
]);

/** Maximum pairs of a map, and characters of a value, in a remark. */
const MAX_PAIRS = 5;
const MAX_VALUE_CHARACTERS = 40;

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

/** Names what ends before V1 in words of its clients: neither ids of the rule book nor its changes are known to them. */
function nameInV1(kind: Ending['kind'], id: string, { operations, changes }: GuideBook): string {
  const { method, template } = operations.find((one) => one.id === id) ?? {};
  if (kind === 'operation') return template === undefined ? id : `${method} ${template}`;
  const summary = changes
    .find((change) => change.id === id)
    ?.summary.trim()
    .replace(/\.$/, '');
  return `V1's form of what changed (${summary ?? id})`;
}

function placeOfOperation(name: string, { from, operations }: GuideBook): Pick<GuideMistake, 'place'> {
  const operation = operations.find(({ id }) => id === name);
  return operation === undefined ? {} : { place: `${operation.method} ${from}${operation.template}` };
}

/** Method and path of a call in both versions, if V2 has the operation elsewhere, and its paths in both. */
function placesOfCall(name: string, { from, to, operations }: GuideBook): Pick<GuideCall, 'moved' | 'paths'> {
  const operation = operations.find(({ id }) => id === name);
  if (operation === undefined) return {};
  const { method, template } = operation;
  const v1 = from + template;
  if (operation.to === undefined) return { paths: { v1, v2: to + template } };
  const [v2Method, path] = printDestination(operation.to).split(' ');
  const v2 = to + path;
  return { moved: { v1: `${method} ${v1}`, v2: `${v2Method} ${v2}` }, paths: { v1, v2 } };
}

/** The operations with a method whose paths have the longest beginning in common with a path: method and path in V2. */
function similarTo(path: string, method: string, { operations }: GuideBook): readonly string[] {
  const alike = (template: string): number => {
    let at = 0;
    while (at < path.length && path[at] === template[at]) at += 1;
    return at;
  };
  return operations
    .filter((operation) => operation.method === method && operation.gone === undefined)
    .toSorted((one, other) => alike(other.template) - alike(one.template))
    .slice(0, MAX_SIMILAR)
    .map(({ template, to }) => (to === undefined ? `${method} ${template}` : printDestination(to)));
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

/** Collects one kind of call of one client. */
class CallGuide {
  readonly name: string;
  readonly method: string;
  /** The target of its first request. */
  readonly path: string;
  count = 0;
  first = '';
  last = '';
  private readonly shapes = new Map<string, GuideShape>();
  private readonly outcomes = new Outcomes();
  /** By the hash of the rule book of their requests: those of V2's own responses, and those that V1's lead to expect. */
  private readonly members = new Map<string, DifferingMembers>();
  private readonly expected = new Map<string, DifferingMembers>();
  private newest = { time: '', ruleBook: '' };
  private readonly responses = new ResponseChanges();
  private readonly checks = new BodyCheckCounts();
  /** V2's own responses to these requests, and to those that V1 served and shadow compared, by status. */
  private readonly statusesOfV2 = new Map<number, number>();
  /** The leaves of each body that V2 accepted, all members of these bodies, and how often V2's errors pointed at a member. */
  private readonly accepted = new Set<string>();
  private readonly acceptedMembers = new Set<string>();
  private readonly named = new Map<string, number>();
  /** Members that V2 does not know, for certain. */
  private unknown: readonly StripProposal[] = [];
  /** Members of V1's responses that V2's lacked in the same reads, though no rule says so, by the hash of the rule book of each comparison. */
  private readonly missing = new Map<string, DifferingMembers>();
  private isCompared = false;
  private isUnknown = false;
  private unread = 0;
  private omitted = 0;

  constructor(name: string, method: string, path: string) {
    this.name = name;
    this.method = method;
    this.path = path;
  }

  /** The same requests as those of an operation whose rule came later: what became of them before says nothing about it. */
  under(name: string): CallGuide {
    const call = new CallGuide(name, this.method, this.path);
    for (const [key, shape] of this.shapes) call.shapes.set(key, { ...shape, byV2: 0, atV2: undefined });
    call.isUnknown = true;
    return call.withEarlier(this);
  }

  /** Its requests, and the number of earlier ones. */
  withEarlier({ count, first, last }: CallGuide): CallGuide {
    const call: CallGuide = Object.assign(new CallGuide(this.name, this.method, this.path), this);
    call.count += count;
    if (call.first === '' || first < call.first) call.first = first;
    if (last > call.last) call.last = last;
    return call;
  }

  /** The changes of its edits, in both directions. */
  get changes(): ReadonlySet<string> {
    const edits = [...this.shapes.values()].flatMap((shape) =>
      shape.edits.filter((edit) => edit.note !== 'already-flat'),
    );
    return new Set([...edits, ...this.membersNow().values()].map(({ change }) => change));
  }

  /** The members of responses under the newest rule book that shows any: V2's responses say where V2 has them, V1's what V2 lacks. */
  private membersNow(): DifferingMembers {
    const newest = (from: ReadonlyMap<string, DifferingMembers>): DifferingMembers =>
      from.get(this.newest.ruleBook) ?? [...from.values()].at(-1) ?? new Map();
    const expected = newest(this.expected);
    if (this.members.size === 0) return expected;
    const served = newest(this.members);
    const known = new Set([...served.values()].map(({ v1 }) => v1));
    const lacking = [...expected].filter(([, { v1, v2 }]) => v2 === undefined && !known.has(v1));
    return new Map([...served, ...lacking]);
  }

  /** Counts a request that was not refused for a mistake. */
  add(entry: Entry): void {
    this.count += 1;
    if (this.first === '' || entry.time < this.first) this.first = entry.time;
    if (entry.time > this.last) this.last = entry.time;
    this.outcomes.add(entry);
    this.checks.add(this.name, entry);
    const status = statusAtV2(entry);
    if (status !== undefined) this.statusesOfV2.set(status, (this.statusesOfV2.get(status) ?? 0) + 1);
    if (entry.time >= this.newest.time) this.newest = { time: entry.time, ruleBook: entry.ruleBook };
    const byBook = entry.origin === 'v1' ? this.expected : this.members;
    const members = byBook.get(entry.ruleBook) ?? new Map();
    const side = this.responses.add(entry, members);
    if (side === 'different') byBook.set(entry.ruleBook, members);
    if (side === 'same' || side === 'different') this.isCompared = true;
    this.addMissing(entry);
    if (side === 'unknown') this.isUnknown = true;
    if (entry.verdict === 'refused') return;
    if (isUnread(entry)) {
      this.unread += 1;
      return;
    }
    const { edits, attributes, path, bytesIn, note, time } = entry;
    const key = shapeKey(entry);
    const known = this.shapes.get(key);
    if (known === undefined && this.shapes.size >= MAX_SHAPES) {
      this.omitted += 1;
      return;
    }
    const shape = known ?? {
      edits,
      attributes,
      path,
      atV2: atV2(entry),
      hasBody: bytesIn > 0,
      note: unreadNote(note),
      count: 0,
      last: '',
      ruleBook: entry.ruleBook,
      byV2: 0,
      bySchema: 0,
      refusedAt: new Map<string, number>(),
    };
    this.shapes.set(key, shape);
    shape.count += 1;
    if (time > shape.last) [shape.last, shape.ruleBook] = [time, entry.ruleBook];
    if (entry.origin === undefined && entry.failure === undefined) this.learn(shape, entry);
    learnCheck(shape, entry);
  }

  /** The call, if no operation fits it and V2, or the only service that got it, had nothing there; undefined for any other. */
  unserved(book: GuideBook): UnservedCall | undefined {
    const { name, count, method, statusesOfV2 } = this;
    if (!isUnfit(name)) return undefined;
    const outcomes = ofServices(outcomesOf(this.outcomes));
    const isNowhere = haveNothing(outcomes);
    const missing = [...statusesOfV2].map(([status, times]) => ({ status, count: times }));
    if (missing.length === 0 ? !isNowhere : !missing.every(isMissing)) return undefined;
    const since = outcomes.map(({ firstSeen }) => firstSeen).toSorted()[0] ?? this.first;
    const instead = similarTo(name.slice(method.length + 1), method, book);
    return { name, count, since, outcomes, ...(isNowhere ? {} : { onlyV1: missing }), instead };
  }

  /** True if no rule says where V2 has the call, and V2 has accepted none. */
  private get isPlaceUnknown(): boolean {
    return isUnfit(this.name) && ![...this.statusesOfV2.keys()].some((status) => status < 400);
  }

  document(
    book: GuideBook,
    facts: readonly Fact[],
    { inForce, unknown = [], samples }: GuideContext,
  ): GuideCall {
    const sample = samples?.get(this.name);
    this.unknown = unknown.filter(({ operation }) => operation === undefined || operation === this.name);
    const places = placesOfCall(this.name, book);
    const { moved } = places;
    const shapes = currentShapes(mergedShapes([...this.shapes.values()]));
    const bodies = shapes.map((shape) => this.body(shape, book, moved)).sort(byVerdict);
    const examples = exampleShapes(shapes, (shape) => this.body(shape, book, moved).isKnownToFail === true);
    const members = inOrder(this.differingMembers(sample?.lacking), book.changes);
    const values = responseValues(members, book.changes, sample?.read ?? NO_VALUES);
    const responses = readMembers(members, book.changes).map((member) => ({
      ...member,
      ...(values.v1.has(member.v1) ? { isShown: true as const } : {}),
    }));
    const read = sampledRead(responses, sample) ?? readSketches(responses, values);
    const [checks] = bodyChecksOf(this.checks.under(inForce));
    const hidden = bodies.slice(MAX_SHOWN).reduce((sum, { count }) => sum + count, 0);
    return {
      name: this.name,
      ...places,
      ...(this.isPlaceUnknown ? { isPlaceUnknown: true as const } : {}),
      count: this.count,
      last: this.last,
      bodies: bodies.slice(0, MAX_SHOWN),
      changes: facts.flatMap(({ ids: [id = '', ...others] }) =>
        [id, ...others].some((one) => this.changes.has(one)) ? id : [],
      ),
      examples: examples.map((shape) => this.example(shape, book, places, sample?.sent ?? NO_VALUES)),
      ...(read === undefined ? {} : { read }),
      responses,
      responsesUnknown: this.isUnknown && !this.isCompared,
      ...(this.isUnknown && !this.isCompared ? rulesOfResponses(this.name, book.changes) : {}),
      // A client's owner cannot correct an outage or a service's own failure.
      outcomes: outcomesOf(this.outcomes).filter(({ code, status }) =>
        code === undefined ? status < 500 : !isOutage(code),
      ),
      ...(checks === undefined ? {} : { bodyChecks: checks }),
      unread: this.unread,
      omitted: this.omitted + hidden,
    };
  }

  private addMissing({ origin, ruleBook, comparison, time }: Entry): void {
    if (origin !== 'v1' || comparison === undefined) return;
    if (comparison.verdict === 'unknown' || comparison.status !== undefined) return;
    const missing = this.missing.get(ruleBook) ?? new Map();
    // The latest rule book comes last.
    this.missing.delete(ruleBook);
    this.missing.set(ruleBook, missing);
    for (const { path, kind } of comparison.differences) {
      const known = missing.get(path);
      if (kind !== 'missing') continue;
      if (known !== undefined) recordUse(known, time);
      else missing.set(path, { ...firstUse(time), change: '', v1: path });
    }
  }

  /**
   * The members of responses that differ, by the rules, and those that V2 lacks: by shadow's reads under the latest rule book that has any, or
   * by kept responses.
   */
  private differingMembers(kept: readonly string[] = []): readonly ResponseMember[] {
    const members = responsesOf(this.membersNow());
    const known = new Set(members.map(({ v1 }) => v1));
    const shadowed = [...this.missing.values()].at(-1);
    const used = { count: this.count, firstSeen: this.first, lastSeen: this.last };
    const missing =
      shadowed === undefined ? kept.map((v1) => ({ change: '', v1, ...used })) : responsesOf(shadowed);
    return [...members, ...missing.filter(({ v1 }) => !known.has(v1))];
  }

  /** Learns from V2's own response to a request. */
  private learn(shape: GuideShape, { status, errorPointers }: Entry): void {
    if (status >= 200 && status < 300) {
      shape.byV2 += 1;
      const members = v2Members(shape);
      if (members === undefined) return;
      this.accepted.add(leavesOf(members));
      for (const member of members) this.acceptedMembers.add(member);
    }
    for (const pointer of errorPointers ?? []) this.named.set(pointer, (this.named.get(pointer) ?? 0) + 1);
  }

  /** A request that stands for several shapes, in the rule book's paths and with values that its rules imply. */
  private example(
    shape: ExampleShape,
    book: GuideBook,
    { moved, paths }: Pick<GuideCall, 'moved' | 'paths'>,
    sent: ReadonlyMap<string, string>,
  ): GuideExample {
    const values = requestValues(shape.edits, book.changes, sent);
    const { before, after, moves, ...body } = this.body(shape, book, moved, values);
    const [v1Prefixes, v2Prefixes] = [[book.from, ...(book.alsoFrom ?? [])], [book.to]];
    return {
      ...body,
      ...this.evidenceOf(shape, body, book, moved),
      moves: moves.map((move) => ({
        ...move,
        ...(values.v1.has(generalPointer(move.from)) ? { isShown: true as const } : {}),
      })),
      before: withParameters(withTemplate(before, paths?.v1, v1Prefixes), values.v1),
      after: withParameters(withTemplate(after, paths?.v2, v2Prefixes), values.v2),
      earlier: shape.earlier,
    };
  }

  /** The evidence for several shapes together: that of each. */
  private evidenceOf(
    { parts }: ExampleShape,
    { isVerified, evidence }: Pick<GuideBody, 'isVerified' | 'evidence'>,
    book: GuideBook,
    moved: GuideCall['moved'],
  ): Pick<GuideBody, 'isVerified' | 'evidence' | 'isBySchema'> {
    if (isVerified || parts.length < 2) return { isVerified, evidence };
    const bodies = parts.map((part) => this.body(part, book, moved));
    const left = bodies.find((body) => !body.isVerified);
    if (left !== undefined) return { isVerified: false, evidence: left.evidence };
    const isBySchema = bodies.some((body) => body.isBySchema === true);
    const who = isBySchema ? 'V2 or its schema' : 'V2';
    return {
      isVerified: true,
      ...(isBySchema ? { isBySchema } : {}),
      evidence: `Verified: ${who} accepts requests with these members, though none had all of them.`,
    };
  }

  private body(
    shape: GuideShape,
    book: GuideBook,
    moved: GuideCall['moved'],
    values?: ExampleValues,
  ): GuideBody {
    const { count, last, path, edits, hasBody } = shape;
    const moves = movesOf(edits, book.changes);
    const after = this.atV2(path, edits, book) ?? shape.atV2 ?? moved?.v2 ?? `${this.method} ${path}`;
    const heads = {
      before: `${this.method} ${path}${fieldsOfV1(edits)}`,
      after: `${after}${fieldsAtV2(edits, book.changes)}`,
    };
    const members = v2Members(shape);
    if (!hasBody) {
      const evidence =
        shape.byV2 > 0 ? `V2 responded to it ${shape.byV2}×.` : 'Not verified: V2 has not accepted it yet.';
      return { count, last, ...heads, moves, isVerified: shape.byV2 > 0, evidence };
    }
    const ofBody = edits.filter((edit) => isOfBody(edit));
    const whole = wholeEvidence(shape, ofBody);
    if (whole !== undefined) {
      const [before, after] = [`${heads.before}\n\n${OTHER_SHAPE}`, `${heads.after}\n\n${OTHER_SHAPE}`];
      return { count, last, before, after, moves, ...whole };
    }
    if (members === undefined) {
      const known = ofBody.filter(({ note }) => note !== 'already-flat').map(({ from = '' }) => from);
      const moved = new MovedMembers(ofBody);
      return {
        count,
        last,
        before: printedRequest(heads.before, known, `${moved.wrapper}/${OTHER_SHAPE}`),
        after: printedRequest(
          heads.after,
          known.flatMap((pointer) => moved.of(pointer) ?? []),
          `/${OTHER_SHAPE}`,
        ),
        moves,
        isVerified: false,
        evidence: 'Not verified: the other members of this body were not recorded.',
      };
    }
    const refused = members.filter((member) => this.named.has(member) && !this.acceptedMembers.has(member));
    const notKnown = this.notKnown(shape);
    const dropped = [...notKnown.keys(), ...refused.filter((member) => this.isDispensable(member))];
    const isDropped = (place: string): boolean =>
      dropped.some((outer) => place === outer || place.startsWith(`${outer}/`));
    const kept = members.filter((member) => !isDropped(member));
    const isAccepted = kept.length > 0 && this.accepted.has(leavesOf(kept));
    const refusedAt = new Map([...shape.refusedAt].filter(([place]) => !isDropped(place)));
    const left = refused.filter((member) => !notKnown.has(member));
    const schemaEvidence =
      kept.length === 0
        ? emptyEvidence(members)
        : evidenceOfSchema({ ...shape, refusedAt }, left.length + notKnown.size);
    return {
      count,
      last,
      before: printedRequest(
        heads.before,
        shape.attributes ?? [],
        undefined,
        new MovedMembers(ofBody).wrapper,
        values?.v1,
      ),
      after: printedRequest(heads.after, kept, undefined, '', values?.v2),
      moves: [...moves, ...notKnown.values(), ...this.refusedMoves(shape, left)],
      ...(isAccepted || (refusedAt.size === 0 && left.every(isDropped))
        ? {}
        : { isKnownToFail: true as const }),
      isVerified: isAccepted || schemaEvidence?.isVerified === true,
      ...(!isAccepted && schemaEvidence?.isVerified === true ? { isBySchema: true as const } : {}),
      evidence: isAccepted
        ? 'Verified: V2 accepted a body with these members.'
        : (schemaEvidence?.evidence ??
          (shape.byV2 === 0 && this.named.size === 0
            ? 'Not verified: V2 has not accepted this body yet.'
            : 'Not verified: V2 has not accepted a body with exactly these members.')),
    };
  }

  /** Method and target of a request at V2; undefined if they depend on parameters whose values are not in the log. */
  private atV2(v1Target: string, edits: readonly EditRecord[], book: GuideBook): string | undefined {
    const operation = book.operations.find(({ id }) => id === this.name);
    const target = v2Target(v1Target, operation, edits, book);
    if (target === undefined) return undefined;
    const method = operation?.method === this.method ? operation.to?.method : undefined;
    return `${method ?? this.method} ${target}`;
  }

  /** The members of a shape that V2 does not know, by their places in the V2 body, as moves that leave them out. */
  private notKnown({ attributes = [], edits }: GuideShape): ReadonlyMap<string, GuideBody['moves'][number]> {
    const moved = new MovedMembers(edits.filter((edit) => isOfBody(edit)));
    return new Map(
      this.unknown.flatMap(({ in: inside = '', member, why }) => {
        const names = [...inside.split('.'), member].filter((one) => one !== '');
        const from = `${moved.wrapper}/${names.map(pointerToken).join('/')}`;
        const to = attributes.includes(from) ? moved.of(from) : undefined;
        return to === undefined
          ? []
          : [[to, { from, remark: why === '' ? NOT_KNOWN : `${NOT_KNOWN} (all clients: ${why})` }]];
      }),
    );
  }

  /** Whether V2 accepted requests with the object around a member, though none with the member. */
  private isDispensable(member: string): boolean {
    const outer = member.slice(0, member.lastIndexOf('/'));
    return outer === '' ? this.acceptedMembers.size > 0 : this.acceptedMembers.has(outer);
  }

  /** Members that V2 refused, at their places in the V1 body: those to leave out, and those for which that is unknown. */
  private refusedMoves(
    { attributes = [], edits }: GuideShape,
    refused: readonly string[],
  ): GuideBody['moves'] {
    const moved = new MovedMembers(edits.filter((edit) => isOfBody(edit)));
    return refused.map((to) => {
      const from = attributes.find((attribute) => moved.of(attribute) === to) ?? to;
      const times = `V2 refused it ${count(this.named.get(to) ?? 0)}×`;
      return this.isDispensable(to)
        ? { from, remark: `${times}, and accepted requests without it` }
        : { from, to, remark: `${times}; it may be the name or the value` };
    });
  }
}

/** The status of V2's own response to a request, or to the same read in shadow; undefined if V2 did not respond, or failed. */
function statusAtV2({ origin, failure, status, comparison }: Entry): number | undefined {
  if (failure !== undefined || status === 0) return undefined;
  const isCompared = comparison !== undefined && comparison.verdict !== 'unknown';
  const responded = origin === undefined ? status : isCompared ? (comparison.status?.v2 ?? status) : 500;
  return responded < 500 ? responded : undefined;
}

/** Counts requests whose members were not recorded for the shape with the same edits. */
function mergedShapes(shapes: readonly GuideShape[]): readonly GuideShape[] {
  const recorded = shapes.filter(
    ({ attributes, hasBody, note }) => attributes !== undefined || !hasBody || note !== undefined,
  );
  const merged = recorded.map((shape) => ({ ...shape }));
  const others = shapes.filter((shape) => !recorded.includes(shape));
  const left: GuideShape[] = [];
  const homes = new Map<string, (typeof merged)[number]>();
  if (others.length > 0)
    for (const shape of merged.filter(({ hasBody, note }) => hasBody && note === undefined).reverse())
      homes.set(JSON.stringify(shape.edits), shape);
  for (const shape of others) {
    const home = homes.get(JSON.stringify(shape.edits));
    if (home === undefined) left.push(shape);
    else home.count += shape.count;
  }
  return [...merged, ...left];
}

/** Members of the body that V2 gets for a shape; undefined when not all members were recorded. */
function v2Members({ attributes, edits }: GuideShape): readonly string[] | undefined {
  if (attributes === undefined || attributes.length >= MAX_ATTRIBUTES) return undefined;
  const moved = new MovedMembers(edits.filter((edit) => isOfBody(edit)));
  const members = attributes
    .filter((attribute) => attribute.startsWith(`${moved.wrapper}/`))
    .flatMap((attribute) => moved.of(attribute) ?? []);
  const added = edits.flatMap(({ from, path = '' }) =>
    from === undefined && path.startsWith('/') ? [path] : [],
  );
  return [...new Set([...members, ...added])].filter((member) => member !== '');
}

/** The members that have no members, in order: V2 sees no difference between two bodies with the same ones. */
function leavesOf(members: readonly string[]): string {
  const containers = new Set(members.map((member) => member.slice(0, member.lastIndexOf('/'))));
  return JSON.stringify(members.filter((member) => !containers.has(member)).sort());
}

/** The destination of each member; several rules on one member make one row. */
function movesOf(edits: readonly EditRecord[], changes: readonly GuidedChange[]): GuideBody['moves'] {
  const rows = new Map<
    string,
    { readonly from: string; readonly to?: string; readonly remarks: Set<string> }
  >();
  for (const edit of edits) {
    const { note } = edit;
    if (note === 'already-flat') continue;
    const places = placesOfEdit(edit);
    const from = note === 'byte-order-mark' ? 'byte order mark' : (places.from ?? ADDED);
    const form = fieldForm(edit, changes);
    const to = places.path === '' ? '/' : places.path && places.path + (form === MASKED ? '' : ` ${form}`);
    const key = JSON.stringify([from, to]);
    const row = rows.get(key) ?? { from, ...(to === undefined ? {} : { to }), remarks: new Set() };
    rows.set(key, row);
    const remark = remarkOf(edit, changes);
    if (remark !== '') row.remarks.add(remark);
  }
  return [...rows.values()].map(({ remarks, ...row }) => ({ ...row, remark: [...remarks].join('; ') }));
}

/** What the rules say of the responses to a call; nothing if a change has no rules, as in a saved report. */
function rulesOfResponses(call: string, changes: readonly GuidedChange[]): Pick<GuideCall, 'responseRules'> {
  if (changes.some(({ response }) => response === undefined)) return {};
  const own = changes.filter(
    ({ on, response = [] }) => response.length > 0 && (on === 'every' || on?.includes(call) === true),
  );
  const ids = new Set(own.map(({ id }) => id));
  return { responseRules: guideFacts(changes, (id) => ids.has(id)).map(({ summary }) => summary) };
}

/** Members of responses, with the way from V2's value to today's; several rules on one member make one row. */
function readMembers(
  members: readonly ResponseMember[],
  changes: readonly GuidedChange[],
): readonly GuideResponse[] {
  // The other pointers also come from the operator's program.
  const isMade = members.some(({ v1 }) => v1 === '');
  const rows = new Map<string, GuideResponse & { readonly remarks: Set<string> }>();
  for (const member of members) {
    const key = JSON.stringify([member.v1, member.v2]);
    const known = rows.get(key);
    const remarks = known?.remarks ?? new Set<string>();
    rows.set(key, {
      ...(known ?? member),
      ...(member.hasOtherValues === true || known?.hasOtherValues === true ? { hasOtherValues: true } : {}),
      ...(isMade ? { isMade } : {}),
      remarks,
    });
    const words = member.hasOtherValues === true ? todayWords(member, changes) : '';
    if (words !== '') remarks.add(words);
  }
  return [...rows.values()]
    .map(({ remarks, ...row }) =>
      remarks.size === 0 || isMade ? row : { ...row, remark: [...remarks].join('; ') },
    )
    .sort((one, other) => Number(other.v1 === '') - Number(one.v1 === ''));
}

/** How V1's value of a member follows from V2's, by the rules of its change that name it. */
function todayWords({ change, v1, v2 }: ResponseMember, changes: readonly GuidedChange[]): string {
  const { request = [], response = [] } = changes.find(({ id }) => id === change) ?? {};
  const names = new Set([v1, v2].flatMap((place) => lastName(place) ?? []));
  const declared = response.flatMap((rule) => {
    if (!('path' in rule) || !names.has(rule.path.at(-1) ?? '')) return [];
    if ('conversion' in rule) return conversionRemark(rule.conversion);
    return 'values' in rule ? pairWords(rule.values) : [];
  });
  const undone = request.toReversed().flatMap((rule) => {
    if (!('member' in rule) || !names.has(rule.member)) return [];
    if ('conversion' in rule) {
      const back = inverseConversion(rule.conversion);
      return typeof back === 'string' ? [] : conversionRemark(back);
    }
    if (!('values' in rule)) return [];
    return pairWords(rule.values.map(({ from, to }) => ({ from: to, to: from })));
  });
  const words = response.some(({ rule }) => rule === 'inverse') ? undone : declared;
  return [...new Set(words.filter((one) => one !== ''))].join(', ');
}

/** What happens to a value, with the rule's own numbers, texts and values if only one rule of the rule book fits. */
function remarkOf(edit: EditRecord, changes: readonly GuidedChange[]): string {
  const { change, rule, note, from, path, header } = edit;
  const general = REMARKS.get(note ?? rule) ?? note ?? ruleRemark(rule) ?? '';
  if (header !== undefined) {
    const { as, values = [] } = fieldRule(edit, changes) ?? {};
    const words = values.length > 0 ? pairWords(values) : formWords(as);
    return [note === undefined && words !== '' ? '' : general, words].filter((one) => one !== '').join('; ');
  }
  if (note !== undefined) return general;
  const known = changes.find(({ id }) => id === change);
  const names = new Set([from, path].flatMap((place) => lastName(place) ?? []));
  const isQuery = (from ?? path)?.startsWith('?') === true;
  // A value that a rule adds to a query may be a key: only those in bodies are shown.
  const words = isQuery
    ? (known?.query ?? []).flatMap((one) => {
        if (one.rule !== rule || 'text' in one || !('parameter' in one)) return [];
        return [{ name: one.parameter, words: valueWords(one) }];
      })
    : (known?.request ?? []).flatMap((one) => {
        if (one.rule !== rule || !('member' in one)) return [];
        return [{ name: one.member, words: valueWords(one) }];
      });
  const named = words.filter(({ name }) => names.has(name));
  const [first, ...others] = new Set((named.length > 0 ? named : words).map((one) => one.words));
  return first === undefined || first === '' || others.length > 0 ? general : first;
}

/** Members of responses in the order in which the rule book's requests have them: inverse rules apply in the reverse order. */
function inOrder(
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

/** A response that the operator's own program made, on both sides without its values; undefined if none is kept. */
function sampledRead(
  members: readonly GuideResponse[],
  sample: CallSample | undefined,
): GuideCall['read'] | undefined {
  const { response } = sample ?? {};
  if (response === undefined || !members.some(({ isMade }) => isMade === true)) return undefined;
  return { before: sketchJson(response.v1), after: sketchJson(response.v2), isSampled: true };
}

/** Sketches of V1's and V2's response with the members that differ; undefined if their places are unknown, or there are none. */
function readSketches(
  members: readonly GuideResponse[],
  { v1, v2, added }: ExampleValues,
): GuideCall['read'] {
  if (members.length === 0 || members.some(({ isMade }) => isMade === true)) return undefined;
  return {
    before: sketchJson(
      members.map((member) => member.v1),
      '',
      v1,
    ),
    after: sketchJson(
      members.flatMap((member) => (added.has(member.v1) ? [] : (member.v2 ?? []))),
      '',
      v2,
    ),
  };
}

/** A printed request with these values of its parameters. */
function withParameters(text: string, values: ReadonlyMap<string, string>): string {
  const [line = ''] = text.split('\n', 1);
  let shown = line;
  for (const [place, value] of values)
    if (place.startsWith('?'))
      shown = shown.replace(`${place.slice(1)}=${MASKED}`, () => `${place.slice(1)}=${value}`);
  return shown + text.slice(line.length);
}

/** Describes for the author of a client how a rule changes a value; empty if the member's places say everything. */
function valueWords(rule: QueryRule | RequestRule): string {
  if ('conversion' in rule) return conversionRemark(rule.conversion);
  if ('values' in rule) return pairWords(rule.values);
  if (!('json' in rule) || rule.json.length > MAX_VALUE_CHARACTERS) return '';
  return lensOf(rule).isForAbsent?.(rule) === true
    ? `V2 needs a value; ${rule.json} is sent for you today`
    : `V2 needs the value ${rule.json}`;
}

function pairWords(values: readonly Pick<MappedValue, 'from' | 'to'>[]): string {
  const pairs = values.slice(0, MAX_PAIRS).map(({ from, to }) => `${from.text} is ${to.text}`);
  return `${pairs.join(', ')}${values.length > MAX_PAIRS ? ', …' : ''}`;
}

/** The header field with V2's release, and its value; undefined if the book has none, or the query names it. */
function guideField(book: GuideBook): GuideDocument['version'] {
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
function v2Target(
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

function atV2({ origin, method, upstreamMethod = method, upstreamPath }: Entry): string | undefined {
  return origin === undefined && upstreamPath !== undefined ? `${upstreamMethod} ${upstreamPath}` : undefined;
}

function byVerdict(one: GuideBody, other: GuideBody): number {
  return Number(other.isVerified) - Number(one.isVerified) || other.count - one.count;
}

import { generalPointer, pointerToken } from '../../json/pointer.ts';
import { type Entry, isOutage, isUnfit } from '../../rewrite-log/entry.ts';
import { MovedMembers } from '../../rewrite-log/response-findings.ts';
import { type EditRecord, isOfBody } from '../../rewrite/records.ts';
import { printDestination } from '../../rules/move.ts';
import { count } from '../../rules/words.ts';
import type { StripProposal } from '../census.ts';
import { bodyChecksOf, outcomesOf, type ResponseMember, responsesOf } from '../client-report.ts';
import { sketchJson } from '../entry-request.ts';
import {
  BodyCheckCounts,
  type DifferingMembers,
  haveNothing,
  isMissing,
  ofServices,
  Outcomes,
  ResponseChanges,
} from '../tally/outcomes.ts';
import { firstUse, recordUse } from '../tally/span.ts';
import { isUnread } from '../tally/tally-entry.ts';
import { atV2, type GuideBook, type GuideContext, inOrder, placesOfCall, v2Target } from './guide-book.ts';
import {
  emptyEvidence,
  evidenceOfSchema,
  type GuideBody,
  type GuideCall,
  type GuideExample,
  type GuideResponse,
  type GuideShape,
  learnCheck,
  NOT_KNOWN,
  OTHER_SHAPE,
  printedRequest,
  shapeKey,
  unreadNote,
  type UnservedCall,
  wholeEvidence,
} from './guide-document.ts';
import type { Fact } from './guide-facts.ts';
import { fieldsAtV2, fieldsOfV1, MASKED } from './guide-fields.ts';
import { movesOf, readMembers, rulesOfResponses } from './guide-rules.ts';
import type { CallSample } from './guide-samples.ts';
import { currentShapes, type ExampleShape, exampleShapes, withTemplate } from './guide-shapes.ts';
import { type ExampleValues, requestValues, responseValues } from './guide-values.ts';

const NO_VALUES: ReadonlyMap<string, string> = new Map();

/** Maximum operations that a guide names instead of a call that no service takes. */
const MAX_SIMILAR = 3;

/** Maximum shapes of bodies that are kept for a call, and that are shown. */
const MAX_SHAPES = 50;
const MAX_SHOWN = 4;

/** Maximum names in an entry: a body with that many may have more. */
const MAX_ATTRIBUTES = 64;

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

/** Collects one kind of call of one client. */
export class CallGuide {
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
      ...(sample?.objections === undefined ? {} : { objections: sample.objections }),
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
function readSketches(members: readonly GuideResponse[], { v1, v2 }: ExampleValues): GuideCall['read'] {
  if (members.length === 0 || members.some(({ isMade }) => isMade === true)) return undefined;
  return {
    before: sketchJson(
      members.map((member) => member.v1),
      '',
      v1,
    ),
    after: sketchJson(
      members.flatMap((member) => member.v2 ?? []),
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

function byVerdict(one: GuideBody, other: GuideBody): number {
  return Number(other.isVerified) - Number(one.isVerified) || other.count - one.count;
}

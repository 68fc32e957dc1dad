import { queryParts, valueOf as valueOfPart } from '../../http/target.ts';
import { generalPointer, leafPointers, pointerSteps } from '../../json/pointer.ts';
import { memberOf } from '../../json/values.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { KeptBody, KeptExchange } from '../../rewrite-log/capture.ts';
import { callName, type Entry } from '../../rewrite-log/entry.ts';
import { changesValue } from '../../rules/kinds/kinds.ts';
import { errorSentence, MovedMembers } from '../../rewrite-log/response-findings.ts';
import { isOfBody } from '../../rewrite/records.ts';
import { KeptResponses } from '../kept-responses.ts';
import { lastName } from './guide-values.ts';

/** What kept exchanges show of a call that the log does not have. */
export interface CallSample {
  /** The most frequent value at each place of requests and of responses that a rule converts, as JSON text; a parameter's as text. */
  readonly sent: ReadonlyMap<string, string>;
  readonly read: ReadonlyMap<string, string>;
  /** The members of the latest response that the operator's own program made: those that the client got, and V2's. */
  readonly response?: { readonly v1: readonly string[]; readonly v2: readonly string[] };
  /** Why V2 refused requests, or would: its own words, or the value that its description does not accept; absent for none. */
  readonly objections?: readonly string[];
  /** Members of V1's responses, to any client, that V2's lack; absent for none. */
  readonly lacking?: readonly string[];
}

/** The names that V2 or a rule gives to members of the responses to a call; undefined if V2 may give others. */
export type ResponseNames = (call: string) => ReadonlySet<string> | undefined;

/** Samples by call. */
export type GuideSamples = ReadonlyMap<string, CallSample>;

/** Maximum calls, and values of one call. */
const MAX_CALLS = 100;
const MAX_VALUES = 200;

/** Maximum characters of a value, and members of a response. */
const MAX_CHARACTERS = 40;
const MAX_MEMBERS = 60;

/** Maximum objections of V2 that are shown. */
const MAX_OBJECTIONS = 3;

const decoder = new TextDecoder();

type Counts = Map<string, Map<string, number>>;

interface CallCounts {
  readonly sent: Counts;
  readonly read: Counts;
  readonly objections: Map<string, number>;
  response?: CallSample['response'];
}

/** Collects what kept exchanges of a client show of its calls. */
export class SampleReader {
  private readonly calls = new Map<string, CallCounts>();
  private readonly responses = new Map<string, KeptResponses>();

  /** Adds a response to any client. */
  addResponse(entry: Entry, kept: KeptExchange): void {
    const { route, operation } = entry;
    if (route !== 'migrate' || operation === undefined) return;
    const known = this.responses.get(operation) ?? new KeptResponses();
    this.responses.set(operation, known);
    known.add(entry, kept);
  }

  add(entry: Entry, kept: KeptExchange): void {
    const name = callName(entry.operation, entry.method, entry.path);
    const known = this.calls.get(name);
    if (known === undefined && this.calls.size >= MAX_CALLS) return;
    const call: CallCounts = known ?? { sent: new Map(), read: new Map(), objections: new Map() };
    this.calls.set(name, call);
    addSent(call.sent, entry, kept);
    addRead(call.read, entry, kept);
    const objection = objectionOf(entry, kept);
    if (objection !== undefined) increment(call.objections, objection);
    call.response = responseOf(entry, kept) ?? call.response;
  }

  result(namesOf: ResponseNames = () => undefined): GuideSamples {
    return new Map(
      [...this.calls].map(([name, { sent, read, response, objections }]) => {
        const lacking = this.responses.get(name)?.lacking(namesOf(name)) ?? [];
        return [
          name,
          {
            sent: mostFrequent(sent),
            read: mostFrequent(read),
            ...(response === undefined ? {} : { response }),
            ...(objections.size === 0 ? {} : { objections: byCount(objections).slice(0, MAX_OBJECTIONS) }),
            ...(lacking.length === 0 ? {} : { lacking }),
          },
        ];
      }),
    );
  }
}

function addSent(counts: Counts, { edits }: Entry, { v1Request }: KeptExchange): void {
  const places = edits.flatMap(({ rule, from, note }) =>
    note === undefined && from !== undefined && changesValue(rule) ? [from] : [],
  );
  if (places.length === 0) return;
  const body = v1Request.body.state === 'values' ? valueOf(v1Request.body) : undefined;
  const [, query = ''] = v1Request.target.split('?', 2);
  for (const place of new Set(places)) {
    if (!place.startsWith('?')) addValue(counts, place, scalarAt(body, place));
    else
      for (const part of queryParts(query))
        if (place === `?${part.name}`) addValue(counts, place, valueOfPart(part));
  }
}

function addRead(counts: Counts, entry: Entry, { clientResponse }: KeptExchange): void {
  const edits = (entry.origin === 'v1' ? entry.responseWould : entry.responseEdits) ?? [];
  const places = edits.flatMap(({ rule, path }) =>
    rule !== undefined && path !== undefined && changesValue(rule) ? [path] : [],
  );
  if (places.length === 0 || clientResponse?.body.state !== 'values') return;
  const body = valueOf(clientResponse.body);
  for (const place of new Set(places)) addValue(counts, place, scalarAt(body, place));
}

/** The members on both sides of a success that the operator's own program made; undefined for any other response. */
function responseOf(entry: Entry, { v2Response, clientResponse }: KeptExchange): CallSample['response'] {
  const { origin, status, responseEdits = [] } = entry;
  if (origin !== undefined || status < 200 || status >= 300) return undefined;
  if (!responseEdits.some(({ rule }) => rule === 'transform')) return undefined;
  const [v1, v2] = [clientResponse, v2Response].map((side) => membersOf(side?.body));
  return v1 === undefined || v2 === undefined ? undefined : { v1, v2 };
}

/** Why V2 refused a request, or would: its own words, or the value that its description does not accept. */
function objectionOf(
  { origin, failure, status, would, attributes = [], edits }: Entry,
  { v1Request, v2Response }: KeptExchange,
): string | undefined {
  if (would?.v2 === 'invalid' && status < 400 && v1Request.body.state === 'values') {
    const moved = new MovedMembers(edits.filter((edit) => isOfBody(edit)));
    const place = attributes.find((attribute) => moved.of(attribute) === would.at);
    const value = place === undefined ? undefined : scalarAt(valueOf(v1Request.body), place);
    return value === undefined || value.length > MAX_CHARACTERS
      ? undefined
      : `V2's description does not accept ${value} as ${lastName(place ?? '')}`;
  }
  const isRefused = origin === undefined && failure === undefined && status >= 400 && status < 500;
  if (!isRefused || v2Response?.body.state !== 'values') return undefined;
  const body = valueOf(v2Response.body);
  return typeof body === 'object' && body !== null ? errorSentence(body) : undefined;
}

function membersOf(body: KeptBody | undefined): readonly string[] | undefined {
  const value = body === undefined ? undefined : valueOf(body);
  if (typeof value !== 'object' || value === null) return undefined;
  const members = [...new Set(leafPointers(value).map(generalPointer))];
  return members.length > MAX_MEMBERS ? undefined : members;
}

function valueOf({ bytes }: KeptBody): unknown {
  return bytes === undefined ? undefined : parsedJson(decoder.decode(bytes));
}

/** The JSON text of the value at a pointer; undefined if it is none, or is long. */
function scalarAt(body: unknown, pointer: string): string | undefined {
  const value = pointerSteps(pointer).reduce(memberOf, body);
  return value === undefined || typeof value === 'object' ? undefined : JSON.stringify(value);
}

function addValue(counts: Counts, place: string, value: string | undefined): void {
  if (value === undefined || value.length > MAX_CHARACTERS) return;
  const general = place.startsWith('?') ? place : generalPointer(place);
  const known = counts.get(general) ?? new Map<string, number>();
  increment(known, value);
  counts.set(general, known);
}

function increment(counts: Map<string, number>, value: string): void {
  if (counts.has(value) || counts.size < MAX_VALUES) counts.set(value, (counts.get(value) ?? 0) + 1);
}

/** The most frequent first. */
function byCount(counts: ReadonlyMap<string, number>): readonly string[] {
  return [...counts].toSorted(([, one], [, other]) => other - one).map(([value]) => value);
}

function mostFrequent(counts: Counts): ReadonlyMap<string, string> {
  return new Map(
    [...counts].flatMap(([place, values]) => {
      const [first] = byCount(values);
      return first === undefined ? [] : [[place, first]];
    }),
  );
}

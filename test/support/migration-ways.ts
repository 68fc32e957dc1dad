import { createServer, type IncomingMessage } from 'node:http';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { isHopByHop } from '../../src/http/fields.ts';
import {
  createMigration,
  type HeaderFields,
  type MigrationOptions,
} from '../../src/library/capture-gateway.ts';
import { migrateFetch } from '../../src/library/fetch.ts';
import { splitUrl } from '../../src/http/target.ts';
import { migrateListener } from '../../src/node/library/migrate-listener.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { gatewayFor } from './gateway.ts';
import { exchange } from './raw-client.ts';
import { readRawMessage, writeRawRequest, writeRawResponse } from './raw-message.ts';
import { rawServer } from './raw-server.ts';
import type { TextMessage } from '../../src/cli/cases/text-cases.ts';
import type { EditRecord, PatchOperation } from '../../src/rewrite/records.ts';
import type { ResponseRecord } from '../../src/rewrite/response-rules.ts';
import { listening } from './listening.ts';

/** An exchange as V2 and the client see it. */
export interface Played {
  /** The request that V2 got; undefined if none. */
  readonly sent: TextMessage | undefined;
  readonly response: TextMessage;
  /** The facts about it, if the way reports any. */
  readonly told?: Told;
}

/** The facts about an exchange in the gateway's log and in the library's verdicts. */
interface Told {
  readonly request: ToldMessage<EditRecord>;
  readonly response: ToldMessage<ResponseRecord>;
  readonly refusal: string | undefined;
}

interface ToldMessage<Edit> {
  readonly edits: readonly Edit[];
  /** Without values, which the log keeps to itself. */
  readonly patch: readonly Omit<PatchOperation, 'value'>[];
  readonly omitted: number;
  /** Why rules were not applied, where nothing was edited. */
  readonly note: string | undefined;
}

/** A way from a V1 client to V2: plays a request to which V2 responds with `respond`. */
export type Way = (request: TextMessage, respond: TextMessage) => Promise<Played>;

/** The gateway, on sockets. */
export async function throughGateway(rules: CompiledRuleBook): Promise<Way> {
  let next = '';
  const v2 = await rawServer((socket) => void socket.write(next, 'latin1'));
  const gateway = await gatewayFor(v2.origin, { rules });
  let played = 0;
  return async (request, respond) => {
    next = writeRawResponse(respond);
    const before = v2.received.join('').length;
    const response = await exchange(gateway.port, Buffer.from(writeRawRequest(request), 'latin1'));
    const received = v2.received.join('').slice(before);
    played += 1;
    return {
      sent: received === '' ? undefined : plain(readRawMessage(received)),
      response: plain(readRawMessage(response.text)),
      told: toldBy(await gateway.entry(played)),
    };
  };
}

function toldBy(entry: Entry): Told {
  const { edits, patch, editsOmitted, note, failure, pointer } = entry;
  const { responseEdits = [], responsePatch, responseEditsOmitted, responseNote } = entry;
  return {
    request: message({ edits, patch, omitted: editsOmitted, note }),
    response: message({
      // Edits of header fields, which a verdict of the library does not list.
      edits: responseEdits.filter(({ header }) => header === undefined),
      patch: responsePatch,
      omitted: responseEditsOmitted,
      note: responseNote,
    }),
    refusal: failure === undefined ? undefined : `${failure} ${pointer ?? ''}`,
  };
}

function message<Edit>({
  edits = [],
  patch = [],
  omitted = 0,
  note,
}: {
  readonly [Name in keyof ToldMessage<Edit>]?: ToldMessage<Edit>[Name] | undefined;
}): ToldMessage<Edit> {
  const said = patch.map((operation) => ({ ...operation, value: undefined }));
  // The gateway looks at the first byte of a response before it says so.
  const isTold = edits.length === 0 && note !== 'response-media-type';
  return { edits, patch: said, omitted, note: isTold ? note : undefined };
}

const NOTHING = message<never>({});

const UNTOLD: Told = { request: NOTHING, response: NOTHING, refusal: undefined };

/** `request` and `response` of the library. */
export function throughMigration({ ruleBook }: CompiledRuleBook, options: MigrationOptions = {}): Way {
  const migration = createMigration(ruleBook, options);
  return (request, respond) => {
    const [method = '', target = ''] = request.line.split(' ');
    const fields = request.headers.flat();
    const host = ['Host', 'gateway.test'];
    const outcome = migration.request(method, target, [...host, ...fields], request.body);
    if (outcome.verdict === 'refused') {
      const { status, headers, body, code, pointer = '' } = outcome;
      const told = { request: NOTHING, response: NOTHING, refusal: `${code} ${pointer}` };
      return Promise.resolve({ sent: undefined, response: messageOf(String(status), headers, body), told });
    }
    if (outcome.verdict === 'passed')
      return Promise.resolve({ sent: plain(request), response: plain(respond), told: UNTOLD });
    const sent = messageOf(`${outcome.method} ${outcome.target}`, outcome.headers, outcome.body);
    const back = migration.response(outcome, Number(respond.line), respond.headers.flat(), respond.body);
    if (back.verdict === 'refused') throw new Error(back.code);
    const told = { request: message(outcome), response: message(back), refusal: undefined };
    return Promise.resolve({ sent, response: messageOf(String(back.status), back.headers, back.body), told });
  };
}

/** A service in the shape of `fetch`. */
export function throughFetch({ ruleBook }: CompiledRuleBook, options: MigrationOptions = {}): Way {
  return async (request, respond) => {
    let sent: TextMessage | undefined;
    const serve = migrateFetch(createMigration(ruleBook, options), async (received) => {
      const { target } = splitUrl(received.url);
      const body = new Uint8Array(await received.arrayBuffer());
      sent = messageOf(`${received.method} ${target}`, [...received.headers], body);
      return new Response(bodyOf(respond), { status: Number(respond.line), headers: pairs(respond) });
    });
    const [method = '', target = ''] = request.line.split(' ');
    const body = request.body === '' ? null : bytesOf(request);
    const headers = pairs(request);
    const response = await serve(new Request(`http://gateway.test${target}`, { method, headers, body }));
    const text = new Uint8Array(await response.arrayBuffer());
    return { sent, response: messageOf(String(response.status), [...response.headers], text) };
  };
}

/** A service on `node:http`, which writes its response in the way that `respondWith` does. */
export async function throughListener(
  { ruleBook }: CompiledRuleBook,
  style: 'writeHead' | 'setHeader' = 'writeHead',
  options: MigrationOptions = {},
): Promise<Way> {
  let next: TextMessage = { line: '500', headers: [], body: '' };
  let sent: TextMessage | undefined;
  const migration = createMigration(ruleBook, options);
  const server = createServer(
    migrateListener(migration, (incoming, outgoing) => {
      void whole(incoming).then((body) => {
        sent = messageOf(`${incoming.method} ${incoming.url}`, fieldsOf(incoming.rawHeaders), body);
        const bytes = bytesOf(next);
        const length = ['Content-Length', String(bytes.length)];
        if (style === 'writeHead') {
          outgoing.writeHead(Number(next.line), [...next.headers.flat(), ...length]);
          outgoing.write(bytes.subarray(0, 3));
          outgoing.end(bytes.subarray(3));
          return;
        }
        outgoing.statusCode = Number(next.line);
        for (const [name, value] of next.headers) outgoing.appendHeader(name, value);
        outgoing.end(bytes.toString(), 'utf8');
      });
    }),
  );
  const port = await listening(server);
  return async (request, respond) => {
    next = respond;
    sent = undefined;
    const response = await exchange(port, Buffer.from(writeRawRequest(request), 'latin1'));
    return { sent, response: plain(readRawMessage(response.text)) };
  };
}

/** Fields of a connection, or that a gateway makes for each request. */
const VOLATILE: ReadonlySet<string> = new Set([
  'content-length',
  'date',
  'via',
  'host',
  'traceparent',
  'x-request-id',
]);

/** The message with fields sorted and lines of one name joined, as `fetch` has them; without those of the hop. */
function plain({ line, headers, body }: TextMessage): TextMessage {
  const joined = new Map<string, string>();
  for (const [name, value] of headers) {
    if (VOLATILE.has(name) || isHopByHop(name)) continue;
    const before = joined.get(name);
    joined.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { line, headers: [...joined].sort(([one], [other]) => (one < other ? -1 : 1)), body };
}

function messageOf(
  line: string,
  fields: HeaderFields | readonly [string, string][],
  body: Uint8Array | null,
): TextMessage {
  const headers = fields.map(([name, value]) => [name.toLowerCase(), value.trim()] as const);
  return plain({ line, headers, body: body === null ? '' : Buffer.from(body).toString('utf8') });
}

function pairs({ headers }: TextMessage): [string, string][] {
  return headers.map(([name, value]) => [name, value]);
}

function bytesOf({ body }: TextMessage): Buffer<ArrayBuffer> {
  return Buffer.from(body, 'utf8');
}

function bodyOf(message: TextMessage): Buffer<ArrayBuffer> | null {
  return ['204', '304'].includes(message.line) ? null : bytesOf(message);
}

function fieldsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : []));
}

async function whole(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

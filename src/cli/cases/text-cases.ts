import type { Exchange, ExchangeHandler } from '../../gateway/exchange.ts';
import { Gateway } from '../../gateway/gateway.ts';
import type { UpstreamReceiver, UpstreamRequest } from '../../gateway/upstream.ts';
import { unmarkedTag } from '../../http/fields.ts';
import { concatBytes } from '../../http/byte-collector.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { TransformThreads } from '../../node/threads/transform-thread.ts';
import { decodeBody } from '../../node/decode-body.ts';
import { hashBody } from '../../node/runtime.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { Ends } from '../../rules/rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { gatewayOptions, readSettings } from '../../settings/read-settings.ts';
import { fieldFault, REQUEST_LINE } from '../../twin/script.ts';

/** A message of a text case: its first line, header fields and body. */
export interface TextMessage {
  readonly line: string;
  /** Names in lower case; a name with `!` in front must be absent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Marks of the lines of a message: V1 request, V2 request, V2's response, and the response that the V1 client gets. */
export type Mark = '>' | '=' | '*' | '<';

/**
 * A whole exchange as text. `> ` marks the V1 request, `= ` the V2 request (without it, nothing may reach V2), `* ` V2's response (by
 * default 200 with `{"data":{}}`), `? ` V2's response to a GET of a lookup (by default 404), and `< ` the client's response. A message is
 * a line `METHOD target` or a status, header fields, an empty line, and a body. `? GET target` has its status, unless that is 200, after
 * the target. `= ` and `< ` check only the fields that they name, and the whole body unless it is `…`. `! name: value` is an option of
 * the run, `# ` the title, `## ` a comment. A case with a V2 request may check that alone, and have no `< `.
 */
export interface TextCase {
  readonly title: string;
  readonly request: TextMessage;
  readonly upstream: TextMessage | undefined;
  readonly upstreamResponse: TextMessage;
  /** V2's responses to lookups: the first line is that of the request, with an optional status. */
  readonly lookups: readonly TextMessage[];
  readonly response: TextMessage | undefined;
  readonly options: Readonly<Record<string, string>>;
  /** Number of the line with the title, from 1. */
  readonly at: number;
  /** First and last line of each message, from 1. */
  readonly lines: Readonly<Partial<Record<Mark, { readonly first: number; readonly last: number }>>>;
}

const PLAIN_ANSWER: TextMessage = {
  line: '200',
  headers: [['content-type', 'application/json']],
  body: '{"data":{}}',
};

/** Why a file of text cases cannot be read. */
export class TextCaseFault extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = 'TextCaseFault';
    this.line = line;
  }
}

/** Reads the text cases of a file. Each starts with a title; text before the first title is a comment. Throws `TextCaseFault`. */
export function readTextCases(text: string): readonly TextCase[] {
  const lines = text.split(/\r?\n/);
  const starts = lines.flatMap((line, index) => (line.startsWith('# ') ? [index] : []));
  return starts.map((start, index) => readTextCase(lines.slice(start, starts[index + 1]), start + 1));
}

function readTextCase([heading = '', ...lines]: readonly string[], at: number): TextCase {
  const title = heading.slice(2);
  const sections = new Map<string, { readonly texts: string[]; readonly first: number; last: number }>();
  const options: Record<string, string> = {};
  const lookups: { readonly texts: string[]; readonly first: number }[] = [];
  for (const [index, line] of lines.entries()) {
    const number = at + 1 + index;
    const mark = line.charAt(0);
    if (mark === '' || mark === '#') continue;
    if (mark === '!') {
      const [name = '', value = ''] = line.slice(1).split(/:(.*)/s);
      options[name.trim()] = value.trim();
      continue;
    }
    if (MARKS.includes(mark) && !/^.(?: |$)/.test(line))
      throw new TextCaseFault(number, `a line needs a space after ${mark}, or its first character is lost`);
    if (mark === '?') {
      const content = line.slice(2);
      if (content.startsWith('GET ')) lookups.push({ texts: [content], first: number });
      else if (lookups.length > 0) lookups.at(-1)?.texts.push(content);
      else
        throw new TextCaseFault(number, 'lines with ? begin with the GET of a lookup: ? GET /api/v2/users/7');
      continue;
    }
    if (!'>=*<'.includes(mark))
      throw new TextCaseFault(
        number,
        `a line starts with ${JSON.stringify(mark)}; lines of a case start with > (V1 request), = (V2 request), * (V2's response), ? (V2's response to a lookup), < (the client's response), ! (option) or ## (comment)`,
      );
    const section = sections.get(mark) ?? { texts: [], first: number, last: number };
    if (section.texts.length > 0 && section.last !== number - 1)
      throw new TextCaseFault(
        number,
        `lines with ${mark} are not next to those of line ${section.first}; a case has one message of each kind, in consecutive lines`,
      );
    sections.set(mark, section);
    section.texts.push(line.slice(2));
    section.last = number;
  }
  const read = (mark: Mark): TextMessage | undefined => {
    const section = sections.get(mark);
    return section === undefined ? undefined : readMessage(section, mark, FIRST_LINES[mark]);
  };
  const [request, upstream, response] = [read('>'), read('='), read('<')];
  if (request === undefined || (upstream ?? response) === undefined)
    throw new TextCaseFault(
      at,
      `the case “${title}” has no ${request === undefined ? 'V1 request; write its first line: > POST /api/v1/clients' : "V2 request or response; write the client's status, fields to check, an empty line with <, and the body: < 200"}`,
    );
  return {
    title,
    request,
    upstream,
    upstreamResponse: read('*') ?? PLAIN_ANSWER,
    lookups: lookups.map((lookup) => readMessage(lookup, '?', LOOKUP_LINE)),
    response,
    options,
    at,
    lines: Object.fromEntries(sections),
  };
}

/** Marks of the lines with a message. */
const MARKS = '>=*<?';

type FirstLine = readonly [form: RegExp, example: string];

const REQUEST: FirstLine = [REQUEST_LINE, 'POST /api/v1/clients'];
const STATUS_LINE: FirstLine = [/^[2-5]\d\d$/, '200'];
const LOOKUP_LINE: FirstLine = [/^GET \S+(?: [2-5]\d\d)?$/, 'GET /api/v2/users/7 404'];
const FIRST_LINES: Readonly<Record<Mark, FirstLine>> = {
  '>': REQUEST,
  '=': REQUEST,
  '*': STATUS_LINE,
  '<': STATUS_LINE,
};

function readMessage(
  { texts: [line = '', ...rest], first }: { readonly texts: readonly string[]; readonly first: number },
  mark: string,
  [form, example]: FirstLine,
): TextMessage {
  if (!form.test(line))
    throw new TextCaseFault(
      first,
      `${JSON.stringify(line)} is no first line of a message; write ${mark} ${example}`,
    );
  const empty = rest.indexOf('');
  const headers = (empty === -1 ? rest : rest.slice(0, empty)).map((header, index) => {
    const fault = fieldFault(header);
    if (fault !== undefined)
      throw new TextCaseFault(first + 1 + index, `${fault}, which is a line with only ${mark}`);
    const [name = '', value = ''] = header.split(/:(.*)/s);
    return [name.trim().toLowerCase(), value.trim()] as const;
  });
  return { line, headers, body: empty === -1 ? '' : rest.slice(empty + 1).join('\n') };
}

/** A part of a message that differs from the expected one. */
export interface Difference {
  /** The first line, the body, or the name of a header field. */
  readonly part: string;
  /** Undefined if the part must be absent. */
  readonly expected: string | undefined;
  /** Undefined if the part is absent. */
  readonly actual: string | undefined;
}

export function messageDifferences(expected: TextMessage, message: TextMessage): readonly Difference[] {
  const found: Difference[] = [];
  if (message.line !== expected.line)
    found.push({ part: 'first line', expected: expected.line, actual: message.line });
  for (const [name, value] of expected.headers) {
    const isAbsent = name.startsWith('!');
    const plain = isAbsent ? name.slice(1) : name;
    const values = valuesOf(message, plain);
    const actual = values.length === 0 ? undefined : values.join(' | ');
    if (isAbsent ? actual !== undefined : actual !== (plain === 'etag' ? unmarkedTag(value) : value))
      found.push({ part: plain, expected: isAbsent ? undefined : value, actual });
  }
  if (expected.body !== '…' && message.body !== expected.body)
    found.push({ part: 'body', expected: expected.body, actual: message.body });
  return found;
}

/** The values of a field. Tags lose the hash of the rules, so that a change of other rules does not break the case. */
function valuesOf({ headers }: TextMessage, name: string): readonly string[] {
  const values = headers.filter(([other]) => other === name).map(([, value]) => value);
  return name === 'etag' ? values.map((value) => unmarkedTag(value)) : values;
}

/** The lines that make `expected` match `message`: its own fields with the actual values, and the body unless it is `…`. */
export function updatedLines(mark: Mark, expected: TextMessage | undefined, message: TextMessage): string[] {
  const named = expected?.headers.map(([name]) => name.replace(/^!/, '')) ?? [];
  const fields = [...new Set(named)].map((name) => {
    const values = valuesOf(message, name);
    return values.length === 0 ? `!${name}:` : `${name}: ${values.join(' | ')}`;
  });
  const body = expected?.body === '…' ? '…' : message.body;
  const lines = [message.line, ...fields, ...(body === '' ? [] : ['', ...body.split('\n')])];
  return lines.map((line) => `${mark} ${line}`.trimEnd());
}

/** The V2 request of a case, if any, and the client's response. */
export interface PlayedCase {
  readonly sent: TextMessage | undefined;
  readonly response: TextMessage;
  /** Unexpected errors: bugs in the gateway. */
  readonly bugs: readonly unknown[];
}

/** The host of V2 in the links of its responses. */
const V2_HOST = 'v2.test';

/** Announces the ends, but refuses nothing after them. */
function announcedOnly({ operations, changes }: Ends): Ends {
  const announced = Object.entries(operations).map(([id, { gone: _gone, ...end }]) => [id, end] as const);
  return { operations: Object.fromEntries(announced), changes };
}

/** Maximum memory for buffered bodies. */
const BUFFER_BYTES = 256 * 1024 * 1024;

/**
 * Plays cases through a gateway without sockets, whose V2 sends the response in the case. Modes, brownouts, pins and the sunset are left
 * out, because they depend on the day and the client.
 */
export function casePlayer(ruleBook: RuleBook): (textCase: TextCase) => Promise<PlayedCase> {
  const { rollout, ...rest } = ruleBook;
  const { signals, ends } = rollout ?? {};
  const rules = new CompiledRuleBook({
    ...rest,
    ...(signals === undefined && ends === undefined
      ? {}
      : {
          rollout: {
            clients: {},
            brownouts: [],
            pins: [],
            ...(signals === undefined ? {} : { signals }),
            ...(ends === undefined ? {} : { ends: announcedOnly(ends) }),
          },
        }),
  });
  const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  const options = gatewayOptions(read.settings, { bufferBytes: BUFFER_BYTES });
  return async ({ request, upstreamResponse, lookups }) => {
    let sent: TextMessage | undefined;
    const bugs: unknown[] = [];
    const send = async (received: UpstreamRequest, receiver: UpstreamReceiver): Promise<void> => {
      // All after the first are lookups.
      const answer = sent === undefined ? upstreamResponse : lookupAnswer(lookups, received.target);
      sent ??= await sentMessage(received);
      const body = new TextEncoder().encode(answer.body);
      const headers = [...answer.headers.flat(), 'content-length', String(body.length)];
      const status = Number(answer.line);
      receiver.head({ status, reason: undefined, headers, lines: undefined });
      if (body.length > 0 && received.method !== 'HEAD') receiver.data(body);
      receiver.end([]);
    };
    const gateway = new Gateway(
      {
        rules: () => rules,
        v2: {
          upstream: {
            send: (received, receiver) => {
              send(received, receiver).catch((error: unknown) => void bugs.push(error));
              return { pause: () => {}, resume: () => {}, abort: () => {} };
            },
          },
          path: '',
          hosts: [V2_HOST],
        },
        record: () => {},
        now: () => performance.now(),
        time: () => Date.now(),
        newRequestId: () => crypto.randomUUID(),
        newTraceHex: () => '0'.repeat(48),
        clientOf: () => '0'.repeat(16),
        decode: decodeBody,
        hash: hashBody,
        transform: new TransformThreads().run,
        after: (milliseconds, run) => void setTimeout(run, milliseconds),
        random: () => 0,
        onUnexpectedError: (error) => void bugs.push(error),
      },
      options,
    );
    const exchange = new CaseExchange(request);
    await gateway.serve(gateway.receive(exchange));
    const response = await exchange.response;
    return { sent, response, bugs };
  };
}

/** V2's response to the lookup of a target: 404 if the case has none. */
export function lookupAnswer(lookups: readonly TextMessage[], target: string): TextMessage {
  for (const { line, headers, body } of lookups) {
    const [, asked, status = '200'] = line.split(' ');
    if (asked === target)
      return { line: status, headers: headers.length === 0 ? PLAIN_ANSWER.headers : headers, body };
  }
  return { line: '404', headers: [], body: '' };
}

/** Methods whose requests carry a length even without a body. */
const WITH_LENGTH: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

async function sentMessage({ method, target, headers, body }: UpstreamRequest): Promise<TextMessage> {
  const parts: Uint8Array[] = [];
  if (body instanceof Uint8Array) parts.push(Uint8Array.from(body));
  else if (body !== null) for await (const part of body) parts.push(Uint8Array.from(part));
  const whole = concatBytes(parts);
  const framing = whole.length > 0 || WITH_LENGTH.has(method) ? ['content-length', String(whole.length)] : [];
  return messageOf(`${method} ${target}`, ['host', V2_HOST, ...headers, ...framing], whole);
}

function messageOf(line: string, headers: HeaderList, body: Uint8Array): TextMessage {
  const fields = headers.flatMap((name, at): (readonly [string, string])[] =>
    at % 2 === 0 ? [[name.toLowerCase(), (headers[at + 1] ?? '').trim()]] : [],
  );
  return { line, headers: fields, body: new TextDecoder().decode(body) };
}

/** The exchange of a case: the body is complete from the start, and the response is kept. */
class CaseExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version = '1.1';
  readonly remote = '';
  readonly secure = false;
  readonly hasBody: boolean;
  readonly bytesIn: number;
  readonly response: Promise<TextMessage>;
  readonly handled = new Response();
  private readonly body: Uint8Array;
  private readonly resolve: (message: TextMessage) => void;
  private handler: ExchangeHandler | undefined = undefined;
  private started: ResponseHead | undefined = undefined;
  private readonly parts: Uint8Array[] = [];

  constructor({ line, headers, body }: TextMessage) {
    const [method = '', target = ''] = line.split(' ');
    this.method = method;
    this.target = target;
    this.body = new TextEncoder().encode(body);
    const isLong = this.body.length > 0 || WITH_LENGTH.has(method);
    const length = isLong ? ['content-length', String(this.body.length)] : [];
    const host = headers.some(([name]) => name === 'host') ? [] : ['host', 'gateway.test'];
    this.headers = [...host, ...headers.flat(), ...length];
    this.hasBody = this.body.length > 0;
    this.bytesIn = this.body.length;
    const { promise, resolve } = Promise.withResolvers<TextMessage>();
    this.response = promise;
    this.resolve = resolve;
  }

  attach(handler: ExchangeHandler): void {
    this.handler = handler;
  }

  collect(): void {
    if (this.handler?.acceptChunk(this.body.length) === true) this.handler.onWholeBody(this.body);
  }

  open(): void {
    this.handler?.onBody(this.hasBody ? this.body : null);
  }

  information(): void {}

  head(head: ResponseHead): void {
    this.started = head;
  }

  data(chunk: Uint8Array): boolean {
    this.parts.push(Uint8Array.from(chunk));
    return true;
  }

  end(): void {
    const { status = 0, headers = [] } = this.started ?? {};
    const body = concatBytes(this.parts);
    const isFramed = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-length');
    const length = isFramed || status === 204 ? [] : ['content-length', String(body.length)];
    this.resolve(messageOf(String(status), [...headers, ...length], body));
    this.handler?.flushed();
  }

  closeAfterResponse(): void {}

  reset(): void {
    this.resolve({ line: 'connection reset', headers: [], body: '' });
  }
}

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { listen } from '../../src/node/clients/listen.ts';
import { openReferenceStore } from '../../src/node/reference.ts';
import type { DialectName } from '../../src/reference/dialect.ts';
import { createReference } from '../../src/reference/reference.ts';

/** A service that can play more than the reference does. */
export interface PlayedService {
  readonly origin: string;
  close(): void;
}

type App = ReturnType<typeof createReference>;

/** A response before it is written, with what its manner changes. */
interface Played {
  status: number;
  fields: [name: string, value: string][];
  body: Buffer;
}

/**
 * Starts the reference service of one version, for each API key on data of its own. `X-Play` in a request names a manner, which
 * services in the field have and the reference does not: `tag`, `gzip`, `redirect 302 /clients`, and so on.
 */
export async function playedService(dialect: DialectName): Promise<PlayedService> {
  const apps = new Map<string, App>();
  const appOf = (key: string): App => {
    const store = apps.has(key) ? undefined : openReferenceStore(undefined);
    if (store !== undefined)
      apps.set(key, createReference({ store, now: () => 0, dialects: [dialect], readOnlyKeys: ['reader'] }));
    return apps.get(key) ?? appOf(key);
  };
  const server: Server = createServer({ keepAliveTimeout: 65_000 }, (incoming, outgoing) => {
    const key = incoming.headers.authorization ?? '';
    play(appOf(key), `/api/${dialect}`, incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(500, { 'x-played-bug': String(error).replaceAll(/[^ -~]/g, '.') }).end();
    });
  });
  return {
    origin: await listen(server, { host: '127.0.0.1', port: 0 }, 'http'),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function play(
  app: App,
  prefix: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const [manner = '', ...words] = String(incoming.headers['x-play'] ?? '').split(' ');
  const sent = await buffer(incoming);
  // The absolute form (RFC 9112 §3.2.2) means the same.
  incoming.url = incoming.url?.replace(/^http:\/\/[^/]*/, '') ?? '/';
  const isOwn = incoming.url.startsWith(`${prefix}/played`);
  const played: Played = isOwn
    ? { status: 200, fields: [['content-type', 'application/octet-stream']], body: Buffer.from('played') }
    : ((await failedCondition(app, manner, incoming)) ?? (await ofReference(app, incoming, sent)));
  const change = MANNERS[manner];
  if (change !== undefined) change({ played, words, incoming, sent, prefix });
  write(manner, played, outgoing, incoming);
}

async function ofReference(
  app: App,
  incoming: IncomingMessage,
  sent: Buffer,
  method = incoming.method ?? 'GET',
): Promise<Played> {
  const { url = '/', rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  const hasBody = method !== 'GET' && method !== 'HEAD' && sent.length > 0;
  const target = new URL(url, 'http://127.0.0.1');
  // The fields of HEAD are those of GET.
  const init = {
    method: method === 'HEAD' ? 'GET' : method,
    headers,
    body: hasBody ? new Uint8Array(sent) : null,
  };
  const response = await app.fetch(new Request(`http://127.0.0.1${target.pathname}${target.search}`, init));
  return {
    status: response.status,
    fields: [...response.headers],
    body: Buffer.from(await response.arrayBuffer()),
  };
}

interface Scene {
  readonly played: Played;
  readonly words: readonly string[];
  readonly incoming: IncomingMessage;
  readonly sent: Buffer;
  readonly prefix: string;
}

const MODIFIED = 'Sun, 01 Nov 2026 00:00:00 GMT';

const json = (played: Played, body: unknown): void => {
  played.fields = [['content-type', 'application/json']];
  played.body = Buffer.from(JSON.stringify(body));
};

/** What each manner changes in a response; those that are missing here concern how it is written. */
const MANNERS: Readonly<Record<string, (scene: Scene) => void>> = {
  bom: ({ played }) => void (played.body = Buffer.concat([Buffer.from('\ufeff'), played.body])),
  br: ({ played, incoming }) => encode(played, 'br', incoming),
  chunks: ({ played, words }) => void (played.body = Buffer.alloc(Number(words[0]), 'chunk ')),
  'cookie-path': ({ played, prefix }) =>
    void played.fields.push(['set-cookie', `three=3; Path=${prefix}; Max-Age=60`]),
  cookies: ({ played }) =>
    void played.fields.push(['set-cookie', 'one=1; Path=/'], ['set-cookie', 'two=2; Path=/; HttpOnly']),
  deflate: ({ played, incoming }) => encode(played, 'deflate', incoming),
  code: ({ played, words }) => void (played.status = Number(words[0])),
  echo: ({ played, incoming, sent }) =>
    json(played, [incoming.headers['content-type'], sent.toString('base64')]),
  'empty-gzip': ({ played }) => {
    played.fields.push(['content-encoding', 'gzip']);
    played.body = Buffer.alloc(0);
  },
  fields: ({ played, words, incoming }) =>
    json(
      played,
      words.map((name) => [name, incoming.headers[name]]),
    ),
  file: ({ played, incoming }) => cut(played, incoming),
  gzip: ({ played, incoming }) => encode(played, 'gzip', incoming),
  links: ({ played, incoming, prefix }) =>
    void played.fields.push(
      ['link', `<http://${incoming.headers.host}${prefix}/clients/10>; rel="client"`],
      ['content-location', `${prefix}/orders/floor_plans/4`],
    ),
  location: ({ played, words }) => {
    played.status = 201;
    played.fields.push(['location', words[0] ?? '']);
  },
  'location-absolute': ({ played, incoming }) => {
    played.fields = played.fields.map(([name, value]) =>
      name === 'location' ? [name, `http://${incoming.headers.host}${value}`] : [name, value],
    );
  },
  many: ({ played, words }) => {
    const { data, ...rest } = JSON.parse(played.body.toString()) as { readonly data: readonly unknown[] };
    const items = Array.from({ length: Number(words[0]) }, (_, at) => data[at % data.length]);
    played.body = Buffer.from(JSON.stringify({ data: items, ...rest }));
  },
  nothing: ({ played, words }) => {
    played.status = Number(words[0]);
    played.fields = [];
    played.body = Buffer.alloc(0);
  },
  pad: ({ played, words }) => {
    const notes = JSON.stringify({ notes: 'pad '.repeat(Number(words[0]) / 4) }).slice(1, -1);
    played.body = Buffer.from(played.body.toString().replace('"id":', () => `${notes},"id":`));
  },
  odd: ({ played }) =>
    void played.fields.push(['x-empty', ''], ['x-latin', 'caf\u00e9'], ['x-long', 'long'.repeat(2000)]),
  page: ({ played, words }) => {
    played.status = Number(words[0]);
    played.fields = [['content-type', 'text/html']];
    played.body = Buffer.from('<h1>Bad Gateway</h1>');
  },
  pages: ({ played, incoming }) => {
    if (!incoming.headers.range?.startsWith('items=')) return;
    played.status = 206;
    played.fields.push(['content-range', 'items 0-24/30']);
  },
  range: ({ played, incoming }) => {
    if (incoming.headers.range !== 'bytes=0-9') return;
    played.status = 206;
    played.fields.push(['content-range', `bytes 0-9/${played.body.length}`]);
    played.body = played.body.subarray(0, 10);
  },
  redirect: ({ played, words: [status, to = '', path = to], incoming, prefix }) => {
    if (!incoming.url?.endsWith('/moved')) return;
    const origin = to === 'absolute' ? `http://${incoming.headers.host}` : '';
    played.status = Number(status);
    played.fields = [['location', `${origin}${prefix}${path}`]];
    played.body = Buffer.alloc(0);
  },
  size: ({ played, sent }) => json(played, { size: sent.length }),
  status: ({ played, words }) => {
    const status = words[0] ?? '500';
    played.status = Number(status);
    json(played, { errors: [{ status, title: 'Played', detail: 'as the call wants it' }] });
    played.fields.push(['retry-after', '0']);
  },
  twice: ({ played }) =>
    void played.fields.push(
      ['x-twice', 'one'],
      ['x-twice', 'two'],
      ['www-authenticate', 'Basic realm="a"'],
      ['www-authenticate', 'Bearer'],
    ),
  tag: ({ played, incoming }) => validate(played, incoming),
  type: ({ played, words }) => {
    played.fields = played.fields.filter(([name]) => name !== 'content-type');
    if (words.length > 0) played.fields.push(['content-type', words.join(' ')]);
  },
  zstd: ({ played, incoming }) => encode(played, 'zstd', incoming),
};

const ENCODERS = {
  br: brotliCompressSync,
  deflate: deflateSync,
  gzip: gzipSync,
  zstd: zstdCompressSync,
} as const;

/** Encodes where the client names the coding, as a service does that reads no weights but 0. */
function encode(played: Played, coding: keyof typeof ENCODERS, { headers }: IncomingMessage): void {
  played.fields.push(['vary', 'Accept-Encoding']);
  const accepted = headers['accept-encoding'] ?? '';
  if (!(accepted === '*' || accepted.includes(coding)) || accepted.includes(`${coding};q=0`)) return;
  played.fields.push(['content-encoding', coding]);
  played.body = ENCODERS[coding](played.body);
}

/** Answers ranges of 1,000 bytes (RFC 9110 §14). */
function cut(played: Played, { headers }: IncomingMessage): void {
  const size = 1000;
  played.body = Buffer.from('0123456789'.repeat(size / 10));
  played.fields.push(['accept-ranges', 'bytes'], ['etag', '"f"']);
  const match = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '');
  if (match === null) return;
  const [, first = '', last = ''] = match;
  const from = first === '' ? size - Number(last) : Number(first);
  const to = first === '' || last === '' ? size - 1 : Number(last);
  played.status = from < size ? 206 : 416;
  played.fields.push(['content-range', from < size ? `bytes ${from}-${to}/${size}` : `bytes */${size}`]);
  played.body = from < size ? played.body.subarray(from, to + 1) : Buffer.alloc(0);
}

const tagOf = (body: Buffer): string => `"${createHash('sha1').update(body).digest('hex').slice(0, 12)}"`;

/** Gives a strong tag and a date, and judges the conditions of reads by them (RFC 9110 §13.2.2). */
function validate(played: Played, { headers, method }: IncomingMessage): void {
  const tag = tagOf(played.body);
  played.fields.push(['etag', tag], ['last-modified', MODIFIED]);
  const none = headers['if-none-match'];
  const isSame =
    none === undefined ? headers['if-modified-since'] === MODIFIED : none === '*' || none.includes(tag);
  if (!isSame || (method !== 'GET' && method !== 'HEAD')) return;
  played.status = 304;
  played.fields = played.fields.filter(([name]) => name !== 'content-type');
  played.body = Buffer.alloc(0);
}

/** 412 where `If-Match` does not have the tag, in the strong comparison (§13.1.1). */
async function failedCondition(
  app: App,
  manner: string,
  incoming: IncomingMessage,
): Promise<Played | undefined> {
  const match = incoming.headers['if-match'];
  if (manner !== 'tag' || match === undefined || match === '*') return undefined;
  const { body } = await ofReference(app, incoming, Buffer.alloc(0), 'GET');
  const isMet = match.split(/, */).includes(tagOf(body));
  return isMet ? undefined : { status: 412, fields: [], body: Buffer.alloc(0) };
}

function write(
  manner: string,
  { status, fields, body }: Played,
  outgoing: ServerResponse,
  { method, httpVersion }: IncomingMessage,
): void {
  const hasTrailers = manner === 'trailers' && httpVersion === '1.1';
  const isFramed = ['blanks', 'break-chunks', 'chunks', 'trailers', 'until-close'].includes(manner);
  const own = fields.filter(([name]) => name !== 'content-length');
  if (!isFramed && status !== 204 && status !== 304) own.push(['content-length', String(body.length)]);
  if (manner === 'close' || manner === 'until-close') own.push(['connection', 'close']);
  if (hasTrailers) own.push(['trailer', 'x-checksum']);
  if (manner === 'until-close') outgoing.useChunkedEncodingByDefault = false;
  outgoing.writeHead(status, own.flat());
  if (hasTrailers) outgoing.addTrailers({ 'x-checksum': 'abc' });
  const length = status === 204 || status === 304 || method === 'HEAD' ? 0 : body.length;
  const step = manner === 'drip' ? 1 : 64_000;
  if (manner === 'blanks') {
    outgoing.write(' \n');
    setTimeout(() => outgoing.end(body), 30);
    return;
  }
  if (manner === 'reset') {
    outgoing.destroy();
    return;
  }
  if (manner.startsWith('break')) {
    outgoing.write(body.subarray(0, 5), () => outgoing.destroy());
    return;
  }
  for (let at = 0; at < length; at += step) outgoing.write(body.subarray(at, at + step));
  outgoing.end();
}

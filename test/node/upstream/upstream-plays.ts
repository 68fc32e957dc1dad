import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listening } from '../../support/listening.ts';

/** The behaviour of V2 for a request; its name is in the target, as in `/dies/17`. */
export type Play = keyof typeof plays;

/** A V2 that treats each request as its target says. */
export interface PlayingV2 {
  readonly origin: string;
  /** How often each request came, by its id. */
  readonly came: ReadonlyMap<string, number>;
  /** Requests that V2 gave a whole response. */
  readonly served: ReadonlySet<string>;
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>;
}

/** Responses, and then once more: no connection to such a V2 is used twice from then on. */
export const CHATTY_PLAY = 'says too much';
/** Plays that response as HTTP/1.1 has it. */
export const SOUND_PLAYS = [
  'responses',
  'takes time',
  'drips',
  'chunks',
  'hints',
  'says close',
  'hints the end',
  'ends by closing',
  'closes behind',
  'responses early',
] as const;
/** Plays that end, but never with a whole response. */
export const BROKEN_PLAYS = [
  'dies',
  'resets',
  'cuts',
  'cuts a chunk',
  'talks nonsense',
  'lies about the length',
] as const;

const HEAD = 'HTTP/1.1 200 OK\r\n';

const plays = {
  responses: (socket: Socket, id: string) => void socket.write(response(id)),
  'takes time': (socket: Socket, id: string) =>
    void setTimeout(() => socket.write(response(id)), (Number(id) * 7) % 12),
  drips: (socket: Socket, id: string) => drip(socket, response(id)),
  chunks: (socket: Socket, id: string) =>
    drip(socket, `${HEAD}Transfer-Encoding: chunked\r\n\r\n${id.length}\r\n${id}\r\n0\r\nX: ${id}\r\n\r\n`),
  hints: (socket: Socket, id: string) =>
    void socket.write(`HTTP/1.1 103 Hints\r\nLink: </${id}>\r\n\r\n${response(id)}`),
  'says close': (socket: Socket, id: string) => void socket.end(response(id, 'Connection: close\r\n')),
  'hints the end': (socket: Socket, id: string) => {
    socket.write(response(id, 'Keep-Alive: timeout=1\r\n'));
    setTimeout(() => socket.end(), 5);
  },
  'ends by closing': (socket: Socket, id: string) => void socket.end(`${HEAD}\r\n${id}`),
  'closes behind': (socket: Socket, id: string) => void socket.end(response(id)),
  'responses early': (socket: Socket, id: string) => void socket.write(response(id)),
  'says too much': (socket: Socket, id: string) => void socket.write(response(id) + response('poison')),
  'stays silent': () => {},
  dies: (socket: Socket) => void socket.destroy(),
  resets: (socket: Socket) => void socket.resetAndDestroy(),
  cuts: (socket: Socket, id: string) =>
    void socket.end(response(id).slice(0, Number(id) % response(id).length)),
  'cuts a chunk': (socket: Socket, id: string) =>
    void socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${id.length}\r\n${id}\r\n`),
  'talks nonsense': (socket: Socket, id: string) => void socket.write(id),
  'lies about the length': (socket: Socket, id: string) =>
    void socket.end(`${HEAD}Content-Length: ${id.length + 1}\r\n\r\n${id}`),
};

/** Starts one; requests are framed by `Content-Length`, by chunks without a zero in them, or by nothing. */
export async function playingV2(): Promise<PlayingV2> {
  const came = new Map<string, number>();
  const served = new Set<string>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
    let pending = '';
    let isPlayed = false;
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      for (let end = pending.indexOf('\r\n\r\n'); end >= 0; end = pending.indexOf('\r\n\r\n')) {
        const [, play = '', id = ''] = /^\w+ \/([^/ ]+)\/(\d+) /.exec(pending) ?? [];
        const name = decodeURIComponent(play);
        const next = requestEnd(pending, end + 4);
        const isWhole = next !== undefined;
        if (!isPlayed && isPlay(name) && (isWhole || name === 'responses early')) {
          isPlayed = true;
          came.set(id, (came.get(id) ?? 0) + 1);
          // A side that is closed responses no more.
          if (socket.writable) {
            plays[name](socket, id);
            if (!BROKEN_PLAYS.some((broken) => broken === name)) served.add(id);
          }
        }
        if (!isWhole) return;
        isPlayed = false;
        pending = pending.slice(next);
      }
    });
  });
  onTestFinished(() => open.forEach((socket) => socket.destroy()));
  return { origin: `http://127.0.0.1:${await listening(server)}`, came, served, open };
}

/** The end of the request whose body begins at `start`; undefined while it is not whole. */
function requestEnd(text: string, start: number): number | undefined {
  const head = text.slice(0, start);
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(head)) {
    const last = text.indexOf('\r\n0\r\n\r\n', start - 2);
    return last < 0 ? undefined : last + 7;
  }
  const end = start + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return text.length < end ? undefined : end;
}

function isPlay(name: string): name is Play {
  return Object.hasOwn(plays, name);
}

function response(id: string, fields = ''): string {
  return `${HEAD}${fields}Content-Length: ${id.length}\r\n\r\n${id}`;
}

/** Writes a text in several parts, each in its own turn. */
function drip(socket: Socket, text: string): void {
  const next = (at: number): void => {
    if (at >= text.length || !socket.writable) return;
    socket.write(text.slice(at, at + 17));
    setImmediate(next, at + 17);
  };
  next(0);
}

import { request } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ResponseReader } from '../../../src/node/upstream/response-reader.ts';
import { responses, whyStricter, type WrittenResponse } from './response-bytes.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';
import { listening } from '../../support/listening.ts';

/** The events that a reader reports for a response until it is whole or refused, or the connection closes. */
interface Reading {
  readonly interims: readonly string[];
  readonly head: string;
  readonly body: string;
  readonly trailers: readonly string[];
  readonly isWhole: boolean;
}

test(
  'responses are read as by the parser of Node, refused by a rule that is stricter, or the last on their connection',
  fuzzTime(),
  async () => {
    const v2 = await respondingServer();
    const runs = fuzzRuns(2500);
    let whole = 0;
    await fc.assert(
      fc.asyncProperty(responses(), fc.boolean(), async (response, isLenient) => {
        v2.next = response;
        const mine = readByGateway(response, isLenient);
        const other = await readByNode(response, v2.port);
        if (mine.reading.isWhole) {
          if (!isDeepStrictEqual(mine.reading, other)) expect(mine.keptFor).toBe(0);
          else whole += 1;
          return;
        }
        // A truncated body has reported nothing that Node would not have reported.
        const [shorter, longer] = [mine.reading.body, other.body].sort((one, two) => one.length - two.length);
        expect(longer?.startsWith(shorter ?? '')).toBe(true);
        expect(other.isWhole ? whyStricter(response.text) : '').toBeDefined();
      }),
      { numRuns: runs },
    );
    expect(whole).toBeGreaterThan(runs / 5);
  },
);

function readByGateway(
  response: WrittenResponse,
  isLenient: boolean,
): { readonly reading: Reading; readonly keptFor: number } {
  const interims: string[] = [];
  let head = '';
  let body = '';
  let whole: readonly string[] | undefined;
  let keptFor = 0;
  const reader = new ResponseReader(
    { headerBytes: 16_384, headerCount: 100, isLenient },
    {
      information: (status, headers) => interims.push([status, ...headers].join('|')),
      head: ({ status, reason, headers }) => {
        head = [status, reason, ...headers].join('|');
      },
      data: (chunk) => {
        body += chunk.toString('latin1');
      },
      complete: (trailers, keepAliveMs) => {
        whole = trailers;
        keptFor = keepAliveMs;
      },
    },
  );
  reader.expect(response.method);
  const isOver = pieces(response).some((piece) => {
    const fault = reader.read(piece);
    // The input is overwritten, as the buffer of a socket is.
    piece.fill(0x21);
    return fault !== undefined || whole !== undefined;
  });
  if (!isOver && reader.isUntilClose) whole = [];
  const reading = { interims, head, body, trailers: whole ?? [], isWhole: whole !== undefined };
  return { reading, keptFor };
}

function readByNode({ method }: WrittenResponse, port: number): Promise<Reading> {
  return new Promise((resolve) => {
    const interims: string[] = [];
    let head = '';
    let body = '';
    let trailers: readonly string[] = [];
    let isWhole = false;
    const outgoing = request({ host: '127.0.0.1', port, method, agent: false });
    outgoing.on('information', ({ statusCode, rawHeaders }) =>
      interims.push([statusCode, ...rawHeaders].join('|')),
    );
    outgoing.on('response', (response) => {
      head = [response.statusCode, response.statusMessage, ...response.rawHeaders].join('|');
      response.setEncoding('latin1');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', () => {});
      response.on('end', () => {
        isWhole = response.complete;
        trailers = response.rawTrailers;
      });
    });
    outgoing.on('error', () => {});
    outgoing.on('close', () => resolve({ interims, head, body, trailers, isWhole }));
    outgoing.end();
  });
}

/** A V2 that writes a response to every request, and closes. */
interface RespondingServer {
  readonly port: number;
  next: WrittenResponse;
}

async function respondingServer(): Promise<RespondingServer> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.setNoDelay(true);
    socket.once('data', () => void write(socket, pieces(v2.next)));
  });
  const v2: RespondingServer = { port: await listening(server), next: { method: 'GET', text: '', cuts: [] } };
  return v2;
}

async function write(socket: Socket, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  socket.end();
}

function pieces({ text, cuts }: WrittenResponse): Buffer[] {
  const ends = [...cuts.filter((cut) => cut < text.length), text.length].sort((one, two) => one - two);
  return ends.map((end, index) => Buffer.from(text.slice(ends[index - 1] ?? 0, end), 'latin1'));
}

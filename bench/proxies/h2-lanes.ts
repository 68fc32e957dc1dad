import { once } from 'node:events';
import { connect } from 'node:tls';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frameBytes,
  GOAWAY,
  headerBlock,
  HEADERS,
  onFrames,
  PING,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../../test/support/h2-wire.ts';
import { responseBody } from '../v2-response.ts';
import type { Work } from '../work.ts';
import { type Lane, type Lanes, openAll } from './lanes.ts';

/** Streams that a connection has open at a time. */
const STREAMS = 8;
const ACK = 1;
const FIRST_WINDOW = 65_535;
/** Windows of 2 GiB, for each stream by a setting, and for the connection by an update. */
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frameBytes(SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])),
  frameBytes(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0xff, 0, 0])),
]);

/**
 * Opens connections of HTTP/2, and eight streams at a time on each. Frames are written by hand and only counted when read: a library
 * costs more than what is measured.
 */
export async function openH2(port: number, work: Work, lanes: number): Promise<Lanes> {
  const connections = await openAll(Math.ceil(lanes / STREAMS), (fail) => openConnection(port, work, fail));
  const streams = connections.lanes.flatMap((one) => Array.from({ length: STREAMS }, () => one));
  return { ...connections, lanes: streams.slice(0, lanes) };
}

async function openConnection(port: number, work: Work, fail: (error: Error) => void): Promise<Lane> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const block = headerBlock([
    [':method', 'POST'],
    [':scheme', 'https'],
    [':authority', 'gateway.test'],
    [':path', work.path],
    ...work.fields.map(([name, value]): [string, string] => [name.toLowerCase(), value]),
  ]);
  const streams = new Map<number, { readonly onResponse: () => void; bytes: number }>();
  const waiting: (() => void)[] = [];
  let next = 1;
  /** Bytes of bodies that the peer takes on this connection. */
  let window = FIRST_WINDOW;
  const send = (onResponse: () => void): void => {
    if (window < work.body.length) {
      waiting.push(onResponse);
      return;
    }
    window -= work.body.length;
    streams.set(next, { onResponse, bytes: 0 });
    const head = frameBytes(HEADERS, END_HEADERS, next, block);
    socket.write(Buffer.concat([head, frameBytes(DATA, END_STREAM, next, work.body)]));
    next += 2;
  };
  socket.on('error', fail).on('close', () => fail(new Error('the connection was closed')));
  onFrames(socket, ({ type, flags, stream, payload }) => {
    if (type === SETTINGS && (flags & ACK) === 0) socket.write(frameBytes(SETTINGS, ACK, 0));
    if (type === PING && (flags & ACK) === 0) socket.write(frameBytes(PING, ACK, 0, payload));
    if (type === RST_STREAM || type === GOAWAY)
      fail(new Error(`stream ${stream} was reset, or the connection ends`));
    if (type === WINDOW_UPDATE && stream === 0) {
      window += payload.readUInt32BE(0);
      for (const onResponse of waiting.splice(0)) send(onResponse);
    }
    const open = streams.get(stream);
    if (open === undefined || (type !== DATA && type !== HEADERS)) return;
    if (type === DATA) open.bytes += payload.length;
    if ((flags & END_STREAM) === 0) return;
    streams.delete(stream);
    if (open.bytes !== responseBody.length)
      fail(new Error(`a response of ${open.bytes} bytes instead of ${responseBody.length}`));
    open.onResponse();
  });
  socket.write(PREFACE);
  return { send, close: () => socket.destroy() };
}

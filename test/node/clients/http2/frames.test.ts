import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ERROR,
  FLAG,
  FrameBudget,
  FRAME,
  FRAME_BYTES,
  FRAME_HEAD_BYTES,
  FrameReader,
  writeFrameHead,
} from '../../../../src/node/clients/http2/frames.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';

const MIB = 1024 * 1024;

interface Traffic {
  readonly read: number;
  readonly sent?: number;
  readonly received?: number;
}

function isFlood({ read, sent = 0, received = 0 }: Traffic): boolean {
  const guard = new FrameBudget();
  guard.sent(sent);
  guard.receive(received);
  guard.read(read);
  return guard.isExceeded;
}

test.each<[title: string, traffic: Traffic, isFlood: boolean]>([
  ['that brings no content', { read: 0 }, false],
  ['that brings some frames', { read: 4 * MIB }, false],
  ['that brings little else than frames', { read: 4 * MIB + 1 }, true],
  ['that brings eight bytes for each byte of content', { read: 12 * MIB, received: MIB }, false],
  ['that brings more than eight for each byte of content', { read: 12 * MIB + 1, received: MIB }, true],
  ['that grants windows for what it reads', { read: 12 * MIB, sent: 8 * MIB }, false],
  [
    'that brings more bytes of frames than it reads of responses',
    { read: 12 * MIB + 1, sent: 8 * MIB },
    true,
  ],
  ['with bodies of gigabytes', { read: 4096 * MIB, received: 4000 * MIB }, false],
])('a connection %s is judged by its bytes', (_title, traffic, expected) => {
  expect(isFlood(traffic)).toBe(expected);
});

test('bytes of frames count against a connection, and content makes up for them', () => {
  const guard = new FrameBudget();
  for (let piece = 0; piece < 1000; piece += 1) guard.read(9000);
  expect(guard.isExceeded).toBe(true);
  for (let piece = 0; piece < 1000; piece += 1) guard.receive(1000);
  expect(guard.isExceeded).toBe(false);
});

test('a thousand control frames at once are no flood, many more are', () => {
  const guard = new FrameBudget();
  for (let frame = 0; frame < 1000; frame += 1) guard.countControlFrame();
  expect(guard.isExceeded).toBe(false);
  // Some are forgiven with each second that this takes.
  for (let frame = 0; frame < 100_000; frame += 1) guard.countControlFrame();
  expect(guard.isExceeded).toBe(true);
});

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

/** What a receiver is told: a frame, a part of a body with whether it is the last one, or a failure. */
interface Event {
  readonly title: string;
  readonly bytes: string;
  readonly isEnd?: boolean;
}

function bytesOf(...frames: readonly Frame[]): Buffer {
  return Buffer.concat([
    PREFACE,
    ...frames.flatMap(({ type, flags, stream, payload }) => {
      const head = Buffer.alloc(FRAME_HEAD_BYTES);
      writeFrameHead(head, 0, payload.length, type, flags, stream);
      return [head, payload];
    }),
  ]);
}

function eventOf({ type, flags, stream, payload }: Frame): Event {
  const bytes = Buffer.from(payload).toString('hex');
  if (type !== FRAME.data || (flags & FLAG.padded) !== 0)
    return { title: `frame ${type} ${flags} ${stream}`, bytes };
  return { title: `data ${stream}`, bytes, isEnd: (flags & FLAG.endStream) !== 0 };
}

/** Joins the parts of each body that come one behind the other. */
function joined(events: readonly Event[]): Event[] {
  const all: Event[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (last?.isEnd === false && last.title === event.title)
      all[all.length - 1] = { ...event, bytes: last.bytes + event.bytes };
    else all.push(event);
  }
  return all;
}

/** Reads bytes in pieces that end at `cuts`. The receiver stops it after each so many calls, and it reads on later. */
function read(
  bytes: Buffer,
  cuts: readonly number[] = [],
  stops: readonly number[] = [],
): { readonly events: Event[]; readonly isPartial: boolean } {
  const events: Event[] = [];
  const left = [...stops];
  const state = { isStopped: false, hasFailed: false, calls: 0 };
  const tell = (event: Event): void => {
    // A receiver that has stopped the reader gets no further event.
    expect(state).toMatchObject({ isStopped: false, hasFailed: false });
    events.push(event);
    state.calls += 1;
    if (state.calls < (left[0] ?? Infinity)) return;
    left.shift();
    Object.assign(state, { isStopped: true, calls: 0 });
  };
  const reader = new FrameReader({
    get isStopped() {
      return state.isStopped || state.hasFailed;
    },
    frame: (type, flags, stream, bytes, from, to) =>
      tell({ title: `frame ${type} ${flags} ${stream}`, bytes: bytes.toString('hex', from, to) }),
    data: (stream, bytes, from, to, isEnd) =>
      tell({ title: `data ${stream}`, bytes: bytes.toString('hex', from, to), isEnd }),
    fail: (code) => {
      tell({ title: `fail ${code}`, bytes: '' });
      state.hasFailed = true;
    },
  });
  let at = 0;
  for (const end of [...cuts, bytes.length].sort((left, right) => left - right)) {
    const to = Math.min(end, bytes.length);
    do {
      state.isStopped = false;
      const piece = Buffer.from(bytes.subarray(at, to));
      at += reader.read(piece);
      // The input is overwritten, as the buffer of a socket is.
      piece.fill(0x21);
    } while (state.isStopped && !state.hasFailed);
    if (state.hasFailed) break;
    expect(at).toBe(to);
  }
  return { events: joined(events), isPartial: reader.isPartial };
}

const everyByte = (bytes: Buffer): number[] => Array.from({ length: bytes.length }, (_, at) => at);

const payloads = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(300, FRAME_BYTES - 1, FRAME_BYTES), fc.nat(255))
      .map(([length, byte]) => new Uint8Array(length).fill(byte)),
  },
);
const frames = fc.record({
  type: fc.oneof(fc.constant(FRAME.data), fc.constantFrom(...Object.values(FRAME)), fc.nat(255)),
  flags: fc.oneof(fc.constantFrom(0, FLAG.endStream, FLAG.endHeaders, FLAG.padded), fc.nat(255)),
  stream: fc.oneof(fc.constantFrom(0, 1, 3), fc.constant(0x7fff_ffff)),
  payload: payloads,
});
const cuts = fc.array(fc.oneof(fc.nat(200), fc.nat(40_000)), { maxLength: 12 });

test('the reserved bit before the number of a stream is ignored', () => {
  for (const type of [FRAME.data, FRAME.headers]) {
    const bytes = bytesOf({ type, flags: 0, stream: 0x8000_0003, payload: Buffer.from('a') });
    expect(read(bytes).events[0]?.title).toMatch(/ 3$/);
    expect(read(bytes, everyByte(bytes)).events[0]?.title).toMatch(/ 3$/);
  }
});

test('however the bytes are cut, and wherever reading stops, the frames are the same', fuzzTime(), () => {
  const stops = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 30 });
  fc.assert(
    fc.property(fc.array(frames, { maxLength: 10 }), cuts, stops, (list, cuts, stops) => {
      const reading = { events: joined(list.map(eventOf)), isPartial: false };
      const bytes = bytesOf(...list);
      expect(read(bytes)).toEqual(reading);
      expect(read(bytes, cuts)).toEqual(reading);
      expect(read(bytes, [], stops)).toEqual(reading);
      expect(read(bytes, cuts, stops)).toEqual(reading);
      if (bytes.length < 500) expect(read(bytes, everyByte(bytes), stops)).toEqual(reading);
    }),
    { numRuns: fuzzRuns(500) },
  );
});

test('a connection waits for the rest of its preface or of a frame, but for that of a DATA frame only within its head', () => {
  const body = { type: FRAME.data, flags: 0, stream: 1, payload: Buffer.from('abc') };
  const other = { ...body, type: FRAME.ping };
  const bytes = bytesOf(other, body, other);
  const whole = new Set([PREFACE.length]);
  whole.add(PREFACE.length + 12);
  for (let at = PREFACE.length + 12 + FRAME_HEAD_BYTES; at <= PREFACE.length + 24; at += 1) whole.add(at);
  whole.add(bytes.length);
  for (let length = 0; length <= bytes.length; length += 1) {
    const begun = bytes.subarray(0, length);
    expect([length, read(begun).isPartial]).toEqual([length, !whole.has(length)]);
    expect([length, read(begun, everyByte(begun)).isPartial]).toEqual([length, !whole.has(length)]);
  }
});

describe('bytes that are not HTTP/2', () => {
  test('a frame of any type that is too large fails, and nothing after it is read', fuzzTime(), () => {
    const lengths = fc.constantFrom(FRAME_BYTES + 1, FRAME_BYTES + 300, 0xff_ffff);
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 4 }), frames, lengths, cuts, (list, large, length, cuts) => {
        const head = Buffer.alloc(FRAME_HEAD_BYTES);
        writeFrameHead(head, 0, length, large.type, large.flags, large.stream);
        const bytes = Buffer.concat([bytesOf(...list), head, Buffer.alloc(100)]);
        const events = [...joined(list.map(eventOf)), { title: `fail ${ERROR.frameSize}`, bytes: '' }];
        expect(read(bytes).events).toEqual(events);
        expect(read(bytes, cuts).events).toEqual(events);
      }),
      { numRuns: fuzzRuns(500) },
    );
  });

  test('a preface with another byte fails as soon as that arrives', () => {
    const bytes = bytesOf({ type: FRAME.settings, flags: 0, stream: 0, payload: Buffer.alloc(0) });
    for (let at = 0; at < PREFACE.length; at += 1) {
      const wrong = Buffer.from(bytes);
      wrong[at] = (wrong[at] ?? 0) ^ 0x20;
      const events = [{ title: `fail ${ERROR.protocol}`, bytes: '' }];
      expect(read(wrong.subarray(0, at)).events).toEqual([]);
      for (let cut = 0; cut <= wrong.length; cut += 1) expect(read(wrong, [cut]).events).toEqual(events);
      expect(read(wrong.subarray(0, at + 1), everyByte(wrong)).events).toEqual(events);
    }
  });
});

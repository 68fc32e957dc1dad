import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { UpstreamRequest } from '../../../src/gateway/upstream.ts';
import { until } from '../../support/until.ts';
import { Call, inParts, upstreamTo } from './upstream-calls.ts';
import { BROKEN_PLAYS, CHATTY_PLAY, type Play, playingV2, SOUND_PLAYS } from './upstream-plays.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

/** One thing that happens, a while after the one before. */
interface Step {
  /** Turns of the event loop. */
  readonly wait: number;
  readonly play: Play;
  readonly size: number | undefined;
  /** How a streamed body is framed, and how it ends; undefined when it is there at once. */
  readonly parts: 'length' | 'chunks' | 'breaks' | 'stalls' | undefined;
  /** The action on the call from within its event of this number. */
  readonly at: number;
  readonly within: 'nothing' | 'abort' | 'pause' | 'send';
  /** The action after it was sent, outside of its events. */
  readonly after: 'nothing' | 'abort' | 'pause' | 'V2 closes all';
}

const step = (plays: readonly Play[]): fc.Arbitrary<Step> =>
  fc.record({
    wait: fc.nat(4),
    play: fc.constantFrom(...plays),
    size: fc.constantFrom(undefined, undefined, 0, 10, 100_000),
    parts: fc.constantFrom(undefined, undefined, 'length', 'chunks', 'breaks', 'stalls'),
    at: fc.nat(4),
    within: fc.constantFrom('nothing', 'nothing', 'abort', 'pause', 'send'),
    after: fc.constantFrom('nothing', 'nothing', 'nothing', 'abort', 'pause', 'V2 closes all'),
  });

const plays: readonly Play[] = [...SOUND_PLAYS, ...BROKEN_PLAYS, 'stays silent'];

/** The body of a request. */
function bodyOf(size: number | undefined, parts?: Step['parts']): Partial<UpstreamRequest> {
  if (size === undefined) return { method: 'GET' };
  if (parts === undefined) return { method: 'POST', body: Buffer.alloc(size, 'x') };
  const half = 'x'.repeat(size / 2);
  const end = { length: half, chunks: half, breaks: new Error('gone'), stalls: undefined }[parts];
  return {
    method: 'POST',
    body: halves(half, end),
    length: parts === 'chunks' ? undefined : half.length * 2,
  };
}

async function* halves(half: string, end: string | Error | undefined): AsyncGenerator<Buffer, void> {
  yield* inParts(half);
  // As long as any of the timeouts, and not for ever: only a part wakes its reader.
  if (end === undefined) await pause(400);
  if (end instanceof Error) throw end;
  yield* inParts(end ?? half);
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('each request ends exactly once unless it is aborted, for any sequence of events, and no slot is lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .constantFrom(plays, [...plays, CHATTY_PLAY])
        .chain((some) => fc.array(step(some), { minLength: 5, maxLength: 40 })),
      fc.integer({ min: 1, max: 4 }),
      async (steps, connections) => {
        const v2 = await playingV2();
        const upstream = upstreamTo(v2.origin, { connections, headersTimeout: 300, bodyTimeout: 300 });
        const calls: Call[] = [];
        /** Requests whose body breaks. */
        const breaking = new Set<Call>();
        /** Number of events before the call was aborted. */
        const given = new Map<Call, number>();
        const send = (
          play: Play,
          body: Partial<UpstreamRequest> = {},
          heard?: (event: string, call: Call) => void,
        ): Call => {
          const target = `/${encodeURIComponent(play)}/${calls.length}`;
          const call = new Call(upstream, { ...body, target }, heard);
          calls.push(call);
          return call;
        };
        const giveUp = (call: Call): void => {
          if (call.outcome === '' && !given.has(call)) given.set(call, call.events.length);
          call.abort();
        };
        const holdBack = (call: Call): void => {
          call.pause();
          setTimeout(() => call.resume(), 10);
        };
        for (const { wait, play, size, parts, at, within, after } of steps) {
          for (let count = 0; count < wait; count += 1) await turn();
          const call = send(play, bodyOf(size, parts), (_event, own) => {
            if (own.events.length !== at + 1) return;
            if (within === 'abort') giveUp(own);
            if (within === 'pause') holdBack(own);
            if (within === 'send') send('responses');
          });
          if (parts === 'breaks') breaking.add(call);
          if (after === 'abort') giveUp(call);
          if (after === 'pause') holdBack(call);
          if (after === 'V2 closes all') for (const socket of v2.open) socket.destroy();
        }
        await until(() => calls.every((call) => call.outcome !== '' || given.has(call)));
        for (let count = 0; count < 10; count += 1) await turn();
        for (const [id, call] of calls.entries()) {
          const eventsBefore = given.get(call);
          const outcome = eventsBefore === undefined ? call.outcome : call.events.slice(eventsBefore).join();
          const summary = `${id}: ${outcome} ${call.fault?.cause}`;
          const faults = `closed|timeout|invalid|unreachable${breaking.has(call) ? '|rejected' : ''}`;
          if (eventsBefore === undefined)
            expect(summary).toMatch(new RegExp(`^\\d+: (?:end|fail (?:${faults})) `));
          else expect(summary).toBe(`${id}:  undefined`);
          expect(call.outcome === 'end' ? call.body : '').toBe(call.outcome === 'end' ? String(id) : '');
          expect(v2.came.get(String(id)) ?? 0).toBeLessThan(2);
        }
        // As many requests as there may be connections are under way at once, and the one that waits comes when one is given up.
        const first = calls.length;
        const pending = (): readonly Call[] =>
          calls.slice(first).filter((call) => call.outcome === '' && !given.has(call));
        const hasCome = (call: Call): boolean => v2.came.has(String(calls.indexOf(call)));
        const sendMore = (): void => {
          // Those that met the limit of time on the way here are replaced.
          while (pending().length <= connections)
            send('stays silent', bodyOf(calls.length % 2 === 0 ? undefined : 10, 'chunks'));
        };
        await until(() => {
          sendMore();
          return pending().filter(hasCome).length === connections;
        });
        const before = v2.came.size;
        for (const call of pending().filter(hasCome)) giveUp(call);
        await until(() => {
          sendMore();
          return v2.came.size > before;
        });
        await upstream.close();
        await until(() => v2.open.size === 0);
      },
    ),
    { numRuns: fuzzRuns(60) },
  );
});

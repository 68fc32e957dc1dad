import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { Call, upstreamTo } from './upstream-calls.ts';
import {
  BROKEN_PLAYS,
  CHATTY_PLAY,
  type Play,
  type PlayingV2,
  playingV2,
  SOUND_PLAYS,
} from './upstream-plays.ts';

/** One request of the many. */
interface Step {
  readonly play: Play;
  readonly method: 'GET' | 'POST';
  /** Bytes of its body. */
  readonly size: number;
}

function step(sound: readonly Play[]): fc.Arbitrary<Step> {
  return fc.record({
    play: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...sound) },
      { weight: 1, arbitrary: fc.constantFrom<Play>(...BROKEN_PLAYS) },
    ),
    method: fc.constantFrom('GET', 'POST'),
    size: fc.oneof({ weight: 9, arbitrary: fc.nat(100) }, fc.constantFrom(0, 16_384, 16_385, 400_000)),
  });
}

function send(v2: ReturnType<typeof upstreamTo>, { play, method, size }: Step, id: number): Call {
  const body = method === 'POST' ? Buffer.alloc(size, 'x') : null;
  return new Call(v2, { method, target: `/${encodeURIComponent(play)}/${id}`, body });
}

/** The faults in the outcome of a call. */
function faultsOf({ play }: Step, id: string, { outcome, body, fault }: Call, v2: PlayingV2): string[] {
  const faults: string[] = [];
  const summary = `${id} (${play}): ${outcome}`;
  const isBroken = BROKEN_PLAYS.some((broken) => broken === play);
  if ((v2.came.get(id) ?? 0) > 1) faults.push(`${summary}, came twice`);
  if (outcome === 'end' && (isBroken || body !== id)) faults.push(`${summary}, with ${body}`);
  if (!id.startsWith(body)) faults.push(`${summary}, told ${body}`);
  // A connection that V2 closes at this very moment is the one reason for which a response may be missing.
  if (outcome !== 'end' && v2.served.has(id) && play !== 'responses early')
    faults.push(`${summary}, though answered`);
  if (outcome !== 'end' && !isBroken && fault?.kind !== 'closed') faults.push(`${summary}, ${fault?.cause}`);
  if (!['end', 'fail closed', 'fail invalid'].includes(outcome)) faults.push(summary);
  return faults;
}

test.each([
  ['keeps to HTTP', SOUND_PLAYS],
  ['says too much now and then', [...SOUND_PLAYS, CHATTY_PLAY]],
] as const)(
  'of 2,000 requests on few connections to a V2 that %s none gets the response of another, and none comes twice',
  async (_what, sound) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step(sound), { minLength: 2000, maxLength: 2000, size: 'max' }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, connections) => {
          const v2 = await playingV2();
          const upstream = upstreamTo(v2.origin, { connections });
          const calls: Call[] = [];
          const next = async (): Promise<void> => {
            for (let one = steps[calls.length]; one !== undefined; one = steps[calls.length]) {
              const call = send(upstream, one, calls.length);
              calls.push(call);
              await call.over;
            }
          };
          await Promise.all(Array.from({ length: 12 }, next));
          expect(calls.flatMap((call, id) => faultsOf(steps[id] ?? fail(), String(id), call, v2))).toEqual(
            [],
          );
          const ended = calls.filter(({ outcome }) => outcome === 'end');
          expect(ended.length).toBeGreaterThan(1500);
          await upstream.close();
          await until(() => v2.open.size === 0);
        },
      ),
      { numRuns: 1, endOnFailure: true },
    );
  },
);

function fail(): never {
  throw new Error('no such step');
}

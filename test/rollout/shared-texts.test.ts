import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import { SharedTexts, type TextSums } from '../../src/rollout/shared-texts.ts';
import { StoreContact } from '../../src/rollout/store-contact.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { type CallFate, FlakyState, FragileState } from '../support/fragile-state.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** Texts that are numbers, and add up. */
const NUMBERS: TextSums = {
  add: (own, added) =>
    new Map([...added].map(([key, text]) => [key, `${Number(own(key) ?? 0) + Number(text)}`])),
  adopt: (key, text) => ({ key, text }),
};

/** A process that counts under three keys. */
class Process {
  /** What it counted. */
  counted = 0;
  /** The last that was in the store for certain. */
  acknowledged = 0;
  readonly texts: SharedTexts;
  fate: () => CallFate = () => 'sound';
  isStopped = false;
  hasSlept = false;
  /** True when it had read nothing before the store lost something. */
  isNew = false;
  private readonly contact: StoreContact;
  private ids = 0;

  constructor(name: string, state: SharedState, time: VirtualTime, skew = 0) {
    const clock = time.clock(skew);
    this.contact = new StoreContact({ clock, timeoutMs: 1000, onLost: () => {}, onFound: () => {} });
    this.texts = new SharedTexts({
      state: new FlakyState(state, time, () => this.fate()),
      topic: 't',
      clock,
      contact: this.contact,
      sums: NUMBERS,
      newId: () => `${name}-${(this.ids += 1)}`,
      keepMs: 1e9,
    });
  }

  count(key: string, number: number): void {
    this.counted += number;
    this.texts.add(new Map([[key, String(number)]]));
  }

  async exchange(): Promise<void> {
    await this.contact.attempt('counts', () => this.texts.exchange());
    if (this.texts.isShared) this.acknowledged = this.counted;
  }

  /** The sum of everything that it knows. */
  get sum(): number {
    let sum = 0;
    for (const key of this.texts.keys) {
      for (const text of this.texts.ownTexts(key)) sum += Number(text);
      for (const { text } of this.texts.otherTexts(key)) sum += Number(text);
    }
    return sum;
  }
}

/** Lets time pass until some work is done. */
async function passing(time: VirtualTime, work: Promise<unknown>): Promise<void> {
  const state = { isDone: false };
  const done = work.finally(() => {
    state.isDone = true;
  });
  while (!state.isDone) await time.pass(100);
  await done;
}

test(
  'with any lost calls, processes that are killed or sleep, and losses of the store, nothing counts twice, and acknowledged counts stay',
  fuzzTime(),
  async () => {
    const step = fc.record({
      process: fc.integer({ min: 0, max: 2 }),
      counts: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 9 })), {
        maxLength: 3,
      }),
      passMs: fc.constantFrom(200, 1000, 12_000, 70_000),
      event: fc.constantFrom(
        'none',
        'none',
        'none',
        'kill',
        'stop',
        'wake',
        'leave',
        'lose',
        'keep',
        'restore',
      ),
    });
    const fates = fc.array(
      fc.constantFrom<CallFate[]>('sound', 'sound', 'sound', 'lost', 'unanswered', 'late'),
      {
        maxLength: 40,
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), fates, async (steps, toCome) => {
        const time = new VirtualTime();
        const state = new FragileState(() => time.now);
        const left = [...toCome];
        let names = 0;
        const start = (): Process => {
          names += 1;
          const process = new Process(`p${names}`, state, time, (names % 3) * 3_600_000);
          process.fate = () => left.shift() ?? 'sound';
          return process;
        };
        const all = [start(), start(), start()];
        const gone: Process[] = [];
        let kept: (() => void) | undefined;
        // A store that loses texts that no process knows any more may lose counts, but never adds any.
        let hasLost = false;
        const turn = async (): Promise<void> => {
          await Promise.all(all.flatMap((process) => (process.isStopped ? [] : [process.exchange()])));
        };
        for (const { process: number, counts, passMs, event } of steps) {
          const process = all[number];
          if (process === undefined) throw new Error('there are three');
          if (!process.isStopped) for (const [key, count] of counts) process.count(key, count);
          if (event === 'kill' || event === 'leave') {
            if (event === 'leave' && !process.isStopped)
              await passing(
                time,
                process.texts.exchange({ leaves: true }).catch(() => {}),
              );
            if (event === 'leave' && process.texts.isShared) process.acknowledged = process.counted;
            gone.push(process);
            all[number] = start();
          }
          if (event === 'stop') {
            process.isStopped = true;
            process.hasSlept = true;
          }
          if (event === 'wake') process.isStopped = false;
          if (event === 'lose' || event === 'restore')
            for (const one of all) one.isNew ||= !one.texts.isComplete;
          if (event === 'keep') kept = state.kept();
          // Once: a second time, before all processes know of the first, may add up what one took over from a process that sleeps.
          if (event === 'lose' && !hasLost) {
            state.lose();
            hasLost = true;
          }
          if (event === 'restore' && kept !== undefined && !hasLost) {
            kept();
            kept = undefined;
            hasLost = true;
          }
          for (let turns = 0; turns < 3; turns += 1) {
            await passing(time, turn());
            await time.pass(passMs / 3);
            const most = [...all, ...gone].reduce((sum, { counted }) => sum + counted, 0);
            // A process that begins while a store that went back is repaired shows its old texts for a moment.
            for (const { sum, isStopped, isNew } of all)
              if (!isStopped && !isNew) expect(sum).toBeLessThanOrEqual(most);
          }
        }
        left.splice(0);
        for (const process of all) process.isStopped = false;
        for (let turns = 0; turns < 150; turns += 1) {
          await passing(time, turn());
          await time.pass(1000);
        }
        const running = all.reduce((sum, { counted }) => sum + counted, 0);
        const certain = all.reduce((sum, { counted, hasSlept }) => sum + (hasSlept ? 0 : counted), 0);
        const least = hasLost
          ? certain
          : running + gone.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
        const most = running + gone.reduce((sum, { counted }) => sum + counted, 0);
        const [first, ...others] = all.map(({ sum }) => sum);
        expect(others).toEqual([first, first]);
        expect(first).toBeGreaterThanOrEqual(least);
        expect(first).toBeLessThanOrEqual(most);
        // What ended processes left belongs to others by now.
        const rows = [...state.stored.values()]
          .flatMap((one) => one.after(0))
          .filter(({ text }) => text !== '');
        expect(new Set(rows.map(({ owner }) => owner)).size).toBeLessThanOrEqual(3);
      }),
      { numRuns: fuzzRuns(60) },
    );
  },
);

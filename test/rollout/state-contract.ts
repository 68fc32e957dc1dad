import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  ANY_REVISION,
  type SharedState,
  type StateCall,
  type StateNews,
} from '../../src/rollout/shared-state.ts';
import { stateCall } from '../support/state-call.ts';
import { until } from '../support/until.ts';

/** Shared states under test. */
export interface StatesUnderTest {
  /** Opens one more handle on the same state, as one more process would. */
  readonly open: () => Promise<SharedState>;
  /** Makes the given milliseconds pass on the clock of the store. */
  readonly pass: (milliseconds: number) => Promise<void>;
  /** Closes and removes what `open` made. */
  readonly close: () => Promise<void>;
}

/** A process that calls a state, and keeps no memory itself. */
class Caller {
  life = '';
  number = 0;
  private readonly state: SharedState;
  private readonly owner: string;

  constructor(state: SharedState, owner: string) {
    this.state = state;
    this.owner = owner;
  }

  async call(over: Partial<StateCall> = {}): Promise<StateNews> {
    const { life, owner, number } = this;
    const news = await this.state.exchange(stateCall({ life, owner, number, keepMs: 600_000, ...over }));
    this.life = news.life;
    return news;
  }

  /** Sets texts as the next change. */
  async put(texts: Readonly<Record<string, string>>, over: Partial<StateCall> = {}): Promise<StateNews> {
    this.number += 1;
    return this.call({ put: Object.entries(texts).map(([key, text]) => ({ key, text })), ...over });
  }
}

/** What a reply has of texts, without what depends on time. */
function textsIn({ texts }: StateNews): readonly string[] {
  return texts.map(({ owner, key, text }) => `${owner} ${key}=${text}`);
}

/** Tests each promise of `SharedState` with processes on one store; `make` returns an empty store each time. */
export function stateContract(make: () => Promise<StatesUnderTest>): void {
  interface Processes extends StatesUnderTest {
    readonly states: readonly SharedState[];
    readonly one: Caller;
    readonly other: Caller;
  }

  /** Two processes that have called once. */
  async function pair(): Promise<Processes> {
    const under = await make();
    const states = [await under.open(), await under.open()];
    const [one, other] = states.map((state, index) => new Caller(state, `p${index}`));
    if (one === undefined || other === undefined) throw new Error('there are two');
    await one.call();
    await other.call();
    return { ...under, states, one, other };
  }

  test('a process reads the texts that others set, in their order, and only new ones', async () => {
    const { one, other, close } = await pair();
    const set = await one.put({ b: '["ü\\u0000 🙂"]\n', a: 'x'.repeat(20) });
    expect([set.number, set.before, set.isOver, set.texts]).toEqual([1, 0, false, []]);
    const news = await other.call();
    expect(textsIn(news)).toEqual(['p0 b=["ü\\u0000 🙂"]\n', `p0 a=${'x'.repeat(20)}`]);
    expect(news.texts.every(({ ageMs }) => ageMs >= 0 && ageMs < 60_000)).toBe(true);
    expect(textsIn(await other.call({ after: news.revision }))).toEqual([]);
    const next = await one.put({ b: 'new', c: 'key with spaces'.repeat(2) });
    expect(next.revision).toBeGreaterThan(news.revision);
    expect(textsIn(await other.call({ after: news.revision }))).toEqual([
      'p0 b=new',
      `p0 c=${'key with spaces'.repeat(2)}`,
    ]);
    expect(textsIn(await other.call({ topic: 'another' }))).toEqual([]);
    await close();
  });

  test('a change is carried out once, and not in another life of the process', async () => {
    const { one, other, close } = await pair();
    await one.put({ a: '1' });
    expect((await one.call({ number: 1, put: [{ key: 'a', text: 'again' }] })).before).toBe(1);
    const strange = await one.call({ life: 'none', number: 5, put: [{ key: 'a', text: 'strange' }] });
    expect([strange.number, strange.life === 'none']).toEqual([1, false]);
    expect(textsIn(await other.call())).toEqual(['p0 a=1']);
    await close();
  });

  test('a removed text is reported to the processes that may know it', async () => {
    const { one, other, close } = await pair();
    await one.put({ a: '1', b: '2' });
    const { revision } = await other.call();
    await one.put({ a: '' });
    expect(textsIn(await other.call({ after: revision }))).toEqual(['p0 a=']);
    await close();
  });

  test('many large texts are read page by page', async () => {
    const { one, other, close } = await pair();
    const names = Array.from({ length: 12 }, (_, index) => `k${index}`);
    for (const name of names) await one.put({ [name]: 'ä'.repeat(40_000) });
    const seen: string[] = [];
    let after = 0;
    let pages = 0;
    for (;;) {
      const news = await other.call({ after });
      pages += 1;
      seen.push(...news.texts.map(({ key }) => key));
      expect(news.texts.every(({ text }) => text.length === 40_000)).toBe(true);
      after = news.revision;
      if (!news.isMore) break;
    }
    expect(seen).toEqual(names);
    expect(pages).toBeGreaterThan(1);
    await close();
  });

  test('processes are known with the time since they called, until they end', async () => {
    const { one, other, pass, close } = await pair();
    await pass(1200);
    const ages = new Map((await other.call()).owners.map(({ id, ageMs }) => [id, ageMs]));
    expect(ages.get('p0')).toBeGreaterThanOrEqual(1000);
    expect(ages.get('p1')).toBeLessThan(1000);
    await one.put({ a: '1' }, { leaves: true });
    const { owners, texts } = await other.call();
    expect(owners.map(({ id }) => id)).toEqual(['p1']);
    expect(texts).toHaveLength(1);
    // Even if the reply to that was lost.
    expect(await one.call()).toMatchObject({ isOver: true, number: 1 });
    await close();
  });

  test('a process that was ended sets nothing more, and learns which change was its last', async () => {
    const { one, other, close } = await pair();
    await one.put({ a: '1' });
    await other.call({ ends: ['p0', 'p1', 'unknown'] });
    const told = await one.put({ a: '2' });
    expect(told).toMatchObject({ isOver: true, number: 1, texts: [] });
    const { texts, owners } = await other.call();
    expect([texts.map(({ text }) => text), owners.map(({ id }) => id)]).toEqual([['1'], ['p1']]);
    await close();
  });

  test('each text of an ended process is taken over once, with all that is set in the same step', async () => {
    const { one, other, states, close } = await pair();
    const third = new Caller(states[0] ?? (await Promise.reject(new Error('there is one'))), 'p2');
    await third.call();
    await one.put({ a: '1', b: '2' });
    const { texts } = await other.call();
    const takes = texts.map(({ owner, key, revision }) => ({ owner, key, revision }));
    // It runs.
    expect((await other.put({ sum: '3' }, { takes })).number).toBe(0);
    await other.call({ ends: ['p0'], number: 0 });
    const outcomes = await Promise.all([
      other.put({ sum: '3' }, { takes }),
      third.put({ sum: '3' }, { takes: takes.slice(0, 1) }),
    ]);
    expect(outcomes.map(({ number, before }) => number > before).filter(Boolean)).toHaveLength(1);
    const all = [...(await other.call()).texts, ...(await third.call()).texts];
    expect(all.filter(({ owner, text }) => owner !== 'p0' && text === '3')).toHaveLength(1);
    await close();
  });

  test('a text that the store lost is taken over once, and one that was taken before stays taken', async () => {
    const { one, other, close } = await pair();
    const lost = [{ owner: 'gone', key: 'a', revision: 0 }];
    expect((await one.put({ sum: '1' }, { takes: lost })).number).toBe(1);
    expect((await other.put({ sum: '1' }, { takes: lost })).number).toBe(0);
    await one.put({ a: '5' });
    expect((await other.put({ sum: '1' }, { takes: [{ owner: 'p0', key: 'a', revision: 0 }] })).number).toBe(
      0,
    );
    const again = [
      { owner: 'p0', key: 'a', revision: ANY_REVISION },
      { owner: 'p0', key: 'none', revision: ANY_REVISION },
    ];
    expect((await other.put({ sum: '1' }, { takes: again })).number).toBe(3);
    expect(await one.call()).toMatchObject({ isOver: true });
    expect(textsIn(await other.call())).toEqual(['gone a=', 'p0 sum=1', 'p0 a=', 'p0 none=']);
    await close();
  });

  test('a process that finds fewer texts than it set begins another life, once', async () => {
    const { one, other, close } = await pair();
    await one.put({ a: '1' });
    const { life } = one;
    const begun = await one.call({ isBehind: true });
    expect(begun.life).not.toBe(life);
    expect((await other.call({ life, isBehind: true })).life).toBe(begun.life);
    expect(textsIn(await other.call())).toEqual(['p0 a=1']);
    await close();
  });

  test('no text is lost among many processes at once', async () => {
    const { states, other, close } = await pair();
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const state = states[index % 2];
        if (state === undefined) return;
        const caller = new Caller(state, `many${index}`);
        await caller.call();
        await caller.put({ own: String(index) });
        await caller.put({ own: `${index}!` });
      }),
    );
    const { texts, owners } = await other.call();
    expect(texts.map(({ text }) => text).sort()).toEqual(
      Array.from({ length: 20 }, (_, index) => `${index}!`).sort(),
    );
    expect(owners).toHaveLength(22);
    await close();
  });

  test('a key has no text at first, then the one that a process set, for every process', async () => {
    const { states, close } = await pair();
    const [one, other] = states;
    expect(await one?.read('state')).toBe(undefined);
    expect(await one?.compareAndSet('state', undefined, '{"ü": "\\u0000 🙂"}\n')).toBe(true);
    expect(await other?.read('state')).toBe('{"ü": "\\u0000 🙂"}\n');
    expect(await other?.read('state-2')).toBe(undefined);
    await close();
  });

  test('a text is replaced only by a process that knows it', async () => {
    const { states, close } = await pair();
    const [one, other] = states;
    expect(await one?.compareAndSet('state', 'never', 'x')).toBe(false);
    expect(await one?.read('state')).toBe(undefined);
    expect(await one?.compareAndSet('state', undefined, 'a')).toBe(true);
    expect(await other?.compareAndSet('state', undefined, 'b')).toBe(false);
    expect(await other?.compareAndSet('state', 'a', 'b')).toBe(true);
    expect(await one?.compareAndSet('state', 'a', 'c')).toBe(false);
    expect(await one?.read('state')).toBe('b');
    await close();
  });

  test('of many that replace the same text at once, one does, and a large one is kept whole', async () => {
    const { states, close } = await pair();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, k) => states[k % 2]?.compareAndSet('state', undefined, String(k))),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await states[0]?.read('state')).toBe(String(outcomes.indexOf(true)));
    const text = 'ä'.repeat(50_000);
    expect(await states[0]?.compareAndSet('large', undefined, text)).toBe(true);
    expect((await states[1]?.read('large')) === text).toBe(true);
    await close();
  });

  test('a subscriber is notified of changes by any process, until it unsubscribes', async () => {
    const { states, close } = await pair();
    const [one, other] = states;
    if (one === undefined || other === undefined) throw new Error('there are two');
    let calls = 0;
    const end = one.subscribe('state', () => {
      calls += 1;
    });
    // A subscription may take a moment.
    let text: string | undefined;
    await until(async () => {
      const next = `${text ?? ''}x`;
      await other.compareAndSet('state', text, next);
      text = next;
      return calls > 0;
    });
    await one.compareAndSet('state', text, 'own');
    await until(() => calls > 1);
    end();
    await pause(400);
    const before = calls;
    await other.compareAndSet('state', 'own', 'after');
    await pause(400);
    expect(calls).toBe(before);
    await close();
  });
}

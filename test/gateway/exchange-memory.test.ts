import { describe, expect, test } from 'vitest';
import { ExchangeMemory } from '../../src/gateway/exchange-memory.ts';
import { BufferBudget } from '../../src/gateway/limits.ts';
import { type OpenExchange, SlowClients } from '../../src/gateway/slow-clients.ts';

/** The memory of one exchange, of which the test says when it is over. */
class Exchange implements OpenExchange {
  isFinished = false;
  readonly client = [undefined, '', undefined] as const;
  readonly since = 0;
  readonly pace = undefined;
  readonly holdsPlace = true;
  readonly isHeldBack = false;
  readonly isTakenAhead = false;
  readonly budget: BufferBudget;
  readonly memory: ExchangeMemory;
  readonly released: Uint8Array[] = [];

  constructor(limit = 100, copies = 2) {
    this.budget = new BufferBudget(limit, copies);
    const bodyMemory = {
      acquire: (bytes: number) => new Uint8Array(bytes),
      release: (buffer: Uint8Array) => void this.released.push(buffer),
      own: (part: Uint8Array) => part,
    };
    const slowClients = new SlowClients({ exchanges: [], budget: this.budget, places: 1, now: () => 0 });
    this.memory = new ExchangeMemory(this, { budget: this.budget, bodyMemory, slowClients });
  }

  get reservedBytes(): number {
    return this.memory.freeable;
  }

  holds = (): boolean => false;
  awaits = (): boolean => false;
  setRank(): void {}
  takeAhead = (): boolean => false;
  giveWay(): void {}
  guarded(next: () => void): void {
    next();
  }
}

describe('buffers', () => {
  test('are given back once: one when it is outgrown, all others at the end', () => {
    const { memory, released } = new Exchange();
    const [outgrown, kept] = [memory.acquire(10), memory.acquire(20)];
    memory.release(outgrown);
    expect(released).toEqual([outgrown]);
    memory.releaseAll();
    memory.releaseAll();
    expect(released).toEqual([outgrown, kept]);
    expect(released.map(({ length }) => length)).toEqual([10, 20]);
    memory.acquire(30);
    memory.abandon();
    memory.releaseAll();
    expect(released).toHaveLength(2);
  });

  test('stay while work that may read them goes on', () => {
    const { memory, released } = new Exchange();
    const finishers: (() => void)[] = [];
    memory.acquire(10);
    memory.work((_, finish) => finishers.push(() => finish(() => {})));
    memory.releaseAll();
    expect(released).toHaveLength(0);
  });
});

describe('the reservation', () => {
  test.each([
    ['fits', 50, true, 100, false],
    ['does not fit beside the memory that others hold', 50, false, 20, false],
    ['would not fit even if nothing else were held', 51, false, 0, true],
  ])('%s: %i bytes of a hundred in two copies', (what, bytes, isReserved, held, needsTooMuch) => {
    const { memory, budget } = new Exchange();
    if (what.startsWith('does not fit')) budget.acquire(20, 1);
    expect([memory.reserve(bytes), budget.held, memory.needsTooMuch]).toEqual([
      isReserved,
      held,
      needsTooMuch,
    ]);
    memory.end();
    memory.end();
    expect(budget.held).toBe(what.startsWith('does not fit') ? 20 : 0);
  });

  test('is kept by work until that ends, even if the exchange is over before, and then nothing follows', () => {
    const exchange = new Exchange();
    const { memory, budget } = exchange;
    const ends: string[] = [];
    const finishers: (() => void)[] = [];
    memory.reserve(10);
    memory.work(({ take }, finish) => {
      expect([take(30), take(60)]).toEqual([true, false]);
      finishers.push(() => finish(() => ends.push('followed')));
    }, 1);
    expect([budget.held, memory.freeable]).toEqual([50, 0]);
    exchange.isFinished = true;
    memory.end();
    expect(budget.held).toBe(50);
    for (const finish of finishers) finish();
    expect([budget.held, ends]).toEqual([0, []]);
  });

  test('of work on one text ends with it, also if it throws', () => {
    const { memory, budget } = new Exchange();
    const taken = memory.during(({ take }) => [take(40), take(70), budget.held]);
    expect([taken, budget.held]).toEqual([[true, false, 40], 0]);
    expect(() =>
      memory.during(({ take }) => {
        take(40);
        throw new Error('a bug');
      }),
    ).toThrow('a bug');
    expect(budget.held).toBe(0);
  });

  test('for a slow reader is half of the budget at most, and is used up', () => {
    const { memory, budget } = new Exchange();
    expect([memory.takeAhead(1), memory.isAhead]).toEqual([false, false]);
    expect([memory.reserveAhead(51), memory.reserveAhead(50), memory.reserveAhead(1)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([memory.takeAhead(40), memory.takeAhead(11), memory.takeAhead(10)]).toEqual([true, false, true]);
    expect([memory.freeable, memory.isAhead]).toEqual([50, true]);
    memory.end();
    expect([budget.held, memory.isAhead]).toEqual([0, false]);
  });
});

import { describe, expect, test } from 'vitest';
import {
  LogBooks,
  logGaps,
  OwnGaps,
  ReplicaLog,
  replicaOfFile,
  replicaOfPrefix,
} from '../../src/report/log-gaps.ts';
import { makeReport } from '../../src/report/report.ts';
import { LineTally, missingFiles } from '../../src/report/tally/tally-lines.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const encoder = new TextEncoder();
const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 10);
const time = (hour: number): string => new Date(START + hour * HOUR).toISOString();

/** A log with an entry every five minutes of the hours from one up to another, in each of the spans. */
function log(name: string, ...spans: readonly (readonly [number, number])[]): ReplicaLog {
  const replica = new ReplicaLog(name);
  for (const [from, to] of spans)
    for (let twelfth = from * 12; twelfth < to * 12; twelfth += 1) replica.add(time(twelfth / 12));
  return replica;
}

const kindsOf = (...logs: ReplicaLog[]): readonly string[] =>
  logGaps(logs).map(({ log: name, kind }) => `${name} ${kind}`);

describe('gaps of replicas', () => {
  test('a log that ends, begins or is silent while another goes on is reported, with its times', () => {
    const gaps = logGaps([log('a', [0, 100]), log('b', [0, 40]), log('c', [10, 50], [57, 100])]);
    expect(gaps.map(({ sentence }) => sentence)).toEqual([
      `The log of b ends at ${time(40 - 1 / 12)}, 60 hours before another, without the line of a stop.`.replace(
        '60 hours',
        '2 days',
      ),
      `The log of c begins at ${time(10)}, 10 hours after another, without the line of a start.`,
      `The log of c has nothing between ${time(50)} and ${time(57)}, while others have.`,
    ]);
  });

  test('a gap that every replica has is not reported, because a time without traffic looks the same', () => {
    expect(kindsOf(log('a', [0, 20], [30, 50]), log('b', [0, 20], [30, 50]))).toEqual([]);
    expect(kindsOf(log('a', [0, 20], [30, 50]))).toEqual([]);
    expect(kindsOf(log('a', [0, 50]), log('b'))).toEqual([]);
  });

  test('a replica that follows another, as in a deployment, leaves no gap', () => {
    expect(kindsOf(log('a', [0, 20]), log('b', [20.5, 50]), log('c', [0, 50]))).toEqual([]);
    expect(kindsOf(log('a', [0, 20]), log('b', [25, 50]), log('c', [0, 50]))).toEqual([
      'a ends-early',
      'b begins-late',
    ]);
  });

  test('starts and stops in the process log explain a gap', () => {
    const stopped = log('b', [0, 40]);
    stopped.addEvent('stopped', time(40));
    const restarted = log('c', [10, 50], [60, 100]);
    restarted.addEvent('started', time(9.9));
    restarted.addEvent('stopped', time(50.1));
    restarted.addEvent('draining', time(50));
    expect(kindsOf(log('a', [0, 100]), stopped, restarted)).toEqual([]);
  });

  test('a replica with little traffic may be silent for longer before it is reported', () => {
    const sparse = (to: number): ReplicaLog => {
      const replica = new ReplicaLog('b');
      for (let hour = 0; hour < to; hour += 2) replica.add(time(hour));
      return replica;
    };
    // An entry in every twelfth slot: 6 of them are 72 slots, which are 12 hours.
    expect(kindsOf(log('a', [0, 100]), sparse(92))).toEqual([]);
    expect(kindsOf(log('a', [0, 100]), sparse(82))).toEqual(['b ends-early']);
  });

  test('entries in another order, or with an invalid time, change nothing', () => {
    const [replica, other] = [log('b', [50, 100], [20, 30], [0, 10]), log('a', [0, 100])];
    for (const wrong of ['', 'zzzz-zz-zzTzz:zz:zz.zzzZ']) replica.add(wrong);
    expect(logGaps([other, replica])).toMatchObject([
      { kind: 'silent', from: time(10), until: time(20) },
      { kind: 'silent', from: time(30), until: time(50) },
    ]);
  });

  test('of a log with many gaps, the longest are reported', () => {
    const spans = Array.from({ length: 60 }, (_, n) => [n * 10, n * 10 + (n === 30 ? 1 : 6)] as const);
    const gaps = logGaps([log('a', [0, 600]), log('b', ...spans)]);
    expect(gaps).toHaveLength(20);
    expect(gaps.some(({ from }) => from === time(301))).toBe(true);
  });
});

describe('the line of a stop', () => {
  test('excuses the time up to the next start, and no more', () => {
    const lost = log('b', [0, 40]);
    lost.addEvent('stopped', time(40));
    lost.addEvent('started', time(60));
    expect(logGaps([log('a', [0, 100]), lost]).map(({ sentence }) => sentence)).toEqual([
      `The log of b has nothing between ${time(60)} and ${time(100 - 1 / 12)}, while others have.`,
    ]);
    const restarted = log('b', [0, 40], [90, 100]);
    restarted.addEvent('stopped', time(40.1));
    restarted.addEvent('started', time(40.2));
    expect(logGaps([log('a', [0, 100]), restarted])).toMatchObject([
      { kind: 'silent', from: time(40.2), until: time(90) },
    ]);
  });
});

describe('a single log', () => {
  const WEEK = 168;
  /** An entry every five minutes of the hours of five weeks that `isBusy` takes. */
  const weeks = (isBusy: (hour: number) => boolean): ReplicaLog =>
    log(
      'a',
      ...Array.from({ length: 5 * WEEK }, (_, hour) => [hour, hour + 1] as const).filter(([hour]) =>
        isBusy(hour),
      ),
    );
  const isDaytime = (hour: number): boolean => hour % 24 >= 8 && hour % 24 < 18 && hour % WEEK < 120;
  const lacks =
    (from: number, until: number) =>
    (hour: number): boolean =>
      hour < from || hour >= until;

  test('is judged by its own weeks: a lost file is reported, quiet nights and weekends are not', () => {
    const isLost = lacks(600, 624);
    expect(logGaps([weeks(isLost)])).toMatchObject([
      {
        kind: 'silent',
        from: time(600),
        until: time(624),
        sentence: `The log of a has nothing between ${time(600)} and ${time(624)}, unlike at that time of other weeks.`,
      },
    ]);
    expect(kindsOf(weeks(isDaytime))).toEqual([]);
    expect(kindsOf(weeks((hour) => isDaytime(hour) && isLost(hour)))).toEqual(['a silent']);
  });

  test('has no gap while it was stopped, and none where traffic came or went for good', () => {
    const stopped = weeks(lacks(600, 624));
    stopped.addEvent('stopped', time(600));
    expect(kindsOf(stopped)).toEqual([]);
    expect(kindsOf(weeks((hour) => hour < 400 || hour % 48 === 0))).toEqual([]);
    expect(kindsOf(weeks((hour) => hour > 400 || hour % 48 === 0))).toEqual([]);
  });
});

describe('files of a rotation', () => {
  const files = (...names: readonly (readonly [name: string, from: number, until: number])[]): string[] =>
    missingFiles(
      names.map(([file, from, until]) => ({
        file,
        since: time(from),
        until: time(until),
        entries: 9,
        unreadable: 0,
        others: 0,
        events: 0,
      })),
    ).map(({ sentence }) => sentence);
  const dated = (isThere: (day: number) => boolean): string[] =>
    files(
      ...Array.from({ length: 28 }, (_, day) => day)
        .filter(isThere)
        .map((day) => {
          const date = time(day * 24).slice(0, 10);
          return [`r.log-${date.replaceAll('-', '')}`, day * 24 - 20, day * 24 + 4] as const;
        }),
    );

  test('are noticed as missing by their numbers if there is a time without entries', () => {
    expect(files(['r.log', 90, 99], ['r.log.1', 60, 90], ['r.log.3.gz', 0, 30])).toEqual([
      `A file of r.log is missing between r.log.1 and r.log.3.gz: nothing is between ${time(30)} and ${time(60)}.`,
    ]);
    expect(files(['r.log', 60, 90], ['r.log.1', 30, 60], ['r.log.3', 0, 30])).toEqual([]);
    expect(files(['r.log.1', 60, 90], ['r.log.4', 30, 50], ['r.log.7', 0, 20])).toEqual([]);
    expect(files(['pod-7.log', 30, 60], ['pod-9.log', 0, 10])).toEqual([]);
  });

  test('are noticed as missing by their dates, but not on weekdays that never have any', () => {
    expect(dated((day) => day !== 16)).toEqual([
      `A file of r.log is missing between r.log-20261125 and r.log-20261127: nothing is between ${time(364)} and ${time(388)}.`,
    ]);
    expect(dated((day) => day % 7 < 5)).toEqual([]);
    expect(dated((day) => day % 5 === 0)).toEqual([]);
  });
});

test.each([
  ['logs/pod-a/rewrite.ndjson', 'logs/pod-a/rewrite.ndjson'],
  ['logs/pod-a/rewrite.ndjson.2.gz', 'logs/pod-a/rewrite.ndjson'],
  ['rewrite.ndjson-20261122.zst', 'rewrite.ndjson'],
  ['rewrite-2026-11-22.ndjson.gz', 'rewrite.ndjson'],
  ['pod-7.log', 'pod-7.log'],
  ['stdin', 'stdin'],
])('%s is a part of the log %s', (path, name) => {
  expect(replicaOfFile(path)).toBe(name);
});

test.each([
  ['[pod/capture-gateway-7d4b9-x2x/gateway] ', 'capture-gateway-7d4b9-x2x'],
  ['gateway-2  | ', 'gateway-2'],
  ['2026-11-22T07:00:00.000000000Z ', undefined],
])('a collector names a replica before its lines: %s', (prefix, name) => {
  expect(replicaOfPrefix(prefix)).toBe(name);
});

describe('the statement on switching V1 off', () => {
  const at = (day: number): number => Date.UTC(2026, 10, 1) + day * 86_400_000;
  const lineAt = (time: number, prefix = ''): string => {
    const route = { route: 'pass', verdict: 'passed', edits: [] } as const;
    return `${prefix}${entryLine({ ...sampleEntry(6, time), ...route })}`;
  };
  /** V1 is used on the first day only; after it, both replicas have V2 traffic each half hour, the second one until `end`. */
  const linesOf = (end: number): LineTally => {
    const lines = new LineTally(new Tally());
    let text = ['a', 'b'].map((pod) => `[pod/${pod}/gateway] ${entryLine(sampleEntry(1, at(0)))}`).join('');
    for (let time = at(0); time < at(60); time += HOUR / 2) {
      text += lineAt(time, '[pod/a/gateway] ');
      if (time < end) text += lineAt(time, '[pod/b/gateway] ');
    }
    lines.begin('stdin');
    lines.add(encoder.encode(text), 'stdin');
    return lines;
  };
  const verdictOf = (lines: LineTally): unknown => {
    const tally = new Tally();
    tally.add(sampleEntry(1, at(0)));
    for (let day = 0; day < 60; day += 1)
      tally.add({ ...sampleEntry(6, at(day)), route: 'pass', verdict: 'passed', edits: [] });
    const { switchOff, gaps } = makeReport(tally, {
      now: new Date(at(59.9)).toISOString(),
      logs: lines.coverage,
      gaps: lines.gaps,
    });
    return { verdict: switchOff.verdict, gaps: gaps?.length, text: switchOff.conditions[2]?.text };
  };

  test('is not known when the log of a replica ends before the others', () => {
    expect(verdictOf(linesOf(at(60)))).toMatchObject({
      gaps: 0,
      text: expect.stringContaining('The log covers'),
    });
    expect(verdictOf(linesOf(at(55)))).toMatchObject({
      verdict: 'unknown',
      gaps: 1,
      text: expect.stringMatching(
        /^The log of b ends at 2026-12-25T23:30.* It is unknown whether there was traffic then\.$/,
      ),
    });
  });
});

const OWN_GAPS_START = Date.UTC(2026, 10, 24);
const DAY = 86_400_000;

function clocks(): {
  now: number;
  ticks: number;
  readonly gaps: OwnGaps;
  readonly pass: (ms: number) => void;
} {
  const clock = {
    now: OWN_GAPS_START,
    ticks: 0,
    pass: (ms: number): void => {
      clock.now += ms;
      clock.ticks += ms;
    },
  };
  return Object.assign(clock, {
    gaps: new OwnGaps(
      () => clock.now,
      () => clock.ticks,
    ),
  });
}

test('a clock that is set leaves a gap, and one that drifts does not', () => {
  const clock = clocks();
  for (let hour = 0; hour < 100; hour += 1) {
    clock.pass(DAY / 24);
    clock.now += 50_000;
    expect(clock.gaps.all).toEqual([]);
  }
  const before = clock.now;
  clock.now += 60 * DAY;
  expect(clock.gaps.all).toEqual([
    {
      log: 'clock',
      kind: 'silent',
      from: new Date(before).toISOString(),
      until: new Date(clock.now).toISOString(),
      sentence: `The clock was set 60 days forward at ${new Date(clock.now).toISOString()}.`,
    },
  ]);
  clock.now -= 5 * 3_600_000;
  clock.gaps.checkClock();
  clock.now -= 90_000;
  expect(clock.gaps.all.map(({ sentence }) => sentence.slice(0, 37))).toEqual([
    'The clock was set 60 days forward at ',
    'The clock was set 5 hours back at 202',
    'The clock was set 2 minutes back at 2',
  ]);
});

test('a worker that ended is reported, and so are the latest of many gaps', () => {
  const { gaps } = clocks();
  gaps.addWorkerEnd(2, OWN_GAPS_START - 1000, 'SIGKILL');
  expect(gaps.all).toEqual([
    {
      log: 'worker 2',
      kind: 'silent',
      from: '2026-11-23T23:59:59.000Z',
      until: '2026-11-24T00:00:00.000Z',
      sentence:
        'Worker 2 ended at 2026-11-24T00:00:00.000Z (SIGKILL), perhaps with counts that it had not reported.',
    },
  ]);
  for (let end = 0; end < 200; end += 1) gaps.addWorkerEnd(3, OWN_GAPS_START, 'exit code 1');
  expect(gaps.all).toHaveLength(100);
  expect(gaps.all[0]?.log).toBe('worker 3');
});

const BOOK = await bookIn('{ operations: { make: POST /things, list: GET /things }, changes: [] }');

type Row = readonly [
  what: string,
  entries: readonly (readonly [ruleBook: string | undefined, operation: string | undefined])[],
  isShipped: boolean,
  said: string | undefined,
];

const OTHER = 'The requests of the log were handled by the rule book 0123';
const SHIPPED = `${OTHER}, and not by the package's own (${BOOK.hash}), which is used if none is named: name the right one with --rules.`;
const NAMED = `${OTHER}, and this one (${BOOK.hash}) has none of their operations: name the right one with --rules.`;

const ROWS: readonly Row[] = [
  ['no entry', [], true, undefined],
  ['its own entries', [[BOOK.hash, 'make']], true, undefined],
  [
    'its own entries among others',
    [
      ['0123', 'ship'],
      [BOOK.hash, 'make'],
    ],
    true,
    undefined,
  ],
  ['entries without a rule book', [[undefined, 'ship']], true, undefined],
  ['the shipped book for operations of another', [['0123', 'ship']], true, SHIPPED],
  ['the shipped book, though an operation has the same name', [['0123', 'make']], true, SHIPPED],
  [
    'a named book that was edited since',
    [
      ['0123', 'make'],
      ['0123', 'gone since'],
    ],
    false,
    undefined,
  ],
  ['a named book of another API', [['0123', 'ship']], false, NAMED],
  ['a named book, and requests of no operation', [['0123', undefined]], false, undefined],
  [
    'many books',
    ['1', '2', '3', '4'].map((hash) => [hash, 'ship'] as const),
    false,
    `The requests of the log were handled by the rule books 1, 2, 3, …, and this one (${BOOK.hash}) has none of their operations: name the right one with --rules.`,
  ],
];

function faultOf(book: RuleBook, [, entries, isShipped]: Row): string | undefined {
  const books = new LogBooks();
  for (const [ruleBook, operation] of entries) books.add({ route: 'migrate', ruleBook, operation });
  // Requests of V2's own clients say nothing about V1.
  books.add({ route: 'pass', ruleBook: 'f00d', operation: 'other' });
  return books.faultOf({ book, isShipped });
}

test.each(ROWS)('a rule book and logs: %s', (...row) => {
  expect(faultOf(BOOK, row)).toBe(row[3]);
});

import type { V2Schemas } from '../gateway/v1/checks.ts';
import type { RolloutCounts } from '../inspector/rollout-admin.ts';
import { parsedJson } from '../rewrite-log/attributes.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { SharedCounts } from '../rollout/replica.ts';
import { RolloutTally, type RolloutTotals, type RolloutView } from '../rollout/rollout-tally.ts';
import type { SharedTexts, TextSums } from '../rollout/shared-texts.ts';

interface EdgeTotalsParts {
  /** Hash of the rule book. Each rule book has separate totals, because other rules make other bodies. */
  readonly ruleBook: string;
  /** V1 requests of this isolate since its start, by origin. */
  readonly requests: Readonly<RolloutView['requests']>;
  /** V2's request schemas, if they are part of the bundle. */
  readonly v2Schemas: V2Schemas;
  /** Milliseconds since 1970. */
  readonly time: () => number;
}

/** A part of the totals under one rule book, as a text has it. Times are milliseconds since 1970. */
interface Part extends Partial<RolloutTotals> {
  /** When counting began. */
  readonly since: number;
  /** When the last count was added. */
  readonly last: number;
}

/** The prefix of the keys of totals; the hash of the rule book and the subject follow. */
export const TOTALS = 'totals/';

/** Milliseconds without a count after which totals under another rule book than the one in force are forgotten. */
const FORGOTTEN_MS = 30 * 86_400_000;

/**
 * The totals of all isolates, for operators. Each isolate adds its counts to texts that only it sets, and a reader adds up the texts of
 * all isolates. When an isolate has ended, another one takes over its counts.
 */
export class EdgeTotals implements RolloutCounts, SharedCounts {
  readonly prefix = TOTALS;
  readonly sums: TextSums;
  private readonly parts: EdgeTotalsParts;
  private texts: SharedTexts | undefined;
  private unshared: RolloutTally;
  private shared = { v1: 0, v2: 0 };

  constructor(parts: EdgeTotalsParts) {
    this.parts = parts;
    this.sums = totalSums(parts);
    this.unshared = new RolloutTally(parts.ruleBook);
  }

  shareWith(texts: SharedTexts): void {
    this.texts = texts;
  }

  /** Counts a finished exchange. */
  observe(entry: Entry): void {
    this.unshared.add(entry);
  }

  /** Adds what was counted since the last call to the texts of this isolate. */
  add(): void {
    const totals = this.take();
    if (totals === undefined) return;
    const { ruleBook, time } = this.parts;
    const now = time();
    const parts = partsOf(totals).map(
      ([name, part]) =>
        [
          `${TOTALS}${ruleBook}/${name}`,
          JSON.stringify({ since: now, last: now, ...part } satisfies Part),
        ] as const,
    );
    this.texts?.add(new Map(parts));
  }

  get requests(): RolloutView['requests'] {
    return this.sum().requests;
  }

  get comparisons(): RolloutCounts['comparisons'] {
    return { list: this.sum().shadows };
  }

  get bodyChecks(): RolloutCounts['bodyChecks'] {
    const { v2Schemas } = this.parts;
    return {
      isOn: v2Schemas !== undefined,
      tally: { list: () => this.sum().bodyChecks },
      warnings: (operations) =>
        v2Schemas === undefined || v2Schemas === 'unread' ? [] : v2Schemas.warnings(operations),
    };
  }

  get since(): string | undefined {
    const times = this.all.map(({ since }) => since);
    return times.length === 0 ? undefined : new Date(Math.min(...times)).toISOString();
  }

  private sum(): RolloutTotals {
    const tally = new RolloutTally(this.parts.ruleBook);
    for (const part of this.all) tally.merge(totalsOf(part));
    return tally.totals;
  }

  /** All parts under the rule book in force, of all isolates. */
  private get all(): readonly Part[] {
    const { texts } = this;
    if (texts === undefined) return [];
    const ofBook = `${TOTALS}${this.parts.ruleBook}/`;
    return [...texts.keys].flatMap((key) =>
      key.startsWith(ofBook)
        ? [...texts.ownTexts(key), ...texts.otherTexts(key).map(({ text }) => text)].map(readPart)
        : [],
    );
  }

  private take(): RolloutTotals | undefined {
    const { ruleBook, requests } = this.parts;
    const { v1, v2 } = requests;
    const { shadows, bodyChecks } = this.unshared.totals;
    const news = { v1: v1 - this.shared.v1, v2: v2 - this.shared.v2 };
    if (news.v1 + news.v2 + shadows.length + bodyChecks.length === 0) return undefined;
    this.shared = { v1, v2 };
    this.unshared = new RolloutTally(ruleBook);
    return { requests: news, shadows, bodyChecks };
  }
}

/** Divides totals into texts, each small enough for the object to store. */
function partsOf({
  requests,
  shadows,
  bodyChecks,
}: RolloutTotals): readonly (readonly [name: string, part: Partial<RolloutTotals>])[] {
  const checks = Map.groupBy(bodyChecks, ({ client = '-' }) => client.slice(0, 1));
  return [
    ['requests', { requests }],
    ...shadows.map(
      (shadow) =>
        [
          `${shadow.verified === true ? 'verify' : 'shadow'}/${shadow.operation ?? ''}`,
          { shadows: [shadow] },
        ] as const,
    ),
    ...[...checks].map(([digit, counts]) => [`bodies/${digit}`, { bodyChecks: counts }] as const),
  ];
}

/** The functions that add up totals. */
function totalSums({ ruleBook, time }: Pick<EdgeTotalsParts, 'ruleBook' | 'time'>): TextSums {
  return {
    add: (own, added) =>
      new Map(
        [...added].map(([key, text]) => {
          const before = own(key);
          return [key, before === undefined ? text : JSON.stringify(sumOf(readPart(before), readPart(text)))];
        }),
      ),
    adopt: (key, text) =>
      key.startsWith(`${TOTALS}${ruleBook}/`) || time() - readPart(text).last < FORGOTTEN_MS
        ? { key, text }
        : undefined,
  };
}

function sumOf(one: Part, other: Part): Part {
  // Both parts are of the same rule book; the sum does not depend on its hash.
  const tally = new RolloutTally('');
  tally.merge(totalsOf(one));
  tally.merge(totalsOf(other));
  const { requests, shadows, bodyChecks } = tally.totals;
  return {
    since: Math.min(one.since, other.since),
    last: Math.max(one.last, other.last),
    ...(one.requests && { requests }),
    ...(one.shadows && { shadows }),
    ...(one.bodyChecks && { bodyChecks }),
  };
}

function totalsOf({ requests = { v1: 0, v2: 0 }, shadows = [], bodyChecks = [] }: Part): RolloutTotals {
  return { requests, shadows, bodyChecks };
}

function readPart(text: string): Part {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `add`; only isolates can write to the object
  return parsedJson(text) as Part;
}

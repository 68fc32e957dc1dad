/** Maximum rows drawn per second: more than anybody can read, few enough to stay smooth. */
export const DRAWN_PER_SECOND = 80;

const SECOND = 1000;

/**
 * Selects the incoming entries of one kind to draw: all of them up to `perSecond`, then one in every `stride`. The selection does
 * not depend on the entries, so the sample is fair.
 */
export class Sampler {
  private readonly perSecond: number;
  private readonly requests: { readonly since: number; readonly count: number }[] = [];
  private taken: number | undefined;
  private seen = 0;
  private step = 1;

  constructor(perSecond: number = DRAWN_PER_SECOND) {
    this.perSecond = perSecond;
  }

  /** One in this many is drawn; 1 draws all. */
  get stride(): number {
    return this.step;
  }

  /** Accepts the arrivals since the last call, at `now` in milliseconds; returns those to draw, in the same order. */
  take<Item>(items: readonly Item[], now: number, missed = 0): readonly Item[] {
    this.requests.push({ since: this.taken ?? now - SECOND, count: items.length + missed });
    this.taken = now;
    while (this.requests.length > 1 && (this.requests[0]?.since ?? now) < now - SECOND) this.requests.shift();
    const sum = this.requests.reduce((all, { count }) => all + count, 0);
    const rate = (sum * SECOND) / Math.max(1, now - (this.requests[0]?.since ?? now));
    this.step = Math.max(1, Math.ceil(rate / this.perSecond));
    return items.filter(() => {
      this.seen += 1;
      return this.seen % this.step === 0;
    });
  }
}

/** Samples failures and other exchanges apart, so that a few failures among many others are all drawn. */
export class FailuresFirst {
  private readonly failures = new Sampler();
  private readonly others = new Sampler();

  /** One in this many is drawn of each kind; 1 draws all. */
  get strides(): { readonly failures: number; readonly others: number } {
    return { failures: this.failures.stride, others: this.others.stride };
  }

  /** Accepts the entries, as unparsed JSON, that arrived since the last call; returns those to draw, in the same order. */
  take(entries: readonly string[], now: number, missed = 0): readonly string[] {
    const [failures, others] = [entries.filter(isFailure), entries.filter((text) => !isFailure(text))];
    const drawn = new Set([...this.failures.take(failures, now), ...this.others.take(others, now, missed)]);
    return entries.filter((text) => drawn.has(text));
  }
}

/** As `isNotable`, on unparsed JSON: within a string the quotation marks would be escaped. */
function isFailure(text: string): boolean {
  return FAILURE.test(text);
}

const FAILURE =
  /"status":(?:0|[45]\d\d)[,}]|"verdict":"(?:refused|different)"|"failure":"|"incomplete":true|"v2":"invalid"/;

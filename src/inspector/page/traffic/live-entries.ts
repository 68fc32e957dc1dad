import type { EntriesPage, NumberedEntry, State, StreamGap } from '../../api.ts';
import { type AdminFailure, asFailure, getJson } from '../admin-client.ts';

/** Interval between redraws, in milliseconds. */
const DRAW_EVERY = 250;
const PAGE = 200;
const MAX_LIVE_ROWS = 600;
const MAX_PAUSED_ROWS = 10_000;
const RETRY_AFTER = 3000;
const PENDING_MOST = 20_000;

/** State of the list before the first response. */
export const NOTHING_YET: LiveView = {
  rows: [],
  strides: { failures: 1, others: 1 },
  oldest: 0,
  paused: false,
  waiting: 0,
  connection: 'connecting',
  state: undefined,
  failure: undefined,
  hasOlder: false,
};

/** Maximum rows drawn per second: more than a person can read, but few enough for smooth drawing. */
const DRAWN_PER_SECOND = 80;

const SECOND = 1000;

const FAILURE =
  /"status":(?:0|[45]\d\d)[,}]|"verdict":"(?:refused|different)"|"failure":"|"incomplete":true|"v2":"invalid"/;

/** Follows the gateway's entries: recent ones first, then live ones. Incoming events are parsed only if they are drawn. */
export class LiveEntries {
  private readonly changed: (view: LiveView) => void;
  private view = NOTHING_YET;
  private filter = '';
  /** True if the gateway refused the filter: no entry is shown, and the stream brings only the state. */
  private isRefused = false;
  private stream: { close(): void } | undefined;
  private aborter = new AbortController();
  private sampler = new FailuresFirst();
  private pending: string[] = [];
  private missed = 0;
  private timer: ReturnType<typeof setInterval> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private isComplete = true;
  private isLoading = false;
  private isStale = false;

  constructor(changed: (view: LiveView) => void) {
    this.changed = changed;
  }

  /** Shows the entries that `filter` accepts, live; the previous rows stay until the first page arrives. */
  async follow(filter: string): Promise<void> {
    this.stop();
    const aborter = new AbortController();
    this.aborter = aborter;
    this.filter = filter;
    this.isRefused = false;
    this.sampler = new FailuresFirst();
    this.set({ paused: false, waiting: 0, strides: NOTHING_YET.strides });
    try {
      const page = await getJson<EntriesPage>(this.address(), aborter.signal);
      this.isComplete = true;
      const { entries: rows, oldest, next } = page;
      this.set({ rows, oldest, hasOlder: next !== undefined, failure: undefined });
      this.open(page.latest);
    } catch (error) {
      if (!aborter.signal.aborted) this.fail(asFailure(error));
    }
  }

  /** Stops all requests to the gateway. */
  stop(): void {
    this.aborter.abort();
    this.stream?.close();
    clearInterval(this.timer);
    clearTimeout(this.retry);
    this.pending = [];
    this.missed = 0;
  }

  /** Closes the stream: browsers open at most six connections to a host, and each hidden tab would occupy one. */
  sleep(): void {
    this.stop();
    this.set({ connection: 'connecting' });
  }

  /** Resumes after `sleep`; a paused list keeps its rows. */
  wake(): void {
    if (!this.view.paused) void this.follow(this.filter);
    if (this.view.paused) this.open(this.view.state?.latest ?? 0);
  }

  /** Pauses the list; if it was a sample, fetches the entries between its rows. */
  pause(): void {
    if (this.view.paused) return;
    this.set({ paused: true, waiting: this.pending.length });
    this.pending = [];
    const [newest] = this.view.rows;
    if (!this.isComplete && newest !== undefined) void this.load(newest.seq + 1, []);
  }

  /** Resumes the live list. */
  resume(): void {
    if (this.view.paused) void this.follow(this.filter);
  }

  /** Appends older entries to a paused list. */
  loadOlder(): void {
    const { rows, paused, hasOlder } = this.view;
    const oldest = rows.at(-1);
    if (paused && hasOlder && oldest !== undefined && rows.length < MAX_PAUSED_ROWS)
      void this.load(oldest.seq, rows);
  }

  private async load(before: number, loaded: readonly NumberedEntry[]): Promise<void> {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const page = await getJson<EntriesPage>(this.address(before), this.aborter.signal);
      this.isComplete = true;
      if (this.view.paused)
        this.set({
          rows: [...loaded, ...page.entries],
          oldest: page.oldest,
          hasOlder: page.next !== undefined,
        });
    } catch {
      // The rows stay; the stream shows whether the gateway responds.
    } finally {
      this.isLoading = false;
    }
  }

  private open(after?: number): void {
    if (this.aborter.signal.aborted) this.aborter = new AbortController();
    this.stream = openEntryStream(
      `entries/stream?${this.query(after === undefined ? {} : { after: String(after) })}`,
      {
        open: () => this.set({ connection: 'live', ...(this.isRefused ? {} : { failure: undefined }) }),
        entry: (data) => this.arrive(data),
        gap: ({ missed }) => {
          this.missed += missed;
        },
        state: (state) => this.learn(state),
        lost: (isForGood) => {
          this.set({ connection: 'lost' });
          if (isForGood) this.again();
        },
      },
    );
    this.timer = setInterval(() => this.draw(), DRAW_EVERY);
  }

  private learn(state: State): void {
    const isRestarted = this.view.state !== undefined && this.view.state.run !== state.run;
    this.set({ state });
    if (isRestarted && !this.view.paused) void this.follow(this.filter);
  }

  private arrive(data: string): void {
    if (this.isRefused) return;
    if (this.view.paused) {
      this.set({ waiting: this.view.waiting + 1 }, 'later');
      return;
    }
    if (this.pending.length >= PENDING_MOST) this.missed += this.pending.splice(0, PENDING_MOST / 2).length;
    this.pending.push(data);
  }

  private draw(): void {
    if (this.isStale) this.set({});
    if (this.view.paused) return;
    const drawn = this.sampler.take(this.pending, performance.now(), this.missed);
    const { strides } = this.sampler;
    const before = this.view.strides;
    const isSame =
      drawn.length === 0 && strides.failures === before.failures && strides.others === before.others;
    this.pending = [];
    this.missed = 0;
    if (isSame) return;
    if (strides.failures > 1 || strides.others > 1) this.isComplete = false;
    const entries = drawn.map((data): NumberedEntry => JSON.parse(data)).reverse();
    const rows = [...entries, ...this.view.rows];
    const hasOlder = this.view.hasOlder || rows.length > MAX_LIVE_ROWS;
    this.set({ rows: rows.slice(0, MAX_LIVE_ROWS), strides, hasOlder });
  }

  private fail(failure: AdminFailure): void {
    if (failure.status === 400) {
      this.isRefused = true;
      this.set({ rows: [], hasOlder: false, failure });
      return this.open();
    }
    this.set({ connection: 'lost', failure });
    // A retry cannot fix a missing token.
    if (failure.status === 0 || failure.status >= 500) this.again();
  }

  private again(): void {
    this.stop();
    this.retry = setTimeout(() => this.wake(), RETRY_AFTER);
  }

  private address(before?: number): string {
    const place = before === undefined ? {} : { before: String(before) };
    return `entries?${this.query({ ...place, limit: String(PAGE) })}`;
  }

  private query(fields: Readonly<Record<string, string>>): string {
    const query = new URLSearchParams(fields);
    if (this.filter !== '' && !this.isRefused) query.set('filter', this.filter);
    return query.toString();
  }

  private set(change: Partial<LiveView>, when: 'now' | 'later' = 'now'): void {
    this.view = { ...this.view, ...change };
    this.isStale = when === 'later';
    if (!this.isStale) this.changed(this.view);
  }
}

/** State of the live list. */
export interface LiveView {
  /** Newest first. */
  readonly rows: readonly NumberedEntry[];
  /** One of this many incoming failures, and of this many others, is drawn. */
  readonly strides: { readonly failures: number; readonly others: number };
  /** Rows before this `seq` are failures only: the gateway keeps them for longer. */
  readonly oldest: number;
  /** True while the list is paused. */
  readonly paused: boolean;
  /** Entries that arrived since the pause. */
  readonly waiting: number;
  readonly connection: 'connecting' | 'live' | 'lost';
  readonly state: State | undefined;
  readonly failure: AdminFailure | undefined;
  /** True while the gateway still holds entries older than the last row. */
  readonly hasOlder: boolean;
}

/** Receives the events of a stream. */
interface StreamListener {
  open(): void;
  /** A `NumberedEntry` as unparsed JSON. */
  entry(data: string): void;
  gap(gap: StreamGap): void;
  state(state: State): void;
  /** Called when the stream breaks. The browser reconnects by itself, unless the failure is permanent. */
  lost(isForGood: boolean): void;
}

function openEntryStream(address: string, listener: StreamListener): { close(): void } {
  const stream = new EventSource(address);
  stream.addEventListener('open', () => listener.open());
  stream.addEventListener('entry', ({ data }: MessageEvent<string>) => listener.entry(data));
  stream.addEventListener('gap', ({ data }: MessageEvent<string>) => listener.gap(JSON.parse(data)));
  stream.addEventListener('state', ({ data }: MessageEvent<string>) => listener.state(JSON.parse(data)));
  stream.addEventListener('error', () => listener.lost(stream.readyState === EventSource.CLOSED));
  return stream;
}

/**
 * Selects the incoming entries of one kind to draw: all up to `perSecond`, beyond that one in every `stride`. The selection does not
 * depend on the entries, so the sample is fair.
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

/** Samples failures and other exchanges separately, so that a few failures among many others are all drawn. */
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

/** As `isNotable`, on unparsed JSON; quotation marks within its strings are escaped. */
function isFailure(text: string): boolean {
  return FAILURE.test(text);
}

import type { EntriesPage, NumberedEntry, State } from '../../api.ts';
import { asFailure, getJson, type AdminFailure } from '../admin-client.ts';
import { type LiveView, NOTHING_YET } from './live-view.ts';
import { openEntryStream } from './entry-stream.ts';
import { FailuresFirst } from '../traffic/sampler.ts';

/** Interval between redraws, in milliseconds. */
const DRAW_EVERY = 250;
const PAGE = 200;
const MAX_LIVE_ROWS = 600;
const MAX_PAUSED_ROWS = 10_000;
const RETRY_AFTER = 3000;
const PENDING_MOST = 20_000;

/**
 * Follows the gateway's entries: recent ones first, then live ones. Incoming events are not parsed until they are drawn, so that
 * those outside the sample cost next to nothing. Longer than other files: every part of it changes the one view.
 */
export class LiveEntries {
  private readonly changed: (view: LiveView) => void;
  private view = NOTHING_YET;
  private filter = '';
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

  /** Shows entries that `filter` accepts, live; rows of the previous filter stay until the first ones arrive. */
  async follow(filter: string): Promise<void> {
    this.stop();
    const aborter = new AbortController();
    this.aborter = aborter;
    this.filter = filter;
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

  /** Closes the stream: browsers open six connections to a host, and each hidden tab would occupy one. */
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

  /** Resumes live, from now. */
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
      // The existing rows stay; the stream reports whether the gateway is unreachable.
    } finally {
      this.isLoading = false;
    }
  }

  private open(after: number): void {
    if (this.aborter.signal.aborted) this.aborter = new AbortController();
    this.stream = openEntryStream(`entries/stream?${this.query({ after: String(after) })}`, {
      open: () => this.set({ connection: 'live', failure: undefined }),
      entry: (data) => this.arrive(data),
      gap: ({ missed }) => {
        this.missed += missed;
      },
      state: (state) => this.learn(state),
      lost: (isForGood) => {
        this.set({ connection: 'lost' });
        if (isForGood) this.again();
      },
    });
    this.timer = setInterval(() => this.draw(), DRAW_EVERY);
  }

  private learn(state: State): void {
    const isRestarted = this.view.state !== undefined && this.view.state.run !== state.run;
    this.set({ state });
    if (isRestarted && !this.view.paused) void this.follow(this.filter);
  }

  private arrive(data: string): void {
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
    this.set({ connection: 'lost', failure });
    // A retry cannot fix a wrong filter or a missing token.
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
    if (this.filter !== '') query.set('filter', this.filter);
    return query.toString();
  }

  private set(change: Partial<LiveView>, when: 'now' | 'later' = 'now'): void {
    this.view = { ...this.view, ...change };
    this.isStale = when === 'later';
    if (!this.isStale) this.changed(this.view);
  }
}

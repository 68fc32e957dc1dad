import { randomBytes } from 'node:crypto';
import type { Store } from '../../rollout/store.ts';

/** Bytes of the keys of TLS tickets, as Node takes them. */
const TICKET_KEY_BYTES = 48;
/** Milliseconds for which keys are used: whoever steals them can read recorded sessions of TLS 1.2 of that time, and no others. */
export const TICKET_KEYS_MS = 12 * 3_600_000;
/** Milliseconds between two looks at the keys of the store. */
const TICKET_LOOK_MS = 60_000;
/** Milliseconds by which the clock of whoever made the keys may be ahead: keys of the future would never be replaced. */
const MAX_AHEAD_MS = 60_000;
const TICKET_KEY = 'tls-tickets';

/**
 * The keys of TLS tickets (RFC 5077; RFC 8446 §4.6.1). A client may come back to another process of the gateway, to another replica, or after
 * a restart: with the keys in the store each of them resumes its session. Without a store they are those of this gateway. The text in the
 * store is when the keys were made, in milliseconds since 1970, and the keys as Base64.
 */
export class TicketKeys {
  private readonly store: Store | undefined;
  private readonly time: () => number;
  private readonly use: (keys: Buffer) => void;
  private readonly timer: NodeJS.Timeout;
  private text: string;

  /** `use` is called at once with keys of its own, and with all that replace them. */
  constructor(store: Store | undefined, time: () => number, use: (keys: Buffer) => void) {
    this.store = store;
    this.time = time;
    this.use = use;
    this.text = this.make();
    this.use(keysOf(this.text));
    this.timer = setInterval(() => void this.look(), TICKET_LOOK_MS).unref();
  }

  /** Takes the keys of the store, or puts its own there; makes new ones where both are too old. Never rejects. */
  async look(): Promise<void> {
    const own = this.isUsable(this.text) ? this.text : this.make();
    // Out of reach of the store, its own keys serve.
    const text = await this.shared(own).catch(() => own);
    if (text === this.text) return;
    this.text = text;
    this.use(keysOf(text));
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async shared(own: string): Promise<string> {
    const { store } = this;
    if (store === undefined) return own;
    const before = await store.read(TICKET_KEY);
    if (before !== undefined && this.isUsable(before)) return before;
    if (await store.compareAndSet(TICKET_KEY, before, own)) return own;
    const other = await store.read(TICKET_KEY);
    return other !== undefined && this.isUsable(other) ? other : own;
  }

  private make(): string {
    return `${this.time()} ${randomBytes(TICKET_KEY_BYTES).toString('base64')}`;
  }

  private isUsable(text: string): boolean {
    const made = Number(text.split(' ')[0]);
    const age = this.time() - made;
    return keysOf(text).length === TICKET_KEY_BYTES && age < TICKET_KEYS_MS && age >= -MAX_AHEAD_MS;
  }
}

function keysOf(text: string): Buffer {
  return Buffer.from(text.split(' ')[1] ?? '', 'base64');
}

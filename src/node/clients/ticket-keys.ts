import { randomBytes } from 'node:crypto';
import type { SharedState } from '../../rollout/shared-state.ts';

/** Bytes of Node's TLS ticket keys. */
const TICKET_KEY_BYTES = 48;
/** Milliseconds for which keys are used: an attacker who steals them can only decrypt recorded TLS 1.2 sessions from that time. */
export const TICKET_KEYS_MS = 12 * 3_600_000;
/** Milliseconds between two reads of the store. */
const TICKET_LOOK_MS = 60_000;
/** Milliseconds by which the clock of the keys' maker may be ahead: keys from the future would never be replaced. */
const MAX_AHEAD_MS = 60_000;
const TICKET_KEY = 'tls-tickets';

/**
 * Keys for TLS session tickets (RFC 5077; RFC 8446 §4.6.1). With the keys in the store, a client can resume its session in another process
 * or replica, or after a restart; without a store each gateway has its own. The store's text is the time at which the keys were made, in
 * milliseconds since 1970, and the keys as Base64.
 */
export class TicketKeys {
  private readonly store: SharedState | undefined;
  private readonly time: () => number;
  private readonly use: (keys: Buffer) => void;
  private readonly timer: NodeJS.Timeout;
  private text: string;

  /** `use` is called at once with new keys, and with all that replace them. */
  constructor(store: SharedState | undefined, time: () => number, use: (keys: Buffer) => void) {
    this.store = store;
    this.time = time;
    this.use = use;
    this.text = this.make();
    this.use(keysOf(this.text));
    this.timer = setInterval(() => void this.look(), TICKET_LOOK_MS).unref();
  }

  /** Takes the store's keys, or stores its own; makes new ones if both are too old. Never rejects. */
  async look(): Promise<void> {
    const own = this.isUsable(this.text) ? this.text : this.make();
    // While the store is unreachable, the gateway uses its own keys.
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

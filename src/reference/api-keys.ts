import { Refusal } from './envelope.ts';
import type { RateLimit } from './rate-limit.ts';

/** What is known of API keys: none is listed, and any that is not empty is accepted. */
export interface ApiKeys {
  /** Keys that may only read: other methods get 403. */
  readonly readOnly: ReadonlySet<string>;
  /** Keys whose requests meet a store that fails, and get 500. */
  readonly failing: ReadonlySet<string>;
  readonly wait: RateLimit;
}

/** Admits a request: throws 401 without a key, 429 beyond its rate, 403 for a write with a key that may only read. */
export function admit({ readOnly, wait }: ApiKeys, method: string, authorization: string | undefined): void {
  const key = keyOf(authorization);
  if (key === undefined) {
    throw new Refusal(401, 'Send your API key as Authorization: Bearer <key>.', {
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
  const seconds = wait(key);
  if (seconds > 0) throw tooMany(seconds);
  if (readOnly.has(key) && method !== 'GET' && method !== 'HEAD') {
    throw new Refusal(403, 'This key may only read.');
  }
}

/** The API key in an `Authorization` field; undefined without one. */
export function keyOf(authorization: string | undefined): string | undefined {
  return /^bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1];
}

function tooMany(seconds: number): Refusal {
  return new Refusal(
    429,
    `This key has reached its request limit for this minute: wait ${seconds} seconds.`,
    { headers: { 'retry-after': String(seconds) }, meta: { reset: seconds } },
  );
}

import { concatBytes, latin1Bytes } from '../http/byte-collector.ts';
import { type HeaderList, headerValues } from '../http/header-list.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** Returns the value of an environment variable, or the contents of its file; a fault as a sentence if neither exists. */
export type ReadSecret = (name: string) => string | { readonly fault: string } | undefined;

/** The names of the fields of a signed delivery (Standard Webhooks 1.0.0), in lower case. */
export const WEBHOOK_FIELDS = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const;

/** Maximum seconds between the time of a delivery and the clock, in both directions. */
const TOLERANCE_SECONDS = 300;

/** Minimum bytes of a secret. */
const MIN_SECRET_BYTES = 24;

/** Maximum signatures of one delivery that are checked: rotating a secret takes two. */
const MAX_SIGNATURES = 16;

/** The signed parts of a delivery besides its body. */
export interface SignedHead {
  readonly id: string;
  /** Seconds since 1970, as the sender wrote them. */
  readonly timestamp: string;
  /** The MACs of version 1 that the sender made. */
  readonly signatures: readonly Uint8Array[];
}

/** Why the gateway refuses a delivery, as a sentence that reveals nothing of a secret. */
interface SignatureFault {
  readonly fault: string;
}

/** Reads a secret as the specification writes them, `whsec_` and base64; undefined for any other text. */
function readWebhookSecret(text: string): Uint8Array<ArrayBuffer> | undefined {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text.trim())?.[1];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  return bytes === undefined || bytes.length < MIN_SECRET_BYTES ? undefined : bytes;
}

/** Imports a secret for signing and checking. */
function importWebhookKey(secret: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/** A sentence for each webhook secret of a rule book that is missing or invalid; it contains no value. */
export function webhookSecretFaults({ webhooks = {} }: RuleBook, secret: ReadSecret): string[] {
  const users = new Map<string, string>();
  for (const [name, { sign }] of Object.entries(webhooks))
    for (const variable of [...sign.verify, ...sign.with])
      if (!users.has(variable)) users.set(variable, name);
  return [...users].flatMap(([variable, name]) => {
    const text = secret(variable);
    if (typeof text === 'object') return [`The rule book has the webhook "${name}": ${text.fault}`];
    if (text === undefined || text === '')
      return [`The rule book has the webhook "${name}": set ${variable} to its secret.`];
    return readWebhookSecret(text) === undefined
      ? [
          `${variable}, for the webhook "${name}", is not a secret: write whsec_ and at least 24 bytes in base64.`,
        ]
      : [];
  });
}

/** The imported secrets of webhooks: each is imported once, and again after its file changes. */
export class WebhookKeys {
  private readonly secret: ReadSecret;
  private readonly known = new Map<string, { readonly text: string; readonly key: CryptoKey }>();

  constructor(secret: ReadSecret) {
    this.secret = secret;
  }

  /** The keys by the names of their variables. */
  of(names: readonly string[]): Promise<readonly CryptoKey[]> {
    // Promises are not cached: at the edge, a promise of another request may never be fulfilled.
    return Promise.all(names.map((name) => this.read(name)));
  }

  private async read(name: string): Promise<CryptoKey> {
    const known = this.known.get(name);
    const text = this.secret(name);
    if (known !== undefined && text === known.text) return known.key;
    const secret = typeof text === 'string' ? readWebhookSecret(text) : undefined;
    if (typeof text === 'string' && secret !== undefined) {
      const key = await importWebhookKey(secret);
      this.known.set(name, { text, key });
      return key;
    }
    // While a file is being written, the previous secret stays in use. A rule book without its secrets does not take effect.
    if (known === undefined) throw new Error(`${name} is not a webhook secret`);
    return known.key;
  }
}

/** Reads the fields of a delivery; `now` is in milliseconds since 1970. Refuses a repeated field, which could be read in two ways. */
export function readSignedHead(headers: HeaderList, now: number): SignedHead | SignatureFault {
  const [id, ...otherIds] = headerValues(headers, WEBHOOK_FIELDS.id);
  const [timestamp, ...otherTimes] = headerValues(headers, WEBHOOK_FIELDS.timestamp);
  const [signature, ...otherSignatures] = headerValues(headers, WEBHOOK_FIELDS.signature);
  if (id === undefined || id === '' || timestamp === undefined || signature === undefined)
    return { fault: 'The delivery needs webhook-id, webhook-timestamp and webhook-signature.' };
  if (otherIds.length + otherTimes.length + otherSignatures.length > 0)
    return { fault: 'A field of the signature occurs twice.' };
  // The signed text is id.timestamp.body: a dot in the id would make that ambiguous.
  if (id.includes('.')) return { fault: 'The webhook-id has a dot.' };
  if (!/^\d{1,12}$/.test(timestamp)) return { fault: 'The webhook-timestamp is not in whole seconds.' };
  const age = now / 1000 - Number(timestamp);
  if (age > TOLERANCE_SECONDS) return { fault: 'The webhook-timestamp is more than 5 minutes ago.' };
  if (age < -TOLERANCE_SECONDS) return { fault: 'The webhook-timestamp is more than 5 minutes ahead.' };
  const signatures = signature
    .split(' ')
    .slice(0, MAX_SIGNATURES)
    .flatMap((text) => (text.startsWith('v1,') ? (fromBase64(text.slice('v1,'.length)) ?? []) : []));
  return { id, timestamp, signatures };
}

/** True if one of the keys made one of the delivery's signatures. */
export async function isSignedBy(
  keys: readonly CryptoKey[],
  head: SignedHead,
  body: Uint8Array,
): Promise<boolean> {
  const content = signedContent(head, body);
  let isSigned = false;
  for (const key of keys) {
    const expected = await macOf(key, content);
    // Compares all, so that the time does not reveal which one matched.
    for (const signature of head.signatures) isSigned = areSame(expected, signature) || isSigned;
  }
  return isSigned;
}

/** The value of `webhook-signature` for a body: one signature for each key. */
export async function signatureBy(
  keys: readonly CryptoKey[],
  head: Pick<SignedHead, 'id' | 'timestamp'>,
  body: Uint8Array,
): Promise<string> {
  const content = signedContent(head, body);
  const macs = await Promise.all(keys.map((key) => macOf(key, content)));
  return macs.map((mac) => `v1,${btoa(String.fromCharCode(...mac))}`).join(' ');
}

function signedContent(
  { id, timestamp }: Pick<SignedHead, 'id' | 'timestamp'>,
  body: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(concatBytes([latin1Bytes(`${id}.${timestamp}.`), body]));
}

async function macOf(key: CryptoKey, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, content));
}

/** Compares in a time that depends only on the lengths. */
function areSame(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return latin1Bytes(atob(text));
  } catch {
    return undefined;
  }
}

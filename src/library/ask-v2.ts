import { readCoding } from '../http/content.ts';
import { unlimitedMemory } from '../json/tape.ts';
import { decodeWebBody } from '../migrate/decode-web-body.ts';
import { type LookupJob, type LookupResult, lookupFields } from '../migrate/lookups.ts';
import type { LookUp } from '../migrate/migration.ts';
import { collectStream, isJsonText } from './web-body.ts';
import { type HeaderFields, headerFieldsOf } from './verdicts.ts';

/**
 * Sends V2 a GET for `target`, a path and a query, with the header fields of the migrated request, which include the client's credentials.
 * `signal` aborts when the time for lookups is over.
 */
export type AskV2 = (
  target: string,
  headers: HeaderFields,
  signal: AbortSignal,
) => Response | Promise<Response>;

/** Returns a function that looks up objects of V2 by `ask`, with the header fields of the migrated request. */
export function lookUpBy(ask: AskV2, headers: HeaderFields = []): LookUp {
  const fields = headerFieldsOf(lookupFields(headers.flat()));
  return (job) => lookUpAll(job, async (target, signal) => ask(target, fields, signal));
}

async function lookUpAll(
  { requests, parallel, timeMs, limit }: LookupJob,
  get: (target: string, signal: AbortSignal) => Promise<Response>,
): Promise<readonly LookupResult[]> {
  const aborter = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<LookupResult>();
  const timer = setTimeout(() => {
    resolve({ status: undefined, body: undefined, cause: 'timeout', ms: timeMs });
    aborter.abort();
  }, timeMs);
  const results: LookupResult[] = [];
  const queue = requests.entries();
  const work = async (): Promise<void> => {
    // All workers take requests from the same queue.
    for (const [at, { target }] of queue)
      results[at] = await Promise.race([resultOf(() => get(target, aborter.signal), limit), late]);
  };
  await Promise.all(Array.from({ length: parallel }, work));
  clearTimeout(timer);
  return results;
}

async function resultOf(get: () => Promise<Response>, limit: number): Promise<LookupResult> {
  const began = Date.now();
  const result = (status: number | undefined, read: Uint8Array | string | undefined): LookupResult => ({
    status,
    body: typeof read === 'string' ? undefined : read,
    ...(typeof read === 'string' ? { cause: read } : {}),
    ms: Date.now() - began,
  });
  try {
    const response = await get();
    const { status, ok, body } = response;
    if (ok && body !== null) return result(status, await bodyOf(response, body, limit));
    body?.cancel().catch(() => {});
    return result(status, undefined);
  } catch {
    return result(undefined, 'closed');
  }
}

/** The decoded body, or the reason why there is none. */
async function bodyOf(
  { headers }: Response,
  body: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | string> {
  const read = await collectStream(body, limit);
  if ('reader' in read) {
    read.reader.cancel().catch(() => {});
    return 'too-large';
  }
  const { whole } = read;
  const coding = readCoding(headers.get('content-encoding') ?? '');
  // `fetch` decodes bodies, and leaves `Content-Encoding` in the head.
  if (coding === undefined || isJsonText(whole)) return whole;
  if (coding === 'unsupported') return 'undecodable';
  return new Promise((resolve) => {
    decodeWebBody(coding, whole, limit, unlimitedMemory, resolve);
  });
}

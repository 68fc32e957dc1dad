import type { Capture } from '../../rewrite-log/capture/capture.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { FilterTest } from '../../rewrite-log/filter/filter-field.ts';
import type { Ring } from '../../rewrite-log/ring.ts';

/** The stores that a search reads. */
export interface SearchedStores {
  readonly ring: Ring;
  readonly capture: Capture;
}

/** Characters of kept content that are searched before everything else that is due gets its turn. */
const CHARACTERS_PER_TURN = 1024 * 1024;

/** Reading an entry and its test cost about as much as this many characters. */
const CHARACTERS_PER_ENTRY = 2048;

const decoder = new TextDecoder();

/** Finds up to `limit` entries older than `before` that `accepts` matches, newest first; `pause` is awaited between parts of the work. */
export async function searchEntries(
  { ring, capture }: SearchedStores,
  {
    before,
    limit,
    accepts,
  }: { readonly before: number; readonly limit: number; readonly accepts: FilterTest },
  pause: () => Promise<void>,
): Promise<readonly { readonly seq: number; readonly entry: Entry }[]> {
  const found: { seq: number; entry: Entry }[] = [];
  let searched = 0;
  for (const seq of ring.numbersBefore(before)) {
    const entry = ring.at(seq);
    searched += CHARACTERS_PER_ENTRY;
    const content = (): string => {
      const text = contentOf(capture, seq);
      searched += text.length;
      return text;
    };
    if (entry !== undefined && accepts(entry, content)) found.push({ seq, entry });
    if (found.length === limit) break;
    if (searched < CHARACTERS_PER_TURN) continue;
    searched = 0;
    await pause();
  }
  return found;
}

/** The text of what is kept of the messages of an exchange: header fields and bodies, as masked. */
export function contentOf(capture: Capture, seq: number): string {
  const kept = capture.of(seq);
  if (kept === undefined) return '';
  const { v1Request, v2Request, v2Response, clientResponse } = kept;
  return [v1Request, v2Request, v2Response, clientResponse]
    .flatMap((side) => {
      if (side === undefined) return [];
      const body = 'body' in side ? side.body.bytes : undefined;
      return [
        ...side.headers.map(({ name, value }) => `${name}: ${value}`),
        ...(body === undefined ? [] : [decoder.decode(body)]),
      ];
    })
    .join('\n');
}

import { applyEdits, type Edit } from '../../json/edit.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
import { pointerSteps } from '../../json/json-pointer.ts';
import type { JsonWalker } from '../../json/json-walk.ts';
import { MaskPositions } from './mask-positions.ts';

const MASK = new TextEncoder().encode('"…"');

/**
 * The operator's list of members whose values capture must not keep. A mask is a pointer (`/data/client/email`, `*` for any
 * member or element) into the V1 or the V2 body, or a bare member name, which matches anywhere.
 */
export class ValueMasks {
  /** As given by the operator, for display. */
  readonly masks: readonly string[];
  private readonly pointers: readonly (readonly string[])[];
  private readonly names: ReadonlySet<string>;
  private readonly lastNames: ReadonlySet<string>;

  constructor(masks: readonly string[]) {
    this.masks = masks;
    this.pointers = masks.filter((mask) => mask.startsWith('/')).map(pointerSteps);
    this.names = new Set(masks.filter((mask) => !mask.startsWith('/')));
    const last = this.pointers.map((pointer) => pointer.findLast((step) => step !== '*') ?? '*');
    this.lastNames = new Set([...this.names, ...last]);
  }

  get empty(): boolean {
    return this.masks.length === 0;
  }

  /**
   * Returns the V1 body with masked values as `"…"`; `records` contain the moves of its members. Undefined when it cannot be
   * parsed.
   */
  ofRequest(walker: JsonWalker, body: Uint8Array, records: readonly EditRecord[]): Uint8Array | undefined {
    if (this.empty) return body;
    const positions = new MaskPositions(this.pointers, records);
    const places = [positions.root];
    return masked(walker, body, (path) => {
      const step = String(path.at(-1));
      const place = positions.below(places[path.length - 1] ?? positions.root, step);
      places[path.length] = place;
      return this.names.has(step) || positions.isNamed(place);
    });
  }

  /**
   * Returns a response body with masked values as `"…"`. No rule describes the positions of members in a response, so a mask
   * matches by its last name.
   */
  ofResponse(walker: JsonWalker, body: Uint8Array): Uint8Array | undefined {
    if (this.empty) return body;
    const { lastNames } = this;
    return masked(walker, body, (path) => lastNames.has('*') || lastNames.has(String(path.at(-1))));
  }
}

function masked(
  walker: JsonWalker,
  body: Uint8Array,
  isMasked: (path: readonly (string | number)[]) => boolean,
): Uint8Array | undefined {
  const edits: Edit[] = [];
  let maskedUntil = 0;
  const isJson = walker.walk(body, {
    enter: ({ kind, path, start, end }) => {
      if (path.length > 0 && start >= maskedUntil && isMasked(path)) maskedUntil = end;
      // Containers stay, so that the rules still find their members; all values in them are masked.
      if (start < maskedUntil && kind !== 'object' && kind !== 'array')
        edits.push({ start, end, insert: MASK });
    },
  });
  return isJson ? applyEdits(body, edits) : undefined;
}

/**
 * Returns the pointer in the V2 body of the member at `pointer` of the V1 body, according to `records`: the longest move above it
 * applies.
 */
export function movedPointer(pointer: string, records: readonly EditRecord[]): string {
  let longest: EditRecord | undefined;
  for (const record of records) {
    const { from, path } = record;
    if (from === undefined || path === undefined || record.note === 'already-flat') continue;
    if (pointer !== from && !pointer.startsWith(`${from}/`)) continue;
    if (longest?.from === undefined || from.length >= longest.from.length) longest = record;
  }
  return longest?.from === undefined ? pointer : `${longest.path ?? ''}${pointer.slice(longest.from.length)}`;
}

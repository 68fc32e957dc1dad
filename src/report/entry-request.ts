import type { Entry } from '../rewrite-log/entry.ts';
import { MovedMembers } from '../rewrite-log/moved-member.ts';
import { isOfQuery } from '../rewrite/rewrite.ts';
import { isRewritten } from '../rules/rewritten-methods.ts';
import { sketchJson } from './guide/json-sketch.ts';

/** A request like that of an entry: the log has no values, so they are `…`, and only the names it recorded. */
export interface LikeRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string;
}

/** Why no request like that of an entry can be made. */
export type Unlike = keyof typeof UNLIKE;

/** What the log lacks of such requests, for a sentence. */
export const UNLIKE = {
  'not-v1': 'of V2 clients, of reports, or never routed',
  refused: 'refused, and the log has nothing of the body that was',
  duplicate: 'with a member that occurs twice, of which the log has one name',
  mark: 'with a byte order mark, which no name shows',
  value: 'with a value that a map replaced, which the log does not have',
  unrecorded: 'with a body whose members were not recorded',
} as const;

/** Sketches a request like that of a V1 entry; says why where the body was not read, or has features that names do not show. */
export function requestLike(entry: Entry): LikeRequest | Unlike {
  if (entry.verdict === 'refused') return 'refused';
  if (entry.route !== 'migrate') return 'not-v1';
  if (entry.edits.some((edit) => edit.note === 'duplicate')) return 'duplicate';
  if (entry.edits.some((edit) => edit.note === 'byte-order-mark')) return 'mark';
  const head = { method: entry.method, target: entry.path.replaceAll('=…', '=') };
  const edits = entry.edits.filter((edit) => !isOfQuery(edit));
  // A map says that the value was one that it lists, but not which one.
  if (entry.edits.some((edit) => edit.rule === 'map')) return 'value';
  const pointers = [...(entry.attributes ?? []), ...edits.map((edit) => edit.from ?? '')].filter(
    (pointer) => pointer !== '',
  );
  const wasRead = entry.attributes !== undefined || edits.length > 0;
  if (entry.bytesIn > 0 && !wasRead && entry.note === undefined && isRewritten(entry.method))
    return 'unrecorded';
  if (!wasRead || entry.bytesIn === 0) return { ...head, headers: [] };
  return {
    ...head,
    headers: [['Content-Type', 'application/json']],
    body: sketchJson([...new Set(pointers)], new MovedMembers(edits).wrapper),
  };
}

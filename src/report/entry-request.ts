import type { Entry } from '../rewrite-log/entry.ts';
import { MovedMembers } from '../rewrite-log/moved-member.ts';
import { isOfQuery } from '../rewrite/rewrite.ts';
import { sketchJson } from './guide/json-sketch.ts';

/** A request like that of an entry: the log has no values, so they are `…`, and only the names it recorded. */
export interface LikeRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string;
}

/** Sketches a request like that of a V1 entry. Undefined when the body was not read, or has features that names do not show. */
export function requestLike(entry: Entry): LikeRequest | undefined {
  if (entry.route !== 'migrate' || entry.verdict === 'refused') return undefined;
  if (entry.edits.some((edit) => edit.note === 'duplicate' || edit.note === 'byte-order-mark'))
    return undefined;
  const head = { method: entry.method, target: entry.path.replaceAll('=…', '=') };
  const edits = entry.edits.filter((edit) => !isOfQuery(edit));
  // A map says that the value was one that it lists, but not which one.
  if (entry.edits.some((edit) => edit.rule === 'map')) return undefined;
  const pointers = [...(entry.attributes ?? []), ...edits.map((edit) => edit.from ?? '')].filter(
    (pointer) => pointer !== '',
  );
  const wasRead = entry.attributes !== undefined || edits.length > 0;
  if (!wasRead || entry.bytesIn === 0) return { ...head, headers: [] };
  return {
    ...head,
    headers: [['Content-Type', 'application/json']],
    body: sketchJson([...new Set(pointers)], new MovedMembers(edits).wrapper),
  };
}

import { generalPointer, tokenName } from '../json/pointer.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { MovedMembers } from '../rewrite-log/response-findings.ts';
import { isOfBody } from '../rewrite/records.ts';
import { isRewritten } from '../rules/rule-book.ts';
import { changesValue } from '../rules/kinds/kinds.ts';

/** A request like an entry's, with `…` for each value and only the recorded names, because the log contains no values. */
interface LikeRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string;
}

/** Why such a request cannot be made. */
export type Unlike = keyof typeof UNLIKE;

/** The same in words that follow a number of requests. */
export const UNLIKE = {
  'not-v1': 'of V2 clients, of reports, or never routed',
  refused: 'refused, and the log contains nothing of the body',
  duplicate: 'with a member that occurs twice, of which the log has one name',
  mark: 'with a byte order mark, which no name shows',
  value: 'with a value that a rule replaced, which the log does not have',
  unrecorded: 'with a body whose members were not recorded',
} as const;

/** Sketches a request like a V1 entry's; says why not where the body was not read, or has features that names do not show. */
export function requestLike(entry: Entry): LikeRequest | Unlike {
  if (entry.verdict === 'refused') return 'refused';
  if (entry.route !== 'migrate') return 'not-v1';
  if (entry.edits.some((edit) => edit.note === 'duplicate')) return 'duplicate';
  if (entry.edits.some((edit) => edit.note === 'byte-order-mark')) return 'mark';
  const head = { method: entry.method, target: entry.path.replaceAll('=…', '=') };
  const edits = entry.edits.filter((edit) => isOfBody(edit));
  // A map implies that the value was one of its list, but not which one; a rule that computes a value implies nothing.
  if (entry.edits.some((edit) => changesValue(edit.rule) && edit.from !== undefined)) return 'value';
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

interface Branch extends Map<string, Branch> {}

/**
 * Formats a JSON text with the members at `pointers`, and for each value its JSON text in `values`, or `…`; the member at `wrapper` is an
 * object even without members.
 */
export function sketchJson(
  pointers: readonly string[],
  wrapper = '',
  values: ReadonlyMap<string, string> = NO_VALUES,
): string {
  const root: Branch = new Map();
  for (const pointer of pointers) {
    let branch = root;
    for (const step of stepsOf(pointer)) {
      const next: Branch = branch.get(step) ?? new Map();
      branch.set(step, next);
      branch = next;
    }
  }
  const innermost = stepsOf(wrapper).reduce((branch: Branch | undefined, step) => branch?.get(step), root);
  return draw(root, { indent: '', pointer: '' }, { wrapper: innermost, values });
}

const NO_VALUES: ReadonlyMap<string, string> = new Map();

function stepsOf(pointer: string): readonly string[] {
  return generalPointer(pointer).split('/').slice(1);
}

/** Where a value stands. */
interface Spot {
  readonly indent: string;
  readonly pointer: string;
}

interface Sketch {
  readonly wrapper: Branch | undefined;
  readonly values: ReadonlyMap<string, string>;
}

function draw(branch: Branch, { indent, pointer }: Spot, sketch: Sketch): string {
  if (branch.size === 0)
    return indent === '' || branch === sketch.wrapper ? '{}' : (sketch.values.get(pointer) ?? '"…"');
  const inner = (step: string): Spot => ({ indent: `${indent}  `, pointer: `${pointer}/${step}` });
  const elements = branch.get('*');
  if (elements !== undefined) return `[${draw(elements, { indent, pointer: `${pointer}/*` }, sketch)}]`;
  const lines = [...branch].map(
    ([name, inside]) => `${indent}  ${JSON.stringify(tokenName(name))}: ${draw(inside, inner(name), sketch)}`,
  );
  return `{\n${lines.join(',\n')}\n${indent}}`;
}

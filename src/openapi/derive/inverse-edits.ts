import type { InvertedRule } from '../../rules/inverse.ts';
import { isRewritten } from '../../rules/rewritten-methods.ts';
import type { Change, Operation } from '../../rules/rule-book.ts';
import type { MappedValue, Path, RequestRule, ResponseRule, StatusPattern } from '../../rules/rule.ts';
import { scalarValue } from '../../json/json-scalar.ts';
import { mapValues } from '../draft/map-values.ts';
import { addMember, copyMember, openObject, renameMember } from './member-edits.ts';
import type { SchemaEdit } from './schema-edit.ts';
import { bringOut } from './sub-object-edits.ts';

/** One step from V2's schema to V1's. */
export interface InverseEdit {
  readonly change: string;
  /** The path of the objects that it concerns; the body itself for a wrapper. */
  readonly path: Path;
  /** The edit of these objects, or the member that wraps the body. */
  readonly edit: SchemaEdit | { readonly wrapper: string };
  /** The statuses of responses that it applies to; undefined for requests. */
  readonly status: readonly StatusPattern[] | undefined;
  /** The rule, in words; undefined for a rule that applies whether or not V2 describes its member. */
  readonly words: string | undefined;
}

/** The changes that apply to requests and responses of a method and an operation of the rule book, in order. */
export function changesOf(
  changes: readonly Change[],
  method: string,
  operation: Operation | undefined,
): readonly Change[] {
  const isEvery = isRewritten(method);
  return changes.filter(({ on }) =>
    on === 'every' ? isEvery : operation !== undefined && on.includes(operation.id),
  );
}

/** The steps from the schema of V2's request to that of V1's: the request rules undone, the last one first. */
export function requestEdits(changes: readonly Change[]): readonly InverseEdit[] {
  return changes
    .flatMap(({ id, request }) => request.map((rule) => requestEdit(id, rule)))
    .toReversed()
    .flat();
}

function requestEdit(change: string, rule: RequestRule): readonly InverseEdit[] {
  const at = (path: Path, edit: SchemaEdit, words?: string): InverseEdit => ({
    change,
    path,
    edit,
    status: undefined,
    words,
  });
  switch (rule.rule) {
    case 'unwrap':
      return [{ change, path: [], edit: { wrapper: rule.member }, status: undefined, words: undefined }];
    case 'nest': {
      const edit = bringOut({ change, under: rule.under, members: rule.members, keeps: false });
      return [at(rule.in, edit, `nest under ${dotted(rule.in, rule.under)}`)];
    }
    case 'rename':
      return [
        at(
          rule.in,
          renameMember(change, rule.to, rule.member),
          `rename of ${rule.member} to ${dotted(rule.in, rule.to)}`,
        ),
      ];
    case 'strip':
      return rule.members.map((member) => at(rule.in, addMember(change, member, { deprecated: true })));
    case 'only':
      return [at(rule.in, openObject(change))];
    case 'map':
      return [
        at(
          rule.in,
          mapValues(change, rule.member, v1Values(rule.values)),
          `map of ${dotted(rule.in, rule.member)}`,
        ),
      ];
  }
}

/**
 * The steps from the schemas of V2's responses to those of V1's, in the order of the gateway: first what `inverse` stands for,
 * then the rules by hand. `inverted` is the former for this operation.
 */
export function responseEdits(
  changes: readonly Change[],
  inverted: readonly InvertedRule[],
): readonly InverseEdit[] {
  const lists = changes.some(({ request }) => request.some(leavesOut));
  return [
    // A resource is in `data` or in the elements of it: no description shows both.
    ...inverted.flatMap(({ change, rule }) =>
      responseEdit(change, rule).map((edit) => ({ ...edit, words: undefined })),
    ),
    ...changes.flatMap(({ id, response }) =>
      response.flatMap((rule) => (rule.rule === 'deprecations' && !lists ? [] : responseEdit(id, rule))),
    ),
  ];
}

/** True for a rule that makes an attribute deprecated: V1 listed it in its responses. */
function leavesOut(rule: RequestRule): boolean {
  return rule.rule === 'only' || (rule.rule === 'strip' && rule.members.length > 0);
}

function responseEdit(change: string, rule: ResponseRule): readonly InverseEdit[] {
  if (rule.rule === 'errors' || rule.rule === 'inverse') return [];
  const { status } = rule;
  const [path, name] = [rule.path.slice(0, -1), rule.path.at(-1) ?? ''];
  const words = `${rule.rule} of ${dotted(path, name)} in responses`;
  switch (rule.rule) {
    case 'rename':
      return [{ change, path, edit: renameMember(change, name, rule.to), status, words }];
    case 'unnest': {
      const edit = bringOut({ change, under: name, members: rule.members, keeps: false });
      return [{ change, path, edit, status, words }];
    }
    case 'alias':
      return [{ change, path, edit: copyMember(change, name, rule.as), status, words }];
    case 'flatten': {
      const edit = bringOut({ change, under: name, members: rule.members, keeps: true });
      return [{ change, path, edit, status, words }];
    }
    case 'map': {
      const values = new Map(rule.values.map(({ from, to }) => [scalarValue(from), [scalarValue(to)]]));
      return [{ change, path, edit: mapValues(change, name, values), status, words }];
    }
    case 'deprecations':
      return [{ change, path, edit: addMember(change, name, DEPRECATION_LIST), status, words: undefined }];
  }
}

/** V1's values by V2's: all that lead to it. */
function v1Values(values: readonly MappedValue[]): ReadonlyMap<unknown, readonly unknown[]> {
  const byV2 = new Map<unknown, unknown[]>();
  for (const { from, to } of values) {
    const key = scalarValue(to);
    byV2.set(key, [...(byV2.get(key) ?? []), scalarValue(from)]);
  }
  return byV2;
}

function dotted(path: Path, name: string): string {
  return [...path, name].join('.');
}

/** The list that the gateway adds to responses. */
const DEPRECATION_LIST = {
  type: 'array',
  description: 'The deprecated attributes that the request used; absent when it used none.',
  items: {
    type: 'object',
    required: ['attribute', 'message'],
    properties: { attribute: { type: 'string' }, message: { type: 'string' } },
  },
};

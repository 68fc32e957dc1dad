import { type Book, formOf } from './book.ts';
import { readName, readPath } from './paths.ts';
import { copyOf, currentName, DraftObject, find, insertBehind } from '../../edits/draft.ts';
import { type CompiledRule, type Path, pathIds, readsOfObject, type RuleBase } from '../../edits/run.ts';
import type { NameTable } from '../../json/names.ts';
import type { ResponseKind, ResponseWords, StatusPattern } from './kind.ts';

/** Adds the members of the sub-object at `path` to the surrounding object, if absent there. */
export interface FlattenRule {
  readonly rule: 'flatten';
  readonly path: Path;
  readonly members: readonly string[] | undefined;
  readonly status: readonly StatusPattern[];
}

/** How `flatten` changes the bytes of responses. */
export const kind: ResponseKind<FlattenRule> = { compile };

/** How messages and guides describe `flatten`. */
export const words: ResponseWords<FlattenRule> = {
  of: 'responses',
  say: ({ members }, name) => `flatten ${name}${members === undefined ? '' : `: ${members.join(', ')}`}`,
};

/** How a rule book writes `flatten`. */
export const book: Book<never, FlattenRule> = {
  response: {
    mayBeAnywhere: true,
    form: ({ z, strict, optional, memberPath, name, status }) =>
      formOf(
        strict({
          flatten: memberPath,
          members: optional(z.array(name).min(1), 'The members to add; all when absent.'),
          status,
        }).describe(
          'Adds the members of a sub-object of a response to the surrounding object, where absent.',
        ),
        (source, place) => {
          const members = source.members?.map(readName);
          return [
            { rule: { rule: 'flatten', path: readPath(source.flatten), members, status: place.status } },
          ];
        },
      ),
    effect: ['flattens '],
    same: ({ members }) => [members?.toSorted()],
    learn: ({ path }, facts) => facts.forget(path.slice(0, -1)),
  },
};

/** Adds each member of the sub-object after it, unless the surrounding object has that name; the last of a repeated name counts. */
function compile(rule: FlattenRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.path.at(-1) ?? '');
  const members = rule.members && new Set(rule.members);
  return {
    ...base,
    ...readsOfObject(pathIds(rule.path.slice(0, -1), names), id),
    readsAnyName: true,
    apply: (run, object) => {
      const { draft } = run;
      const nested = find(object, id);
      const value = nested === undefined ? undefined : draft.open(nested, nested.node);
      if (nested === undefined || !(value instanceof DraftObject)) return undefined;
      const existing = new Set(object.members.map((member) => currentName(draft, member)));
      const missing = new Map(
        value.members
          .map((member) => [currentName(draft, member), member] as const)
          .filter(([name]) => !existing.has(name) && members?.has(name) !== false),
      );
      if (missing.size === 0) return undefined;
      const sources = [...missing.values()];
      const copies = sources.map((member) => copyOf(object, member, nested, 0));
      insertBehind(object, nested, copies);
      for (const [k, copy] of copies.entries()) run.recorder?.copy(base, copy, sources[k] ?? copy);
      return undefined;
    },
  };
}

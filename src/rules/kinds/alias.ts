import { type Book, formOf } from './book.ts';
import { readName, readPath } from './paths.ts';
import { copyOf, find, insertBehind } from '../../edits/draft.ts';
import { type CompiledRule, openLike, type Path, pathIds, type RuleBase } from '../../edits/run.ts';
import type { NameTable } from '../../json/names.ts';
import type { ResponseKind, ResponseWords, StatusPattern } from './kind.ts';

/** Adds the V1 name `as` beside the member at `path` of a response, with the same value bytes. */
export interface AliasRule {
  readonly rule: 'alias';
  readonly path: Path;
  readonly as: string;
  readonly status: readonly StatusPattern[];
}

/** How `alias` changes the bytes of responses. */
export const kind: ResponseKind<AliasRule> = { compile };

/** How messages and guides describe `alias`. */
export const words: ResponseWords<AliasRule> = {
  of: 'responses',
  say: ({ as }, name) => `alias ${name} as ${as}`,
};

/** How a rule book writes `alias`. */
export const book: Book<never, AliasRule> = {
  response: {
    mayBeAnywhere: true,
    form: ({ strict, memberPath, name, status }) =>
      formOf(
        strict({ alias: memberPath, as: name.describe('The V1 name.'), status }).describe(
          'Adds the V1 name beside the V2 name in a response, with the same value.',
        ),
        (source, place) => {
          const path = readPath(source.alias);
          return [{ rule: { rule: 'alias', path, as: readName(source.as), status: place.status } }];
        },
      ),
    faults: ({ rule }, at, fault) => {
      if (rule.path.at(-1) === rule.as)
        fault([...at, 'as'], `alias gives "${rule.as}" the name it has; write the V1 name`);
    },
    effect: ['adds '],
    effectOn: ({ path, as }) => [[...path.slice(0, -1), as]],
    same: ({ as }) => [as],
    learn: ({ path, as }, facts) => facts.add(path.slice(0, -1), as, false),
  },
};

/** Adds the V1 name beside the V2 name, unless the response already has it. */
function compile(rule: AliasRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, as] = [names.add(rule.path.at(-1) ?? ''), names.add(rule.as)];
  return {
    ...base,
    path: pathIds(rule.path.slice(0, -1), names),
    open: (opened) => openLike(opened, id, as),
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined || find(object, as) !== undefined) return undefined;
      const copy = copyOf(object, member, member, as);
      insertBehind(object, member, [copy]);
      run.recorder?.copy(base, copy, member);
      return undefined;
    },
  };
}

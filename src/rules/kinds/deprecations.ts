import { bytesOfText } from '../../json/names.ts';
import { type Book, formOf } from './book.ts';
import { readPath } from './paths.ts';
import { pointerToken } from '../../json/pointer.ts';
import type { NameTable } from '../../json/names.ts';
import type { ResponseKind, ResponseWords, StatusPattern } from './kind.ts';
import { addMade, type DraftMember, DraftObject, find, markChanged } from '../../edits/draft.ts';
import { type CompiledRule, openPath, type Path, pathIds, type RuleBase, type Run } from '../../edits/run.ts';

/** Adds a list, at `path`, of the deprecated attributes that the request used, each with a sentence. */
export interface DeprecationsRule {
  readonly rule: 'deprecations';
  readonly path: Path;
  readonly status: readonly StatusPattern[];
}

/** How `deprecations` changes the bytes of responses. */
export const kind: ResponseKind<DeprecationsRule> = { compile };

/** How messages and guides describe `deprecations`. */
export const words: ResponseWords<DeprecationsRule> = {
  of: 'responses',
  say: (_, name) => `list the deprecated attributes at ${name}`,
};

/** How a rule book writes `deprecations`. */
export const book: Book<never, DeprecationsRule> = {
  response: {
    form: ({ strict, memberPath, status }) =>
      formOf(
        strict({ deprecations: memberPath, status }).describe(
          'Adds to a response, at the path, a list of the deprecated attributes that the request used.',
        ),
        (source, place) => [
          {
            rule: { rule: 'deprecations', path: readPath(source.deprecations), status: place.status },
          },
        ],
      ),
    faults: ({ rule }, at, fault) => {
      if (rule.path.includes('*'))
        fault([...at, rule.rule], 'the list has exactly one place; write the path without *');
    },
    effect: ['lists them at '],
    adds: true,
  },
};

/**
 * Adds the list of the deprecated attributes that the request used, and missing objects on its path. An existing member in its place is
 * kept.
 */
function compile(rule: DeprecationsRule, base: RuleBase, names: NameTable): CompiledRule {
  const path = pathIds(rule.path, names);
  return {
    ...base,
    path: [],
    reach: path.length,
    readsDeprecated: true,
    open: (opened) => openPath(opened, path),
    apply: (run) => {
      const deprecated = run.response?.deprecated ?? [];
      if (deprecated.length === 0) return undefined;
      const id = path.at(-1) ?? 0;
      let object = run.draft.root;
      for (const name of path.slice(0, -1)) {
        const member = find(object, name) ?? addObject(run, object, name);
        // A value that a rule wrote is a list or a text.
        if (member.literal !== undefined) return undefined;
        const value = run.draft.open(member, member.node);
        if (!(value instanceof DraftObject)) return undefined;
        object = value;
      }
      if (find(object, id) !== undefined) return undefined;
      const list = addMade(object, id);
      list.literal = bytesOfText(JSON.stringify(deprecated));
      markChanged(object);
      run.recorder?.add(base, list, deprecated);
      return undefined;
    },
  };
}

function addObject(run: Run, object: DraftObject, id: number): DraftMember {
  const member = addMade(object, id);
  member.value = new DraftObject(-1, member);
  run.recorder?.make(object, pointerToken(run.draft.names.name(id)));
  return member;
}

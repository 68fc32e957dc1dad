import { type Book, formOf } from './book.ts';
import { readName } from './paths.ts';
import { addLast, DraftObject } from '../../edits/draft.ts';
import type { CompiledRule, Path, RuleBase } from '../../edits/run.ts';
import type { NameTable } from '../../json/names.ts';
import type { ResponseKind, ResponseWords, StatusPattern } from './kind.ts';

/** Puts the body of a response into the member at `path`, which has one name. */
export interface WrapRule {
  readonly rule: 'wrap';
  readonly path: Path;
  readonly status: readonly StatusPattern[];
}

/** How `wrap` changes the bytes of responses. */
export const kind: ResponseKind<WrapRule> = { compile };

/** How messages and guides describe `wrap`. */
export const words: ResponseWords<WrapRule> = {
  of: 'responses',
  say: (_, name) => `wrap the body in ${name}`,
};

/** How a rule book writes `wrap`. */
export const book: Book<never, WrapRule> = {
  response: {
    form: ({ strict, name, status }) =>
      formOf(
        strict({ wrap: name.describe('The member that gets the body.'), status }).describe(
          'Puts the body of a response into the named member, after all other rules.',
        ),
        ({ wrap }, { status: all }) => [{ rule: { rule: 'wrap', path: [readName(wrap)], status: all } }],
      ),
    effect: ['wraps the body in '],
    adds: true,
  },
};

/** Sorts rules for responses as they apply: those that wrap the body come last, because all others name members without the wrapper. */
export function inOrder<One extends { readonly rule: { readonly rule: string } }>(
  all: readonly One[],
): readonly One[] {
  return all.toSorted((one, other) => Number(isWrap(one.rule)) - Number(isWrap(other.rule)));
}

/** The place that the body of a success, as other rules name it, has in the body that the client gets. */
export function placeInWraps(all: readonly { readonly rule: string }[]): Path {
  return all.flatMap((one) => (isWrap(one) && isOfSuccess(one) ? one.path : [])).toReversed();
}

/** True for a rule that applies to successes. */
export function isOfSuccess({ status }: { readonly status: readonly StatusPattern[] }): boolean {
  return status.some((one) => String(one).startsWith('2'));
}

function isWrap(one: { readonly rule: string }): one is WrapRule {
  return one.rule === 'wrap';
}

/** Makes an object whose only member is the body, an object or an array. */
function compile({ path }: WrapRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(path[0] ?? '');
  return {
    ...base,
    path: [],
    isOfBody: true,
    apply: ({ draft, recorder }) => {
      const around = new DraftObject(-1, undefined);
      const member = addLast(around, id);
      // The bytes of the body stay where they are.
      member.isMoved = false;
      member.value = draft.list ?? draft.root;
      member.value.up = member;
      draft.root = around;
      draft.list = undefined;
      recorder?.wrap(base, member);
      return undefined;
    },
  };
}

// The work of `errors` on bytes depends on all rules of an operation, so it is in `rewrite/errors.ts`.
import { type Book, formOf } from './book.ts';
import type { Path } from '../../edits/run.ts';
import type { ResponseWords, StatusPattern } from './kind.ts';

/** Converts V2's pointers and names in error bodies back to V1's. */
export interface ErrorsRule {
  readonly rule: 'errors';
  /** Sentences of V2, and V1's for them, for texts that no renaming can derive. */
  readonly details: Readonly<Record<string, string>>;
  readonly status: readonly StatusPattern[];
}

/** The places in V2's error bodies that an `errors` rule converts: it changes nothing else. */
export interface ErrorForm {
  /** The path to the list of errors. */
  readonly list: Path;
  /** The path from an error to the pointer or name of the invalid member. */
  readonly pointer: Path;
  /** Members of an error whose text may contain names. */
  readonly text: readonly string[];
  /** Members of the body itself whose text may contain names. */
  readonly about: readonly string[];
  /** The media type for V1's clients instead of V2's; absent if it stays. */
  readonly as?: { readonly type: string };
  /** True if names are keys at `list`, or begin the sentences of a list there. */
  readonly isKeyed?: true;
}

/** The named forms of errors; `json-api` is the default. */
export const ERROR_FORMS = {
  'json-api': { list: ['errors'], pointer: ['source', 'pointer'], text: ['title', 'detail'], about: [] },
  // RFC 9457 §3: the members of the problem, and the extension that its examples use for several problems.
  problem: { list: ['errors'], pointer: ['pointer'], text: ['detail'], about: ['title', 'detail'] },
  // {"errors":{"name":["is blank"]}} or {"errors":["Name is blank"]}; errors without an attribute are in `error`.
  rails: { list: ['errors'], pointer: [], text: [], about: ['error', 'message'], isKeyed: true },
} as const satisfies Record<string, ErrorForm>;

/** True for a rule for errors, whose effect follows from the renames of the other rules. */
export function isOfErrors<Rule extends { readonly rule?: string | undefined }>(
  rule: Rule,
): rule is Extract<Rule, ErrorsRule> {
  return rule.rule === 'errors';
}

/** How messages and guides describe `errors`. */
export const words: ResponseWords<ErrorsRule> = {
  of: 'responses',
  say: () => 'name members in errors as V1 does',
};

/** How a rule book writes `errors`. */
export const book: Book<never, ErrorsRule> = {
  response: {
    form: ({ z, strict, status }) =>
      formOf(
        strict({
          errors: z.union(
            [
              z.literal(true),
              strict({
                details: z
                  .record(z.string().min(1), z.string().min(1))
                  .describe("V1's sentences by V2's, for texts that no renaming can derive."),
              }),
            ],
            { error: 'true, or a mapping with details' },
          ),
          status,
        }).describe("Converts V2's pointers, names and sentences in error bodies back to V1's."),
        (source, place) => {
          const details = source.errors === true ? {} : source.errors.details;
          return [{ rule: { rule: 'errors', details, status: place.status } }];
        },
      ),
    usual: ['4xx', '5xx'],
    effect: ['converts errors to V1'],
    effectOn: () => [],
    adds: true,
  },
};

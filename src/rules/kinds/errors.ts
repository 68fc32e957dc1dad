// The work of `errors` on bytes depends on all rules of an operation: it is in `rewrite/errors.ts`.
import { type Book, formOf } from './book.ts';
import type { Path } from '../../edits/run.ts';
import type { ResponseWords, StatusPattern } from './kind.ts';

/** Converts V2's pointers and names in error bodies back to V1's. */
export interface ErrorsRule {
  readonly rule: 'errors';
  /** Sentences of V2 and those of V1 in their place, for words that no renaming can derive. */
  readonly details: Readonly<Record<string, string>>;
  readonly status: readonly StatusPattern[];
}

/** The places in V2's error bodies that an `errors` rule turns back: it changes nothing else. */
export interface ErrorForm {
  /** The path to the list of errors. */
  readonly list: Path;
  /** The path from an error to the pointer or name of the faulty member. */
  readonly pointer: Path;
  /** Members of an error whose text may have names. */
  readonly text: readonly string[];
  /** Members of the body itself whose text may have names. */
  readonly about: readonly string[];
  /** What V1's clients get instead of V2's media type; absent where it stays. */
  readonly as?: { readonly type: string };
  /** True where names are keys at `list`, or begin the sentences of a list there. */
  readonly isKeyed?: true;
}

/** The named forms of errors; `json-api` is the default. */
export const ERROR_FORMS = {
  'json-api': { list: ['errors'], pointer: ['source', 'pointer'], text: ['title', 'detail'], about: [] },
  // RFC 9457 §3: the members of the problem, and the extension that its examples have for several.
  problem: { list: ['errors'], pointer: ['pointer'], text: ['detail'], about: ['title', 'detail'] },
  // {"errors":{"name":["is blank"]}} or {"errors":["Name is blank"]}; what concerns no attribute is in `error`.
  rails: { list: ['errors'], pointer: [], text: [], about: ['error', 'message'], isKeyed: true },
} as const satisfies Record<string, ErrorForm>;

/** True for a rule for errors: what it does follows from the names that the other rules gave. */
export function isOfErrors<Rule extends { readonly rule?: string | undefined }>(
  rule: Rule,
): rule is Extract<Rule, ErrorsRule> {
  return rule.rule === 'errors';
}

/** What people read of it. */
export const words: ResponseWords<ErrorsRule> = {
  of: 'responses',
  say: () => 'name members in errors as V1 does',
};

/** How a rule book has it. */
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
                  .describe(
                    "V2's sentences, and V1's in their place, for words that no renaming can derive.",
                  ),
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

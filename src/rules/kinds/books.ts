import type * as z from 'zod';
import type { Path } from '../../edits/run.ts';
import * as alias from './alias.ts';
import {
  declareMember,
  type Blocks,
  type Book,
  type NamesBook,
  type RequestBook,
  type ResponseBook,
  textIn,
} from './book.ts';
import type { ConversionBook } from './conversion.ts';
import { type Conversion, CONVERSION_BOOKS } from './conversions.ts';
import {
  type ConvertRule,
  inverseConversion,
  type QueryConvertRule,
  type ResponseConvertRule,
} from './convert.ts';
import * as copy from './copy.ts';
import * as deprecations from './deprecations.ts';
import * as elements from './elements.ts';
import * as errors from './errors.ts';
import * as first from './first.ts';
import * as flatten from './flatten.ts';
import * as join from './join.ts';
import {
  type ByName,
  type ExplicitResponseRule,
  type HeaderRule,
  type QueryRule,
  type RequestRule,
} from './kinds.ts';
import * as lookup from './lookup.ts';
import * as map from './map.ts';
import * as move from './move.ts';
import * as nest from './nest.ts';
import { printPath, readPath } from './paths.ts';
import * as query from './query.ts';
import * as queryList from './query-list.ts';
import * as rename from './rename.ts';
import * as set from './set.ts';
import * as split from './split.ts';
import * as strip from './strip.ts';
import * as unnest from './unnest.ts';
import * as unwrap from './unwrap.ts';
import * as wrap from './wrap.ts';
import { lossOf, whyWords } from './words.ts';

type AnyBook = Book<RequestRule, ExplicitResponseRule, QueryRule, HeaderRule>;

type AnyRule = RequestRule | ExplicitResponseRule | QueryRule | HeaderRule;

/** The book of each kind of rule except conversions, in the order of the documentation. */
const BOOKS: ByName<Exclude<AnyRule, { readonly conversion: Conversion }>, AnyBook> = {
  unwrap: unwrap.book,
  nest: nest.book,
  rename: rename.book,
  unnest: unnest.book,
  alias: alias.book,
  flatten: flatten.book,
  deprecations: deprecations.book,
  errors: errors.book,
  strip: strip.book,
  only: strip.bookOfOnly,
  map: map.book,
  set: set.book,
  default: set.bookOfDefault,
  move: move.book,
  copy: copy.book,
  lookup: lookup.book,
  list: { ...elements.bookOf('list'), ...queryList.bookOf('list') },
  entries: elements.bookOf('entries'),
  unlist: { ...elements.bookOf('unlist'), ...queryList.bookOf('unlist') },
  first: first.book,
  join: join.book,
  split: split.book,
  query: query.book,
  wrap: wrap.book,
};

/** All kinds, by name. */
export const ALL_BOOKS: ReadonlyMap<string, AnyBook> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries<AnyBook>(BOOKS).concat(
    /* @__PURE__ */ Object.entries(CONVERSION_BOOKS).map(([word, book]) => [
      word,
      bookOfConversion(word, book),
    ]),
  ),
);

/** The book of a rule's kind. */
export function bookOf(rule: AnyRule): AnyBook {
  return known(ALL_BOOKS.get(rule.rule), rule);
}

export function requestBookOf(rule: RequestRule): RequestBook<RequestRule> {
  return known(bookOf(rule).request, rule);
}

export function responseBookOf(rule: ExplicitResponseRule): ResponseBook<ExplicitResponseRule> {
  return known(bookOf(rule).response, rule);
}

/** The members of a response that a rule is about. */
export function readPaths(rule: ExplicitResponseRule): readonly Path[] {
  return responseBookOf(rule).effectOn?.(rule) ?? ('path' in rule ? [rule.path] : []);
}

function known<Own>(book: Own | undefined, { rule }: AnyRule): Own {
  if (book === undefined) throw new TypeError(`A rule book cannot have ${rule} there.`);
  return book;
}

/** A conversion has the same form in every place with a value. */
function bookOfConversion(
  word: string,
  { description, keys, read, isOfTexts }: ConversionBook<Conversion>,
): Book<ConvertRule, ResponseConvertRule, QueryConvertRule> {
  const schemaOf = (blocks: Blocks, first: z.core.$ZodShape, last: z.core.$ZodShape): z.ZodObject =>
    blocks.strict({ ...first, ...keys?.(blocks), ...last }).describe(description);
  const names: NamesBook<QueryConvertRule> = {
    form: (blocks) => ({
      schema: schemaOf(blocks, { [word]: blocks.parameter }, {}),
      read: (source, { path }) => {
        const conversion = read(source);
        const parameter = textIn(source, word) ?? '';
        return [{ rule: { rule: conversion.rule, parameter, conversion }, parts: [[...path, word]] }];
      },
    }),
    looksFor: ({ parameter }) => [parameter],
    learn: ({ parameter }, facts) => facts.change(parameter),
  };
  return {
    request: {
      form: (blocks) => ({
        schema: schemaOf(blocks, { [word]: blocks.memberPath, in: blocks.inside }, {}),
        read: (source, place) => {
          const conversion = read(source);
          const text = { in: textIn(source, 'in'), of: textIn(source, word) ?? '' };
          return declareMember(place, word, text, (member) => ({
            rule: conversion.rule,
            ...member,
            conversion,
          }));
        },
      }),
      policies: ['value'],
      learn: ({ in: objects, member }, facts) => facts.change(objects, member),
      lost: (rule) => {
        if (typeof inverseConversion(rule.conversion) !== 'string') return [];
        const why = whyWords(rule) ?? 'V2 has no value that stands for it';
        return [`${word} of ${printPath([...rule.in, rule.member])} has no inverse: ${why}`];
      },
      inexact: ({ in: objects, member, conversion }) => {
        const loss = lossOf(conversion);
        if (loss === undefined) return [];
        return [`the inverse of ${word} of ${printPath([...objects, member])} is not exact: ${loss}`];
      },
    },
    response: {
      mayBeAnywhere: true,
      form: (blocks) => ({
        schema: schemaOf(blocks, { [word]: blocks.memberPath }, { status: blocks.status }),
        read: (source, { status }) => {
          const conversion = read(source);
          const path = readPath(textIn(source, word) ?? '');
          return [{ rule: { rule: conversion.rule, path, conversion, status } }];
        },
      }),
      effect: ['converts '],
      isRepeatable: () => true,
    },
    ...(isOfTexts === true && { query: names }),
  };
}

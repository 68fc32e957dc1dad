import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { NO_METHOD } from '../src/rewrite/form.ts';
import { InverseIndex } from '../src/rules/inverse.ts';
import { CONVERSIONS } from '../src/rules/kinds/conversions.ts';
import { type Conversion, inverseConversion } from '../src/rules/kinds/convert.ts';
import { isOfErrors } from '../src/rules/kinds/errors.ts';
import { headerKindOf, kindOf, lensOf, queryKindOf, responseKindOf } from '../src/rules/kinds/kinds.ts';
import type { RuleBook } from '../src/rules/rule-book.ts';

const KINDS = fileURLToPath(new URL('../src/rules/kinds/', import.meta.url));

/** The tables of kinds, of which a bundle has whole ones, and what compiles the operations that moved. */
const IMPORTERS = /\/(?:rules\/kinds\/(?:kinds|conversions)|rewrite\/loadable-rule-book)\.ts$/;

/** Modules beside them, whose functions the tables call. */
const KEPT: ReadonlySet<string> = new Set(['convert.ts', 'kind.ts']);

/**
 * Leaves out of a bundle the kinds of rules that a rule book has none of, and what moves operations if none moved: both are undefined
 * there. The worker has its rule book for as long as it is deployed.
 */
export async function kindsOf(book: RuleBook): Promise<Plugin> {
  const used = rowsFor(book);
  const left = new Map<string, readonly string[]>();
  for (const file of readdirSync(KINDS)) {
    if (KEPT.has(file)) continue;
    const exported: Readonly<Record<string, unknown>> = await import(`${KINDS}${file}`);
    if (!Object.values(exported).some((row) => used.has(row))) left.set(file, Object.keys(exported));
  }
  if (book.operations.every(({ to }) => to === undefined)) left.set('moves.ts', ['Moves']);
  return {
    name: 'kinds of a rule book',
    setup: (context) => {
      context.onResolve({ filter: /^\.\/[\w-]+\.ts$/ }, ({ path, importer }) => {
        const name = basename(path);
        return IMPORTERS.test(importer) && left.has(name) ? { path: name, namespace: 'left out' } : undefined;
      });
      context.onLoad({ filter: /.*/, namespace: 'left out' }, ({ path }) => ({
        contents: (left.get(path) ?? []).map((name) => `export const ${name} = undefined;`).join('\n'),
      }));
    },
  };
}

/** The rows of the tables for the rules of a rule book, and for those that undo them. */
function rowsFor(book: RuleBook): ReadonlySet<unknown> {
  const { operations, changes, resource } = book;
  const inverse = new InverseIndex(operations, changes, resource);
  const undone = [undefined, ...operations].flatMap((operation) => inverse.of(operation));
  const responses = [
    ...undone.map(({ rule }) => rule),
    ...changes.flatMap(({ response }) =>
      response.flatMap((rule) => (rule.rule === 'inverse' || isOfErrors(rule) ? [] : [rule])),
    ),
  ];
  // Forms may have a rule that no rule book names.
  const requests = [...changes, NO_METHOD].flatMap(({ request }) => request);
  const queries = changes.flatMap(({ query = [] }) => query);
  const headers = changes.flatMap(({ headers: own = [], responseHeaders = [] }) => [
    ...own,
    ...responseHeaders.map(({ rule }) => rule),
  ]);
  const steps = operations.flatMap(({ to }) => to?.steps ?? []);
  const conversions = [
    ...[...requests, ...responses, ...queries].flatMap((rule) =>
      'conversion' in rule ? rule.conversion : [],
    ),
    ...steps.flatMap((step) => ('to' in step || 'values' in step ? [] : step)),
  ];
  return new Set<unknown>([
    ...requests.flatMap((rule) => [kindOf(rule), lensOf(rule)]),
    ...responses.map(responseKindOf),
    ...queries.map(queryKindOf),
    ...headers.map(headerKindOf),
    ...conversions.flatMap(rowsOfConversion),
  ]);
}

function rowsOfConversion(conversion: Conversion): readonly unknown[] {
  const back = inverseConversion(conversion);
  return [CONVERSIONS[conversion.rule], ...(typeof back === 'string' ? [] : [CONVERSIONS[back.rule]])];
}

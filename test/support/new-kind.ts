import { parentPort, workerData } from 'node:worker_threads';
import type { Conversion } from '../../src/rules/kinds/conversions.ts';
import {
  CONVERSION_BOOKS,
  CONVERSION_SCHEMAS,
  CONVERSION_WORDS,
  CONVERSIONS,
} from '../../src/rules/kinds/conversions.ts';
import type {
  ConversionBook,
  ConversionKind,
  ConversionSchema,
  ConversionWords,
} from '../../src/rules/kinds/conversion.ts';

// A thread has its own modules: here a new conversion is in the tables before anything reads them, as if it had a row in each.

/** What the module of a conversion exports. */
interface ConversionModule {
  readonly conversion: ConversionKind<Conversion>;
  readonly words: ConversionWords<Conversion>;
  readonly schema: ConversionSchema<Conversion>;
  readonly book: ConversionBook<Conversion>;
}

/** The module of the conversion, the rule book that has it, the body and the target of a request, and V2's description. */
export interface NewKind {
  readonly name: string;
  readonly module: string;
  readonly book: string;
  readonly bodies: readonly string[];
  readonly query: string;
  readonly description: object;
}

/** What all that asks the tables makes of it. */
export interface PlayedKind {
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  readonly bodies: readonly string[];
  readonly query: string;
  readonly words: readonly string[];
  readonly remark: string | undefined;
  readonly description: object;
}

const kind = workerData as NewKind;
const made: ConversionModule = await import(kind.module);
Object.assign(CONVERSIONS, { [kind.name]: made.conversion });
Object.assign(CONVERSION_WORDS, { [kind.name]: made.words });
Object.assign(CONVERSION_BOOKS, { [kind.name]: made.book });
Object.assign(CONVERSION_SCHEMAS, { [kind.name]: made.schema });

const { faultsIn, bookIn } = await import('../rules/reading.ts');
const { ruleBookWarnings } = await import('../../src/rules/check-rule-book.ts');
const { compilePlans } = await import('../../src/rewrite/plan.ts');
const { compileQueryPlans } = await import('../../src/rewrite/query-plan.ts');
const { requestRuleWords, ruleRemark } = await import('../../src/rules/kinds/words.ts');
const { deriveV1 } = await import('../../src/openapi/derive/derive-v1.ts');

const book = await bookIn(kind.book);
const [operation] = book.operations;
const plan = compilePlans(book).of(operation);
const played: PlayedKind = {
  faults: await faultsIn(kind.book.replace('response: []', 'response: inverse')),
  warnings: ruleBookWarnings(book),
  bodies: kind.bodies.map((text) => {
    const outcome = plan.rewrite(new TextEncoder().encode(text));
    return outcome.verdict === 'refused' ? outcome.refusal.code : new TextDecoder().decode(outcome.body);
  }),
  query: compileQueryPlans(book).of(operation, 'POST')?.rewrite(kind.query).query ?? '',
  words: book.changes.flatMap(({ request }) => request.map((rule) => requestRuleWords(rule))),
  remark: ruleRemark(kind.name),
  description: deriveV1({ ...kind.description }, book).description,
};
parentPort?.postMessage(played);

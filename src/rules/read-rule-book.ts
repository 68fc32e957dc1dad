import { declareVersion } from './header-rules.ts';
import { Prefixes } from '../http/target.ts';
import { lookupFaults } from './check-lookups.ts';
import { declareChange, type Written } from './declared-change.ts';
import { declareRollout } from './declared-rollout.ts';
import { hashRuleBook } from './hash.ts';
import { templateFaults } from './refusal-form.ts';
import type { RuleBookFault, SourceFault } from './rule-book-fault.ts';
import {
  depthFaults,
  checkChanges,
  checkOperations,
  clientFieldFaults,
  corsFaults,
  prefixFaults,
  readClientField,
  readErrorForm,
  readPrefixes,
  readRefusalForm,
  readResource,
  readWebhooks,
  webhookFaults,
} from './check-rule-book.ts';
import { ALL_BOOKS } from './kinds/books.ts';
import type * as sourceForm from './rule-book-source.ts';
import type { RuleBookSource, ValidSubset } from './rule-book-source.ts';
import type * as sourceDocument from './source-document.ts';
import { movesLinks, type Policies, type RuleBook, type RuleBookLimits, versionPlace } from './rule-book.ts';
import { staleHeaderRules, staleQueryRules } from './stale-names.ts';
import { staleInverse, staleResponseRules, staleRules } from './stale-rules.ts';
import { VALUE_CHECKS } from './value-checks.ts';

/** A rule book, or all of its faults. */
export type RuleBookReading =
  | { readonly ok: true; readonly ruleBook: RuleBook }
  | { readonly ok: false; readonly faults: readonly RuleBookFault[] };

/** The policies that a rule book has by default. */
const DEFAULT_POLICIES: Policies = {
  flat: 'migrate',
  siblings: 'drop',
  conflict: 'v1',
  duplicate: 'refuse',
  wrapper: 'refuse',
  value: 'refuse',
  malformed: 'refuse',
  unsupported: 'refuse',
  forms: 'rewrite',
  media: 'known',
  signed: 'forward',
  'half-close': 'abort',
  future: 'forward',
};

/** The limits that a rule book has by default. */
const DEFAULT_LIMITS: RuleBookLimits = { depth: 512, body: 10_485_760, response: 10_485_760 };

/**
 * Reads a rule book from YAML 1.2 or JSON; `file` is its name in the faults. Reports all faults at once, in the order of the text. YAML
 * and zod are loaded by the first call only. Never throws, for any text.
 */
export async function readRuleBook(text: string, file: string): Promise<RuleBookReading> {
  const [{ ruleBookForm, validSubset, wordsOf }, { schemaFaults, SourceDocument }] = await Promise.all([
    import('./rule-book-source.ts'),
    import('./source-document.ts'),
  ]);
  const document = new SourceDocument(text);
  const { schema, forms } = ruleBookForm(ALL_BOOKS, VALUE_CHECKS);
  const written: Written = {
    forms,
    json: (path) => document.jsonAt(path),
    number: (path) => document.numberAt(path),
  };
  const { faults, meaning } = checkMeaning(
    document.value,
    written,
    { schema, validSubset, wordsOf },
    schemaFaults,
  );
  const all: RuleBookFault[] = document.faults.map((fault) => ({ file, ...fault }));
  if (document.value !== undefined) {
    for (const { path, blame, message } of faults) {
      all.push({ file, ...document.positionOf(path, blame), message });
    }
  }
  if (all.length > 0 || meaning === undefined) {
    return { ok: false, faults: all.toSorted((a, b) => a.line - b.line || a.column - b.column) };
  }
  return { ok: true, ruleBook: { ...meaning, hash: await hashRuleBook(meaning) } };
}

interface Findings {
  readonly faults: readonly SourceFault[];
  /** Undefined if a part of the source does not match the schema. */
  readonly meaning: Omit<RuleBook, 'hash'> | undefined;
}

/** The schema of a source, which needs zod. */
type SourceForm = Pick<typeof sourceForm, 'validSubset' | 'wordsOf'> &
  Pick<sourceForm.RuleBookForm, 'schema'>;
type SchemaFaults = typeof sourceDocument.schemaFaults;

function checkMeaning(
  value: unknown,
  written: Written,
  { schema, validSubset, wordsOf }: SourceForm,
  schemaFaults: SchemaFaults,
): Findings {
  const parsed = schema.safeParse(value);
  if (parsed.success) return check(parsed.data, undefined, written);
  const faults = schemaFaults(parsed.error.issues, value, wordsOf(written.forms));
  const subset = validSubset(value, parsed.error.issues);
  const rest = schema.safeParse(subset?.source);
  if (subset === undefined || !rest.success) return { faults, meaning: undefined };
  return { faults: [...faults, ...check(rest.data, subset, written).faults], meaning: undefined };
}

function check(source: RuleBookSource, subset: ValidSubset | undefined, written: Written): Findings {
  const { other = 'refuse', override = 'follow' } = source;
  const { to, ...v1 } = readPrefixes(source);
  const prefixes = new Prefixes(v1.from, to, v1.alsoFrom);
  const { operations, faults } = checkOperations(source.operations, prefixes);
  const declared = source.changes.map((change, at) =>
    declareChange(change, subset?.indexes[at] ?? at, written),
  );
  const policies: Policies = { ...DEFAULT_POLICIES, ...source.policies };
  const limits: RuleBookLimits = { ...DEFAULT_LIMITS, ...source.limits };
  const errors = readErrorForm(source.errors);
  const client = readClientField(source.client);
  const refusals = readRefusalForm(source.refusals);
  const resource = source.resource === undefined ? undefined : readResource(source.resource);
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  const ids = subset?.ids ?? new Set(Object.keys(source.operations ?? {}));
  const { version, versionField, faults: ofVersion } = declareVersion(source, prefixes);
  const field = versionField === undefined ? {} : { versionField };
  const { rollout, faults: ofRollout } = declareRollout(source, ids, subset?.indexes);
  const all = [...faults, ...checkChanges(declared, byId, ids), ...ofVersion, ...ofRollout];
  all.push(...depthFaults(declared, limits));
  all.push(...clientFieldFaults(source.client), ...corsFaults(source.cors));
  all.push(...prefixFaults(source, prefixes), ...webhookFaults(source, prefixes, byId, ids));
  all.push(...lookupFaults(source, declared, byId, to));
  if (typeof source.refusals === 'object')
    all.push(...templateFaults(source.refusals.body, ['refusals', 'body']));
  // If a change is left out, a later rule could wrongly seem stale.
  if (subset === undefined || subset.hasAllChanges) {
    all.push(
      ...staleRules(declared, operations, policies),
      ...staleQueryRules(declared, operations, versionField?.query),
      ...staleHeaderRules(declared, operations, version && versionPlace(field)),
      ...staleResponseRules(declared, operations, resource),
      ...staleInverse(declared, operations, source.operations),
    );
  }
  const changes = declared.map(({ change }) => change);
  const webhooks = readWebhooks(source.webhooks);
  const meaning = {
    ...v1,
    to,
    other,
    override,
    followsBodyLinks:
      source['body-links'] === undefined
        ? movesLinks({ ...v1, to, operations })
        : source['body-links'] === 'follow',
    ...(source['link-fields'] === undefined ? {} : { linkFields: source['link-fields'] }),
    version,
    ...field,
    ...(errors === undefined ? {} : { errors }),
    ...(client === undefined ? {} : { client }),
    ...(refusals === undefined ? {} : { refusals }),
    ...(source.cors === undefined ? {} : { cors: { credentials: false, ...source.cors } }),
    ...(resource === undefined ? {} : { resource }),
    operations,
    changes,
    ...(webhooks === undefined ? {} : { webhooks }),
    policies,
    limits,
    ...(source.zone === undefined ? {} : { zone: source.zone }),
    ...(rollout === undefined ? {} : { rollout }),
  };
  return { faults: all, meaning };
}

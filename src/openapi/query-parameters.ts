import { scalarValue } from '../json/json-scalar.ts';
import type { Change } from '../rules/rule-book.ts';
import type { QueryRule } from '../rules/rule.ts';
import { marked } from './draft/change-mark.ts';
import { type Description, followed } from './description.ts';
import { isObject, type JsonObject } from './json-object.ts';

/** The query rules of an operation, and where its references lead. */
export interface QueryDerivation {
  readonly description: Description;
  /** In the order of the rule book. */
  readonly changes: readonly Change[];
  /** Called with each change that made a parameter differ. */
  readonly onChanged: (change: string) => void;
}

/** The operation with the query parameters of V1: each query rule undone, the last one first. */
export function withQueryOfV1(
  operation: JsonObject,
  { description, changes, onChanged }: QueryDerivation,
): JsonObject {
  const rules = changes
    .flatMap(({ id, query = [] }) => query.map((rule) => ({ change: id, rule })))
    .toReversed();
  if (rules.length === 0) return operation;
  const { parameters } = operation;
  const before: readonly unknown[] = Array.isArray(parameters) ? parameters : [];
  let after = before;
  for (const { change, rule } of rules) {
    const edited = editParameters(after, change, rule, description);
    if (edited === after) continue;
    onChanged(change);
    after = edited;
  }
  return after === before ? operation : { ...operation, parameters: after };
}

function editParameters(
  parameters: readonly unknown[],
  change: string,
  rule: QueryRule,
  description: Description,
): readonly unknown[] {
  const names = new Set(parameters.map((parameter) => queryName(followed(description, parameter))));
  if (rule.rule === 'strip') {
    const gone = rule.parameters.filter((name) => !names.has(name));
    if (gone.length === 0) return parameters;
    return [
      ...parameters,
      ...gone.map((name) => marked({ name, in: 'query', deprecated: true, schema: {} }, change)),
    ];
  }
  const affected = rule.rule === 'rename' ? rule.to : rule.parameter;
  if (!names.has(affected)) return parameters;
  return parameters.map((declared) => {
    const parameter = followed(description, declared);
    if (!isObject(parameter) || queryName(parameter) !== affected) return declared;
    if (rule.rule === 'rename') return marked({ ...parameter, name: rule.parameter }, change);
    return withValues(parameter, change, rule.values);
  });
}

function queryName(parameter: unknown): string | undefined {
  if (!isObject(parameter) || parameter['in'] !== 'query') return undefined;
  return typeof parameter['name'] === 'string' ? parameter['name'] : undefined;
}

/** The parameter with V1's values in its `enum`; values of a query are compared as text. */
function withValues(
  parameter: JsonObject,
  change: string,
  values: Extract<QueryRule, { rule: 'map' }>['values'],
): JsonObject {
  const { schema } = parameter;
  const listed: unknown = isObject(schema) ? schema['enum'] : undefined;
  if (!isObject(schema) || !Array.isArray(listed)) return parameter;
  const mapped = listed.flatMap((value: unknown) => {
    const old = values.filter(({ to }) => to.text === String(value)).map(({ from }) => scalarValue(from));
    return old.length === 0 ? [value] : old;
  });
  return marked({ ...parameter, schema: { ...schema, enum: mapped } }, change);
}

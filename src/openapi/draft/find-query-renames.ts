import type { Components } from '../components.ts';
import { type DescribedOperation, followed } from '../description.ts';
import type { ResolvedDescription } from './find-inverse.ts';
import { findRenames } from './find-renames.ts';
import { elementsOf, memberOf } from '../json-object.ts';
import type { MatchedOperation } from './match-operations.ts';
import type { ProposedChange, ProposedQueryRule } from './propose-changes.ts';
import { ANY_SHAPE, type MemberShape, type Shape, shapeOf } from '../shape.ts';

/** Finds query parameters that V2 calls otherwise; those that are merely gone are questions. */
export function findQueryRenames(
  named: readonly { readonly pair: MatchedOperation; readonly operation: { readonly id: string } }[],
  v1: ResolvedDescription,
  v2: ResolvedDescription,
): { readonly changes: readonly ProposedChange[]; readonly questions: readonly string[] } {
  const changes = new Map<string, { readonly on: string[]; readonly rule: ProposedQueryRule }>();
  const questions: string[] = [];
  for (const { pair, operation } of named) {
    const [old, young] = [queryShape(pair.v1, v1), queryShape(pair.v2, v2)];
    const { accepted } = findRenames(old, young, { nests: [], isRecorded: false });
    for (const { from, to, confidence, evidence } of accepted) {
      const key = JSON.stringify([from, to]);
      const change = changes.get(key) ?? { on: [], rule: { rename: from, to, confidence, evidence } };
      changes.set(key, change);
      change.on.push(operation.id);
    }
    for (const name of old.members.keys()) {
      if (young.members.has(name) || accepted.some(({ from }) => from === name)) continue;
      questions.push(`${operation.id}: V2 does not describe the query parameter ${name}.`);
    }
  }
  const proposed = [...changes.values()].map(({ on, rule }): ProposedChange => ({
    id: `${rule.to}-parameter`
      .replaceAll(/[^\w.-]|_/g, '-')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 60),
    summary: `The query parameter ${rule.rename} is called ${rule.to}.`,
    on,
    rules: [],
    query: [rule],
  }));
  return { changes: proposed, questions };
}

/** The query parameters of an operation as the members of an object. */
function queryShape(
  { operation, item }: DescribedOperation,
  { description, components }: ResolvedDescription,
): Shape {
  const declared = [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])];
  const members = declared.flatMap((one) => parameterIn(followed(description, one), components));
  return { ...ANY_SHAPE, members: new Map(members) };
}

function parameterIn(
  parameter: unknown,
  components: Components,
): readonly (readonly [string, MemberShape])[] {
  const name = memberOf(parameter, 'name');
  if (memberOf(parameter, 'in') !== 'query' || typeof name !== 'string') return [];
  const shape = shapeOf(memberOf(parameter, 'schema'), components);
  const text = memberOf(parameter, 'description');
  const described = typeof text === 'string' ? { ...shape, text } : shape;
  return [[name, { shape: described, required: memberOf(parameter, 'required') === true }]];
}

import { templateShape } from '../../rules/rule.ts';
import {
  type DescribedOperation,
  describedOperations,
  type Description,
  followed,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';

/** An operation in both versions. */
export interface MatchedOperation {
  readonly v1: DescribedOperation;
  readonly v2: DescribedOperation;
}

/** The operations that both versions describe, and sentences about those that only V1 does. */
export interface MatchedOperations {
  readonly matched: readonly MatchedOperation[];
  readonly questions: readonly string[];
}

/** Matches operations by method and path, whatever the names of path parameters. A rule book cannot change a path. */
export function matchOperations(v1: Description, v2: Description): MatchedOperations {
  const [old, young] = [describedOperations(v1, 'v1'), describedOperations(v2, 'v2')];
  const byShape = new Map(young.map((operation) => [shapeKey(operation), operation]));
  const matched: MatchedOperation[] = [];
  const questions: string[] = [];
  for (const operation of old) {
    const partner = byShape.get(shapeKey(operation));
    if (partner !== undefined) {
      matched.push({ v1: operation, v2: partner });
      continue;
    }
    const unread = unreadItems(v2).find(({ path }) => path.endsWith(operation.rest));
    if (unread !== undefined) {
      questions.push(`V2's ${unread.path} is ${unread.reference}, which could not be read or compared.`);
      continue;
    }
    const id = operation.operation['operationId'];
    const named = young.find((other) => id !== undefined && other.operation['operationId'] === id);
    const hint = named === undefined ? '' : ` ${named.method} ${named.rest} has the same operationId.`;
    questions.push(
      `V2 does not describe ${operation.method} ${operation.rest}, and no rule changes a path.${hint}`,
    );
  }
  const unread = unreadItems(v1).map(
    ({ path, reference }) => `V1's ${path} is ${reference}, which could not be read or compared.`,
  );
  return { matched, questions: [...questions, ...unread] };
}

/** The path items that are in another document, or nowhere. */
function unreadItems(
  description: Description,
): readonly { readonly path: string; readonly reference: string }[] {
  return Object.entries(objectIn(description, 'paths')).flatMap(([path, item]) => {
    const reference = memberOf(followed(description, item), '$ref');
    return typeof reference === 'string' ? [{ path, reference }] : [];
  });
}

function shapeKey(operation: DescribedOperation): string {
  const template = templateOf(operation);
  return `${operation.method} ${template === undefined ? operation.rest : templateShape(template)}`;
}

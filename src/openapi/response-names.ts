import type { Operation, OperationTable } from '../rules/rule-book.ts';
import { Components } from './components.ts';
import { type DescribedOperation, describedOperations, type Description, tableOf } from './description.ts';
import { successShape } from './draft/bodies.ts';
import { namesAnywhere } from './draft/places.ts';
import type { Shape } from './shape.ts';

interface Described {
  readonly operations: readonly DescribedOperation[];
  readonly table: OperationTable;
  readonly components: Components;
}

const known = new WeakMap<Description, Described>();

function describedIn(description: Description): Described {
  const found = known.get(description);
  if (found !== undefined) return found;
  const operations = describedOperations(description, 'v2');
  const made = { operations, table: tableOf(operations), components: new Components(description) };
  known.set(description, made);
  return made;
}

/**
 * The names of all members that V2's description has in the successful response to an operation of the rule book; undefined if it
 * describes none, or one that may have others.
 */
export function responseNames(
  description: Description,
  { method, template, to }: Operation,
): ReadonlySet<string> | undefined {
  const { operations, table, components } = describedIn(description);
  const id = table.match(to?.method ?? method, to?.template ?? template)?.id;
  const operation = id === undefined ? undefined : operations[Number(id)];
  const shape = operation && successShape(operation, components);
  return shape === undefined || shape.members.size + (shape.element?.members.size ?? 0) === 0 || isOpen(shape)
    ? undefined
    : namesAnywhere(shape);
}

/** Whether a value may have members that the description does not name. */
function isOpen(shape: Shape, seen = new Set<Shape>()): boolean {
  if (seen.has(shape)) return false;
  seen.add(shape);
  return (
    shape.rest !== undefined ||
    shape.further !== '' ||
    shape.unread.length > 0 ||
    (shape.element !== undefined && isOpen(shape.element, seen)) ||
    [...shape.members.values()].some((member) => isOpen(member.shape, seen))
  );
}

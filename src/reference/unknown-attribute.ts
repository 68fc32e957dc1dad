import type { Edition } from './edition.ts';
import { isOfAddress, nestsAddress, spelledName } from './spelling.ts';
import type { ResourceKind } from './store.ts';

/** The sentence about an attribute that an edition does not have; V2 names its replacement where V1 has that attribute. */
export function unknownAttribute(
  { name, spelling }: Edition,
  kind: ResourceKind,
  path: readonly PropertyKey[],
  key: string,
): string {
  const isTop = path.length === 0;
  if (isTop && name === 'v2' && key === 'data')
    return 'The body is flat: send the members of data at the top level.';
  const spelled = spelledName(spelling, kind, key);
  if (isTop && spelled !== key) return `${key} is called ${spelled}.`;
  if (path.length === 1 && path[0] === 'property' && nestsAddress(spelling, kind) && isOfAddress(key)) {
    return `${key} belongs in the address object of the property.`;
  }
  return `${key} is not a known attribute.`;
}

import type { ShownHeader } from '../../rewrite-log/capture/mask-headers.ts';
import type { HeaderView } from '../api.ts';

/** Marks, in each of two lists, the fields that the other lacks or has with another value. */
export function compareHeaders(
  before: readonly ShownHeader[],
  after: readonly ShownHeader[] | undefined,
): { readonly before: readonly HeaderView[]; readonly after: readonly HeaderView[] } {
  if (after === undefined) return { before, after: [] };
  return {
    before: before.map((header) =>
      marked(header, valuesOf(after, header.name).length === 0 ? 'removed' : undefined),
    ),
    after: after.map((header) => {
      const values = valuesOf(before, header.name);
      if (values.length === 0) return marked(header, 'added');
      return marked(header, values.includes(header.value) ? undefined : 'changed');
    }),
  };
}

function valuesOf(headers: readonly ShownHeader[], name: string): readonly string[] {
  const lower = name.toLowerCase();
  return headers.filter((header) => header.name.toLowerCase() === lower).map((header) => header.value);
}

function marked({ name, value, masked }: ShownHeader, change: HeaderView['change']): HeaderView {
  return change === undefined ? { name, value, masked } : { name, value, masked, change };
}

import * as z from 'zod';
import type { Resource } from './resources.ts';
import type { Schemas } from './schemas.ts';

/**
 * The `components.schemas` of the description: for each resource `Client`, as responses contain it, and `ClientAttributes`, as
 * requests send it; and the envelopes `PageMeta` and `Errors`.
 */
export function componentSchemas(resources: readonly Resource[], schemas: Schemas): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const { kind, schema } of resources) {
    const attributes = schemas[kind];
    registry.add(attributes, { id: `${schema}Attributes` });
    registry.add(z.object({ id: z.int().positive(), ...attributes.shape }), { id: schema });
  }
  registry.add(pageMeta, { id: 'PageMeta' });
  registry.add(errors, { id: 'Errors' });
  const generated = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(generated.schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [
      name,
      schema,
    ]),
  );
}

const count = z.int().nonnegative();
const pageMeta = z.object({ page: count, per_page: count, total: count, total_pages: count });
const source = z.union([z.object({ pointer: z.string() }), z.object({ parameter: z.string() })]);
const errors = z.object({
  errors: z
    .array(z.object({ status: z.string(), title: z.string(), detail: z.string(), source: source.optional() }))
    .min(1),
  meta: z.object({ reset: count.describe('Seconds to wait.') }).optional(),
});

import * as z from 'zod';
import type { Resource } from './resources.ts';
import type { Schemas } from './schemas.ts';

/**
 * The `components.schemas` of the description: for each resource `ClientAttributes`, as requests send it, and `Client`, as
 * responses contain it; and the envelopes `PageMeta`, `Errors` and, where the edition has them, `Deprecations`. Objects inside a
 * resource are written out, so that each schema belongs to one resource, and editions differ only where resources do.
 */
export function componentSchemas(
  resources: readonly Resource[],
  schemas: Schemas,
  hasDeprecations: boolean,
): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const { kind, schema } of resources) {
    const attributes = schemas[kind];
    registry.add(attributes, { id: `${schema}Attributes` });
    registry.add(z.object({ id: z.int().positive(), ...attributes.shape }), { id: schema });
  }
  registry.add(pageMeta, { id: 'PageMeta' });
  registry.add(errors, { id: 'Errors' });
  if (hasDeprecations) registry.add(deprecations, { id: 'Deprecations' });
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
const deprecations = z
  .array(z.object({ attribute: z.string(), message: z.string() }))
  .describe('The deprecated attributes that the request used; absent when it used none.');

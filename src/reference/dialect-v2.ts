import type { Dialect } from './dialect.ts';
import { createSchemas, SPELLING_OF_V2, type UnknownAttributes } from './schemas.ts';
import { acceptAttributes } from './validation.ts';

/** V2: flat bodies, stored unchanged. */
export function createV2(unknown: UnknownAttributes): Dialect {
  const schemas = createSchemas(unknown, SPELLING_OF_V2);
  return {
    name: 'v2',
    prefix: '/api/v2',
    wrapper: undefined,
    dated: true,
    schemas,
    accept: (kind, body) => ({ attributes: acceptAttributes(schemas[kind], body), deprecations: [] }),
    present: (_kind, attributes) => attributes,
  };
}

import * as z from 'zod';
import { readDuration, readInstant } from './instant.ts';
import { isReleaseDate } from './release-date.ts';
import { strict } from './strict.ts';

const instant = z.string().refine((text) => readInstant(text) !== undefined, {
  error: ({ input }) =>
    readInstant(`${String(input)}Z`) === undefined
      ? 'must be a day or a time, such as 2026-12-31 or 2026-12-31T09:00:00Z'
      : 'has no time zone; add Z for UTC, or an offset such as +10:00',
});

const duration = z
  .string()
  .refine((text) => readDuration(text) !== undefined, 'must be a time, such as 500ms, 30s, 5m or 1h');

const percent = z.number().gt(0).max(100);

const clients = z
  .array(z.string())
  .min(1)
  .exactOptional()
  .describe('Names from clients, or client hashes as the log has them; every client when absent.');

const scope = {
  clients,
  except: z.array(z.string()).min(1).exactOptional().describe('Clients that are left out.'),
  operations: z
    .array(z.string())
    .min(1)
    .exactOptional()
    .describe('Operation ids; every V1 request when absent.'),
};

const address = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^\s<>"]+$/.test(text) && URL.canParse(text),
    'must be an http or https address',
  )
  .exactOptional();

const mode = z.union(
  [z.enum(['migrate', 'observe', 'shadow']), strict({ canary: percent.describe('Percent of clients.') })],
  { error: 'migrate, observe, shadow or { canary: 10 }' },
);

/** The part of a rule book that controls the rollout, as people write it. */
export const rolloutSource = {
  clients: z
    .record(
      z.string().min(1),
      z.string().regex(/^[0-9a-f]{16}$/, 'must be the 16 hex digits that the log has for the client'),
    )
    .exactOptional()
    .describe('Names for clients, for use in the rest of the rule book.'),
  deprecation: z
    .union([instant, strict({ since: instant, attributes: z.boolean().exactOptional() })], {
      error: 'a day or a time, or a mapping with since',
    })
    .exactOptional()
    .describe(
      'The date from which V1 is deprecated; V1 responses carry it, with the deprecated attributes that a request used.',
    ),
  sunset: z
    .union(
      [instant, strict({ at: instant, after: z.enum(['serve', 'gone']), clients, except: scope.except })],
      { error: 'a day or a time, or a mapping with at and after' },
    )
    .exactOptional()
    .describe(
      'The date on which V1 ends; V1 responses carry it. With after: gone, V1 requests get 410 from then on.',
    ),
  links: strict({ deprecation: address, sunset: address, 'successor-version': address })
    .exactOptional()
    .describe('Pages about the end of V1; V1 responses carry them as Link.'),
  brownouts: z
    .array(
      strict({
        id: z.string().regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a name'),
        from: instant.exactOptional(),
        until: instant.exactOptional(),
        share: percent.exactOptional().describe('Percent of the requests; all when absent.'),
        status: z.union([z.literal(410), z.literal(503)], { error: '410 or 503' }).exactOptional(),
        message: z.string().min(1).exactOptional().describe('Message for the client.'),
        ...scope,
      }),
    )
    .exactOptional()
    .describe('Time windows in which V1 requests are refused on purpose.'),
  modes: z
    .union(
      [
        mode,
        strict({
          default: mode.exactOptional(),
          operations: z.record(z.string(), mode).exactOptional(),
          clients: z.record(z.string(), mode).exactOptional(),
          rollback: strict({
            window: duration.exactOptional(),
            margin: percent.exactOptional(),
            requests: z.int().min(1).exactOptional(),
          }).exactOptional(),
        }),
      ],
      {
        error:
          'migrate, observe, shadow, { canary: 10 }, or a mapping with default, operations, clients and rollback',
      },
    )
    .exactOptional()
    .describe(
      'The mode of V1 traffic: migrate, observe, shadow or a canary. All but migrate need --v1-upstream.',
    ),
  pins: z
    .array(
      strict({
        version: z.string().refine(isReleaseDate, 'must be a real day, not before 2025-01-01'),
        ...scope,
      }),
    )
    .exactOptional()
    .describe('Other dated releases of V2 for some clients or operations.'),
  shield: strict({
    requests: z.int().min(1),
    per: duration.exactOptional(),
    wait: duration.exactOptional(),
    queue: z.int().min(1).exactOptional(),
  })
    .exactOptional()
    .describe("Delays V1 requests of a client that exceed the service's rate limit."),
};

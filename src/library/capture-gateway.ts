// The package's main entry, `capture-gateway`.
import { readRuleBook as read, type RuleBookReading } from '../rules/read-rule-book.ts';

export { createMigration, type BodyLike, type Migration, type MigrationOptions } from './migration.ts';
export type {
  HeaderFields,
  HeadersLike,
  MigratedRequest,
  MigratedRequestHead,
  PassedRequest,
  RefusedRequest,
  RequestVerdict,
  ResponseVerdict,
  RewrittenRequest,
  RewrittenResponseVerdict,
  UnchangedRequest,
  UnchangedResponseVerdict,
} from './verdicts.ts';
export type {
  TransformContext,
  TransformedRequest,
  TransformedResponse,
  TransformModule,
} from '../migrate/transform.ts';
export type {
  CollectedRequest,
  CollectedResponse,
  ForwardedResponse,
  RequestBodyFacts,
  RequestOfResponse,
  StartedRequest,
  StartedResponse,
} from './migration.ts';

/**
 * Reads a rule book from YAML 1.2 or JSON; `file` is its name in the faults. Reports all faults at once. Only the first call loads YAML and
 * zod. Never rejects, for any text.
 */
export async function readRuleBook(text: string, file = 'rules.yaml'): Promise<RuleBookReading> {
  return read(text, file);
}

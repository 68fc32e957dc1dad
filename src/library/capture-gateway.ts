// The package's main entry, `capture-gateway`.
export { createMigration, type BodyLike, type Migration, type MigrationOptions } from './migration.ts';
export { readRuleBook } from './read-rule-book.ts';
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

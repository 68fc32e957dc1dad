// The package's main entry, `capture-gateway`.
export { createMigration, type BodyLike, type Migration, type MigrationOptions } from './migration.ts';
export { readRuleBook } from './read-rule-book.ts';
export type { HeaderFields, HeadersLike } from './header-fields.ts';
export type {
  MigratedRequest,
  MigratedRequestHead,
  PassedRequest,
  RefusedRequest,
  RequestVerdict,
  RewrittenRequest,
  UnchangedRequest,
} from './request-verdict.ts';
export type {
  ResponseVerdict,
  RewrittenResponseVerdict,
  UnchangedResponseVerdict,
} from './response-verdict.ts';
export type { CollectedRequest, RequestBodyFacts, StartedRequest } from './started-request.ts';
export type { CollectedResponse, ForwardedResponse, StartedResponse } from './started-response.ts';
export type { RequestOfResponse } from './v1-response.ts';

import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { JsonDocument } from '../../json/document.ts';
import { formatOf, type MigrateDecision } from '../../migrate/decision.ts';
import { failure } from '../../migrate/failure.ts';
import {
  queryOf,
  type TransformJob,
  transformRecords,
  type TransformResult,
  transformsStatus,
  withQuery,
} from '../../migrate/transform.ts';
import { isTransformed, type RuleBook } from '../../rules/rule-book.ts';
import type { Body } from '../exchange.ts';
import type { UpstreamReceiver } from '../upstream.ts';
import { MigrateExchange } from './migrate-exchange.ts';
import { ResponseCollector } from './response.ts';

/**
 * Migrates a request of an operation with a `transform`: after the rules for the request, and before those for the response, its module
 * makes other values. Where that fails, nothing is sent on: the client gets 502 `transform-failed`, and the log says what happened.
 */
export class TransformExchange extends MigrateExchange {
  /** The status that the module gave the response. */
  private newStatus: number | undefined = undefined;

  /** True where the rule book names a module for the operation. */
  static isFor({ operation }: MigrateDecision, { modules }: RuleBook): boolean {
    return modules !== undefined && operation?.transform !== undefined;
  }

  protected override forward(body: Body, isRewritten = false, decoded?: Uint8Array): void {
    const { decision, rules } = this;
    if (!isTransformed(rules.ruleBook, decision.operation, 'request')) {
      super.forward(body, isRewritten);
      return;
    }
    const isRead = decision.body.action === 'rewrite' && formatOf(decision.body) === 'json';
    const query = queryOf(decision.v2Target);
    const message = { query, status: undefined, body: isRead ? decoded : undefined };
    this.transform('request', message, (result) => {
      const records = transformRecords(result, query);
      if (records.length > 0) {
        this.entry.edits = [...this.entry.edits, ...records];
        this.entry.verdict = 'rewritten';
      }
      if (result.patch.length > 0 && this.entry.editsOmitted === undefined)
        this.entry.patch = [...(this.entry.patch ?? []), ...this.madePatch(result.patch)];
      this.decision = { ...decision, v2Target: withQuery(decision.v2Target, result.query) };
      super.forward(result.body ?? body, isRewritten || result.body !== undefined);
    });
  }

  // The response.

  protected override receiver(): UpstreamReceiver {
    if (!this.transformsResponses || this.received.exchange.method === 'HEAD') return super.receiver();
    return new ResponseCollector(this);
  }

  override planResponse(status: number, headers: HeaderList): ReturnType<MigrateExchange['planResponse']> {
    if (!this.transformsStatus(status)) return super.planResponse(status, headers);
    this.noteResponseTime();
    const planned = this.planRewrite(status, headers);
    // A module may choose the status.
    if (planned?.texts === undefined || planned.isGuess === true)
      return planned && { ...planned, texts: undefined, holdsHead: true };
    // A module makes one value of another: several texts, which may never end, are none.
    this.noteResponse('response-media-type');
    return undefined;
  }

  override responsePieces(
    ...[status, emit]: Parameters<MigrateExchange['responsePieces']>
  ): ReturnType<MigrateExchange['responsePieces']> {
    return this.transformsStatus(status) ? undefined : super.responsePieces(status, emit);
  }

  override rewriteSmallResponse(
    status: number,
    body: Uint8Array,
  ): ReturnType<MigrateExchange['rewriteSmallResponse']> {
    return this.transformsStatus(status) ? undefined : super.rewriteSmallResponse(status, body);
  }

  override rewriteResponse(...[status, body, done]: Parameters<MigrateExchange['rewriteResponse']>): void {
    if (!this.transformsStatus(status) || body.length === 0) {
      super.rewriteResponse(status, body, done);
      return;
    }
    if (!(JsonDocument.read(body, this.rules.ruleBook.limits.depth) instanceof JsonDocument)) {
      done({ verdict: 'unchanged', body, note: 'response-malformed' }, body);
      return;
    }
    const query = this.decision.target.query.slice(1);
    this.transform('response', { query, status, body }, (result) => {
      this.newStatus = result.status;
      const made = result.body;
      super.rewriteResponse(status, made ?? body, (outcome, original) => {
        if (made === undefined) {
          done(outcome, original);
          return;
        }
        const [record] = transformRecords(result, undefined);
        const records = [
          ...(record === undefined ? [] : [record]),
          ...('records' in outcome ? outcome.records : []),
        ];
        const patch = [...this.madePatch(result.patch), ...('patch' in outcome ? outcome.patch : [])];
        const omitted = 'omitted' in outcome ? outcome.omitted : 0;
        done(
          { verdict: 'rewritten', body: outcome.body, records, omitted, patch: omitted > 0 ? [] : patch },
          body,
        );
      });
    });
  }

  override head(head: ResponseHead): void {
    const { newStatus } = this;
    super.head(newStatus === undefined ? head : { ...head, status: newStatus, reason: undefined });
  }

  private get transformsResponses(): boolean {
    return isTransformed(this.rules.ruleBook, this.decision.operation, 'response');
  }

  private transformsStatus(status: number): boolean {
    return transformsStatus(this.rules.ruleBook, this.decision.operation, status);
  }

  private transform(
    direction: TransformJob['direction'],
    message: Pick<TransformJob, 'query' | 'status' | 'body'>,
    done: (result: TransformResult) => void,
  ): void {
    this.callTransform(direction, message, (outcome) => {
      if (this.isOver) return;
      if ('why' in outcome) this.failTransform(outcome.why);
      else done(outcome);
    });
  }

  /** True once the client has gone, or got a response. */
  private get isOver(): boolean {
    return this.isSettled || this.received.exchange.isGone === true;
  }

  private failTransform(why: string): void {
    this.abort();
    this.entry.cause = why;
    this.refuse(failure('transform-failed'));
  }
}

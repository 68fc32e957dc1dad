import { type Coding, readCoding } from '../http/content-coding.ts';
import { type HeaderList, headerValue, headerValues } from '../http/header-list.ts';
import { isHost } from '../http/host.ts';
import { readJsonType } from '../http/media-type.ts';
import type { Target } from '../http/target.ts';
import type { AnswerRewrite } from '../rewrite/answer-rewrite.ts';
import { isWrapped } from '../rewrite/deprecated-attributes.ts';
import type { ResponsePlan } from '../rewrite/response-plan.ts';
import type { Operation } from '../rules/rule-book.ts';
import { AnswerCollector, type AnswerNote, type AnswerOwner } from './answer-collector.ts';
import type { AnswerRules } from './answer-rules.ts';
import type { Arrival } from './arrival.ts';
import { Crossing } from './crossing.ts';
import type { Decoded, Gateway } from './gateway.ts';
import type { Retired } from './retirement.ts';
import type { Sender } from './scope.ts';
import { turnBack } from './turn-back.ts';
import type { UpstreamReceiver } from './upstream.ts';

/** A V1 exchange: its answer is one that a V1 client can read (rewriting contract §4). */
export class V1Crossing extends Crossing implements AnswerOwner {
  protected readonly target: Target;
  protected readonly operation: Operation | undefined;
  protected readonly sender: Sender | undefined;
  private readonly answerRules: AnswerRules;
  private readonly answerPlan: ResponsePlan;

  /** `sender` is known where the rule book has something for some clients only. */
  constructor(gateway: Gateway, arrival: Arrival, target: Target, sender?: Sender) {
    super(gateway, arrival, 'migrate');
    this.target = target;
    this.sender = sender;
    this.operation = this.inForce.match(arrival.exchange.method, target.rest);
    this.facts.operation = this.operation?.id;
    this.answerRules = gateway.answerRules.of(this.inForce.ruleBook);
    this.answerPlan = this.answerRules.plans.of(this.operation, arrival.exchange.method);
  }

  /** Refuses the request because V1 comes to its end. */
  retire({ failure, note }: Retired): void {
    this.facts.note = note;
    this.refuse(failure);
  }

  // The answer.

  get answerLimit(): number {
    return this.inForce.ruleBook.limits.response;
  }

  planAnswer(status: number, headers: HeaderList): { readonly coding: Coding | undefined } | undefined {
    this.noteAnswered();
    const deprecated = this.answerRules.deprecated.of(this.facts.edits);
    if (!this.answerPlan.appliesTo(status, deprecated.length > 0)) return undefined;
    if (readJsonType(headerValue(headers, 'content-type')) !== 'json') return undefined;
    const encoding = headerValues(headers, 'content-encoding');
    const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
    if (coding === 'unsupported') return this.unread('answer-undecodable');
    if (status === 206 || headerValue(headers, 'content-range') !== undefined)
      return this.unread('answer-partial');
    if (Number(headerValue(headers, 'content-length')) > this.answerLimit)
      return this.unread('answer-too-large');
    return { coding };
  }

  takeAnswer(bytes: number): boolean {
    if (!this.gateway.budget.take(bytes)) return false;
    this.taken += bytes;
    return true;
  }

  decodeAnswer(coding: Coding, body: Uint8Array, done: (outcome: Decoded) => void): void {
    this.gateway.parts.decode(coding, body, this.answerLimit, (outcome) => this.attempt(() => done(outcome)));
  }

  rewriteAnswer(status: number, body: Uint8Array): AnswerRewrite {
    const { edits } = this.facts;
    const deprecated = this.answerRules.deprecated.of(edits);
    const outcome = this.answerPlan.rewrite(body, { status, deprecated, isWrapped: isWrapped(edits) });
    if (outcome.verdict === 'rewritten') this.facts.answerEdits = outcome.records;
    return outcome;
  }

  noteAnswer(note: AnswerNote): void {
    this.facts.answerNote = note;
  }

  observeAnswer(body: Uint8Array): void {
    this.observed?.v2Body(body);
  }

  protected override receiver(): UpstreamReceiver {
    if (this.answerPlan.isEmpty || this.arrival.exchange.method === 'HEAD') return this;
    return new AnswerCollector(this);
  }

  protected override answerHeaders(_status: number, headers: string[]): string[] {
    const { parts } = this.gateway;
    turnBack(headers, {
      upstreamHost: parts.originHost,
      upstreamPath: parts.originPath,
      gateway: gatewayAddress(this.arrival),
    });
    this.signal(headers);
    return headers;
  }

  protected override signal(headers: string[]): void {
    const { signals, deprecated } = this.answerRules;
    signals?.addTo(headers, deprecated.of(this.facts.edits));
  }

  private unread(note: AnswerNote): undefined {
    this.noteAnswer(note);
    return undefined;
  }
}

/** The gateway as the client addressed it; what a trusted proxy says of that stands above what its connection shows. */
function gatewayAddress({ exchange, head }: Arrival): string | undefined {
  const host = headerValue(head.crossing, 'x-forwarded-host') ?? head.host;
  if (host === undefined || !isHost(host)) return undefined;
  const told = headerValue(head.crossing, 'x-forwarded-proto')?.toLowerCase();
  const scheme = told === 'http' || told === 'https' ? told : exchange.secure ? 'https' : 'http';
  return `${scheme}://${host}`;
}

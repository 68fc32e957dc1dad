import { type HeaderList, setField } from '../http/header-list.ts';
import { ALL_CODINGS, readCoding, readJsonType } from '../http/content.ts';
import { BODY_KINDS, kindOfName } from '../http/fields.ts';
import { undecoded, type WebhookDecision } from '../migrate/decision.ts';
import { bufferFull, failure } from '../migrate/failure.ts';
import { deliveryContext } from '../rewrite/loadable-rule-book.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { gatewayFailure } from './failures.ts';
import {
  isSignedBy,
  readSignedHead,
  type ReadSecret,
  signatureBy,
  type SignedHead,
  WEBHOOK_FIELDS,
  WebhookKeys,
  webhookSecretFaults,
} from '../migrate/webhook-signature.ts';
import {
  gatewayAddress,
  type GatewayContext,
  type OriginParts,
  type Webhooks,
  type ReceivedRequest,
} from './gateway-context.ts';
import { ForwardedRequest } from './forwarded-request.ts';
import { type Mode, PLAIN, ProxiedExchange } from './proxied-exchange.ts';
import type { Origin } from './resilience.ts';

/** Opens the connection to a subscriber, by scheme, host and port. */
export type OpenSubscriber = (origin: string) => OriginParts;

/** The webhooks of a gateway: the secrets for their signatures, and the subscribers, each with its own circuit. */
export class SignedWebhooks implements Webhooks {
  readonly keys: WebhookKeys;
  private readonly open: OpenSubscriber;
  private readonly subscribers = new Map<string, Origin>();

  constructor(secret: ReadSecret, open: OpenSubscriber) {
    this.keys = new WebhookKeys(secret);
    this.open = open;
  }

  /** Why deliveries cannot be signed or checked, as sentences. */
  static faultsOf(book: RuleBook, secret: ReadSecret): readonly string[] {
    return webhookSecretFaults(book, secret);
  }

  deliver(gateway: GatewayContext, received: ReceivedRequest, decision: WebhookDecision): void {
    const mode: Mode = {
      ...PLAIN,
      request: (exchange) => new Delivery(exchange, decision, this).start(),
    };
    const exchange = new ProxiedExchange(gateway, received, 'webhook', mode);
    exchange.entry.verdict = 'unchanged';
    exchange.begin(received.refusal);
  }

  /** The subscriber at a scheme, host and port. */
  subscriber(gateway: GatewayContext, origin: string): Origin {
    const known = this.subscribers.get(origin);
    if (known !== undefined) return known;
    const made = gateway.originOf('webhook', this.open(origin), new URL(origin).host);
    this.subscribers.set(origin, made);
    return made;
  }
}

/**
 * Delivers a webhook of V2 to a subscriber that was built for V1: checks the signature, applies the response rules to the body, signs it
 * anew and sends it once. The subscriber's response goes back to V2, which retries itself: the gateway stores nothing.
 */
class Delivery {
  private readonly exchange: ProxiedExchange;
  private readonly decision: WebhookDecision;
  private readonly webhooks: SignedWebhooks;

  constructor(exchange: ProxiedExchange, decision: WebhookDecision, webhooks: SignedWebhooks) {
    this.exchange = exchange;
    this.decision = decision;
    this.webhooks = webhooks;
  }

  start(): void {
    const { exchange, decision } = this;
    if (exchange.received.exchange.method === 'POST')
      exchange.collect(decision.bodyLimit, (body) => this.check(body));
    else exchange.refuse(gatewayFailure('only-post', undefined, ['Allow', 'POST']));
  }

  private check(body: Uint8Array): void {
    const { received, gateway } = this.exchange;
    const head = readSignedHead(received.exchange.headers, gateway.parts.time());
    if ('fault' in head) {
      this.refuseSignature(head.fault);
      return;
    }
    const { verify } = this.decision.webhook.sign;
    this.compute(
      body,
      async () => isSignedBy(await this.webhooks.keys.of(verify), head, body),
      (isSigned) => {
        if (isSigned) this.decode(head, body);
        else this.refuseSignature("The delivery has no signature by any of this webhook's secrets.");
      },
    );
  }

  private refuseSignature(why: string): void {
    this.exchange.refuse(gatewayFailure('bad-signature', why, ['WWW-Authenticate', 'StandardWebhooks']));
  }

  /** Reads the body as JSON if rules apply to it. */
  private decode(head: SignedHead, body: Uint8Array): void {
    const { decision, exchange } = this;
    const { rules, entry, gateway, received, memory } = exchange;
    const { operation, bodyLimit } = decision;
    const { contentType, contentEncoding } = received.head;
    const isRuled =
      operation !== undefined && rules.responsePlan(operation, operation.method).appliesTo(200, false);
    if (!isRuled || body.length === 0) {
      this.send(head, body, false);
      return;
    }
    if (readJsonType(contentType) !== 'json') {
      entry.note = 'media-type';
      this.send(head, body, false);
      return;
    }
    const coding = readCoding(contentEncoding);
    const { codings = ALL_CODINGS } = gateway.options;
    if (coding === undefined) {
      this.rewrite(head, body, body);
      return;
    }
    if (coding === 'unsupported' || !codings.includes(coding)) {
      exchange.refuse(failure('unsupported-coding', undefined, ['Accept-Encoding', codings.join(', ')]));
      return;
    }
    memory.work((room, finish) =>
      gateway.parts.decode(coding, body, bodyLimit, room, (decoded) =>
        finish(() => {
          // The decoder may still be working on the body in its thread.
          if (typeof decoded === 'string') memory.abandon();
          if (exchange.isSettled) return;
          if (typeof decoded === 'string') exchange.refuse(undecoded(decoded, bodyLimit));
          else this.rewrite(head, decoded, body);
        }),
      ),
    );
  }

  /** Applies the rules to a decoded body; `original` is V2's. */
  private rewrite(head: SignedHead, decoded: Uint8Array, original: Uint8Array): void {
    const { exchange, decision } = this;
    const { rules, entry, gateway, received, memory, recorder } = exchange;
    const { operation, webhook } = decision;
    if (operation === undefined) return;
    const { method } = operation;
    const { now } = gateway.parts;
    const before = now();
    const address = webhook.gateway ?? gatewayAddress(received, gateway.trustedProxies);
    const context = deliveryContext(rules, operation, gateway.v2, address);
    memory.work((room, finish) => {
      const failed = (error: unknown): void => finish(() => exchange.failInternally(error));
      gateway.rewriter.response(
        { rules, operation, method, body: decoded, context, memory: room, failed },
        (outcome, read) =>
          finish(() => {
            // From another thread.
            if (read !== decoded) memory.own(read);
            if (exchange.isSettled) return;
            entry.rewriteMs = now() - before;
            recorder?.recordRequestBody(read);
            if (outcome.verdict === 'unchanged') {
              entry.responseNote = outcome.note;
              this.send(head, decoded === original ? read : original, false);
              return;
            }
            const { records, patch, omitted } = outcome;
            entry.verdict = 'rewritten';
            if (records.length > 0) entry.responseEdits = records;
            if (patch.length > 0) entry.responsePatch = patch;
            if (omitted > 0) entry.responseEditsOmitted = omitted;
            this.send(head, outcome.body, true);
          }),
      );
    }, 1);
  }

  /** Signs the body for the subscriber and sends it with V2's id and time, so that a repeated delivery can be recognised. */
  private send(head: SignedHead, body: Uint8Array, isRewritten: boolean): void {
    const { exchange, webhooks } = this;
    const { gateway, received } = exchange;
    const { to, sign } = this.decision.webhook;
    this.compute(
      body,
      async () => signatureBy(await webhooks.keys.of(sign.with), head, body),
      (signature) => {
        const { origin, pathname, search } = new URL(to);
        const target = pathname + search;
        const fields = signedFields(received.head.forwardedHeaders, { ...head, signature }, isRewritten);
        exchange.origin = webhooks.subscriber(gateway, origin);
        exchange.upstreamTarget = target;
        exchange.send(new ForwardedRequest(gateway, received, fields, target, body));
      },
    );
  }

  /** Runs work with a copy of the body, within the budget; its callback is skipped once V2 has a response or has disconnected. */
  private compute<Result>(
    body: Uint8Array,
    start: () => Promise<Result>,
    done: (result: Result) => void,
  ): void {
    const { exchange } = this;
    exchange.memory.work(({ take }, finish) => {
      if (!take(body.length)) {
        finish(() => exchange.refuse(bufferFull()));
        return;
      }
      start().then(
        (result) =>
          finish(() => {
            if (!exchange.isSettled) done(result);
          }),
        (error: unknown) => finish(() => exchange.failInternally(error)),
      );
    }, 1);
  }
}

/** The fields of a delivery for the subscriber, without those that describe V2's body if it was changed. */
function signedFields(
  received: HeaderList,
  signed: Pick<SignedHead, 'id' | 'timestamp'> & { readonly signature: string },
  isRewritten: boolean,
): { readonly forwardedHeaders: HeaderList; readonly forwardedLines: undefined } {
  const forwardedHeaders = received.filter((_, at) => {
    const name = received[at - (at % 2)] ?? '';
    return !(isRewritten && BODY_KINDS.has(kindOfName(name)));
  });
  // Including those that the sender's Connection lists, and that are removed for it.
  for (const part of ['id', 'timestamp', 'signature'] as const)
    setField(forwardedHeaders, WEBHOOK_FIELDS[part], signed[part]);
  return { forwardedHeaders, forwardedLines: undefined };
}

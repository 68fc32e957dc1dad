import { type HeaderList, setField } from '../http/header-list.ts';
import { ALL_CODINGS, readCoding, readJsonType } from '../http/content.ts';
import { BODY_KINDS, kindOfName } from '../http/fields.ts';
import { bodyTooLarge, undecoded, type WebhookDecision } from '../migrate/decision.ts';
import { bufferFull, failure } from '../migrate/failure.ts';
import { gatewayFailure } from './failures.ts';
import {
  isSignedBy,
  readSignedHead,
  type ReadSecret,
  signatureBy,
  type SignedHead,
  WEBHOOK_FIELDS,
  WebhookKeys,
} from '../migrate/webhook-signature.ts';
import {
  gatewayAddress,
  type GatewayContext,
  type OriginParts,
  type Webhooks,
  type ReceivedRequest,
} from './gateway-context.ts';
import { ForwardedRequest } from './forwarded-request.ts';
import { ProxiedExchange } from './proxied-exchange.ts';
import type { Origin } from './resilience.ts';

/** The way to a subscriber, by scheme, host and port. */
export type OpenSubscriber = (origin: string) => OriginParts;

/** The webhooks of a gateway: the secrets for their signatures, and the subscribers, each with a circuit of its own. */
export class SignedWebhooks implements Webhooks {
  readonly keys: WebhookKeys;
  private readonly open: OpenSubscriber;
  private readonly subscribers = new Map<string, Origin>();

  constructor(secret: ReadSecret, open: OpenSubscriber) {
    this.keys = new WebhookKeys(secret);
    this.open = open;
  }

  deliver(gateway: GatewayContext, received: ReceivedRequest, decision: WebhookDecision): void {
    const exchange = new WebhookExchange(gateway, received, decision, this);
    if (received.refusal === undefined) exchange.guarded(() => exchange.start());
    else exchange.refuse(received.refusal);
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
 * anew and sends it once. The subscriber's response goes back to V2, which has its own retries: nothing is kept here.
 */
class WebhookExchange extends ProxiedExchange {
  private readonly decision: WebhookDecision;
  private readonly webhooks: SignedWebhooks;

  constructor(
    gateway: GatewayContext,
    received: ReceivedRequest,
    decision: WebhookDecision,
    webhooks: SignedWebhooks,
  ) {
    super(gateway, received, 'webhook');
    this.decision = decision;
    this.webhooks = webhooks;
    this.entry.verdict = 'unchanged';
  }

  start(): void {
    const { exchange } = this.received;
    if (exchange.method !== 'POST') {
      this.refuse(gatewayFailure('only-post', undefined, ['Allow', 'POST']));
      return;
    }
    if (exchange.hasBody) exchange.collect(this.memory);
    else this.onWholeBody(NOTHING);
  }

  override acceptChunk(bytes: number): boolean {
    const { bodyLimit } = this.decision;
    if (this.received.exchange.bytesIn > bodyLimit) {
      this.refuse(bodyTooLarge(bodyLimit));
      return false;
    }
    if (this.reserve(bytes)) return true;
    this.refuse(bufferFull());
    return false;
  }

  override onWholeBody(body: Uint8Array): void {
    const head = readSignedHead(this.received.exchange.headers, this.gateway.parts.time());
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
    this.refuse(gatewayFailure('bad-signature', why, ['WWW-Authenticate', 'StandardWebhooks']));
  }

  /** Reads the body as JSON, where rules apply to it. */
  private decode(head: SignedHead, body: Uint8Array): void {
    const { decision, rules } = this;
    const { operation, bodyLimit } = decision;
    const { contentType, contentEncoding } = this.received.head;
    const isRuled =
      operation !== undefined && rules.responsePlan(operation, operation.method).appliesTo(200, false);
    if (!isRuled || body.length === 0) {
      this.deliver(head, body, false);
      return;
    }
    if (readJsonType(contentType) !== 'json') {
      this.entry.note = 'media-type';
      this.deliver(head, body, false);
      return;
    }
    const coding = readCoding(contentEncoding);
    const { codings = ALL_CODINGS } = this.gateway.options;
    if (coding === undefined) {
      this.rewrite(head, body, body);
      return;
    }
    if (coding === 'unsupported' || !codings.includes(coding)) {
      this.refuse(failure('unsupported-coding', undefined, ['Accept-Encoding', codings.join(', ')]));
      return;
    }
    this.work((memory, finish) =>
      this.gateway.parts.decode(coding, body, bodyLimit, memory, (decoded) =>
        finish(() => {
          // The decoder may still be at work on the body in its thread.
          if (typeof decoded === 'string') this.memory.abandon();
          if (this.isSettled) return;
          if (typeof decoded === 'string') this.refuse(undecoded(decoded, bodyLimit));
          else this.rewrite(head, decoded, body);
        }),
      ),
    );
  }

  /** Applies the rules to a decoded body; `original` is the one that V2 sent. */
  private rewrite(head: SignedHead, decoded: Uint8Array, original: Uint8Array): void {
    const { rules, entry } = this;
    const { operation } = this.decision;
    if (operation === undefined) return;
    const { method } = operation;
    const { now } = this.gateway.parts;
    const before = now();
    const gateway =
      this.decision.webhook.gateway ?? gatewayAddress(this.received, this.gateway.trustedProxies);
    const context = rules.deliveryContext(operation, this.gateway.v2, gateway);
    this.work((memory, finish) => {
      const failed = (error: unknown): void => finish(() => this.failInternally(error));
      this.gateway.rewriter.response(
        { rules, operation, method, body: decoded, context, memory, failed },
        (outcome, read) =>
          finish(() => {
            // From another thread.
            if (read !== decoded) this.memory.own(read);
            if (this.isSettled) return;
            entry.rewriteMs = now() - before;
            this.recorder?.recordRequestBody(read);
            if (outcome.verdict === 'unchanged') {
              entry.responseNote = outcome.note;
              this.deliver(head, decoded === original ? read : original, false);
              return;
            }
            const { records, patch, omitted } = outcome;
            entry.verdict = 'rewritten';
            if (records.length > 0) entry.responseEdits = records;
            if (patch.length > 0) entry.responsePatch = patch;
            if (omitted > 0) entry.responseEditsOmitted = omitted;
            this.deliver(head, outcome.body, true);
          }),
      );
    }, 1);
  }

  /** Signs the body for the subscriber and sends it: with V2's id and time, so that a repeated delivery is known as one. */
  private deliver(head: SignedHead, body: Uint8Array, isRewritten: boolean): void {
    const { gateway, received, webhooks } = this;
    const { to, sign } = this.decision.webhook;
    this.compute(
      body,
      async () => signatureBy(await webhooks.keys.of(sign.with), head, body),
      (signature) => {
        const { origin, pathname, search } = new URL(to);
        this.origin = webhooks.subscriber(gateway, origin);
        this.upstreamTarget = pathname + search;
        const fields = signedFields(received.head.forwardedHeaders, { ...head, signature }, isRewritten);
        this.send(new ForwardedRequest(gateway, received, fields, this.upstreamTarget, body));
      },
    );
  }

  /** Runs work with a copy of the body, which the budget has room for; what follows is skipped once V2 is answered or gone. */
  private compute<Result>(
    body: Uint8Array,
    start: () => Promise<Result>,
    done: (result: Result) => void,
  ): void {
    this.work(({ take }, finish) => {
      if (!take(body.length)) {
        finish(() => this.refuse(bufferFull()));
        return;
      }
      start().then(
        (result) =>
          finish(() => {
            if (!this.isSettled) done(result);
          }),
        (error: unknown) => finish(() => this.failInternally(error)),
      );
    }, 1);
  }
}

const NOTHING = new Uint8Array();

/** The fields of a delivery for the subscriber; those that describe V2's body are left out where it is another one. */
function signedFields(
  received: HeaderList,
  signed: Pick<SignedHead, 'id' | 'timestamp'> & { readonly signature: string },
  isRewritten: boolean,
): { readonly forwardedHeaders: HeaderList; readonly forwardedLines: undefined } {
  const forwardedHeaders = received.filter((_, at) => {
    const name = received[at - (at % 2)] ?? '';
    return !(isRewritten && BODY_KINDS.has(kindOfName(name)));
  });
  // Also those that a Connection of the sender named, and that are left out for it.
  for (const part of ['id', 'timestamp', 'signature'] as const)
    setField(forwardedHeaders, WEBHOOK_FIELDS[part], signed[part]);
  return { forwardedHeaders, forwardedLines: undefined };
}

import { FieldNames } from '../http/header-list.ts';
import { Prefixes } from '../http/target.ts';
import { ReleaseMedia } from '../rules/release-place.ts';
import {
  mayHaveRules,
  isRewritten,
  isTransformed,
  type Operation,
  OperationTable,
  type RuleBook,
  type Webhook,
  WEBHOOK_PATH,
} from '../rules/rule-book.ts';
import {
  type BodyFormat,
  boundaryOf,
  isForm,
  isOfTexts,
  methodsWithout,
  type StreamedFormat,
} from '../http/content.ts';
import { unlimitedMemory, type WorkMemory } from '../json/tape.ts';
import { ClientKeys } from './client-key.ts';
import type { FormPlans } from './form.ts';
import {
  compileHeaderPlans,
  type HeaderPlan,
  type HeaderPlans,
  type Secrets,
  secretsOf,
} from './header-plan.ts';
import { type BodyLinks, linkTurner } from './links.ts';
import type { JsonPatchPlans } from './json-patch.ts';
import { Moves } from './moves.ts';
import type { MultipartRules, MultipartStream } from './multipart.ts';
import { compilePlans, type Plans } from './plan.ts';
import { compileQueryPlans, type QueryPlan, type QueryPlans } from './query-plan.ts';
import { deprecatedInV1, type EditRecord, isWrapped, type Rewrite } from './records.ts';
import { compileResponsePlans, type ResponsePlan, type ResponsePlans } from './response-plan.ts';
import type { ResponseContext } from './response-rules.ts';
import { RequestTexts, rewriteWhole, type StreamRules } from './text-stream.ts';

/** The rules of one operation for request bodies of one format, compiled. */
export interface RequestPlan {
  /** See `Plan.rewrite`. */
  rewrite(body: Uint8Array, memory?: WorkMemory): Rewrite;
  /** True if no rule applies to any body. */
  readonly isEmpty: boolean;
}

/** The plans for request bodies that are forms or patches. */
export interface FormatPlans {
  readonly forms: FormPlans;
  readonly patches: JsonPatchPlans;
  readonly multipart: (rules: MultipartRules, keepsEdits: boolean) => MultipartStream;
}

/**
 * A rule book with its compiled parts: the matching of operations and the plans of both directions, each compiled on first use. An
 * exchange uses the same rule book from start to end. The plans for forms and patches are set from outside, so that an isolate at the
 * edge loads their code only for the first such body.
 */
export class LoadableRuleBook {
  readonly ruleBook: RuleBook;
  /** Set before a request with a form or a patch is served. */
  formats: FormatPlans | undefined = undefined;
  /** The operations that moved; undefined if there are none. */
  readonly moves: Moves | undefined;
  /** The webhooks by the path that V2 posts to; undefined if there are none. */
  readonly webhooks: ReadonlyMap<string, Webhook> | undefined;
  /** The prefixes of both versions. */
  readonly prefixes: Prefixes;
  /** The service's own response fields that contain an address; undefined if there are none. */
  readonly linkFields: FieldNames | undefined;
  /** The media types that name V2's release; undefined if the release is named elsewhere. */
  readonly releaseMedia: ReleaseMedia | undefined;
  /** True if V2's responses have their own media types, or depend on the field with the release. */
  readonly namesTypes: boolean;
  private readonly operations: OperationTable;
  private readonly requestPlans: Plans;
  private readonly queryPlans: QueryPlans;
  private readonly headerPlans: HeaderPlans;
  /** The names of credentials in the book; undefined if there are none. */
  readonly secrets: Secrets | undefined;
  /** The places of clients' keys; undefined for Authorization in both versions. */
  readonly clientKeys: ClientKeys | undefined;
  /** Ids of the operations that a change with request rules names, or whose requests a module transforms. */
  private readonly ruled: Set<string>;
  private readonly rulesEvery: boolean;
  private readonly responsePlans: ResponsePlans;

  constructor(ruleBook: RuleBook) {
    this.ruleBook = ruleBook;
    this.moves = ruleBook.operations.some(({ to }) => to !== undefined)
      ? new Moves(ruleBook.operations)
      : undefined;
    this.webhooks =
      ruleBook.webhooks &&
      new Map(
        Object.entries(ruleBook.webhooks).map(([name, webhook]) => [`${WEBHOOK_PATH}/${name}`, webhook]),
      );
    this.prefixes = new Prefixes(ruleBook.from, ruleBook.to, ruleBook.alsoFrom);
    const { linkFields } = ruleBook;
    this.linkFields = linkFields && new FieldNames(linkFields.map((name) => name.toLowerCase()));
    const accept = ruleBook.version === undefined ? undefined : ruleBook.versionField?.accept;
    this.releaseMedia = accept === undefined ? undefined : new ReleaseMedia(accept);
    const isInField = ruleBook.version !== undefined && ruleBook.versionField?.query === undefined;
    this.namesTypes =
      this.releaseMedia !== undefined ||
      ruleBook.errors?.as !== undefined ||
      (isInField && this.prefixes.isShared);
    this.operations = new OperationTable(ruleBook.operations);
    this.requestPlans = compilePlans(ruleBook);
    this.queryPlans = compileQueryPlans(ruleBook);
    this.headerPlans = compileHeaderPlans(ruleBook);
    this.secrets = secretsOf(ruleBook);
    this.clientKeys = ruleBook.client && new ClientKeys(ruleBook.client, ruleBook);
    this.ruled = new Set(
      ruleBook.changes.flatMap(({ on, request }) => (on === 'every' || request.length === 0 ? [] : on)),
    );
    for (const operation of ruleBook.operations)
      if (isTransformed(ruleBook, operation, 'request')) this.ruled.add(operation.id);
    this.rulesEvery = ruleBook.changes.some(({ on, request }) => on === 'every' && request.length > 0);
    this.responsePlans = compileResponsePlans(
      ruleBook,
      ruleBook.followsBodyLinks ? (links) => linkTurner(links, this) : undefined,
    );
  }

  /** The query parameter that names V2's release; undefined if the release is named elsewhere. */
  get releaseParameter(): string | undefined {
    const { version, versionField } = this.ruleBook;
    return version === undefined ? undefined : versionField?.query;
  }

  /** Returns the operation for a method, a raw path below V1's prefix and a raw query; undefined if the rule book has none. */
  match(method: string, path: string, query?: string): Operation | undefined {
    return this.operations.match(method, path, query);
  }

  /** True if request rules apply to the bodies of such requests: POST, PATCH, and any method of an operation that has request rules. */
  rewritesBodies(operation: Operation | undefined, method: string): boolean {
    if (isRewritten(method)) return true;
    return mayHaveRules(method) && operation !== undefined && this.ruled.has(operation.id);
  }

  /**
   * The methods that a form must not name, because their rules differ from those for `method` at the same path: a browser's form can only
   * name them in a field, which the gateway reads after it has chosen the rules. This also holds for a form that no rule reads.
   */
  methodsElsewhere(operation: Operation | undefined, method: string, path: string): readonly string[] {
    const isRead = !this.requestPlans.of(operation).isEmpty;
    return FORM_METHODS.filter((named) => {
      if (named === method) return false;
      const meant = this.match(named, path);
      if (meant !== undefined || !isRead) return meant !== operation && meant !== undefined;
      return (
        operation !== undefined ||
        this.rewritesBodies(undefined, named) !== this.rewritesBodies(undefined, method)
      );
    });
  }

  /** True if the body of such a request reaches V2 unread: the gateway reads that of a PUT or DELETE only if a rule names its operation. */
  leavesBody(method: string): boolean {
    return !isRewritten(method) && this.rulesEvery;
  }

  /** True if the rules of an operation create a body for a request without one. */
  makesBodies(operation: Operation | undefined): boolean {
    return this.requestPlans.of(operation).makesBodies;
  }

  /** Returns the plan for the queries of such requests; undefined when no query rule applies to them. */
  queryPlan(operation: Operation | undefined, method: string): QueryPlan | undefined {
    return this.queryPlans.of(operation, method);
  }

  /** Returns the plan for the header fields of such requests and their responses; undefined when no header rule applies to them. */
  headerPlan(operation: Operation | undefined): HeaderPlan | undefined {
    return this.headerPlans.of(operation);
  }

  /**
   * Returns the plan for whole request bodies in a format; `undefined` is for requests without an operation in the rule book. `limit` is
   * the maximum size of one text, or of all fields, in formats that can also be rewritten while they arrive.
   */
  requestPlan(
    operation: Operation | undefined,
    format: BodyFormat = 'json',
    limit = this.ruleBook.limits.body,
  ): RequestPlan {
    if (format === 'json') return this.requestPlans.of(operation);
    if (isForm(format)) return this.formatPlans.forms.of(operation, methodsWithout(format));
    if (format === 'json-patch') return this.formatPlans.patches.of(operation);
    if (format === 'merge-patch') return this.formatPlans.patches.of(operation).merge;
    const { isEmpty } = this.requestPlans.of(operation);
    return {
      isEmpty,
      rewrite: (body, { take } = unlimitedMemory) => {
        const rewriteText = (text: Uint8Array, plan: RequestPlan): Rewrite => plan.rewrite(text, { take });
        const rules = { limit, hold: take };
        return rewriteWhole(this.requestStream(operation, format, rules, rewriteText, true), body);
      },
    };
  }

  /**
   * Returns the stream that rewrites such a request body while it arrives; see {@link requestPlan}. `keepsEdits` keeps all edits, for a
   * body that is already complete.
   */
  requestStream(
    operation: Operation | undefined,
    format: StreamedFormat,
    rules: Omit<StreamRules<Rewrite>, 'rewrite'>,
    rewriteText: (text: Uint8Array, plan: RequestPlan) => Rewrite,
    keepsEdits = false,
  ): RequestTexts | MultipartStream {
    const plan = this.requestPlans.of(operation);
    const rewrite = (text: Uint8Array): Rewrite => rewriteText(text, plan);
    if (isOfTexts(format)) return new RequestTexts(format, { ...rules, rewrite }, keepsEdits);
    const { forms, multipart } = this.formatPlans;
    const fields = forms.of(operation, methodsWithout(format));
    const boundary = boundaryOf(format);
    return multipart({ ...rules, boundary, forms: fields, rewriteJson: rewrite }, keepsEdits);
  }

  private get formatPlans(): FormatPlans {
    if (this.formats === undefined) throw new Error('no formats');
    return this.formats;
  }

  /** Returns the plan for response bodies; `undefined` is for requests without an operation in the rule book. */
  responsePlan(operation: Operation | undefined, method: string): ResponsePlan {
    return this.responsePlans.of(operation, method);
  }

  /** Returns the data that the plan for a response depends on: its status, and the edits of its request. */
  responseContext(status: number, edits: readonly EditRecord[], links?: BodyLinks): ResponseContext {
    const context = { status, deprecated: deprecatedInV1(edits), isWrapped: isWrapped(edits) };
    return links === undefined ? context : { ...context, links };
  }
}

/** Methods that frameworks accept from the field `_method` of a form: browsers send forms with GET and POST only. */
const FORM_METHODS: readonly string[] = ['PUT', 'PATCH', 'DELETE'];

/** The context of a webhook from V2, whose links lead to V1 at `gateway` if the rule book follows body links. */
export function deliveryContext(
  rules: LoadableRuleBook,
  operation: Operation,
  { hosts, path }: { readonly hosts: readonly string[]; readonly path: string },
  gateway: string | undefined,
): ResponseContext {
  if (!rules.ruleBook.followsBodyLinks) return rules.responseContext(200, []);
  const { v1, v2 } = rules.prefixes;
  const places = { upstreamHosts: hosts, upstreamPath: path, prefix: v2, clientPrefix: v1, gateway };
  return rules.responseContext(200, [], {
    request: { method: 'POST', rest: WEBHOOK_PATH, operation },
    places,
  });
}

import type { CorsOrigins } from '../rules/rule-book.ts';
import { type HeaderList, headerValues, isNamed } from '../http/header-list.ts';
import { namesIn } from '../migrate/preflight.ts';

/** Maximum origins to remember; beyond that, the oldest one is forgotten. */
const MAX_ORIGINS = 1000;

/** Maximum number of methods, and of names of fields, that are remembered for an origin. */
const MAX_NAMES = 200;

/**
 * Fields of the gateway's own responses that scripts must be able to read (browsers hide unlisted fields: Fetch,
 * `Access-Control-Expose-Headers`).
 */
const OWN_FIELDS = ['Deprecation', 'Sunset', 'Link', 'Retry-After', 'x-gateway-error'] as const;

/** Methods that need no permission (Fetch, CORS-safelisted method). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** The permissions of a service for the pages of one origin. */
interface Permission {
  /** `*`, or the origin itself. */
  readonly allowOrigin: string;
  readonly hasCredentials: boolean;
  readonly exposed: readonly string[];
  readonly methods: ReadonlySet<string>;
  /** Names of fields in lower case. */
  readonly fields: ReadonlySet<string>;
  /** True if an operator declared it: it covers any method and field. */
  readonly isDeclared?: boolean;
  /** Seconds for which browsers may cache the response to a preflight, as the service wrote them. */
  maxAge: string | undefined;
  /** The service allows public pages to reach a private network (Private Network Access). */
  isPrivateNetwork: boolean;
}

interface LearntPermission extends Permission {
  readonly methods: Set<string>;
  readonly fields: Set<string>;
}

/** A preflight: the method and the fields of the request that a browser wants to send. */
export interface PreflightQuestion {
  readonly method: string;
  /** In the form of `Access-Control-Request-Headers`. */
  readonly fields: string;
}

/**
 * The permissions of the services for pages of other origins (Fetch, "CORS protocol"), learnt from their responses. A browser hides a
 * response without these fields from its page, which would report "network error" instead of the gateway's message. The gateway itself
 * permits only what an operator declares.
 */
export class CrossOrigin {
  private readonly permissions = new Map<string, Permission>();
  /** The permission for all origins, from the last service that responded with `*`. */
  private ofAll: Permission | undefined;

  /** Learns from the response of a service to a request from `origin`; `question` is the question of a preflight. */
  learn(origin: string, status: number, headers: HeaderList, question: PreflightQuestion | undefined): void {
    const allowed = headerValues(headers, 'access-control-allow-origin').join(',').trim();
    if (allowed !== origin && allowed !== '*') {
      // The error of a proxy in front of the service says nothing about the service's permissions.
      if (status < 300) this.permissions.delete(origin);
      return;
    }
    const known = this.permissions.get(origin);
    const credentials = headerValues(headers, 'access-control-allow-credentials').join(',').trim();
    const exposed = namesOf(headers, 'access-control-expose-headers');
    const permission: LearntPermission = {
      maxAge: undefined,
      isPrivateNetwork: false,
      ...known,
      methods: new Set(known?.methods),
      fields: new Set(known?.fields),
      allowOrigin: allowed,
      hasCredentials: credentials === 'true',
      // The response to a preflight exposes nothing, and another server of the service may expose less.
      exposed: exposed.length === 0 ? (known?.exposed ?? []) : exposed,
    };
    if (question !== undefined && status < 300) learnPreflight(permission, headers, question);
    if (known === undefined && this.permissions.size >= MAX_ORIGINS) {
      const [oldest = ''] = this.permissions.keys();
      this.permissions.delete(oldest);
    }
    this.permissions.set(origin, permission);
    if (allowed === '*') this.ofAll = permission;
  }

  /** Returns the fields that let pages of `origin` read one of the gateway's own responses. */
  fieldsFor(origin: string, declared?: CorsOrigins): readonly string[] {
    const permission = this.of(origin, declared);
    // Tells caches that pages of other origins get other fields.
    if (permission === undefined) return VARY;
    return [
      ...originFields(permission),
      'Access-Control-Expose-Headers',
      [...new Set([...permission.exposed, ...OWN_FIELDS])].join(', '),
      ...VARY,
    ];
  }

  /** Returns the fields of the response to a preflight; undefined if no service has allowed what it asks for. */
  preflightFields(
    origin: string,
    { method, fields }: PreflightQuestion,
    declared?: CorsOrigins,
  ): readonly string[] | undefined {
    const permission = this.of(origin, declared);
    if (permission === undefined) return undefined;
    const { methods, fields: allowed, maxAge, hasCredentials, isPrivateNetwork } = permission;
    const names = namesIn(fields).map((name) => name.toLowerCase());
    // With credentials, an asterisk is an ordinary name, and it never covers `Authorization` (Fetch, CORS-preflight fetch).
    const isAny = !hasCredentials && allowed.has('*');
    const isMethod = SAFE_METHODS.has(method) || methods.has(method) || (!hasCredentials && methods.has('*'));
    const areFields = names.every((name) => allowed.has(name) || (isAny && name !== 'authorization'));
    if (permission.isDeclared !== true && !(isMethod && areFields)) return undefined;
    return [
      ...originFields(permission),
      'Access-Control-Allow-Methods',
      method,
      ...(names.length === 0 ? [] : ['Access-Control-Allow-Headers', names.join(', ')]),
      ...(maxAge === undefined ? [] : ['Access-Control-Max-Age', maxAge]),
      ...(isPrivateNetwork ? ['Access-Control-Allow-Private-Network', 'true'] : []),
      'Vary',
      'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    ];
  }

  /** The permission of an origin: the one that a service gave it, else the rule book's, else the one that a service gave to all origins. */
  private of(origin: string, declared: CorsOrigins | undefined): Permission | undefined {
    return this.permissions.get(origin) ?? declaredPermission(origin, declared) ?? this.ofAll;
  }
}

/** The permission that the rule book declares for an origin. It lets a page read the gateway's own responses. */
function declaredPermission(origin: string, declared: CorsOrigins | undefined): Permission | undefined {
  if (declared === undefined) return undefined;
  const isNamed = declared.origins.includes(origin);
  if (!isNamed && !declared.origins.includes('*')) return undefined;
  return {
    allowOrigin: isNamed ? origin : '*',
    hasCredentials: declared.credentials,
    exposed: [],
    methods: NONE,
    fields: NONE,
    isDeclared: true,
    // Browsers must ask again once the service is back.
    maxAge: '0',
    isPrivateNetwork: false,
  };
}

const NONE: ReadonlySet<string> = new Set();

const VARY = ['Vary', 'Origin'] as const;

function originFields({ allowOrigin, hasCredentials }: Permission): readonly string[] {
  return [
    'Access-Control-Allow-Origin',
    allowOrigin,
    ...(hasCredentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
  ];
}

/**
 * Learns from the response to a preflight. Many services list only the method and fields in question, so permissions accumulate; a name
 * in the question that the response does not list is forgotten.
 */
function learnPreflight(
  permission: LearntPermission,
  headers: HeaderList,
  question: PreflightQuestion,
): void {
  const methods = namesOf(headers, 'access-control-allow-methods');
  const fields = namesOf(headers, 'access-control-allow-headers').map((name) => name.toLowerCase());
  renew(permission.methods, methods, [question.method]);
  renew(
    permission.fields,
    fields,
    namesIn(question.fields).map((name) => name.toLowerCase()),
  );
  const [maxAge] = headerValues(headers, 'access-control-max-age');
  permission.maxAge = maxAge !== undefined && /^\d{1,9}$/.test(maxAge) ? maxAge : undefined;
  permission.isPrivateNetwork = headers.some(
    (name, at) =>
      at % 2 === 0 && isNamed(name, 'access-control-allow-private-network') && headers[at + 1] === 'true',
  );
}

function renew(known: Set<string>, allowed: readonly string[], asked: readonly string[]): void {
  for (const name of asked) known.delete(name);
  for (const name of allowed) if (known.size < MAX_NAMES) known.add(name);
}

function namesOf(headers: HeaderList, field: string): readonly string[] {
  return namesIn(headerValues(headers, field).join(','));
}

/** True for a response that pages of another origin can read. */
export function isShared(headers: HeaderList): boolean {
  return headers.some((name, at) => at % 2 === 0 && isNamed(name, 'access-control-allow-origin'));
}

import type { HeaderList } from '../http/header-list.ts';
import { fragmentOf, pointerSteps } from '../json/pointer.ts';
import type { Refusal } from '../rewrite/records.ts';
import {
  isPlaceholder,
  type RefusalForm,
  type RefusalPlaceholder,
  type RefusalTemplate,
  splitPlaceholders,
} from '../rules/refusal-form.ts';

/** The position of a failure in a body: byte offset from 0, line and column from 1. */
export interface FailurePosition {
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

/** The contents of a failure response. */
export interface FailureFacts {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly pointer?: string | undefined;
  readonly position?: FailurePosition | undefined;
  /** What is wrong at the position, in a few words. */
  readonly reason?: string | undefined;
  /** Header fields in addition to those of every failure, such as `Retry-After`. */
  readonly headers?: HeaderList;
  /** Seconds to wait; the envelope of a 429 has them in `meta.reset`. */
  readonly reset?: number | undefined;
}

/** A response that the gateway generates itself, in the error envelope of the service. */
export class Failure implements FailureFacts {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly pointer: string | undefined;
  readonly position: FailurePosition | undefined;
  readonly reason: string | undefined;
  readonly headers: HeaderList;
  readonly reset: number | undefined;

  constructor(facts: FailureFacts) {
    this.code = facts.code;
    this.status = facts.status;
    this.title = facts.title;
    this.detail = facts.detail;
    this.pointer = facts.pointer;
    this.position = facts.position;
    this.reason = facts.reason;
    this.headers = facts.headers ?? [];
    this.reset = facts.reset;
  }

  /**
   * The body of the response in a form of a rule book; undefined is the service's own form. `requestId` is that of the log. Without a
   * pointer its member is left out, and so is an object that would be empty.
   */
  content(form: RefusalForm | undefined, requestId: string | undefined): FailureContent {
    if (form === undefined) return { type: 'application/json', body: this.envelope() };
    if (form === 'problem') return { type: 'application/problem+json', body: this.problem() };
    if (form === 'rails') return { type: 'application/json', body: this.rails() };
    return { type: form.type, body: this.filled(form, requestId) };
  }

  /** RFC 9457, with the extension of its §3 for several errors. */
  private problem(): string {
    const { status, title, detail, pointer } = this;
    return JSON.stringify({
      type: 'about:blank',
      title,
      status,
      detail,
      ...(pointer === undefined ? {} : { errors: [{ detail, pointer: fragmentOf(pointer) }] }),
    });
  }

  /** As Rails writes the errors of a model: those without an attribute are its `base`. */
  private rails(): string {
    const { detail, pointer } = this;
    return JSON.stringify({ errors: { [fieldOf(pointer) ?? 'base']: [detail] } });
  }

  private filled({ body }: RefusalTemplate, requestId: string | undefined): string {
    const { status, code, title, detail, pointer } = this;
    const values: PlaceholderValues = {
      status,
      'status-text': String(status),
      code,
      title,
      detail,
      pointer,
      field: fieldOf(pointer),
      id: requestId,
    };
    return JSON.stringify(filledTemplate(body, values) ?? null);
  }

  /** The body of the response, in the service's own format; `code` distinguishes it from a response of V2. */
  private envelope(): string {
    const { status, title, detail, code, pointer, position, reason, reset } = this;
    return JSON.stringify({
      errors: [
        {
          status: String(status),
          title,
          detail,
          code,
          ...(pointer === undefined ? {} : { source: { pointer } }),
          ...(position === undefined ? {} : { meta: { ...position, reason } }),
        },
      ],
      ...(reset === undefined ? {} : { meta: { reset } }),
    });
  }
}

/** A body and its media type. */
export interface FailureContent {
  readonly type: string;
  readonly body: string;
}

type PlaceholderValues = Readonly<Record<RefusalPlaceholder, string | number | undefined>>;

/** A value of a template with its placeholders filled in; undefined if it is a placeholder without a value. */
function filledTemplate(template: unknown, values: PlaceholderValues): unknown {
  if (typeof template === 'string') {
    const parts = splitPlaceholders(template);
    const [before, name = '', after] = parts;
    if (parts.length === 3 && before === '' && after === '' && isPlaceholder(name)) return values[name];
    return filledText(parts, values);
  }
  if (Array.isArray(template))
    return template
      .map((element) => filledTemplate(element, values))
      .filter((element) => element !== undefined);
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).flatMap(([name, value]) => {
      const filled = filledTemplate(value, values);
      return filled === undefined ? [] : [[filledText(splitPlaceholders(name), values), filled]];
    }),
  );
}

function filledText(parts: readonly string[], values: PlaceholderValues): string {
  return parts
    .map((part, at) => (at % 2 === 1 && isPlaceholder(part) ? String(values[part] ?? '') : part))
    .join('');
}

/** A pointer in the notation of Rails and others: `items[0].name`; undefined without one, and for the whole body. */
function fieldOf(pointer: string | undefined): string | undefined {
  if (pointer === undefined || pointer === '') return undefined;
  return pointerSteps(pointer).reduce(
    (name, step) => (/^\d+$/.test(step) ? `${name}[${step}]` : name === '' ? step : `${name}.${step}`),
    '',
  );
}

/** Creates the failure for a code; `detail` replaces the default sentence with one about this case. */
export function failure(code: FailureCode, detail?: string, headers: HeaderList = []): Failure {
  return failureIn(code, FAILURES[code], detail, headers);
}

/** A status, a title, and the default sentence. */
export type FailureRow = readonly [status: number, title: string, sentence: string];

/** Creates the failure for a code of the table. */
export function failureIn(
  code: string,
  [status, title, sentence]: FailureRow,
  detail: string | undefined,
  headers: HeaderList,
): Failure {
  return new Failure({ code, status, title, detail: detail ?? sentence, headers });
}

/** Creates the failure for a refused body, with code, status and text of the refusal. */
export function failureOf(refusal: Refusal): Failure {
  if (refusal.code === 'buffer-full') return bufferFull();
  return new Failure({ ...refusal, title: TITLES[refusal.status] ?? 'Request refused' });
}

/** Creates the failure when there is no memory left to rewrite a body. */
export function bufferFull(): Failure {
  return failure('buffer-full', undefined, ['Retry-After', '1']);
}

/** The code of a failure that does not concern the JSON of a body. */
export type FailureCode = keyof typeof FAILURES;

const FAILURES = {
  'bad-request': [400, 'Bad Request', 'The request is not valid HTTP.'],
  signed: [
    400,
    'Bad Request',
    'The request is signed, but the gateway has to change it, so its signature would not match.',
  ],
  'bad-target': [400, 'Bad Request', 'The request target is not valid.'],
  'bad-framing': [400, 'Bad Request', 'The body of the request is framed incorrectly.'],
  'malformed-form': [
    400,
    'Bad Request',
    'The Content-Type has no boundary, or two, or parameters without semicolons between them.',
  ],
  'digest-mismatch': [400, 'Bad Request', 'The body does not match its digest.'],
  'undecodable-body': [400, 'Bad Request', 'The body does not match its Content-Encoding.'],
  'not-found': [404, 'Not Found', 'The gateway serves nothing at this path.'],
  'operation-gone': [410, 'Gone', 'The service does not have this operation any more.'],
  'body-too-large': [413, 'Content Too Large', 'The body is too large for the gateway to rewrite.'],
  'unsupported-charset': [415, 'Unsupported Media Type', 'The body must be application/json in UTF-8.'],
  'unsupported-coding': [
    415,
    'Unsupported Media Type',
    'The Content-Encoding is not supported: Accept-Encoding lists those that are.',
  ],
  'ambiguous-media-type': [415, 'Unsupported Media Type', 'The body must be application/json in UTF-8.'],
  'expectation-failed': [417, 'Expectation Failed', 'The only supported expectation is 100-continue.'],
  'headers-too-large': [
    431,
    'Request Header Fields Too Large',
    'The header section of the request is too large.',
  ],
  'body-already-read': [
    500,
    'Internal error',
    'The service read the body before the migration, and kept no copy: run the migration first.',
  ],
  'not-implemented': [501, 'Not Implemented', 'The gateway does not support this request.'],
  'upgrade-refused': [501, 'Not Implemented', 'The service supports neither upgrades nor tunnels.'],
  'transform-failed': [
    502,
    'Bad Gateway',
    'The gateway could not convert the request, and sent the service nothing.',
  ],
  'lookup-failed': [
    502,
    'Bad Gateway',
    'The gateway could not get from the service all that the response needs.',
  ],
  'buffer-full': [503, 'Service Unavailable', 'The gateway has no memory left for rewriting.'],
  'loop-detected': [
    508,
    'Loop Detected',
    'The request has already passed through this gateway: its Via names it.',
  ],
  'unsupported-version': [
    505,
    'HTTP Version Not Supported',
    'HTTP/1.1, HTTP/1.0 and, over TLS, HTTP/2 are supported.',
  ],
} as const satisfies Record<string, FailureRow>;

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
};

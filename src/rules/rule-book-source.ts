import * as z from 'zod';
import { isJsonObject } from '../json/values.ts';
import type { Blocks, Book, Form, Declared, DeclaredBack, DeclaredNames } from './kinds/book.ts';
import type { ExplicitResponseRule, HeaderRule, QueryRule, RequestRule } from './kinds/kinds.ts';
import type { StatusPattern } from './kinds/kind.ts';
import { REFUSAL_PLACEHOLDERS } from './refusal-form.ts';
import { readDuration, readInstant } from './rollout.ts';
import { isZone } from './kinds/date-format.ts';
import { readPath } from './kinds/paths.ts';
import type { ValueChecks } from './value-checks.ts';

/** A mapping without unknown keys; the message for an unknown key lists the known ones. */
function strict<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : undefined),
  });
}

/** A key that may be absent, with its description for editors. */
function optional<Schema extends z.core.SomeType>(
  schema: Schema,
  description: string,
): z.ZodExactOptional<Schema> {
  return z.exactOptional(schema).describe(description);
}

/** A text in which `faultOf` finds no fault; its sentence becomes the message. */
function checked(faultOf: (text: string) => string | undefined): z.ZodString {
  return z.string().refine((text) => faultOf(text) === undefined, {
    error: ({ input }) => faultOf(String(input)),
  });
}

/** The syntax of a path in a rule book: names joined by dots; `\.` and `\\` are a dot and a backslash in a name. */
const PATH_PATTERN = /^(?:[^.\\]|\\[.\\])+(?:\.(?:[^.\\]|\\[.\\])+)*$/;

/** The syntax of one member name: a path of one name that is not `*`. */
const NAME_PATTERN = /^(?!\*$)(?:[^.\\]|\\[.\\])+$/;

/** True for an IANA time zone that the runtime knows: an offset has no daylight saving. */
function isZoneName(zone: string): boolean {
  return !/^[+-]/.test(zone) && isZone(zone);
}

const nameList = z.array(z.string()).min(1);

const instant = z.string().refine((text) => readInstant(text) !== undefined, {
  error: ({ input }) =>
    readInstant(`${String(input)}Z`) === undefined
      ? 'must be a day or a time, such as 2026-12-31 or 2026-12-31T09:00:00Z'
      : 'has no time zone; add Z for UTC, or an offset such as +10:00',
});

const duration = z
  .string()
  .refine((text) => readDuration(text) !== undefined, 'must be a time, such as 500ms, 30s, 5m or 1h');

const percent = z.number().gt(0).max(100);

const bytes = z.int().min(1).max(1_073_741_824);

const clients = optional(
  nameList,
  'Names from clients, or client hashes as in the log; every client when absent.',
);

const scope = {
  clients,
  except: optional(nameList, 'Clients to leave out.'),
  operations: optional(nameList, 'Operation ids; every V1 request when absent.'),
};

const address = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^\s<>"]+$/.test(text) && URL.canParse(text),
    'must be an http or https address',
  )
  .exactOptional();

const links = strict({ deprecation: address, sunset: address, 'successor-version': address }).exactOptional();

/** Settings that an operation or a change can override. */
const ownEnd = {
  deprecation: optional(
    instant,
    'The date from which it is deprecated, before V1 as a whole; its responses carry it.',
  ),
  links: links.describe('Pages about its end; its responses carry them as Link.'),
};

const mode = z.union(
  [
    z.enum(['migrate', 'observe', 'shadow']),
    strict({ canary: percent.describe('Percent of clients.') }),
    strict({ verify: percent.describe('Percent of the reads that the gateway also sends to V1.') }),
  ],
  { error: 'migrate, observe, shadow, { canary: 10 } or { verify: 5 }' },
);

/** The part of a rule book that controls the rollout, as people write it. */
const rolloutSource = {
  clients: optional(
    z.record(
      z.string().min(1),
      z.string().regex(/^[0-9a-f]{16}$/, "must be the client's 16 hex digits from the log"),
    ),
    'Names for clients, for use in the rest of the rule book.',
  ),
  deprecation: optional(
    z.union([instant, strict({ since: instant, attributes: z.boolean().exactOptional() })], {
      error: 'a day or a time, or a mapping with since',
    }),
    'The date from which V1 is deprecated; V1 responses carry it, with the deprecated attributes that a request used.',
  ),
  sunset: optional(
    z.union(
      [
        instant,
        strict({
          at: instant,
          after: z.enum(['serve', 'gone']),
          lead: optional(
            z.int().min(1).max(3650),
            'Minimum days from its announcement to the sunset, for plan and check; 90 when absent.',
          ),
          clients,
          except: scope.except,
        }),
      ],
      { error: 'a day or a time, or a mapping with at and after' },
    ),
    'The date on which V1 ends; V1 responses carry it. With after: gone, V1 requests get 410 from then on.',
  ),
  links: links.describe('Pages about the end of V1; V1 responses carry them as Link.'),
  newcomers: optional(
    strict({
      from: instant.describe(
        'The day from which newcomers are treated this way; before that, the gateway only counts their requests.',
      ),
      answer: optional(
        z.enum(['refuse', 'warn']),
        'refuse (403, when absent) or warn (served, with a Link to the guide, and counted).',
      ),
      except: optional(
        nameList,
        'Clients that are not newcomers, such as a rotated key; nor are those with a name under clients.',
      ),
      guide: address.describe(
        "A page for them, sent as Link; when absent, the client's own guide if self-service is on, or links.",
      ),
    }),
    'Treatment of clients that first use V1 after a day.',
  ),
  brownouts: optional(
    z.array(
      strict({
        id: z.string().regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a name'),
        from: instant.exactOptional(),
        until: instant.exactOptional(),
        share: optional(percent, 'Percent of the requests; all when absent.'),
        status: z.union([z.literal(410), z.literal(503)], { error: '410 or 503' }).exactOptional(),
        message: optional(z.string().min(1), 'Message for the client.'),
        ...scope,
      }),
    ),
    'Time windows in which the gateway deliberately refuses V1 requests.',
  ),
  modes: optional(
    z.union(
      [
        mode,
        strict({
          default: mode.exactOptional(),
          operations: z.record(z.string(), mode).exactOptional(),
          clients: z.record(z.string(), mode).exactOptional(),
          rollback: strict({
            window: duration.exactOptional(),
            margin: percent.exactOptional(),
            slower: z.union([z.number().gt(1), z.literal(false)]).exactOptional(),
            requests: z.int().min(1).exactOptional(),
            certainty: z.number().min(50).lt(100).exactOptional(),
            migrated: z.literal('observe').exactOptional(),
          }).exactOptional(),
        }),
      ],
      {
        error:
          'migrate, observe, shadow, { canary: 10 }, { verify: 5 }, or a mapping with default, operations, clients and rollback',
      },
    ),
    'The mode of V1 traffic: migrate, observe, shadow, a canary, or verify. All but migrate need --v1-upstream.',
  ),
  pins: optional(
    z.array(
      strict({
        version: z.string(),
        ...scope,
      }),
    ),
    'Other dated releases of V2 for some clients or operations.',
  ),
  shield: optional(
    strict({
      requests: z.int().min(1),
      per: duration.exactOptional(),
      wait: duration.exactOptional(),
      queue: z.int().min(1).exactOptional(),
    }),
    "Delays V1 requests of a client that exceed the service's rate limit.",
  ),
};

/** The message for a path with any depth in another place. */
const ANY_DEPTH =
  "has a **, which means any depth and must stand alone: write in: '**' and the name of a member";

const name = z
  .string()
  .regex(NAME_PATTERN, 'must be the name of one member; in a name, a dot is written \\. and a backslash \\\\')
  .refine((text) => text !== '**', ANY_DEPTH);

const anyPath = z
  .string()
  .regex(PATH_PATTERN, 'must be a path: names joined by dots, with * for any element of an array');

const path = anyPath.refine((text) => !readPath(text).includes('**'), ANY_DEPTH);

const memberPath = path
  .refine((text) => !/(?:^|[^\\]\.)\*$/.test(text), 'ends with *, an element; name a member of it')
  .describe('A path from the body to a member: names joined by dots, * for any element of an array.');

const inside = optional(
  anyPath.refine((text) => text === '**' || !readPath(text).includes('**'), ANY_DEPTH),
  'The path of the object with the member; ** means each object with it at any depth; when absent, the body itself.',
);

const insideOne = optional(path, 'The path of the object with the member; when absent, the body itself.');

/** No query can contain half of a surrogate pair. */
const wellFormed = z.string().refine((text) => text.isWellFormed(), 'has half of a surrogate pair');

const scalar = z.union(
  [
    wellFormed,
    z
      .number()
      .refine(
        (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
        'is too large to be read exactly',
      ),
    z.boolean(),
    z.null(),
  ],
  { error: 'a text, a number, true, false or null' },
);

/** A YAML value that JSON can write: any but infinities and NaN. */
const jsonValue = z.unknown().refine((value) => isJson(value), 'is not a JSON value; write a finite number');

function isJson(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isJson);
  return typeof value !== 'number' || Number.isFinite(value);
}

const text = z
  .string()
  .min(1)
  .refine((value) => value.isWellFormed(), 'has half of a surrogate pair');

const parameter = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must be a name without control characters')
  .describe('The decoded name of a query parameter.');

const oneStatus = z.union(
  [
    z
      .int()
      .min(200)
      .max(599)
      .refine((code) => code !== 204 && code !== 205 && code !== 304, 'has no body to rewrite'),
    z.enum(['2xx', '4xx', '5xx']),
  ],
  { error: 'a status such as 201, or 2xx, 4xx or 5xx' },
);

const status = optional(
  z.union([oneStatus, z.array(oneStatus).min(1)], { error: 'a status, or a list of them' }),
  'The statuses that the rule applies to.',
);

const inverse = z
  .literal('inverse')
  .describe(
    'Undoes the request rules of the change wherever a response contains the resource that they wrote.',
  );

const inverseWith = strict({
  inverse: z.literal(true),
  members: optional(
    z.union([z.literal('present'), z.null()], { error: 'present or null' }),
    "V1's form of members of a nest that V2 lacks: present omits them, null adds them as null.",
  ),
}).describe('The same as the word inverse.');

const assumed = optional(
  z.boolean(),
  'True if neither the specification nor the documentation shows this; check lists it.',
);

const parameterName = z
  .string()
  .regex(/^[A-Za-z_][\w-]*$/, 'must be the name of a parameter, without braces');

function methodAndPath(example: string): z.ZodString {
  return z
    .string()
    .regex(
      /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|QUERY) \S+$/,
      `must be a method and a path, such as "${example}"`,
    );
}

const match = methodAndPath('POST /clients').describe(
  "A method and a path template below V1's prefix, such as PATCH /properties/{id}; with a query, only requests that have it: GET /runs?project_id={id}.",
);

const stepped = {
  with: text.describe('The text between the parts.'),
  at: optional(
    z.enum(['first', 'last']),
    'Which separators split a value that has too many; last when absent.',
  ),
};

const parameterSteps = optional(
  z
    .array(
      z.union(
        [
          strict({ split: parameterName, to: z.array(parameterName).min(2), ...stepped }),
          strict({ map: z.record(z.string(), z.string()), of: parameterName }),
          strict({ prefix: parameterName, with: text }),
          strict({ unprefix: parameterName, with: text }),
        ],
        {
          error:
            'a step, such as { split: name, with: /, to: [project, repo] } or { map: { a: b }, of: kind }',
        },
      ),
    )
    .min(1),
  'How parameters of match are converted for to: split, map, prefix and unprefix; links are converted back.',
);

const destination = optional(
  methodAndPath('POST /invoices'),
  "Method, path below V2's prefix and query of a moved operation, with the parameters of match: GET /lines?invoice={id}.",
);

const statusMap = optional(
  z.record(
    z.string().regex(/^[2-5]\d\d$/, 'must be a status of V2, from 200 to 599'),
    z.int().min(200).max(599),
    { error: 'a mapping of statuses, such as { 204: 200 }' },
  ),
  'The statuses that V1 clients get, by V2 status.',
);

const id = z
  .string()
  .regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a letter followed by up to 63 letters, digits, "_", "-" or "."');

const operationId = id.refine((text) => text !== 'every', 'is reserved for all operations; use another id');

const embeds = optional(
  z.record(path, id),
  'Other resources that responses of this resource contain: the path to one, and an operation that writes it.',
);

const field = checked((name) => checks?.fieldFault(name));

const linkField = checked((name) =>
  checks?.kindOfName(name) === 'link'
    ? 'is converted to V1 without being named; remove it'
    : checks?.fieldFault(name),
);

const fieldValue = z
  .string()
  .refine(
    (text) => checks?.isOneValue(text),
    'must be the value of a header field: characters of Latin-1, no line breaks, no spaces around it',
  );

const template = optional(
  fieldValue.refine(
    (text) => text.split('{}').length === 2,
    'must have {} exactly once, where the value goes',
  ),
  "The new value; {} stands for the old one: 'Bearer {}'.",
);

const resource = z
  .union(
    [
      z.literal(''),
      path.refine((text) => !readPath(text).includes('*'), 'has a *; name the object or the list itself'),
    ],
    {
      error: 'a path: names joined by dots, such as items; an empty text is the body itself',
    },
  )
  .exactOptional();

const BLOCKS: Blocks = {
  // Not all of zod, which would then be in a bundle.
  z: {
    array: z.array,
    enum: z.enum,
    int: z.int,
    literal: z.literal,
    null: z.null,
    number: z.number,
    record: z.record,
    string: z.string,
    union: z.union,
  },
  strict,
  optional,
  checked,
  oneOrMore: (schema, error) => z.union([schema, z.array(schema).min(1)], { error }),
  name,
  memberPath,
  inside,
  insideOne,
  text,
  wellFormed,
  scalar,
  jsonValue,
  status,
  parameter,
  field,
  fieldValue,
  template,
  resource,
};

/** The kinds of rules by name, with their forms in a rule book. */
export type Books = ReadonlyMap<string, Book<RequestRule, ExplicitResponseRule, QueryRule, HeaderRule>>;

/** The forms of rules in one place of a rule book, by name, in the order of the schema. */
export type WrittenForms<Rule> = ReadonlyMap<
  string,
  Form<Rule> & { readonly usual?: readonly StatusPattern[] }
>;

/** The forms of the rules of a change. */
export interface RuleForms {
  readonly request: WrittenForms<Declared<RequestRule>>;
  readonly query: WrittenForms<DeclaredNames<QueryRule>>;
  readonly headers: WrittenForms<DeclaredNames<HeaderRule>>;
  /** The forms for header fields of responses. */
  readonly responseHeaders: WrittenForms<DeclaredNames<HeaderRule>>;
  readonly response: WrittenForms<DeclaredBack<ExplicitResponseRule>>;
}

/** The schema of a rule book, and the forms of its rules. */
export interface RuleBookForm {
  readonly schema: ReturnType<typeof ruleBookSchema>;
  readonly forms: RuleForms;
}

let made: RuleBookForm | undefined;

/** Given with the kinds, not imported: in a bundle of one file, each module that an `import()` leads to takes more bytes. */
let checks: ValueChecks | undefined;

/** The schema of rule books with these kinds of rules and checks of values, which is made once. */
export function ruleBookForm(books: Books, values: ValueChecks): RuleBookForm {
  if (made !== undefined) return made;
  checks = values;
  const forms: RuleForms = {
    request: formsIn(books, ({ request }) => request),
    query: formsIn(books, ({ query }) => query),
    headers: formsIn(books, ({ headers }) => headers),
    responseHeaders: formsIn(books, ({ headers }) => (headers?.isOfRequests === true ? undefined : headers)),
    response: formsIn(
      books,
      ({ response }) =>
        response && {
          ...response,
          form: (blocks) => anywhere(response.form(blocks), response.mayBeAnywhere === true),
        },
    ),
  };
  made = { schema: ruleBookSchema(changeSchema(forms)), forms };
  return made;
}

/** The form of a response rule with paths from the body, and a key for members at any depth. */
function anywhere(
  form: Form<DeclaredBack<ExplicitResponseRule>>,
  mayBe: boolean,
): Form<DeclaredBack<ExplicitResponseRule>> {
  if (!mayBe) return form;
  const schema = form.schema.safeExtend({
    in: optional(z.literal('**'), 'Each object with the member, at any depth.'),
  });
  return {
    schema,
    read: (source, place) => {
      const declared = form.read(source, place);
      if (Reflect.get(source, 'in') !== '**') return declared;
      return declared.map(({ rule, ...rest }) => {
        return { ...rest, rule: 'path' in rule ? { ...rule, path: ['**', ...rule.path] } : rule };
      });
    },
  };
}

function formsIn<Rule>(
  books: Books,
  bookOf: (
    book: Books extends ReadonlyMap<string, infer One> ? One : never,
  ) => { form(blocks: Blocks): Form<Rule>; readonly usual?: readonly StatusPattern[] } | undefined,
): WrittenForms<Rule> {
  const forms = [...books].flatMap(([word, book]) => {
    const own = bookOf(book);
    if (own === undefined) return [];
    const usual = own.usual === undefined ? {} : { usual: own.usual };
    return [[word, { ...own.form(BLOCKS), ...usual }] as const];
  });
  return new Map(forms);
}

/** The keys that name rules, in the order of the schema's unions. */
export type RuleWords = Readonly<Record<keyof RuleForms, readonly string[]>>;

/** Returns the keys that name rules in these forms. */
export function wordsOf({ request, query, headers, responseHeaders, response }: RuleForms): RuleWords {
  return {
    request: [...request.keys()],
    query: [...query.keys()],
    headers: [...headers.keys()],
    responseHeaders: [...responseHeaders.keys()],
    response: [...response.keys(), 'headers', 'inverse'],
  };
}

function schemasOf(forms: WrittenForms<unknown>): readonly z.ZodObject[] {
  return [...forms.values()].map(({ schema }) => schema);
}

const policies = {
  flat: optional(z.enum(['migrate', 'refuse', 'forward']), 'A body without the wrapper.'),
  siblings: optional(z.enum(['drop', 'refuse', 'forward']), 'Members beside the wrapper.'),
  conflict: optional(
    z.enum(['v1', 'refuse', 'forward']),
    'Both the V1 and the V2 name of one attribute are present.',
  ),
  duplicate: optional(
    z.enum(['refuse', 'last', 'forward']),
    'A member that a rule names occurs twice in one object.',
  ),
  wrapper: optional(z.enum(['refuse', 'forward']), 'The wrapper is not an object.'),
  value: optional(
    z.enum(['refuse', 'forward', 'keep']),
    'A value that a rule cannot convert, such as a text for scale.',
  ),
};

/** The schema of a change whose rules have these forms. */
// oxlint-disable-next-line typescript/explicit-function-return-type -- the type is that of the schema.
function changeSchema(forms: RuleForms) {
  const responseHeaders = strict({
    headers: z.array(z.union(schemasOf(forms.responseHeaders), { error: 'a header rule' })).min(1),
    status,
  }).describe('Rules for the header fields of a response.');
  return strict({
    id: id.describe('The id of the change in log, metrics and inspector.'),
    summary: z.string().min(1).describe('What changes, in one sentence.'),
    on: z
      .union([z.literal('every'), nameList], {
        error: 'the word every or a list of operation ids',
      })
      .describe(
        'every: any POST or PATCH with a JSON body, named as an operation or not; for header rules, any request. Otherwise operation ids.',
      ),
    request: optional(
      z.array(z.union(schemasOf(forms.request), { error: 'a rule' })),
      'Rules for the body of a V1 request. Each rule sees the result of the one before.',
    ),
    query: optional(
      z.array(z.union(schemasOf(forms.query), { error: 'a rule' })),
      'Rules for the query of a V1 request. Each rule sees the result of the one before.',
    ),
    headers: optional(
      z.array(z.union(schemasOf(forms.headers), { error: 'a rule' })),
      'Rules for the header fields of a V1 request. Each rule sees the result of the one before.',
    ),
    response: optional(
      z.union(
        [
          inverse,
          z.array(
            z.union([...schemasOf(forms.response), responseHeaders, inverseWith, inverse], {
              error: 'a rule',
            }),
          ),
        ],
        {
          error: 'the word inverse or a list of response rules',
        },
      ),
      'Rules for the body of the response to a V1 client.',
    ),
    policies: optional(strict(policies), 'Policies for the rules of this change only.'),
    ...ownEnd,
    sunset: optional(
      instant,
      'The date on which the V1 form of this change ends, before V1 as a whole; responses to requests that it edits carry it.',
    ),
    assumed,
  });
}

const secretName = z
  .string()
  .regex(
    /^(?!GATEWAY_)[A-Z_][A-Z0-9_]{0,127}$/,
    'must be the name of an environment variable in capitals, such as WEBHOOK_SECRET, that does not begin with GATEWAY_; secrets are never in a rule book',
  );

const secretNames = z.union([secretName, z.array(secretName).min(1).max(8)], {
  error:
    'the name of an environment variable in capitals, such as WEBHOOK_SECRET, or a list of them; secrets are never in a rule book',
});

const webhook = strict({
  to: z
    .string()
    .regex(
      /^https?:\/\/[^\s/?#@\\]+(?:[/?][!"$-~]*)?$/,
      'must be an address such as https://subscriber.example/orders, without a user and a fragment',
    )
    .refine((text) => URL.canParse(text), 'must be an address such as https://subscriber.example/orders')
    .describe('The address of the subscriber, which was built for V1.'),
  as: optional(
    z.string(),
    'The operation whose rules for a response with status 200 rewrite the body of a delivery; when absent, the body stays as V2 wrote it.',
  ),
  gateway: optional(
    z
      .string()
      .regex(/^https?:\/\/[^\s/?#@\\]+$/, 'must be an address without a path, such as https://api.example'),
    'The address at which the subscriber reaches V1, for links in the body; when absent, the one that V2 posts to.',
  ),
  sign: strict({
    scheme: z.literal('standard-webhooks').describe('The scheme of the signatures: Standard Webhooks, v1.'),
    verify: secretNames.describe(
      "The environment variable with V2's signing secret, or, with _FILE at the end of its name, the path of a file with it; a list accepts any of its secrets, for rotation.",
    ),
    with: secretNames.describe(
      'The same for the secret with which the subscriber checks; with a list it gets a signature for each.',
    ),
  }).describe("How the gateway checks V2's signature, and signs anew for the subscriber."),
}).describe("Deliveries from V2 that reach a subscriber in V1's form.");

const prefix = checked((text) => checks?.prefixFault(text));

const mediaType = z
  .string()
  .regex(
    /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?charset=utf-8)?$/,
    'is not a media type; write one such as application/vnd.acme+json',
  );

const version = z.union(
  [
    z
      .string()
      .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a day, YYYY-MM-DD')
      .refine((text) => checks?.isReleaseDate(text), 'must be a real day, not before 2025-01-01'),
    strict({
      header: optional(
        z.string(),
        'The header field that names it; x-api-version when header, query and accept are absent.',
      ),
      query: optional(parameter, 'The query parameter that names it.'),
      accept: optional(
        z.string(),
        'The media types in Accept and Content-Type that name it, with {} for the release: application/vnd.acme.v{}+json.',
      ),
      value: z.string().describe('The release.'),
      form: optional(
        z.enum(['date', 'text']),
        'Values that a client may send: a day, or any text. When absent, a day; but a text if value is not a day and there is v1, query or accept.',
      ),
      v1: optional(
        z.array(z.string()).nonempty(),
        "The values that V1's clients send, if any. With one prefix for both versions, every other value is V2's.",
      ),
    }),
  ],
  { error: 'a day, such as 2025-01-01, or a mapping with header, value, form and v1' },
);

const errorsAs = optional(
  strict({ type: mediaType.describe("The media type of V1's errors.") }),
  "How V2's errors are converted for V1's clients.",
);

/** A rule book as people write it. The JSON Schema for editors is generated from this. */
// oxlint-disable-next-line typescript/explicit-function-return-type -- the type is that of the schema.
function ruleBookSchema(change: ReturnType<typeof changeSchema>) {
  return strict({
    $schema: optional(z.string(), 'The JSON Schema, for editors.'),
    format: optional(z.literal(1), 'The format of the rule book itself: 1.'),
    from: optional(
      z.union([prefix, z.array(prefix).min(1)], {
        error: 'a path prefix, such as /api/v1, or a list of them',
      }),
      "V1's path prefix, or a list of several; / is the root, and /api/v1 when absent.",
    ),
    to: optional(
      prefix,
      "V2's path prefix; / is the root, and /api/v2 when absent. It may be V1's, if only a header field tells the versions apart.",
    ),
    other: optional(
      z.enum(['refuse', 'pass']),
      'Requests under neither prefix: refuse (404, when absent), or pass (to V2, unchanged).',
    ),
    'body-links': optional(
      z.enum(['follow', 'leave']),
      'Links in bodies of responses: follow (back to V1) or leave; when absent, follow where the prefix or a path of V2 is another one.',
    ),
    'link-fields': optional(
      z
        .array(linkField)
        .nonempty()
        .refine(
          (names) => new Set(names.map((name) => name.toLowerCase())).size === names.length,
          'names a field twice; remove one of them',
        ),
      "The service's own response fields whose value is an address or a path of V2; they are converted to V1 like Location.",
    ),
    override: optional(
      z.enum(['follow', 'drop']),
      'A POST with X-HTTP-Method-Override or _method: follow (the default: rules apply by that method) or drop (V2 does not see it).',
    ),
    version: optional(
      version,
      'The V2 release that the rules target: a day, YYYY-MM-DD, or a mapping. Without it no field names one.',
    ),
    errors: optional(
      z.union(
        [
          z.enum(['json-api', 'problem', 'rails']),
          strict({
            list: path.describe('The path to the list of errors.'),
            pointer: path.describe('The path from an error to the pointer or name of the invalid member.'),
            text: optional(z.array(name), 'Members of an error whose text may contain names.'),
            as: errorsAs,
          }),
          strict({
            form: z.enum(['json-api', 'problem', 'rails']).describe('The form of V2.'),
            as: errorsAs,
          }),
        ],
        { error: 'json-api, problem, rails, or a mapping with list, pointer and text' },
      ),
      "The form of V2's errors, in which V1's names are restored for all operations. When absent, only errors rules restore them, in json-api and any other shape.",
    ),
    cors: optional(
      strict({
        origins: z
          .array(
            z.string().regex(/^(?:\*|https?:\/\/[^/?#@\s\\]+)$/, {
              error: 'is not an origin; write one such as https://app.example, or *',
            }),
          )
          .min(1)
          .describe('Origins as browsers write them, such as https://app.example:8443, or * for all.'),
        credentials: optional(z.boolean(), 'Whether their requests may have cookies; false when absent.'),
      }),
      "Pages that can read the gateway's own responses before V2 has allowed it.",
    ),
    refusals: optional(
      z.union(
        [
          z.enum(['json-api', 'problem', 'rails']),
          strict({
            body: jsonValue.describe(
              `A JSON value; texts and names may contain ${REFUSAL_PLACEHOLDERS.map(
                (name) => `{${name}}`,
              ).join(', ')}.`,
            ),
            type: optional(mediaType, 'Its media type; application/json when absent.'),
          }),
        ],
        { error: 'json-api, problem, rails, or a template: a mapping with body and type' },
      ),
      "The form of the gateway's own errors, as V1 clients read them; json-api when absent.",
    ),
    client: optional(
      z.union(
        [
          strict({ header: z.string().describe('The header field.') }),
          strict({ query: parameter.describe('The query parameter.') }),
        ],
        { error: '{ header: X-Api-Key } or { query: api_key }' },
      ),
      'The place in V1 requests of the key that identifies their client; Authorization when absent.',
    ),
    resource: resource.describe(
      "The path in responses to the resource, an object or a list: data when absent; '' is the body itself.",
    ),
    operations: optional(
      z.record(
        operationId,
        z.union(
          [
            match,
            strict({
              match,
              assumed,
              embeds,
              to: destination,
              parameters: parameterSteps,
              status: statusMap,
              gone: optional(
                text,
                'The message of the 410 for V1 clients, if V2 does not have the operation any more: Use GET /reports.',
              ),
              ...ownEnd,
              sunset: optional(
                z.union(
                  [
                    instant,
                    strict({ at: instant, after: z.enum(['serve', 'gone']), clients, except: scope.except }),
                  ],
                  { error: 'a day or a time, or a mapping with at and after' },
                ),
                'The date on which it ends, before V1 as a whole; its responses carry it. With after: gone, its requests get 410 from then on.',
              ),
              resource: resource.describe(
                'The path in its responses to the resource; when absent, that of the rule book.',
              ),
              transform: optional(
                z
                  .string()
                  .regex(
                    /^\.\/(?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.m?js$/,
                    'must be a module beside the rule book or in a folder below it, such as ./pages.js',
                  ),
                'A module with request(body, context) and response(body, context), for conversions that no rule can describe.',
              ),
            }),
          ],
          {
            error: 'a method and a path, such as "POST /clients", or a mapping with match',
          },
        ),
      ),
      'V1 operations by id.',
    ),
    changes: z.array(change).describe('The changes from V1 to V2, in the order in which they apply.'),
    webhooks: optional(
      z.record(
        z.string().regex(/^[A-Za-z][\w-]{0,63}$/, 'must be a name of letters, digits, _ and -'),
        webhook,
      ),
      'Deliveries that V2 posts to /webhooks/<name> of the gateway, for subscribers that were built for V1.',
    ),
    policies: optional(
      strict({
        ...policies,
        malformed: optional(z.enum(['refuse', 'forward']), 'Not JSON, not UTF-8, or nested too deep.'),
        unsupported: optional(
          z.enum(['refuse', 'forward']),
          'A charset or content coding that the gateway cannot read.',
        ),
        forms: optional(
          z.enum(['rewrite', 'forward']),
          'application/x-www-form-urlencoded and multipart/form-data: rewritten by the request rules like JSON, or forwarded.',
        ),
        media: optional(
          z.enum(['strict', 'known', 'sniff']),
          'JSON from V2 under another media type: strict does not rewrite it; known rewrites text/json, text/plain or no type; sniff any type, by its first byte. JSON that a client sends as a form: strict does not rewrite it.',
        ),
        'half-close': optional(
          z.enum(['abort', 'answer']),
          'A client that closes its side of the connection after its request: abort treats it as gone, answer sends it the response.',
        ),
        signed: optional(
          z.enum(['forward', 'refuse']),
          'A signed request, whose signature does not match at V2.',
        ),
        future: optional(z.enum(['forward', 'replace']), 'x-api-version is a day in the future.'),
      }),
      'Decisions where the specification leaves a choice.',
    ),
    limits: optional(
      strict({
        depth: optional(z.int().min(1).max(100_000), 'Levels of nesting.'),
        body: optional(bytes, 'Bytes of a request body to rewrite, decoded.'),
        response: optional(bytes, 'Bytes of a response to rewrite, decoded.'),
        transform: optional(
          z.int().min(1).max(10_000),
          'Milliseconds that a transform may take; 50 when absent.',
        ),
        'lookup-requests': optional(
          z.int().min(1).max(1000),
          'Requests to V2 that the lookup rules of one response may make; 100 when absent.',
        ),
        'lookup-parallel': optional(
          z.int().min(1).max(64),
          'How many of them may be under way at a time; 6 when absent.',
        ),
        'lookup-time': optional(
          z.int().min(1).max(10_000),
          'Milliseconds that all of them together may take; 5000 when absent.',
        ),
      }),
      'Limits for reading bodies.',
    ),
    zone: optional(
      z.string().refine(isZoneName, 'is not a time zone; write a name such as Australia/Sydney or UTC'),
      "The time zone in which days begin and plan counts hours, as a name such as Australia/Sydney. When absent, days begin at midnight UTC, and plan takes the machine's.",
    ),
    ...rolloutSource,
  }).describe('A rule book: the changes from V1 to V2 as the gateway applies them.');
}

export type RuleBookSource = z.output<ReturnType<typeof ruleBookSchema>>;

/** The parts of a source that match the schema, so that they can be checked even if other parts do not. */
export interface ValidSubset {
  readonly source: unknown;
  /** The positions of the remaining changes in the whole source. */
  readonly indexes: readonly number[];
  readonly hasAllChanges: boolean;
  /** The ids of all operations, including those left out. */
  readonly ids: ReadonlySet<string>;
}

/** Leaves out the operations, changes and other parts that `issues` refer to; undefined if nothing is left. */
export function validSubset(value: unknown, issues: readonly z.core.$ZodIssue[]): ValidSubset | undefined {
  if (!isJsonObject(value)) return undefined;
  const source = { ...value };
  const operations = isJsonObject(source['operations']) ? { ...source['operations'] } : {};
  const ids = new Set(Object.keys(operations));
  const changes: readonly unknown[] = Array.isArray(source['changes']) ? source['changes'] : [];
  const invalidChanges = new Set<unknown>();
  for (const { path, ...issue } of issues) {
    const [part, entry] = path;
    if (part === 'operations' && typeof entry === 'string') delete operations[entry];
    else if (part === 'changes') invalidChanges.add(entry);
    else if (typeof part === 'string') delete source[part];
    if (part === undefined && issue.code === 'unrecognized_keys')
      for (const key of issue.keys) delete source[key];
  }
  // Pins are for a version: without a valid version they would be wrong as well.
  const valid = 'version' in value && !('version' in source) ? { ...source, version: '2025-01-01' } : source;
  const indexes = [...changes.keys()].filter((index) => !invalidChanges.has(index));
  return {
    source: { ...valid, operations, changes: indexes.map((index) => changes[index]) },
    indexes,
    hasAllChanges: invalidChanges.size === 0,
    ids,
  };
}

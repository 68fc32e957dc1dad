import * as z from 'zod';
import { inverseFactor } from './kinds/scale.ts';
import { formatFault, isZone, isZoneName, secondsOfDay } from './kinds/date-format.ts';
import { REFUSAL_PLACEHOLDERS } from './refusal-form.ts';
import { readDuration, readInstant } from './rollout.ts';
import { kindOfName } from '../http/fields.ts';
import { fieldFault, isOneValue } from './field-names.ts';
import { isReleaseDate } from './rule-book.ts';
import { NAME_PATTERN, PATH_PATTERN, prefixFault, readPath } from './rule.ts';

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

/** A text in which `faultOf` finds nothing wrong; its sentence is that of the fault. */
function checked(faultOf: (text: string) => string | undefined): z.ZodString {
  return z.string().refine((text) => faultOf(text) === undefined, {
    error: ({ input }) => faultOf(String(input)),
  });
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

/** Settings that an operation and a change can have of their own. */
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
        'The day from which it holds; before that, the gateway only counts such requests.',
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

const name = z
  .string()
  .regex(
    NAME_PATTERN,
    'must be the name of one member; in a name, a dot is written \\. and a backslash \\\\',
  );

const path = z
  .string()
  .regex(PATH_PATTERN, 'must be a path: names joined by dots, with * for any element of an array');

const memberPath = path
  .refine((text) => !/(?:^|[^\\]\.)\*$/.test(text), 'ends with *, an element; name a member of it')
  .describe('A path from the body to a member: names joined by dots, * for any element of an array.');

const inside = optional(path, 'The path of the object with the member; the body itself when absent.');

const unwrap = strict({ unwrap: name.describe('The member with the parameters.') }).describe(
  'Replaces the body by the object in the named member.',
);

const nest = strict({
  nest: z.array(name).min(1).describe('The members to move.'),
  in: inside,
  under: name.describe('The sub-object they move into.'),
}).describe('Moves the named members of an object into a sub-object of it.');

const rename = strict({
  rename: memberPath,
  in: inside,
  to: name.describe('The new name, in the same object.'),
}).describe('Gives a member a new name; its value keeps its bytes and its place.');

const strip = strict({
  strip: z.union([memberPath, z.array(memberPath)], { error: 'a path or a list of paths' }),
  in: inside,
}).describe('Removes members.');

const only = strict({
  only: z.array(name).min(1).describe('The members that stay.'),
  in: inside,
}).describe('Removes from an object every member that is not listed.');

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

const mapValues = z
  .record(wellFormed, scalar)
  .refine((values) => Object.keys(values).length > 0, 'has no values; write one value and its replacement');

const map = strict({
  map: mapValues.describe(
    'V2 values by V1 value. A key that is the text of a number, true, false or null is that; double quotes inside the key make it a text: \'"1"\'.',
  ),
  of: memberPath,
  in: inside,
}).describe('Replaces the value of a member that is listed; any other value stays.');

/** A YAML value that JSON can write: any but infinities and NaN. */
const jsonValue = z.unknown().refine((value) => isJson(value), 'is not a JSON value; write a finite number');

function isJson(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isJson);
  return typeof value !== 'number' || Number.isFinite(value);
}

const setValues = z
  .record(memberPath, jsonValue)
  .refine((values) => Object.keys(values).length > 0, 'names no member; write a path and its value');

const set = strict({
  set: setValues.describe('Values by path: any value of JSON, written as in YAML.'),
  in: inside,
}).describe('Gives members a value, whether or not they are there; makes no objects around them.');

const setDefault = strict({
  default: setValues.describe('Values by path: any value of JSON, written as in YAML.'),
  in: inside,
}).describe('Gives members a value where they are absent; makes no objects around them.');

const move = strict({
  move: memberPath,
  in: inside,
  to: memberPath.describe('The path that it moves to; makes objects on the way. Each * is the one in move.'),
}).describe('Moves a member to another object; its value keeps its bytes.');

const copyPlace = memberPath.describe(
  'The path of the copy; makes objects on the way. Each * is the one in copy.',
);

const copy = strict({ copy: memberPath, in: inside, to: copyPlace }).describe(
  'Copies a member to another name or another object; both have the same bytes.',
);

const factor = z
  .number()
  .refine(
    (value) => inverseFactor(String(value)) !== undefined,
    'is not a valid factor: write a decimal above zero with a finite inverse, such as 100, 0.01 or 2.5',
  )
  .describe('A decimal with a finite inverse, such as 100 or 0.01.');

const digits = optional(
  z.int().min(0).max(30),
  "Minimum number of decimals in the larger unit, which is V1's if by is more than 1.",
);

const text = z
  .string()
  .min(1)
  .refine((value) => value.isWellFormed(), 'has half of a surrogate pair');

const format = checked(formatFault).describe(
  'date, datetime (ISO 8601, written as RFC 3339), rfc-1123, epoch, epoch-ms, or a pattern in the letters of Unicode, such as dd/MM/yyyy or d MMM yyyy h:mm a.',
);

const dateParts = {
  from: format,
  to: format,
  zone: optional(
    z
      .string()
      .refine(
        isZone,
        'is not a time zone; write UTC, an offset such as +10:00, or a name such as Australia/Sydney',
      ),
    'The time zone of a form that has none; UTC when absent.',
  ),
  at: optional(
    z
      .string()
      .refine((value) => secondsOfDay(value) !== undefined, 'is not a time of day; write 09:00, for example'),
    'The time of a date without one; midnight when absent.',
  ),
};

const separation = {
  with: text.describe('The text between the parts.'),
  at: optional(
    z.enum(['first', 'last']),
    'Which separators split a string that has too many: the first or the last; last when absent.',
  ),
};

const DESCRIPTIONS = {
  scale: 'Multiplies a number exactly.',
  quote: 'Turns a number into a string of the same characters.',
  unquote: 'Turns a string that is a number into that number.',
  prefix: 'Puts a text in front of a string.',
  unprefix: 'Removes a text from the front of a string.',
  date: 'Writes a date in another form.',
  list: 'Turns a value into a list of one, a text with separators into a list of texts, or each value of a list into an object.',
  entries:
    'Turns an object into a list of pairs: an object with name and value for each member, in their order.',
  unlist:
    'Turns a list of texts into one text, a list of objects into one of values, or a list of pairs into an object.',
  join: 'Joins strings to one.',
  split: 'Splits a string into several members.',
};

const newListName = 'The name of the list; that of the member when absent.';
const newName = 'The name of the value; that of the list when absent.';

const pair = {
  name: name.describe('The member of a pair with the name.'),
  value: name.describe('The member of a pair with the value.'),
};

const listForms = {
  with: optional(text, 'What separates the texts: a comma, for example.'),
  of: optional(name, 'The member that each object has for a value.'),
};

const allForms = {
  ...listForms,
  name: optional(name, 'The member of a pair with the name.'),
  value: optional(name, 'The member of a pair with the value.'),
};

/** A rule about a list, whose elements have one form. */
function ofOneForm<Shape extends z.core.$ZodLooseShape>(shape: Shape, description: string) {
  const hasPairs = 'name' in shape;
  return strict(shape)
    .refine(
      (rule) => formsIn(rule) === 1 || (formsIn(rule) === 0 && !hasPairs),
      hasPairs
        ? 'needs one of with, of, or name and value'
        : 'has with and of; write the one that the elements need',
    )
    .describe(description);
}

/** How many forms a rule gives the elements of its list; a half of a pair is none, but too much beside another. */
function formsIn(rule: object): number {
  const halves = ['name', 'value'].filter((key) => key in rule).length;
  return ['with', 'of'].filter((key) => key in rule).length + halves / 2;
}

const conversions = [
  strict({ scale: memberPath, in: inside, by: factor, digits }).describe(DESCRIPTIONS.scale),
  strict({ quote: memberPath, in: inside }).describe(DESCRIPTIONS.quote),
  strict({ unquote: memberPath, in: inside }).describe(DESCRIPTIONS.unquote),
  strict({ prefix: memberPath, in: inside, with: text }).describe(DESCRIPTIONS.prefix),
  strict({ unprefix: memberPath, in: inside, with: text }).describe(DESCRIPTIONS.unprefix),
  strict({ date: memberPath, in: inside, ...dateParts }).describe(DESCRIPTIONS.date),
  ofOneForm(
    { list: memberPath, in: inside, to: optional(name, newListName), ...listForms },
    DESCRIPTIONS.list,
  ),
  strict({ entries: memberPath, in: inside, to: optional(name, newListName), ...pair }).describe(
    DESCRIPTIONS.entries,
  ),
  ofOneForm(
    { unlist: memberPath, in: inside, to: optional(name, newName), ...allForms },
    DESCRIPTIONS.unlist,
  ),
] as const;

const parts = z
  .array(name)
  .refine((names) => names.length > 1, 'needs at least two names')
  .refine((names) => new Set(names).size === names.length, 'has a name twice; remove one of them');

const join = strict({
  join: parts.describe('The members, in the order of their strings.'),
  in: inside,
  to: name.describe('The member with the joined string.'),
  ...separation,
}).describe(DESCRIPTIONS.join);

const splitRule = strict({
  split: memberPath,
  in: inside,
  to: parts.describe('The members for the parts, in order.'),
  ...separation,
}).describe(DESCRIPTIONS.split);

const parameter = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must be a name without control characters')
  .describe('The decoded name of a query parameter.');

const queryRename = strict({ rename: parameter, to: parameter.describe('The new name.') }).describe(
  'Gives a query parameter a new name, each time it occurs.',
);

const queryStrip = strict({
  strip: z.union([parameter, z.array(parameter)], { error: 'a name or a list of names' }),
}).describe('Removes query parameters.');

const separator = z
  .string()
  .regex(/^[ !"$'-/:-@[-^`{-~]{1,4}$/, 'must be one to four ASCII characters that are no letters or digits');

const querySign = z.string().regex(/^[ !"$'-~]{1,12}$/, 'must be one to twelve ASCII characters');

const queryMap = strict({
  map: mapValues.describe('V2 values by V1 value, both as text.'),
  of: parameter,
  with: optional(
    z.union([separator, z.array(separator).min(1).max(8)], { error: 'a separator or a list of them' }),
    'What separates the values, where one parameter has a list of them: a comma, for example.',
  ),
  sign: optional(
    z.union([querySign, z.array(querySign).min(1).max(8)], { error: 'a text or a list of texts' }),
    'What may stand before or after a value of a list, and stays: - or :desc, for example. Needs with.',
  ),
}).describe('Replaces the value of a query parameter that is listed; any other value stays.');

const queryValues = z
  .record(parameter, scalar)
  .refine((values) => Object.keys(values).length > 0, 'names no parameter; write one and its value');

const queryConversions = [
  strict({ set: queryValues }).describe('Gives query parameters a value, whether or not they are there.'),
  strict({ default: queryValues }).describe('Gives query parameters a value where they are absent.'),
  strict({ scale: parameter, by: factor, digits }).describe(DESCRIPTIONS.scale),
  strict({ prefix: parameter, with: text }).describe(DESCRIPTIONS.prefix),
  strict({ unprefix: parameter, with: text }).describe(DESCRIPTIONS.unprefix),
  strict({ date: parameter, ...dateParts }).describe(DESCRIPTIONS.date),
] as const;

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

const renameBack = strict({
  rename: memberPath,
  to: name.describe('The V1 name, in the same object.'),
  status,
}).describe('Gives a member of a response its V1 name; its value keeps its bytes and its place.');

const unnest = strict({
  unnest: memberPath,
  members: optional(z.array(name).min(1), 'The members to move; all when absent.'),
  status,
}).describe('Moves the members of a sub-object of a response to its place in the object around it.');

const alias = strict({ alias: memberPath, as: name.describe('The V1 name.'), status }).describe(
  'Adds the V1 name beside the V2 name in a response, with the same value.',
);

const flatten = strict({
  flatten: memberPath,
  members: optional(z.array(name).min(1), 'The members to add; all when absent.'),
  status,
}).describe('Adds the members of a sub-object of a response to the object around it, where absent.');

const deprecations = strict({ deprecations: memberPath, status }).describe(
  'Adds to a response, at the path, a list of the deprecated attributes that the request used.',
);

const errors = strict({
  errors: z.union(
    [
      z.literal(true),
      strict({
        details: z
          .record(z.string().min(1), z.string().min(1))
          .describe("V2's sentences, and V1's in their place, for words that no renaming can derive."),
      }),
    ],
    { error: 'true, or a mapping with details' },
  ),
  status,
}).describe("Converts V2's pointers, names and sentences in error bodies back to V1's.");

const inverse = z
  .literal('inverse')
  .describe('Undoes the request rules of the change wherever the resource that they wrote is in a response.');

const inverseWith = strict({
  inverse: z.literal(true),
  members: optional(
    z.union([z.literal('present'), z.null()], { error: 'present or null' }),
    "V1's form of members of a nest that V2 lacks: present leaves them out, null sends them all.",
  ),
}).describe('The same as the word inverse.');

const responseMap = strict({
  map: mapValues.describe('V1 values by V2 value; the keys are read as in a request rule.'),
  of: memberPath,
  status,
}).describe('Replaces the value of a member of a response that is listed; any other value stays.');

const responseSet = strict({ set: setValues, status }).describe(
  'Gives members of a response a value, whether or not they are there.',
);

const responseDefault = strict({ default: setValues, status }).describe(
  'Gives members of a response a value where they are absent.',
);

const responseStrip = strict({
  strip: z.union([memberPath, z.array(memberPath).min(1)], { error: 'a path or a list of paths' }),
  status,
}).describe('Removes members of a response.');

const responseMove = strict({
  move: memberPath,
  to: memberPath.describe('The path that it moves to; makes objects on the way. Each * is the one in move.'),
  status,
}).describe('Moves a member of a response to another object; an object that this empties goes.');

const responseCopy = strict({ copy: memberPath, to: copyPlace, status }).describe(
  'Copies a member of a response to another name or another object.',
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

const lookup = strict({
  lookup: memberPath.describe('The path to the member with the key of what is looked up.'),
  in: inside,
  get: optional(
    z.string(),
    "The address of one object, below V2's prefix: /users/{owner_id}. The member of lookup is in braces, or {} stands for it.",
  ),
  many: optional(
    z.string(),
    'The address for all keys of a response in one request, separated by commas: /users?ids={}.',
  ),
  by: optional(name, 'With many: the member of the answered items that has the key; id when absent.'),
  resource: resource.describe(
    "Where V2's answer has the object, or with many the list; that of the rule book when absent.",
  ),
  take: z
    .array(name)
    .min(1)
    .refine((names) => new Set(names).size === names.length, 'has a name twice; remove one of them')
    .describe('The members to take; each keeps its bytes.'),
  as: name.describe('The member for them, in the same object; that of lookup itself is replaced.'),
  absent: optional(
    z.union([z.enum(['omit', 'null', 'fail']), z.null()], { error: 'omit, null or fail' }),
    'What clients get where V2 has no such object, or does not say in time: no member (omit, when absent), null, or 502 for the whole response (fail).',
  ),
  status,
}).describe(
  'Adds members of another object of V2, which the gateway asks for with the credentials of the client.',
);

const responseConversions = [
  strict({ scale: memberPath, by: factor, digits, status }).describe(DESCRIPTIONS.scale),
  strict({ quote: memberPath, status }).describe(DESCRIPTIONS.quote),
  strict({ unquote: memberPath, status }).describe(DESCRIPTIONS.unquote),
  strict({ prefix: memberPath, with: text, status }).describe(DESCRIPTIONS.prefix),
  strict({ unprefix: memberPath, with: text, status }).describe(DESCRIPTIONS.unprefix),
  strict({ date: memberPath, ...dateParts, status }).describe(DESCRIPTIONS.date),
  ofOneForm({ list: memberPath, to: name.exactOptional(), ...listForms, status }, DESCRIPTIONS.list),
  strict({ entries: memberPath, to: name.exactOptional(), ...pair, status }).describe(DESCRIPTIONS.entries),
  ofOneForm({ unlist: memberPath, to: name.exactOptional(), ...allForms, status }, DESCRIPTIONS.unlist),
  strict({ first: memberPath, to: name.exactOptional(), status }).describe(
    'Replaces a list with its first element.',
  ),
  strict({ join: parts, in: inside, to: name, ...separation, status }).describe(DESCRIPTIONS.join),
  strict({ split: memberPath, to: parts, ...separation, status }).describe(DESCRIPTIONS.split),
] as const;

const assumed = optional(
  z.boolean(),
  'True when neither the specification nor the documentation shows this; check lists it.',
);

const parameterName = z
  .string()
  .regex(/^[A-Za-z_][\w-]*$/, 'must be the name of a parameter, without braces');

const match = z
  .string()
  .regex(
    /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|QUERY) \S+$/,
    'must be a method and a path, such as "POST /clients"',
  )
  .describe(
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
  'What parameters of match become before to has them: split, map, prefix and unprefix; links turn them back.',
);

const destination = optional(
  z
    .string()
    .regex(
      /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|QUERY) \S+$/,
      'must be a method and a path, such as "POST /invoices"',
    ),
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

const field = checked(fieldFault);

const linkField = checked((name) =>
  kindOfName(name) === 'link' ? 'leads back to V1 without being named; remove it' : fieldFault(name),
);

const fieldValue = z
  .string()
  .refine(
    isOneValue,
    'must be the value of a header field: characters of Latin-1, no line breaks, no spaces around it',
  );

const template = optional(
  fieldValue.refine(
    (text) => text.split('{}').length === 2,
    'must have {} exactly once, where the value goes',
  ),
  "The new value; {} stands for the old one: 'Bearer {}'.",
);

const headerRename = strict({
  rename: field,
  to: field.describe('The new name.'),
  as: template,
}).describe('Gives a header field a new name, each time it occurs.');

const headerSet = strict({ set: field, to: fieldValue.describe('Its value.') }).describe(
  'Sets a header field.',
);

const headerDefault = strict({ default: field, to: fieldValue.describe('Its value.') }).describe(
  'Adds a header field that is absent.',
);

const headerStrip = strict({
  strip: z.union([field, z.array(field).min(1)], { error: 'a field name or a list of them' }),
}).describe('Removes header fields.');

const headerMap = strict({
  map: mapValues.describe('V2 values by V1 value, both as text.'),
  of: field,
}).describe('Replaces the value of a header field that is listed; any other value stays.');

const headerQuery = strict({
  query: parameter,
  to: field.describe('The header field.'),
  as: template,
}).describe('Moves a credential from the query to a header field.');

const fieldForms = [headerRename, headerSet, headerDefault, headerStrip, headerMap] as const;

const responseHeaders = strict({
  headers: z.array(z.union(fieldForms, { error: 'a header rule' })).min(1),
  status,
}).describe('Rules for the header fields of a response.');

const requestForms = [
  unwrap,
  nest,
  rename,
  strip,
  only,
  map,
  set,
  setDefault,
  move,
  copy,
  ...conversions,
  join,
  splitRule,
] as const;

const queryForms = [queryRename, queryStrip, queryMap, ...queryConversions] as const;

const responseForms = [
  renameBack,
  unnest,
  alias,
  flatten,
  deprecations,
  errors,
  responseMap,
  responseSet,
  responseDefault,
  responseStrip,
  responseMove,
  responseCopy,
  lookup,
  ...responseConversions,
  responseHeaders,
  inverseWith,
] as const;

/** The keys that name rules, in the order of the schema's unions. */
export const WORDS = {
  request: wordsOf(requestForms),
  query: wordsOf(queryForms),
  headers: wordsOf([...fieldForms, headerQuery]),
  responseHeaders: wordsOf(fieldForms),
  response: wordsOf(responseForms),
} as const;

/** The first key of a form names its rule. */
function wordsOf(forms: readonly z.ZodObject[]): readonly string[] {
  return forms.map(({ shape }) => Object.keys(shape)[0] ?? '');
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

const change = strict({
  id: id.describe('The id of the change in log, metrics and inspector.'),
  summary: z.string().min(1).describe('One sentence for people.'),
  on: z
    .union([z.literal('every'), nameList], {
      error: 'the word every or a list of operation ids',
    })
    .describe(
      'every: any POST or PATCH with a JSON body, named as an operation or not. Otherwise operation ids.',
    ),
  request: optional(
    z.array(z.union(requestForms, { error: 'a rule' })),
    'Rules for the body of a V1 request. Each rule sees the result of the one before.',
  ),
  query: optional(
    z.array(z.union(queryForms, { error: 'a rule' })),
    'Rules for the query of a V1 request. Each rule sees the result of the one before.',
  ),
  headers: optional(
    z.array(z.union([...fieldForms, headerQuery], { error: 'a rule' })),
    'Rules for the header fields of a V1 request. Each rule sees the result of the one before.',
  ),
  response: optional(
    z.union([inverse, z.array(z.union([...responseForms, inverse], { error: 'a rule' }))], {
      error: 'the word inverse or a list of response rules',
    }),
    'Rules for the body of the response to a V1 client.',
  ),
  policies: optional(strict(policies), 'Policies for the rules of this change only.'),
  ...ownEnd,
  sunset: optional(
    instant,
    'The date on which the form that it translates ends, before V1 as a whole; responses to requests that it edits carry it.',
  ),
  assumed,
});

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
    'The operation as whose response, with status 200, the gateway rewrites the body of a delivery; when absent, the body stays as V2 wrote it.',
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

const prefix = checked(prefixFault);

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
      .refine((text) => isReleaseDate(text), 'must be a real day, not before 2025-01-01'),
    strict({
      header: optional(
        z.string(),
        'The header field that names it; x-api-version when neither header, query nor accept is there.',
      ),
      query: optional(parameter, 'The query parameter that names it.'),
      accept: optional(
        z.string(),
        'The media types in Accept and Content-Type that name it, with {} for the release: application/vnd.acme.v{}+json.',
      ),
      value: z.string().describe('The release.'),
      form: optional(
        z.enum(['date', 'text']),
        'Values that a client may send: a day, or any text. When absent, a day; but a text where value is none and there is v1, query or accept.',
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
  strict({ type: mediaType.describe('Their media type at V1.') }),
  "What V2's errors are for V1's clients.",
);

/** A rule book as people write it. The JSON Schema for editors is generated from this. */
export const ruleBookSource = strict({
  $schema: optional(z.string(), 'The JSON Schema, for editors.'),
  format: optional(z.literal(1), 'The format of the rule book itself: 1.'),
  from: optional(
    z.union([prefix, z.array(prefix).min(1)], { error: 'a path prefix, such as /api/v1, or a list of them' }),
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
        'names a field twice; name it once',
      ),
    "The service's own response fields whose value is an address or a path of V2; they lead back to V1 as Location does.",
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
          pointer: path.describe('The path from an error to the pointer or name of the faulty member.'),
          text: optional(z.array(name), 'Members of an error whose text may have names.'),
          as: errorsAs,
        }),
        strict({ form: z.enum(['json-api', 'problem', 'rails']).describe('The form of V2.'), as: errorsAs }),
      ],
      { error: 'json-api, problem, rails, or a mapping with list, pointer and text' },
    ),
    "The form of V2's errors, which turns V2's names back in those of all operations. When absent, only errors rules turn them back, in json-api and any other shape.",
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
        .describe('Origins as browsers write them, such as https://app.example:8443, or * for every one.'),
      credentials: optional(z.boolean(), 'Their requests may have cookies; false when absent.'),
    }),
    "Pages that can read the gateway's own responses before V2 has allowed it.",
  ),
  refusals: optional(
    z.union(
      [
        z.enum(['json-api', 'problem', 'rails']),
        strict({
          body: jsonValue.describe(
            `A value of JSON; texts and names may have ${REFUSAL_PLACEHOLDERS.map((name) => `{${name}}`).join(
              ', ',
            )}.`,
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
    'Where V1 requests have the key that identifies their client; Authorization when absent.',
  ),
  resource: resource.describe(
    "Where responses carry the resource: the path to an object or a list, data when absent; '' is the body itself.",
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
              'What V1 clients read with 410, where V2 does not have the operation any more: Use GET /reports.',
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
              'Where its responses carry the resource; that of the rule book when absent.',
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
        'application/x-www-form-urlencoded and multipart/form-data: rewritten by the request rules as JSON is, or forwarded.',
      ),
      media: optional(
        z.enum(['strict', 'known', 'sniff']),
        'JSON from V2 under another media type: strict leaves it, known rewrites text/json, text/plain or no type, sniff any type, by its first byte. JSON that a client sends as a form: strict leaves it.',
      ),
      'half-close': optional(
        z.enum(['abort', 'answer']),
        'A client that closes its side of the connection after its request: treated as gone, or answered.',
      ),
      signed: optional(
        z.enum(['forward', 'refuse']),
        'A request that its client has signed; at V2 the signature will not match.',
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
    "The time zone in which plan counts hours and shows times, as a name such as Australia/Sydney; the machine's when absent.",
  ),
  ...rolloutSource,
}).describe('A rule book: the changes from V1 to V2 as the gateway applies them.');

/** The source of a rule book that matches the schema. */
export type RuleBookSource = z.output<typeof ruleBookSource>;

/** The parts of a source that match the schema, so that they can be checked even if other parts do not. */
export interface ValidSubset {
  readonly source: unknown;
  /** The positions of the remaining changes in the whole source. */
  readonly indexes: readonly number[];
  readonly hasAllChanges: boolean;
  /** The ids of all operations, including those left out. */
  readonly ids: ReadonlySet<string>;
}

/** Leaves out the operations, changes and other parts that `issues` refer to; undefined when nothing is left. */
export function validSubset(value: unknown, issues: readonly z.core.$ZodIssue[]): ValidSubset | undefined {
  if (!isMapping(value)) return undefined;
  const source = { ...value };
  const operations = isMapping(source['operations']) ? { ...source['operations'] } : {};
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

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

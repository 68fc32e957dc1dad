import { isUnder } from '../http/target.ts';
import { literalFault, plainSpelling, readTemplate, templateShape } from './rule.ts';

/** A text with at most one parameter of `match` in it. */
export interface PatternText {
  readonly before: string;
  readonly parameter: string | undefined;
  readonly after: string;
}

/** A query parameter for V2; its name has the characters that are sent. */
export interface DestinationParameter {
  readonly name: string;
  readonly value: PatternText;
}

/** How a parameter of `match` is converted for `to`; links are converted back. */
export type ParameterStep =
  | {
      readonly rule: 'split';
      readonly parameter: string;
      /** The parameters that replace it in `to`, in the order of the parts. */
      readonly to: readonly string[];
      readonly with: string;
      readonly at: 'first' | 'last';
    }
  | {
      readonly rule: 'map';
      readonly parameter: string;
      readonly values: readonly { readonly from: string; readonly to: string }[];
    }
  | { readonly rule: 'prefix' | 'unprefix'; readonly parameter: string; readonly with: string };

/** The place at V2 of a V1 operation that moved: `PATCH /invoices/inv_{id}`, or `GET /lines?invoice={id}`. */
export interface Destination {
  readonly method: string;
  /** The path below V2's prefix, as written. */
  readonly template: string;
  readonly path: readonly PatternText[];
  readonly query: readonly DestinationParameter[];
  /** Conversions of parameters, in order; absent if there are none. */
  readonly steps?: readonly ParameterStep[];
}

/** A status of V2, and V1's for it. */
export interface StatusMapping {
  readonly from: number;
  readonly to: number;
}

/** Parses a destination that {@link destinationFaults} finds valid. */
export function readDestination(text: string): Destination {
  const { method, path, query } = partsOf(text);
  const segments = path === '/' ? [] : path.slice(1).split('/');
  return {
    method,
    template: path,
    path: segments.map(readPattern),
    query: partsOfQuery(query).map(({ name, value }) => ({ name, value: readPattern(value) })),
  };
}

/** Prints a destination as a rule book writes it. */
export function printDestination({ method, template, query }: Destination): string {
  const parts = query.map(({ name, value }) => `${name}=${printPattern(value)}`);
  return `${method} ${template}${parts.length === 0 ? '' : `?${parts.join('&')}`}`;
}

/** A key that is equal for destinations with the same requests, ignoring the names of their parameters. */
export function destinationShape({ method, path, query }: Destination): string {
  const shape = ({ before, parameter, after }: PatternText): string =>
    plainSpelling(`${before}${parameter === undefined ? '' : '{}'}${after}`);
  return JSON.stringify([
    method,
    path.map(shape),
    query.map(({ name, value }) => `${plainName(name)}=${shape(value)}`).sort(),
  ]);
}

/** Prints the `match` of an operation as a rule book writes it. */
export function printMatch({
  method,
  template,
  query = [],
}: {
  readonly method: string;
  readonly template: string;
  readonly query?: readonly DestinationParameter[];
}): string {
  return printDestination({ method, template, query, path: [] });
}

/** A key that is equal for queries that match the same requests. */
export function matchQueryShape(query: readonly DestinationParameter[]): string {
  const parts = query.map(
    ({ name, value }) =>
      `${plainName(name)}=${value.parameter === undefined ? plainSpelling(value.before) : '{}'}`,
  );
  return parts.sort().join('&');
}

/** One spelling of the name of a query parameter. */
function plainName(name: string): string {
  return plainSpelling(name.replaceAll('+', '%20'));
}

/** The path of an operation at V2, ignoring the names of its parameters, without its query. */
export function shapeAtV2({
  to,
  template,
}: {
  readonly to?: Destination;
  readonly template: string;
}): string {
  if (to === undefined) return templateShape(template);
  return `/${to.path.map((segment) => (segment.parameter === undefined ? plainSpelling(segment.before) : '{}')).join('/')}`;
}

/** The names of the parameters of a path template, in order. */
export function parametersIn(template: string): readonly string[] {
  return template.split('/').flatMap((segment) => (segment.startsWith('{') ? [segment.slice(1, -1)] : []));
}

/** The names of the parameters of an operation, of its path and then of its query. */
export function parametersOf({
  template,
  query = [],
}: {
  readonly template: string;
  readonly query?: readonly DestinationParameter[];
}): readonly string[] {
  return [...parametersIn(template), ...query.flatMap(({ value }) => value.parameter ?? [])];
}

/** The parameters that `to` can use, after the steps. */
export function parametersAfter(
  names: readonly string[],
  steps: readonly ParameterStep[],
): readonly string[] {
  return steps.reduce(
    (known, step) =>
      'to' in step ? [...known.filter((name) => name !== step.parameter), ...step.to] : known,
    names,
  );
}

/** Returns what is wrong with the query of a `match`, and how to fix it; undefined if nothing is. */
export function matchQueryFault(query: string, template: string): string | undefined {
  if (!PARAMETER.test(query)) return 'contains a query or a fragment; only the path is matched, so remove it';
  const names = new Set<string>();
  const parameters = [...parametersIn(template)];
  for (const { name, value } of partsOfQuery(query)) {
    const { before, parameter, after } = readPattern(value);
    const decoded = plainName(name);
    if (name === '' || value === '')
      return 'has a query that is not made of name=value; write GET /runs?project_id={id}, for example';
    if (parameter === undefined ? /[{}]/.test(value) : before + after !== '')
      return `has "${value}" in its query; a value must be a whole parameter, such as {id}, or contain none`;
    const fault = queryFault(name) ?? (parameter === undefined ? queryFault(value) : undefined);
    if (fault !== undefined) return fault;
    if (names.has(decoded)) return `has the query parameter ${decoded} twice; write it once`;
    names.add(decoded);
    if (parameter !== undefined && parameters.includes(parameter))
      return `has the parameter {${parameter}} twice; use it once`;
    if (parameter !== undefined) parameters.push(parameter);
  }
  return undefined;
}

/** Returns what is wrong with the steps of parameters, by position. */
export function stepFaults(
  steps: readonly ParameterStep[],
  parameters: readonly string[],
): readonly (readonly [at: number, fault: string])[] {
  let known = parameters;
  return steps.flatMap((step, at): (readonly [number, string])[] => {
    const before = known;
    known = parametersAfter(known, [step]);
    if (!before.includes(step.parameter))
      return [
        [
          at,
          `has no parameter {${step.parameter}} at this step; known: ${before.map((name) => `{${name}}`).join(', ') || 'none'}`,
        ],
      ];
    const twice =
      'to' in step ? step.to.find((name) => name !== step.parameter && before.includes(name)) : undefined;
    return twice === undefined
      ? []
      : [[at, `already has the parameter {${twice}}; give the part another name`]];
  });
}

/** Returns what is wrong with the `to` of an operation and how to fix it; a valid one has no faults. */
export function destinationFaults(text: string, match: MatchedRequest, prefix: string): readonly string[] {
  const { method, path, query } = partsOf(text);
  const faults: string[] = [];
  if (method === 'HEAD' && match.method !== 'HEAD')
    faults.push(`HEAD has no content for a client that sends ${match.method}; write GET`);
  if (text.includes('#')) return [...faults, 'contains a fragment, which is never sent; remove it'];
  const fault = pathFault(path, prefix);
  if (fault !== undefined) return [...faults, fault];
  for (const { name, value } of partsOfQuery(query)) {
    if (name === '' || value === undefined)
      return [...faults, `has a query that is not made of name=value; write ${path}?name={id}, for example`];
    const inQuery = textFault(value) ?? queryFault(name) ?? queryFault(value);
    if (inQuery !== undefined) faults.push(inQuery);
  }
  if (faults.length > 0) return faults;
  return [...faults, ...parameterFaults(readDestination(text), match)];
}

/** The parts of an operation that its destination depends on. */
interface MatchedRequest {
  readonly method: string;
  readonly template: string;
  readonly query: readonly DestinationParameter[];
  readonly steps: readonly ParameterStep[];
}

function parameterFaults(destination: Destination, match: MatchedRequest): readonly string[] {
  const own = parametersOf(match);
  const known = parametersAfter(own, match.steps);
  const used = new Set<string>();
  const faults: string[] = [];
  for (const { parameter } of [...destination.path, ...destination.query.map(({ value }) => value)]) {
    if (parameter === undefined) continue;
    const names = known.map((name) => `{${name}}`).join(', ');
    if (!known.includes(parameter))
      faults.push(
        `has the parameter {${parameter}}, which ${match.template} does not have: ${known.length === 0 ? 'it has none' : `it has ${names}`}`,
      );
    else if (own.indexOf(parameter) !== own.lastIndexOf(parameter))
      faults.push(
        `has the parameter {${parameter}}, which ${match.template} has twice; give one of them another name`,
      );
    else if (used.has(parameter)) faults.push(`has the parameter {${parameter}} twice; use it once`);
    used.add(parameter);
  }
  const names = new Set<string>();
  for (const { name } of destination.query) {
    const decoded = plainName(name);
    if (names.has(decoded)) faults.push(`has the query parameter ${decoded} twice; write it once`);
    names.add(decoded);
  }
  const isSame =
    destination.method === match.method &&
    destination.query.length + match.query.length + match.steps.length === 0 &&
    destination.path.length === readTemplate(match.template).length &&
    `/${destination.path.map(printPattern).join('/')}` === match.template;
  if (isSame) faults.push('is where the operation goes without it; remove it');
  return faults;
}

/** Returns what is wrong with the address of a lookup of the member `member`, and how to fix it; undefined if nothing is. */
export function addressFault(address: string, member: string, prefix: string): string | undefined {
  const named = address.replaceAll(/\{[^{}]*\}/g, '{key}');
  const { path, query } = partsOf(`GET ${named}`);
  if (/[\s#]/.test(address)) return 'has a space or a fragment; write a path, and a query if V2 needs one';
  const fault = pathFault(path, prefix) ?? addressQueryFault(query);
  if (fault !== undefined) return fault;
  const braces = address.match(/\{[^{}]*\}/g) ?? [];
  const own = `{${member}}`;
  const [only, more] = braces;
  if (only === undefined || more !== undefined)
    return `must have exactly one place for the key; write ${own} once`;
  return only === own || only === '{}' ? undefined : `names ${only}; write ${own} or {} for the key`;
}

function addressQueryFault(query: string | undefined): string | undefined {
  for (const { name, value } of partsOfQuery(query)) {
    if (name === '') return 'has a query that is not made of name=value; write /users?ids={}, for example';
    const fault = textFault(value) ?? queryFault(name) ?? queryFault(value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The path of a lookup's address at V2, without the key. */
export function shapeOfAddress({
  before,
  after,
}: {
  readonly before: string;
  readonly after: string;
}): string {
  const [path = ''] = `${before}{key}${after}`.split('?', 1);
  return templateShape(plainSpelling(path));
}

function pathFault(path: string, prefix: string): string | undefined {
  if (!path.startsWith('/'))
    return 'has a path that does not begin with a slash; write POST /invoices, for example';
  if (prefix !== '' && isUnder(path, prefix))
    return `contains the prefix; write only the part after ${prefix}`;
  if (path === '/') return undefined;
  if (path.endsWith('/')) return 'ends with a slash; remove it: the slash of a request is kept';
  if (path.endsWith('.json')) return 'ends with .json; remove it: the .json of a request is kept';
  for (const segment of path.slice(1).split('/')) {
    if (segment === '') return 'contains an empty segment; services merge slashes, so remove it';
    if (segment === '.' || segment === '..') return 'contains a dot segment; servers resolve it';
    const fault = textFault(segment);
    if (fault !== undefined) return fault;
    const { before, after } = readPattern(segment);
    const literal = literalFault(before + after);
    if (literal !== undefined) return literal;
  }
  return undefined;
}

/** What is wrong with a text that may have one parameter. */
function textFault(text: string): string | undefined {
  const { before, parameter, after } = readPattern(text);
  if (!/[{}]/.test(before + after)) return undefined;
  return parameter === undefined
    ? `contains "${text}"; a parameter is a name in braces, such as {id}`
    : `contains "${text}"; a segment or a value has room for one parameter, because two would be indistinguishable`;
}

function queryFault(text: string): string | undefined {
  const found = /[^\w.~!$'()*+,:@/?[\]{}%-]/.exec(text)?.[0];
  if (found !== undefined) return `contains ${JSON.stringify(found)} in the query; percent-encode it`;
  return /%(?![0-9a-f]{2})/i.test(text)
    ? 'contains a percent sign without two hexadecimal digits; write %25'
    : undefined;
}

interface DestinationParts {
  readonly method: string;
  readonly path: string;
  /** Undefined without a question mark. */
  readonly query: string | undefined;
}

/** The parts of a method with a target. */
export function partsOf(text: string): DestinationParts {
  const [method = '', target = ''] = text.split(' ');
  const mark = target.indexOf('?');
  return mark === -1
    ? { method, path: target, query: undefined }
    : { method, path: target.slice(0, mark), query: target.slice(mark + 1) };
}

function partsOfQuery(
  query: string | undefined,
): readonly { readonly name: string; readonly value: string }[] {
  if (query === undefined) return [];
  return query.split('&').map((part) => {
    const equals = part.indexOf('=');
    return equals === -1
      ? { name: '', value: '' }
      : { name: part.slice(0, equals), value: part.slice(equals + 1) };
  });
}

const PARAMETER = /\{([A-Za-z_][\w-]*)\}/;

function readPattern(text: string): PatternText {
  const found = PARAMETER.exec(text);
  if (found === null) return { before: text, parameter: undefined, after: '' };
  return {
    before: text.slice(0, found.index),
    parameter: found[1],
    after: text.slice(found.index + found[0].length),
  };
}

function printPattern({ before, parameter, after }: PatternText): string {
  return before + (parameter === undefined ? '' : `{${parameter}}`) + after;
}

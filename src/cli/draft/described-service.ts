import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { percentDecoded } from '../../http/target.ts';
import { listen } from '../../node/clients/listen.ts';
import type { Components } from '../../openapi/components.ts';
import type { BodySchemas } from '../../openapi/body-schemas.ts';
import {
  type DescribedOperation,
  memberOf,
  operationsBelow,
  readJsonText,
  tableOf,
  templateOf,
} from '../../openapi/description.ts';
import { requestBody, requiresBody } from '../../openapi/draft/bodies.ts';
import { parametersOf } from '../../openapi/draft/match-operations.ts';
import { generalPointer } from '../../json/pointer.ts';
import type { OperationTable } from '../../rules/rule-book.ts';
import { exampleResponse } from './described-examples.ts';
import { ParameterChecks } from './parameter-checks.ts';

/** A request to check against a description. */
export interface JudgedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** A header field by its name. */
  readonly field: (name: string) => string | undefined;
  readonly body: string;
}

/** The places of parameters whose values are checked, in words. */
const PARAMETERS: ReadonlyMap<unknown, string> = new Map([
  ['query', 'query parameter'],
  ['path', 'path parameter'],
  ['header', 'header field'],
]);

/** The operations of a description below a prefix, matched and validated as a service would. */
export class DescribedService {
  readonly components: Components;
  private readonly prefix: string;
  private readonly operations: readonly DescribedOperation[];
  private readonly table: OperationTable;
  private readonly schemas: BodySchemas;
  private readonly parameters: ParameterChecks;

  constructor(components: Components, prefix: string, schemas: BodySchemas) {
    this.components = components;
    this.prefix = prefix;
    this.schemas = schemas;
    this.parameters = new ParameterChecks(components);
    this.operations = operationsBelow(components.description, prefix, 'v2');
    this.table = tableOf(this.operations);
  }

  /** The operation that a request is for. */
  operationOf(method: string, target: string): DescribedOperation | undefined {
    const [path = ''] = target.split('?', 1);
    if (!path.startsWith(`${this.prefix}/`)) return undefined;
    const found = this.table.match(method, path.slice(this.prefix.length));
    return found === undefined ? undefined : this.operations[Number(found.id)];
  }

  /** Returns a sentence for each fault of a request, by the description. */
  faultsOf({ method, target, field, body }: JudgedRequest): readonly string[] {
    const operation = this.operationOf(method, target);
    const [path = '', search = ''] = target.split('?');
    if (operation === undefined) return [`V2 does not describe ${method} ${path}.`];
    const query = new URLSearchParams(search);
    const missing = parametersOf(operation, this.components.description).flatMap((parameter) => {
      const [name, place] = [memberOf(parameter, 'name'), memberOf(parameter, 'in')];
      if (typeof name !== 'string' || memberOf(parameter, 'required') !== true) return [];
      if (place === 'query' && !query.has(name)) return [`V2 requires the query parameter ${name}.`];
      return place === 'header' && field(name.toLowerCase()) === undefined
        ? [`V2 requires the header field ${name}.`]
        : [];
    });
    const sentIn = (place: unknown, name: string): readonly string[] =>
      place === 'query' ? query.getAll(name) : place === 'header' ? [field(name.toLowerCase()) ?? ''] : [];
    const faults = [...missing, ...this.parameterFaults(operation, path, sentIn)];
    if (body === '' && requiresBody(operation, this.components)) return [...faults, 'V2 requires a body.'];
    if (body === '' || requestBody(operation, this.components)?.form !== 'json') return faults;
    return [...faults, ...this.bodyFaults(operation, body)];
  }

  /** The faults of the values of parameters, by their schemas. */
  private parameterFaults(
    operation: DescribedOperation,
    path: string,
    sentIn: (place: unknown, name: string) => readonly string[],
  ): readonly string[] {
    const segments = path.slice(this.prefix.length).split('/');
    const inPath = new Map((templateOf(operation) ?? '').split('/').map((own, at) => [own, segments[at]]));
    return parametersOf(operation, this.components.description).flatMap((parameter) => {
      const [name, place] = [memberOf(parameter, 'name'), memberOf(parameter, 'in')];
      const words = PARAMETERS.get(place);
      if (typeof name !== 'string' || words === undefined) return [];
      const segment = place === 'path' ? inPath.get(`{${name}}`) : undefined;
      const texts = segment === undefined ? sentIn(place, name) : [percentDecoded(segment) ?? segment];
      const fault = this.parameters.faultOf(
        parameter,
        texts.filter((text) => text !== ''),
      );
      return fault === undefined ? [] : [`V2 refuses the ${words} ${name}: ${fault}`];
    });
  }

  /**
   * Sentences about query parameters that V2 does not describe. They are no reason to refuse a request, because most services ignore them.
   */
  unknownQueries(method: string, target: string): readonly string[] {
    const operation = this.operationOf(method, target);
    if (operation === undefined) return [];
    const described = new Set(
      parametersOf(operation, this.components.description).flatMap((parameter) =>
        memberOf(parameter, 'in') === 'query' ? [memberOf(parameter, 'name')] : [],
      ),
    );
    // Lists and objects are sent as `filter[state]=open`.
    const isDescribed = (name: string): boolean =>
      described.has(name) || described.has(name.split('[', 1)[0]) || described.has(`${name}[]`);
    const names = [...new Set(new URLSearchParams(target.split('?')[1] ?? '').keys())];
    const unknown = names.filter((name) => !isDescribed(name));
    if (unknown.length === 0) return [];
    const what = unknown.length === 1 ? 'the query parameter' : 'these query parameters:';
    return [`V2 does not describe ${what} ${unknown.join(', ')}.`];
  }

  private bodyFaults({ method, path, rest }: DescribedOperation, body: string): readonly string[] {
    try {
      const faults =
        this.schemas.faultsOf(method, rest, readJsonText(body)) ??
        this.schemas.faultsOf(method, path, readJsonText(body));
      return (faults ?? []).map(
        ({ pointer, reason }) => `V2 refuses ${generalPointer(pointer) || 'the body'}: ${reason}`,
      );
    } catch {
      // A schema that cannot be used finds no fault in a body.
      return [];
    }
  }
}

/** A service that responds from a description, on a free port of the loopback interface. */
export interface RunningService {
  readonly origin: string;
  readonly close: () => Promise<void>;
}

/** Starts a service that responds from its description: with an example, or with the faults of the request. */
export async function startDescribedService(service: () => DescribedService): Promise<RunningService> {
  const respond = getRequestListener((request) => responseTo(service(), request), {
    overrideGlobalObjects: false,
  });
  const server = createServer((incoming, outgoing) => void respond(incoming, outgoing));
  const origin = await listen(server, { host: '127.0.0.1', port: 0 }, 'http');
  return {
    origin,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function responseTo(service: DescribedService, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { method, headers } = request;
  const target = `${pathname}${search}`;
  const body = await request.text();
  const operation = service.operationOf(method, target);
  const faults = service.faultsOf({ method, target, body, field: (name) => headers.get(name) ?? undefined });
  if (operation === undefined || faults.length > 0) {
    const status = operation === undefined ? 404 : 422;
    const title = operation === undefined ? 'Not found' : 'Unprocessable content';
    return Response.json(
      { status, title, detail: faults.join(' ') },
      { status, headers: { 'content-type': 'application/problem+json' } },
    );
  }
  const shown = exampleResponse(operation, service.components);
  return new Response(shown.body === '' ? null : shown.body, {
    status: shown.status,
    headers: shown.headers.map(([name, value]): [string, string] => [name, value]),
  });
}

/** @module-tag packages */
/* oxlint-disable typescript/no-unnecessary-type-assertion -- without the packages of the tests, their types are any */
import { createServer, IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { http as cloudFunction } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import express4 from 'express4';
import { fastify } from 'fastify';
import Koa from 'koa';
import koaBodyParser from 'koa-bodyparser';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMigration, type Migration } from '../../../src/library/capture-gateway.ts';
import { migrateListener } from '../../../src/node/library/migrate-listener.ts';
import { listening } from '../../support/listening.ts';
import { exchange, rawClient } from '../../support/raw-client.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';

/** Serves V2 behind a migration; what its handler finds goes to `see`. */
type Service = (migration: Migration, see: (request: IncomingMessage) => void) => Promise<RequestListener>;

/** The middleware of a service before everything else: it must run once for a request, and what it adds must stay. */
const enter: RequestHandler = (request, _response, next) => {
  Object.assign(request, { user: 'u', calls: Number(Reflect.get(request, 'calls') ?? 0) + 1 });
  next();
};

/** An Express application with middleware before the migration, and middleware behind it. */
function expressWith(make: typeof express, before: RequestHandler[], behind: RequestHandler[] = []): Service {
  return async (migration, see) => {
    const app = make();
    app.use(enter, ...before);
    app.use(migrateListener(migration));
    for (const each of behind) app.use(each);
    withRoutes(app, see);
    return app;
  };
}

function withRoutes(app: Pick<Express, 'post'>, see: (request: IncomingMessage) => void): void {
  app.post('/api/v2/orders/post_productions', (request, response) => {
    see(request);
    response.status(201).json({ data: { highlight_type: 'x' } });
  });
}

const wholeBody: RequestHandler = (request, _response, next) => {
  let text = '';
  request.on('data', (chunk: string) => {
    text += chunk;
  });
  request.on('end', () => {
    Object.assign(request, { rawBody: text });
    next();
  });
};

/** The same, but it does not wait. */
const appended: RequestHandler = (request, _response, next) => {
  Object.assign(request, { rawBody: '' });
  request.on('data', (chunk: Buffer) => {
    Object.assign(request, { rawBody: String(Reflect.get(request, 'rawBody')) + chunk.toString() });
  });
  next();
};

const encoded: RequestHandler = (request, _response, next) => {
  request.setEncoding('utf8');
  next();
};

const later: RequestHandler = (_request, _response, next) => void setTimeout(() => next(), 20);

const keepRaw = (request: IncomingMessage, _response: ServerResponse, rawBody: Buffer): void =>
  void Object.assign(request, { rawBody });

const V1 = '{"data":{"transition_type":"é","property":{"suburb":"Enmore"}}}';
const V2 = '{"highlight_type":"é","property":{"address":{"suburb":"Enmore"}}}';
const VALUE: unknown = JSON.parse(V2);
const FORM = 'data[transition_type]=%C3%A9&data[property][suburb]=Enmore';

/** A V1 order, as a client sends it. */
function order(body: string | Buffer, type = 'application/json', fields = ''): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(
      `POST /api/v1/orders/post_productions HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\n${fields}Content-Length: ${bytes.length}\r\n\r\n`,
    ),
    bytes,
  ]);
}

const CHUNKED = Buffer.from(
  `POST /api/v1/orders/post_productions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${Buffer.byteLength(V1).toString(16)}\r\n${V1}\r\n0\r\n\r\n`,
);

const FLAT = { highlight_type: 'é', 'property[address][suburb]': 'Enmore' };
const any = { type: () => true };

const SERVICES: readonly [name: string, service: Service, sent: Buffer, body: unknown, rawBody?: unknown][] =
  [
    ['Express, json()', expressWith(express, [express.json()]), order(V1), VALUE],
    ['Express, json() in chunks', expressWith(express, [express.json()]), CHUNKED, VALUE],
    ['Express 4, json()', expressWith(express4, [express4.json()]), order(V1), VALUE],
    [
      'Express, json() with verify',
      expressWith(express, [express.json({ verify: keepRaw })]),
      order(V1),
      VALUE,
      Buffer.from(V2),
    ],
    [
      'Express, json() of gzip',
      expressWith(express, [express.json()]),
      order(gzipSync(V1), undefined, 'Content-Encoding: gzip\r\n'),
      VALUE,
    ],
    [
      'Express, json() of gzip with verify',
      expressWith(express, [express.json({ verify: keepRaw })]),
      order(gzipSync(V1), undefined, 'Content-Encoding: gzip\r\n'),
      VALUE,
      Buffer.from(V2),
    ],
    [
      'Express, json() of ISO-8859-1',
      expressWith(express, [express.text({ type: any.type, defaultCharset: 'iso-8859-1' })]),
      order(Buffer.from(V1, 'latin1'), 'application/json; charset=iso-8859-1'),
      V2,
    ],
    [
      'Express, urlencoded({ extended: true })',
      expressWith(express, [express.urlencoded({ extended: true })]),
      order(FORM, 'application/x-www-form-urlencoded'),
      VALUE,
    ],
    [
      'Express, urlencoded({ extended: false })',
      expressWith(express, [express.urlencoded({ extended: false })]),
      order(FORM, 'application/x-www-form-urlencoded'),
      FLAT,
    ],
    [
      'Express 4, urlencoded({ extended: true })',
      expressWith(express4, [express4.urlencoded({ extended: true })]),
      order(FORM, 'application/x-www-form-urlencoded'),
      VALUE,
    ],
    [
      'Express 4, urlencoded({ extended: false })',
      expressWith(express4, [express4.urlencoded({ extended: false })]),
      order(FORM, 'application/x-www-form-urlencoded'),
      FLAT,
    ],
    ['Express, text()', expressWith(express, [express.text(any)]), order(V1), V2],
    ['Express, raw()', expressWith(express, [express.raw(any)]), order(V1), Buffer.from(V2)],
    [
      'Express, raw({ inflate: false }) of gzip',
      expressWith(express, [express.raw(any)]),
      order(gzipSync(V1), undefined, 'Content-Encoding: gzip\r\n'),
      Buffer.from(V2),
    ],
    ['Express, first', expressWith(express, [], [express.json()]), order(V1), VALUE],
    ['Express 4, first', expressWith(express4, [], [express4.json()]), order(V1), VALUE],
    ['Express, setEncoding()', expressWith(express, [encoded], [wholeBody]), order(V1), undefined, V2],
    ['Express, after something slow', expressWith(express, [later], [express.json()]), order(V1), VALUE],
    ['Express with its own rawBody', expressWith(express, [encoded, wholeBody]), order(V1), undefined, V2],
    [
      'Express, one who reads at the same time',
      expressWith(express, [appended], [express.json()]),
      order(V1),
      VALUE,
      V2,
    ],
    [
      'Express, its application as V2',
      async (migration, see) => {
        const app = express();
        app.use(enter, express.json());
        app.use(migrateListener(migration, app));
        withRoutes(app, see);
        return app;
      },
      order(V1),
      VALUE,
    ],
    [
      'Express, in a router',
      async (migration, see) => {
        const app = express();
        const router = express.Router();
        router.use(enter, express.json());
        router.use(migrateListener(migration, router as unknown as RequestListener));
        withRoutes(router as unknown as Express, see);
        return app.use(router);
      },
      order(V1),
      VALUE,
    ],
    [
      'Express, another application as V2',
      async (migration, see) => {
        const v2 = express();
        v2.use(express.json());
        withRoutes(v2, see);
        const app = express();
        return app.use(enter, express.json(), migrateListener(migration, v2));
      },
      order(V1),
      VALUE,
    ],
    [
      'Fastify, in a route that has the body',
      async (migration, see) => {
        const app = fastify();
        const listener = migrateListener(migration, (request, response) => app.routing(request, response));
        app.all('/api/v1/*', async (request, reply) => {
          reply.hijack();
          await listener(Object.assign(request.raw, { body: request.body, user: 'u', calls: 1 }), reply.raw);
        });
        app.post('/api/v2/orders/post_productions', async (request, reply) => {
          see(Object.assign(request.raw, { body: request.body }));
          await reply.status(201).send({ data: { highlight_type: 'x' } });
        });
        onTestFinished(() => app.close());
        await app.ready();
        return (request, response) => app.routing(request, response);
      },
      order(V1),
      VALUE,
    ],
    [
      'Firebase',
      async (migration, see) => {
        const v2 = express();
        withRoutes(v2, see);
        const listener = migrateListener(migration, v2);
        cloudFunction('v2', (request, response) => {
          Object.assign(request, { user: 'u', calls: 1 });
          return listener(request, response);
        });
        const [handle] = getTestServer('v2').listeners('request');
        return handle as RequestListener;
      },
      order(V1),
      VALUE,
      Buffer.from(V2),
    ],
    [
      'Next, a route of pages/api',
      async (migration, see) => {
        const v2 = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
          await new Promise(setImmediate);
          see(request);
          response.writeHead(201, { 'content-type': 'application/json' });
          response.end('{"data":{"highlight_type":"x"}}');
        };
        const handler = migrateListener(migration, v2);
        return (request, response) => {
          const parts: Buffer[] = [];
          request.on('data', (part: Buffer) => parts.push(part));
          request.on('end', () => {
            const body: unknown = JSON.parse(Buffer.concat(parts).toString());
            const done = handler(Object.assign(request, { body, user: 'u', calls: 1 }), response);
            // Next complains of a handler that returns before it has responded.
            void Promise.resolve(done).then(() => expect(response.writableEnded).toBe(true));
          });
        };
      },
      order(V1),
      VALUE,
    ],
    [
      'Azure, no stream and rawBody as text',
      async (migration, see) => {
        const handler = migrateListener(migration, (request, response) => {
          see(request);
          response.writeHead(201, { 'content-type': 'application/json' });
          response.end('{"data":{"highlight_type":"x"}}');
        });
        return (request, response) => {
          let rawBody = '';
          request.setEncoding('utf8').on('data', (text: string) => {
            rawBody += text;
          });
          request.on('end', () => {
            const { method, url, headers } = request;
            const body: unknown = JSON.parse(rawBody);
            const plain = { method, url, headers, body, rawBody, user: 'u', calls: 1 };
            handler(plain as unknown as IncomingMessage, response);
          });
        };
      },
      order(V1),
      VALUE,
      V2,
    ],
    ...(
      [
        ['in front', false],
        ['as middleware before the parser', true],
      ] as const
    ).map(([where, isMiddleware]): [string, Service, Buffer, unknown] => [
      `Koa, ${where}`,
      async (migration, see) => {
        const app = new Koa();
        app.use(async ({ req }, next) => {
          enter(req as express.Request, undefined as never, () => {});
          await next();
        });
        const own = migrateListener(migration);
        if (isMiddleware) app.use(async ({ req, res }, next) => void (await own(req, res, next)));
        app.use(koaBodyParser());
        app.use((context) => {
          Object.assign(context.req, { url: context.path });
          see(Object.assign(context.req, { body: context.request.body }));
          context.status = 201;
          context.body = { data: { highlight_type: 'x' } };
        });
        const handle = app.callback();
        const listener: RequestListener = (request, response) => void handle(request, response);
        return isMiddleware ? listener : migrateListener(migration, listener);
      },
      order(V1),
      VALUE,
    ]),
  ];

async function migrationOf(): Promise<Migration> {
  return createMigration((await compiledShippedRuleBook()).ruleBook);
}

describe.each(SERVICES)('%s', (_name, service, sent, body, rawBody) => {
  test('serves V1 with the body where and as its parser leaves it, and middleware runs once', async () => {
    const seen: object[] = [];
    const listener = await service(await migrationOf(), (request) => {
      const { url, headers } = request;
      const [body, rawBody, user, calls] = ['body', 'rawBody', 'user', 'calls'].map((name): unknown =>
        Reflect.get(request, name),
      );
      const length = Number(headers['content-length']) > 40;
      seen.push({ url, body, rawBody, length, coding: headers['content-encoding'], user, calls });
    });
    const port = await listening(createServer(listener));
    const client = rawClient(port);
    // Twice on one connection: an unread rest of the first must not be in the way of the second.
    for (const at of [1, 2]) {
      client.write(sent);
      const { text } = await client.until(new RegExp(`(?:"transition_type":"x"[^]*){${at}}`));
      expect(text).toMatch(/^HTTP\/1\.1 201 /);
      expect(text).toContain('{"data":{"transition_type":"x"}}');
    }
    client.socket.destroy();
    expect(seen).toHaveLength(2);
    for (const each of seen) {
      expect(each).toEqual({
        url: '/api/v2/orders/post_productions',
        body,
        rawBody,
        length: true,
        coding: undefined,
        user: 'u',
        calls: 1,
      });
    }
  });
});

const read: RequestHandler = (request, _response, next) => void request.resume().on('end', next);

test.each<[name: string, service: Service, sent: Buffer]>([
  ['that middleware has read and kept nowhere', expressWith(express, [read]), order(V1)],
  [
    'of parts, whose parser keeps fields alone',
    expressWith(express, [
      read,
      (request, _response, next) => {
        request.body = { a: '1' };
        next();
      },
    ]),
    order(
      '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
      'multipart/form-data; boundary=b',
    ),
  ],
  [
    'that koa-bodyparser has put on its own request',
    async (migration) => {
      const app = new Koa();
      app.use(koaBodyParser());
      app.use(async ({ req, res }, next) => void (await migrateListener(migration)(req, res, next)));
      const handle = app.callback();
      return (request, response) => void handle(request, response);
    },
    order(V1),
  ],
])('a body %s is a 500 that says so at once', async (_name, service, sent) => {
  const listener = await service(await migrationOf(), () => {
    throw new Error('V2 was called');
  });
  const { text } = await exchange(await listening(createServer(listener)), sent);
  expect(text).toMatch(/^HTTP\/1\.1 500 [^]*x-gateway-error: body-already-read/i);
  expect(text).toContain('run the migration first');
});

test('an error that V2 throws after reading a body reaches the error handler of Express', async () => {
  for (const make of [express, express4]) {
    const v2: RequestListener = () => {
      throw new Error('broken');
    };
    const app = make();
    app.use(make.json(), migrateListener(await migrationOf(), v2));
    const failed: unknown[] = [];
    app.use(((error, _request, response, _next) => {
      failed.push(error);
      response.status(599).end();
    }) as ErrorRequestHandler);
    const { text } = await exchange(await listening(createServer(app)), order(V1));
    expect(text).toMatch(/^HTTP\/1\.1 599 /);
    expect(failed).toEqual([new Error('broken')]);
  }
});

test('without V2 and without next, the error names the missing argument', async () => {
  const listener = migrateListener(await migrationOf());
  expect(() => listener(new IncomingMessage(undefined as never), undefined as never)).toThrow(/needs next/);
});

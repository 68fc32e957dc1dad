import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writeFieldLines } from '../../src/http/raw-headers.ts';
import {
  API_METHODS,
  expectsContent,
  isRead,
  methodLabel,
  readHead,
  readHeadLines,
} from '../../src/http/request-head.ts';
import { arbitraryLines } from '../support/field-lines.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

const LIMITS = { count: 100, bytes: 16_384 };
const read = (headers: readonly string[], trusted = false) => readHead(headers, LIMITS, trusted);

describe('fields that cross', () => {
  test('keep order, repetition, spelling and bytes', () => {
    const headers = ['X-B', '1', 'x-a', '', 'Set-Cookie', 'a', 'x-B', '2', 'Cookie', 'c=\u00e9'];
    expect(read(headers).forwardedHeaders).toEqual(headers);
  });

  test('are not those of the connection, nor those that Connection lists', () => {
    const before = ['Connection', 'X-Gone, keep-alive', 'Keep-Alive', '5', 'TE', 'trailers', 'X-Gone', '1'];
    const after = [
      'Proxy-Connection',
      'x',
      'Proxy-Authorization',
      'Basic x',
      'Upgrade',
      'h2c',
      'Expect',
      'x',
    ];
    const head = read([...before, 'X-Stays', '1', ...after]);
    expect(head.forwardedHeaders).toEqual(['X-Stays', '1']);
  });

  test('include Trailer only where the body has no length, and trailers are forwarded', () => {
    expect(read(['Trailer', 'x']).forwardedHeaders).toEqual(['Trailer', 'x']);
    expect(read(['Trailer', 'x', 'Transfer-Encoding', 'chunked']).forwardedHeaders).toEqual(['Trailer', 'x']);
    expect(read(['Trailer', 'x', 'Content-Length', '1']).forwardedHeaders).toEqual([]);
    expect(read(['Connection', 'trailer', 'Trailer', 'x']).forwardedHeaders).toEqual([]);
  });

  test('cannot be taken away by a client that lists them in Connection (CVE-2024-45410)', () => {
    const headers = words`Authorization k Content-Type x x-api-version v X-Request-Id i traceparent t`;
    const names =
      'authorization, content-type, x-api-version, x-request-id, traceparent, x-forwarded-for, host';
    expect(read(['Connection', names, ...headers]).forwardedHeaders).toEqual(headers);
  });

  test('name the origin of a request only if a trusted proxy sent them, because any client can write them', () => {
    const headers = ['X-Forwarded-For', '1.2.3.4', 'Forwarded', 'for=1.2.3.4', 'X-Real-IP', '1.2.3.4'];
    expect(read(headers).forwardedHeaders).toEqual([]);
    expect(read(headers, true).forwardedHeaders).toEqual(headers);
  });
});

describe('fields that two readers could read differently', () => {
  test('a second Authorization, unless it has the same value', () => {
    const name = 'Authorization';
    const lines = [name, '1', name.toLowerCase(), '1'];
    expect(read([...lines, name, '2']).fault?.status).toBe(400);
    const head = read(lines);
    expect([head.fault, head.repeatsFields]).toEqual([undefined, true]);
    expect(head.forwardedHeaders).toEqual(lines);
    expect(read(lines.slice(2)).repeatsFields).toBe(false);
  });

  // It says neither whose the request is nor where it ends.
  test('a second Content-Type is noted, and the first one counts', () => {
    const lines = ['Content-Type', 'application/json', 'content-type', 'Application/JSON; charset=utf-8'];
    const head = read(lines);
    expect([head.fault, head.repeatsFields, head.contentType]).toEqual([undefined, true, 'application/json']);
    expect(head.forwardedHeaders).toEqual(lines);
  });

  test.each(['Host', 'Content-Length', 'Transfer-Encoding'])(
    'a second %s, even with the same value',
    (name) => {
      expect(read([name, '1', name.toLowerCase(), '1']).fault?.status).toBe(400);
    },
  );

  test('a second x-api-version is noted and not refused here, because the rule book may not use this field', () => {
    const head = read(['X-Api-Version', '1', 'x-api-version', '2']);
    expect([head.fault, head.repeatsVersion, head.apiVersion]).toEqual([undefined, true, '1']);
    const equal = read(['X-Api-Version', '1', 'x-api-version', '1']);
    expect([equal.repeatsVersion, equal.repeatsFields]).toEqual([false, true]);
    expect(read(['X-Api-Version', '1']).repeatsFields).toBe(false);
  });

  test.each(['content_length', 'Transfer_Encoding'])(
    '%s is refused, because servers that follow CGI read it as the field with hyphens',
    (name) => {
      expect(read([name, '1']).fault?.status).toBe(400);
    },
  );

  test.each(['X_Api_Version', 'content_type', 'X_HTTP_Method_Override', 'x_request_id'])(
    '%s is not read, and crosses where nothing is migrated',
    (name) => {
      const head = read([name, '1']);
      expect([head.fault, head.forwardedHeaders]).toEqual([undefined, [name, '1']]);
      expect([head.contentType, head.apiVersion, head.methodOverride, head.requestId]).toEqual(
        Array.from({ length: 4 }),
      );
    },
  );

  test.each(['x_forwarded_for', 'Forwarded_For', 'X_Real_IP', 'keep_alive', 'Proxy_Authorization'])(
    '%s is removed like the field for which servers may take it',
    (name) => {
      const fields = read([name, '1', 'X', '2']).forwardedHeaders;
      expect(fields).toEqual(name === 'Forwarded_For' ? [name, '1', 'X', '2'] : ['X', '2']);
      expect(read([name, '1']).fault).toBeUndefined();
    },
  );

  test('other names with underscores cross', () => {
    expect(read(['X_Custom', '1']).forwardedHeaders).toEqual(['X_Custom', '1']);
  });

  test.each([
    [['Transfer-Encoding', 'chunked', 'Content-Length', '5'], 400],
    [['Content-Length', '5', 'Transfer-Encoding', 'chunked'], 400],
    [['Transfer-Encoding', ''], 400],
    [['Transfer-Encoding', ',chunked'], 400],
    [['Transfer-Encoding', 'chunked,'], 400],
    [['Transfer-Encoding', '\u000bchunked'], 400],
    [['Transfer-Encoding', 'gzip, chunked'], 501],
    [['Transfer-Encoding', 'chunked, chunked'], 501],
    [['Transfer-Encoding', 'identity'], 501],
    [['Content-Length', '+5'], 400],
    [['Content-Length', '5, 5'], 400],
    [['Content-Length', '0x5'], 400],
    [['Content-Length', ''], 400],
    [['Content-Length', '9999999999999999999'], 400],
    [['X', 'a\u0000b'], 400],
    [['X', 'a\u007fb'], 400],
    [['X', 'a\u000ab'], 400],
  ])('%j', (headers, status) => {
    expect(read(headers).fault?.status).toBe(status);
  });
});

test('a header section beyond the count or the size is refused, also when its end would hold the key', () => {
  const many = Array.from({ length: 100 }, (_, index) => [`x-${index}`, '1']).flat();
  expect(read(many).fault).toBeUndefined();
  expect(read([...many, 'Authorization', 'k']).fault?.status).toBe(431);
  expect(read(['x', 'y'.repeat(16_400)]).fault?.status).toBe(431);
  // Of 16,384 bytes the field takes 105.
  expect(readHead(['x', 'y'.repeat(100)], LIMITS, false, 16_279).fault).toBeUndefined();
  expect(readHead(['x', 'y'.repeat(100)], LIMITS, false, 16_280).fault?.status).toBe(431);
});

test('methods are safe and idempotent as RFC 9110 and RFC 5789 say', () => {
  expect(API_METHODS.filter(isRead)).toEqual(['GET', 'HEAD']);
  expect(API_METHODS.filter(expectsContent)).toEqual(['POST', 'PUT', 'PATCH']);
});

// Attack: ever new methods, each of which makes a series of metrics.
test.each([
  ['PATCH', 'PATCH'],
  ['TRACE', 'TRACE'],
  ['get', '_OTHER'],
  ['X1', '_OTHER'],
])('the label of %s is %s', (method, label) => {
  expect(methodLabel(method)).toBe(label);
});

test('the forwarded lines of a request are those of the forwarded fields', () => {
  let known = 0;
  fc.assert(
    fc.property(arbitraryLines, fc.boolean(), (received, isTrusted) => {
      const head = readHeadLines(received, { count: 100, bytes: 16_384 }, isTrusted, 0);
      const ofList = readHead(received.fields, { count: 100, bytes: 16_384 }, isTrusted);
      expect(head).toMatchObject({
        fault: ofList.fault,
        host: ofList.host,
        authorization: ofList.authorization,
        contentLength: ofList.contentLength,
        apiVersion: ofList.apiVersion,
        expect: ofList.expect,
        forwardedHeaders: ofList.forwardedHeaders,
      });
      if (head.forwardedLines === undefined) return;
      known += 1;
      expect(head.forwardedLines).toBe(writeFieldLines(ofList.forwardedHeaders));
    }),
    { numRuns: fuzzRuns(3000) },
  );
  expect(known).toBeGreaterThan(fuzzRuns(500));
});

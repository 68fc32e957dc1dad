import { describe, expect, test } from 'vitest';
import { type Entry, slowClientCause } from '../../src/rewrite-log/entry.ts';
import { Metrics } from '../../src/rewrite-log/metrics.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { filled, printed } from './metrics/filled-metrics.ts';

describe('metrics', () => {
  test('lost spans, connections that ended early and the ends of certificates have their series', () => {
    const lines = printed(new Metrics()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'gateway_spans_dropped_total 3',
        'gateway_tls_handshake_failures_total{reason="closed"} 2',
        'gateway_tls_handshake_failures_total{reason="timeout"} 0',
        'gateway_proxy_header_faults_total{reason="malformed"} 4',
        'gateway_certificate_not_after_timestamp_seconds{use="clients"} 1800000000',
        'gateway_node_internals_missing{part="readStop"} 1',
      ]),
    );
  });

  test('add up: every exchange is in the count, the durations and one bucket', () => {
    const text = printed(filled(200));
    const sum = (pattern: RegExp): number =>
      text
        .split('\n')
        .filter((line) => pattern.test(line))
        .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
    expect(sum(/^gateway_exchanges_total\{/)).toBe(202);
    expect(sum(/^http_server_request_duration_seconds_count/)).toBe(202);
    expect(sum(/^http_server_request_duration_seconds_bucket.*\+Inf/)).toBe(202);
    expect(text).toContain('gateway_failures_total{code="duplicate-member"} 1');
    expect(text).toContain('http_request_method="_OTHER"');
    expect(text).toContain('gateway_circuit_state{state="open"} 1');
    expect(text).toContain('gateway_rule_book_info{hash="a\\"b\\\\c\\nd",version="2025-01-01"} 1');
  });

  test('have the series of V1 from the start, and the time of its last request', () => {
    const metrics = new Metrics();
    expect(printed(metrics)).toContain('\ngateway_v1_requests_total 0\n');
    expect(printed(metrics)).toContain('\ngateway_v1_last_request_timestamp_seconds 0\n');
    metrics.add({ ...sampleEntry(1, 0), route: 'pass', time: '2026-01-02T00:00:00.000Z' });
    metrics.add({ ...sampleEntry(1, 0), route: 'migrate', time: '2026-01-01T00:00:01.500Z' });
    metrics.add({ ...sampleEntry(1, 0), route: 'migrate', time: '2026-01-01T00:00:00.000Z' });
    // A preflight does not count as a request.
    metrics.add({
      ...sampleEntry(1, 0),
      route: 'migrate',
      method: 'OPTIONS',
      time: '2026-01-03T00:00:00.000Z',
    });
    expect(printed(metrics)).toContain('\ngateway_v1_requests_total 2\n');
    expect(printed(metrics)).toContain('\ngateway_v1_last_request_timestamp_seconds 1767225601.5\n');
  });

  test('count dry runs by both verdicts', () => {
    const metrics = new Metrics();
    const observed = (would: Entry['would']): void =>
      metrics.add({ ...sampleEntry(1, 0), operation: 'create_client', would });
    observed({ verdict: 'rewritten', v2: 'invalid', at: '/x' });
    observed({ verdict: 'rewritten', v2: 'invalid', at: '/y' });
    observed({ verdict: 'rewritten', v2: 'unknown', why: 'too-slow' });
    observed({ verdict: 'refused', failure: 'duplicate-member' });
    const name = '\ngateway_dry_runs_total{operation="create_client",';
    expect(printed(metrics)).toContain(`${name}verdict="rewritten",v2="invalid"} 2\n`);
    expect(printed(metrics)).toContain(`${name}verdict="refused",v2=""} 1\n`);
    expect(printed(metrics)).toContain(`${name}verdict="rewritten",v2="unknown",why="too-slow"} 1\n`);
  });

  test('count responses that went on as V2 sent them, by the reason', () => {
    const metrics = new Metrics();
    for (const responseNote of ['response-too-large', undefined, 'response-too-large'])
      metrics.add({ ...sampleEntry(1, 0), responseNote });
    expect(printed(metrics)).toContain('\ngateway_response_notes_total{note="response-too-large"} 2\n');
  });

  test('count what rules look up, by address and outcome', () => {
    const metrics = new Metrics();
    const address = '/api/v2/users/{}';
    const found = { address, status: 200, count: 3, ms: 5, bytes: 10 };
    const late = { address, cause: 'timeout', count: 1, ms: 9, bytes: 0 };
    metrics.add({ ...sampleEntry(1, 0), lookups: [found, late] });
    metrics.add({ ...sampleEntry(1, 0), lookups: [found] });
    const name = `\ngateway_lookups_total{http_route="${address}",`;
    expect(printed(metrics)).toContain(`${name}http_response_status_code="200"} 6\n`);
    expect(printed(metrics)).toContain(`${name}error_type="timeout"} 1\n`);
  });

  test('count exchanges that ended in favour of others, by the resource that was short', () => {
    const metrics = new Metrics();
    expect(printed(metrics)).toContain('\ngateway_slow_clients_ended_total{reason="memory"} 0\n');
    metrics.add({ ...sampleEntry(1, 0), cause: slowClientCause('memory') });
    metrics.add({ ...sampleEntry(1, 0), failure: 'upstream-timeout', cause: 'no next byte in time' });
    expect(printed(metrics)).toContain('\ngateway_slow_clients_ended_total{reason="memory"} 1\n');
    expect(printed(metrics)).toContain('\ngateway_slow_clients_ended_total{reason="connections"} 0\n');
  });

  test('have no series twice', () => {
    const names = printed(filled(300))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.slice(0, line.lastIndexOf(' ')));
    expect(new Set(names).size).toBe(names.length);
  });

  test('are bounded: a client that makes up operations, methods and failures makes no series without end', () => {
    const metrics = new Metrics();
    for (let n = 0; n < 5000; n += 1) {
      metrics.add({
        ...sampleEntry(n, 0),
        operation: `o${n}`,
        method: `M${n}`,
        failure: `f${n}`,
        status: 200 + (n % 300),
      });
    }
    expect(metrics.series.length).toBeLessThanOrEqual(502);
    expect(metrics.series.reduce((total, { exchanges }) => total + exchanges, 0)).toBe(5000);
  });

  test('beyond their bound count an exchange without a failure as none', () => {
    const metrics = new Metrics();
    for (let n = 0; n < 1000; n += 1) metrics.add({ ...sampleEntry(0, 0), operation: `o${n}` });
    metrics.add({ ...sampleEntry(0, 0), operation: 'another', failure: 'upstream-closed', status: 502 });
    const counted = printed(metrics)
      .split('\n')
      .filter((line) => line.startsWith('gateway_failures_total{'));
    expect(counted).toEqual(['gateway_failures_total{code="(overflow)"} 1']);
  });
});

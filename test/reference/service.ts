import { onTestFinished } from 'vitest';
import { startReference, type ReferenceOptions } from '../../src/node/reference.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into whatever came
  readonly body: any;
}

export type Send = (line: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>;

/** A reference service of this test's own, and a function that sends `POST /clients` and the like below /api/v2. */
export async function service(options: ReferenceOptions = {}): Promise<{ send: Send; origin: string }> {
  const running = await startReference({
    report: (error) => {
      throw error;
    },
    ...options,
  });
  onTestFinished(() => running.close());
  return { send: sender(running.origin), origin: running.origin };
}

/** A body that is a string or bytes goes as it is, anything else as JSON. */
export function sender(origin: string, prefix = '/api/v2'): Send {
  return async (line, body, headers = {}) => {
    const [method = '', path = ''] = line.split(' ');
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`${origin}${prefix}${path}`, {
      method,
      headers: { authorization: 'Bearer key', 'content-type': 'application/json', ...headers },
      body: raw ? new Blob([new Uint8Array(Buffer.from(body))]) : JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
}

/** The pointers of an error response. */
export function pointers({ body }: Reply): string[] {
  return body.errors.map((error: { source: { pointer: string } }) => error.source.pointer);
}

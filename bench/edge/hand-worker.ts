/** The least that a worker can do: V2 gets the request as it is, a V1 body is parsed, changed and printed again. It checks and logs nothing. */
import { type Order, v2Order } from '../v2-order.ts';

// oxlint-disable-next-line import/no-default-export -- the form of a worker
export default {
  async fetch(
    request: Request,
    { GATEWAY_UPSTREAM: upstream }: { readonly GATEWAY_UPSTREAM: string },
  ): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname.startsWith('/api/v2/')) return fetch(`${upstream}${pathname}${search}`, request);
    const headers = new Headers(request.headers);
    headers.set('x-api-version', '2025-01-01');
    headers.delete('content-length');
    const body = JSON.stringify(v2Order((await request.json()) as Order));
    const target = `/api/v2${pathname.slice('/api/v1'.length)}${search}`;
    return fetch(`${upstream}${target}`, { method: request.method, headers, body });
  },
};

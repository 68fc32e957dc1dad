import type { EntriesPage, EntryDetail } from '../inspector/api.ts';
import type { RequestFault } from './curl-request.ts';
import type { NamedRequest } from './request-files.ts';

/** Where an admin listener is, and what opens it. */
export interface AdminAddress {
  /** Such as `http://127.0.0.1:8081`. */
  readonly url: string;
  readonly token: string | undefined;
}

/** Asks an admin listener, or with a `body` of JSON tells it something; rejects when it cannot be reached. */
export function askAdmin(
  { url, token }: AdminAddress,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Response> {
  const sent = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
  if (body === undefined) return fetch(new URL(path, url), { headers: sent });
  return fetch(new URL(path, url), {
    method: 'POST',
    headers: { ...sent, 'content-type': 'application/json' },
    body,
  });
}

/** Takes the V1 requests that a running gateway has kept: whole while capture is on, otherwise their structure. */
export async function readAdminRequests(
  address: AdminAddress,
): Promise<readonly NamedRequest[] | RequestFault> {
  const requests: NamedRequest[] = [];
  let before: number | undefined;
  do {
    const response = await askAdmin(
      address,
      `/entries?filter=route:v1&limit=500${before === undefined ? '' : `&before=${before}`}`,
    );
    if (!response.ok)
      return {
        fault: `The admin listener responded with ${response.status}; set GATEWAY_ADMIN_TOKEN if it wants one.`,
      };
    const page: EntriesPage = await response.json();
    for (const { seq } of page.entries) {
      const found = await askAdmin(address, `/entries/${seq}`);
      if (!found.ok) continue;
      const detail: EntryDetail = await found.json();
      const request = requestIn(detail);
      if (request !== undefined) requests.push(request);
    }
    before = page.next;
  } while (before !== undefined);
  return requests;
}

function requestIn({ entry, v1Request }: EntryDetail): NamedRequest | undefined {
  if (v1Request === undefined || v1Request.body.state === 'withheld') return undefined;
  const { method, target, headers, body } = v1Request;
  return {
    name: entry.operation ?? `${method} ${entry.path}`,
    request: {
      method,
      target: target.replaceAll('=…', '='),
      headers: headers.filter(({ masked }) => !masked).map(({ name, value }) => [name, value] as const),
      ...(body.text === undefined ? {} : { body: body.text }),
    },
  };
}

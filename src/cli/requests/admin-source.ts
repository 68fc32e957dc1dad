import type { EntriesPage, EntryDetail, ExplainRequest } from '../../inspector/api.ts';
import type { AdminClient } from '../admin-client.ts';
import { type CommandFault, isFault } from '../command-fault.ts';
import { decodedFields, type NamedRequest, readHar } from './request-files.ts';

/** Reads the V1 requests that a running gateway has captured: complete while capture is on, otherwise their structure. */
export async function readAdminRequests(
  client: AdminClient,
): Promise<readonly NamedRequest[] | CommandFault> {
  const requests: NamedRequest[] = [];
  let before: number | undefined;
  do {
    const { statusCode, body } = await client.ask(
      `/entries?filter=route:v1&limit=500${before === undefined ? '' : `&before=${before}`}`,
    );
    const text = await body.text();
    if (statusCode !== 200) return { fault: client.refusal(statusCode) };
    const page: EntriesPage = JSON.parse(text);
    for (const { seq } of page.entries) {
      const found = await client.ask(`/entries/${seq}`);
      const entry = await found.body.text();
      if (found.statusCode !== 200) continue;
      const detail: EntryDetail = JSON.parse(entry);
      const request = requestIn(detail);
      if (request === undefined) continue;
      const { body } = detail.v1Request ?? {};
      const isKept = body?.state === 'values' || body?.state === 'structure';
      const bytes = isKept ? await bodyOf(client, seq) : {};
      const headers = request.request.headers ?? [];
      requests.push({
        ...request,
        request: { ...request.request, ...bytes, headers: isKept ? decodedFields(headers) : headers },
      });
    }
    before = page.next;
  } while (before !== undefined);
  return requests;
}

function requestIn({ entry, v1Request }: EntryDetail): NamedRequest | undefined {
  if (v1Request === undefined || v1Request.body.state === 'withheld') return undefined;
  const { method, target, headers } = v1Request;
  return {
    name: entry.operation ?? `${method} ${entry.path}`,
    request: {
      method,
      target: target.replaceAll('=…', '='),
      headers: headers.filter(({ masked }) => !masked).map(({ name, value }) => [name, value] as const),
    },
  };
}

/** The body of a captured request to the byte: the view of it is laid out for display, and may be folded. */
async function bodyOf(
  client: AdminClient,
  seq: number,
): Promise<Pick<ExplainRequest, 'body' | 'bodyBase64'>> {
  const { statusCode, body } = await client.ask(`/entries/${seq}/har`);
  const archive = readHar(await body.text());
  const [front] = statusCode === 200 && !isFault(archive) ? archive : [];
  if (front === undefined) return {};
  const { body: text, bodyBase64 } = front.request;
  return {
    ...(text === undefined ? {} : { body: text }),
    ...(bodyBase64 === undefined ? {} : { bodyBase64 }),
  };
}

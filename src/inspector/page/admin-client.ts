import { useEffect, useState } from 'preact/hooks';

const NOTHING = { path: undefined, response: undefined, failure: undefined };

/** A failure response of the admin listener, or a failure found by the page; `status` 0 means no response. */
export class AdminFailure extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Gets JSON from the admin listener. URLs are relative: the page also works behind a path prefix. */
export async function getJson<Response>(path: string, signal?: AbortSignal): Promise<Response> {
  return await ask<Response>(path, { headers: { accept: 'application/json' }, signal: signal ?? null });
}

/** Posts JSON to the admin listener and returns its response. */
export async function postJson<Response>(path: string, body: unknown): Promise<Response> {
  return await ask<Response>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Posts a text to the admin listener and returns its response. */
export async function postText<Response>(path: string, body: string): Promise<Response> {
  return await ask<Response>(path, { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
}

/** Posts JSON; the response has no body. */
export async function send(path: string, body: unknown): Promise<void> {
  const response = await fetch(path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw await failureOf(response);
}

/** A requested resource: the response, or the failure so far. */
export interface Asked<Response> {
  readonly response: Response | undefined;
  readonly failure: AdminFailure | undefined;
}

/** Requests `path` now, whenever `cause` changes, and every `everyMs` while the page is visible; nothing if it is undefined. */
export function useAsked<Response>(
  path: string | undefined,
  everyMs?: number,
  cause?: string,
): Asked<Response> {
  const [asked, setAsked] = useState<Asked<Response> & { readonly path: string | undefined }>(NOTHING);
  useEffect(() => {
    if (path === undefined) return undefined;
    const aborter = new AbortController();
    const refresh = async (): Promise<void> => {
      try {
        const response = await getJson<Response>(path, aborter.signal);
        setAsked({ path, response, failure: undefined });
      } catch (error) {
        if (aborter.signal.aborted) return;
        setAsked((before) => ({
          path,
          response: before.path === path ? before.response : undefined,
          failure: asFailure(error),
        }));
      }
    };
    void refresh();
    const timer =
      everyMs === undefined ? undefined : setInterval(() => document.hidden || void refresh(), everyMs);
    return () => {
      aborter.abort();
      clearInterval(timer);
    };
  }, [path, everyMs, cause]);
  return asked.path === path ? asked : NOTHING;
}

/** The last failure of the requests of a part, in a sentence, and a function that makes them, which resolves to whether they succeeded. */
export function useAttempt(): readonly [
  fault: string,
  attempt: (work: () => Promise<void>) => Promise<boolean>,
] {
  const [fault, setFault] = useState('');
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      setFault('');
      return true;
    } catch (error) {
      setFault(asFailure(error).message);
      return false;
    }
  };
  return [fault, attempt];
}

/** Converts any error to an `AdminFailure`. */
export function asFailure(error: unknown): AdminFailure {
  if (error instanceof AdminFailure) return error;
  return new AdminFailure(0, 'The gateway does not respond.');
}

interface FailureBody {
  readonly errors?: readonly { readonly detail?: string; readonly title?: string }[];
}

async function ask<Content>(path: string, init: RequestInit): Promise<Content> {
  const response = await fetch(path, init);
  if (response.ok) {
    const content: Content = await response.json();
    return content;
  }
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<AdminFailure> {
  const body: FailureBody = await response.json().catch(() => ({}));
  const [first] = body.errors ?? [];
  return new AdminFailure(response.status, first?.detail ?? first?.title ?? `Status ${response.status}.`);
}

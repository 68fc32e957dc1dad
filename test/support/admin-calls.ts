/** Reads and sends JSON as operators do. */
export interface AdminCalls {
  readJson<Content>(path: string): Promise<Content>;
  postJson(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

/** Calls of the admin listener at an origin. */
export function adminCalls(origin: string): AdminCalls {
  return {
    readJson: async <Content>(path: string) => (await (await fetch(`${origin}${path}`)).json()) as Content,
    postJson: (path, body, headers = {}) =>
      fetch(`${origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
  };
}

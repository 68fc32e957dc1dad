/** What the admin listener responds when it cannot do what was asked: the service's own envelope. */
export interface FailureBody {
  readonly errors: readonly [
    { readonly status: string; readonly title: string; readonly detail: string; readonly code: string },
  ];
}

/** Makes a failure's body; `detail` is a sentence with the way out. */
export function failureBody(status: keyof typeof TITLES, code: string, detail: string): FailureBody {
  return { errors: [{ status: String(status), title: TITLES[status], detail, code }] };
}

const TITLES = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  413: 'Content too large',
  422: 'Unprocessable content',
} as const;

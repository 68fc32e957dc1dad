/** Returned by the app's handlers on Node: the response goes to the socket directly. */
export const ALREADY_SENT = new Response(null);

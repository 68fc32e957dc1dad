/** What the app's handlers give back on Node: the response goes to the socket by itself. */
export const ALREADY_SENT = new Response(null);

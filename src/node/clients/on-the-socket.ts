/** What the app's handlers give back on Node: the answer goes to the socket by itself. */
export const onTheSocket = new Response(null);

// Orders a post production, and prints the highlight that it was ordered with. BASE is the address of the API, KEY its key.
const API = `${process.env.BASE}/api/v2`;
const headers = {
  Authorization: `Bearer ${process.env.KEY}`,
  'Content-Type': 'application/json',
  'x-api-version': '2025-01-01',
};

async function order(parameters) {
  const body = JSON.stringify(parameters);
  const response = await fetch(`${API}/orders/post_productions`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const { data } = await response.json();
  return data;
}

const { highlight_type: highlight } = await order({
  highlight_type: 'fade',
  property: { address: { suburb: 'Enmore', postcode: '2042' } },
});
console.log(highlight);

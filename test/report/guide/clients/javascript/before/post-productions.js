// Orders a post production, and prints the transition that it was ordered with. BASE is the address of the API, KEY its key.
const API = `${process.env.BASE}/api/v1`;
const headers = { Authorization: `Bearer ${process.env.KEY}`, 'Content-Type': 'application/json' };

async function order(parameters) {
  const body = JSON.stringify({ data: parameters });
  const response = await fetch(`${API}/orders/post_productions`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const { data } = await response.json();
  return data;
}

const { transition_type: transition } = await order({
  transition_type: 'fade',
  property: { suburb: 'Enmore', postcode: '2042' },
});
console.log(transition);
